"""Distances between the sequences of an alignment, and the tree that neighbor joining makes of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.databases.sequence_rows import read_alignment
from clalign.errors import InputError, OptionError
from clalign.formats.posteriors import read_posteriors
from clalign.jobs import JobContext
from clalign.tools.distances import DISTANCES, posterior_distances
from clalign.tools.neighbor_joining import neighbor_joining
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.trees import Tree

KINDS = (*DISTANCES, "posterior")
"""Distances that can be asked for."""

MAX_SEQUENCES = 10_000
"""Their distances take 800 MB."""


class GuideTree(Struct, frozen=True, eq=False):
    """The tree of an alignment.

    Attributes
    ----------
    names : tuple of str
    distances : float64[N, N]
    tree : Tree
    """

    names: tuple[str, ...]
    distances: npt.NDArray[np.float64]
    tree: Tree


def guide_tree(
    alignment: str, kind: str = "kimura", posteriors: str | None = None, context: JobContext | None = None
) -> GuideTree:
    """Return the tree of the alignment in a file.

    Parameters
    ----------
    alignment : str
        Of any format.
    kind : str
        One of `KINDS`: shares of differences, Kimura's estimates, or what posteriors expect.
    posteriors : str, optional
        The file of posteriors (``.probs``) for distances of the last kind, of the sequences in the order of the rows.
    context : JobContext, optional
        Told of the progress, and asked whether to stop.

    Raises
    ------
    InputError
        If a file cannot be read, there are too many sequences, or not all pairs of them have posteriors.
    OptionError
        If posteriors are missing, or are given for nothing.
    """
    if (kind == "posterior") != (posteriors is not None):
        raise OptionError("Distances by posteriors need a file of them, and others need none.",
                          "Give --distance posterior together with --probs FILE.")  # fmt: skip
    rows = read_alignment(alignment, context)
    if len(rows) > MAX_SEQUENCES:
        raise InputError(
            alignment, f"{len(rows):,} sequences are too many for a table of all distances.",
            f"Make a tree of at most {MAX_SEQUENCES:,}.",
        )  # fmt: skip
    names, texts = tuple(row.name for row in rows), [row.text for row in rows]
    if posteriors is None:
        distances = DISTANCES[kind](texts)
    else:
        known = read_posteriors(posteriors, [len(row.residues) for row in rows])
        distances = posterior_distances(known, MultipleAlignment.from_rows(texts))
        if np.isnan(distances).any():
            hint = "Compare all pairs (without --fast), or take distances of another kind."
            raise InputError(posteriors, "not all pairs of the sequences were compared.", hint)
    return GuideTree(names, distances, neighbor_joining(distances, names, context))

"""Distances between the sequences of an alignment, and their tree by neighbor joining."""

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
"""Kinds of distances."""

MAX_SEQUENCES = 10_000
"""Sequences of a tree at most, whose distances take 800 MB."""


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
        Path of an alignment in any format.
    kind : str
        Kind of the distances, one of `KINDS`.
    posteriors : str, optional
        Path of posteriors (``.probs``) for distances by posteriors; their sequences are in the order of the rows.
    context : JobContext, optional
        Gets the progress, and raises `Cancelled` if the job is to stop.

    Raises
    ------
    InputError
        If a file cannot be read, there are too many sequences, or not all pairs of them have posteriors.
    OptionError
        If posteriors are missing, or are given for another kind of distances.
    """
    if (kind == "posterior") != (posteriors is not None):
        hint = "Give both --distance posterior and --probs FILE, or neither."
        raise OptionError("Only distances by posteriors need posteriors, from a file or a run.", hint)
    rows = read_alignment(alignment, context)
    if len(rows) > MAX_SEQUENCES:
        hint = f"Make a tree of at most {MAX_SEQUENCES:,}."
        raise InputError(alignment, f"{len(rows):,} sequences are too many for a table of all distances.", hint)
    names, texts = tuple(row.name for row in rows), [row.text for row in rows]
    if posteriors is None:
        distances = DISTANCES[kind](texts)
    else:
        known = read_posteriors(posteriors, [len(row.residues) for row in rows])
        distances = posterior_distances(known, MultipleAlignment.from_rows(texts))
        if np.isnan(distances).any():
            hint = "Compare all pairs (without --fast), or choose another kind of distances."
            raise InputError(posteriors, "some pairs of sequences were not compared.", hint)
    return GuideTree(names, distances, neighbor_joining(distances, names, context))

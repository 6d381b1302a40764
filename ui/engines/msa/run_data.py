"""The run of an alignment as values: its sequences, its merges, and its expected accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.engines.msa.aligning import AlignedSequences
from clalign.engines.msa.annealing_progress import reported_alignment
from clalign.engines.msa.column_order import with_few_gaps
from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.reading import alignment_of, annealing_of, given_of, posteriors_of
from clalign.engines.msa.reliability import MEASURES, Reliability, reliability
from clalign.jobs import JobContext
from clalign.runs.run_file import open_run
from clalign.values.documents import JobResult
from clalign.values.multiple_alignments import MultipleAlignment, offsets_of
from clalign.values.row_alignments import RowAlignment, RowNotes
from clalign.values.sparse_posteriors import SparsePosteriors

from ... import formatting

Values = npt.NDArray[np.float32]

ACCURACY_TAG = "Accuracy"
"""Name of the annotation with a digit of confidence for each column, as FSA writes it."""

MEASURE_NAMES = {name: name.capitalize() for name in MEASURES}


def factor_words(factor: float) -> str:
    """Return a gap factor as text."""
    return formatting.count(factor) if factor >= 1000 else f"{factor:.3g}"


def rows_of(given: AlignmentInput, alignment: MultipleAlignment) -> RowAlignment:
    """Return an alignment of sequences as rows."""
    letters = alignment.rows(given.letters)
    cells = np.frombuffer(b"".join(letters), np.uint8).reshape(len(letters), alignment.n_columns)
    return RowAlignment(cells, given.names, given.descriptions, RowNotes())


def live_rows(path: Path, event: JobResult) -> RowAlignment:
    """Return the columns of a running alignment as rows; without an event its sequences, unaligned."""
    with open_run(path) as run:
        given = given_of(run)
    if event:
        return rows_of(given, reported_alignment(event, given.lengths))
    places = np.concatenate([np.arange(length, dtype=np.int32) for length in given.lengths])
    return rows_of(given, MultipleAlignment(offsets_of(given.lengths), places, int(given.lengths.max())))


@dataclass(frozen=True, slots=True, eq=False)
class AlignedRun:
    """A finished run.

    Attributes
    ----------
    given : AlignmentInput
    found : AlignedSequences
        How the alignment came about.
    final : MultipleAlignment
    posteriors : SparsePosteriors
    """

    given: AlignmentInput
    found: AlignedSequences
    final: MultipleAlignment
    posteriors: SparsePosteriors

    @property
    def n_merges(self) -> int:
        """Number of merges."""
        return len(self.found.merges)

    @property
    def last_step(self) -> int:
        """The step of the finished alignment: one after the last merge, because of its refinement."""
        return self.n_merges + 1

    def at(self, step: int) -> MultipleAlignment:
        """Return the alignment after some merges; the finished one after the last step."""
        if step >= self.last_step:
            return self.final
        return with_few_gaps(self.found.merges.alignment_after(step))

    def gap_factor_at(self, step: int) -> float | None:
        """Return the gap factor of the alignment after some merges; None if nothing was merged."""
        weights = self.found.merges.weights
        return float(weights[min(step, self.n_merges) - 1]) if step and len(weights) else None

    def rows(self, alignment: MultipleAlignment) -> RowAlignment:
        """Return an alignment as rows."""
        return rows_of(self.given, alignment)


def read_aligned_run(path: Path, context: JobContext) -> AlignedRun:
    """Read a finished run.

    Raises
    ------
    InputError
        If it has no alignment yet.
    """
    with open_run(path) as run:
        given = given_of(run)
        context.check()
        found, final = annealing_of(run, given), alignment_of(run, given)
        context.check()
        return AlignedRun(given, found, final, posteriors_of(run, given))


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Expected accuracy of an alignment.

    Attributes
    ----------
    characters : dict
        Of each measure the values of all characters (float32[N, n_columns]).
    whole : dict
        Of each measure that of the whole alignment.
    digits : bytes
        The expected accuracy of each column.
    """

    characters: dict[str, Values]
    whole: dict[str, float]
    digits: bytes


def judged(run: AlignedRun, alignment: MultipleAlignment) -> Judged:
    """Return the expected accuracy of an alignment of the sequences of a run."""
    found: Reliability = reliability(run.posteriors, alignment)
    columns = found.columns(MEASURES[0])
    digits = np.minimum(9, np.floor(10 * np.nan_to_num(columns))).astype(np.uint8) + np.uint8(ord("0"))
    marks = np.where(np.isnan(columns), np.uint8(ord(".")), digits).astype(np.uint8)
    characters = {name: found.characters(name).astype(np.float32) for name in MEASURES}
    return Judged(characters, {name: found.whole(name) for name in MEASURES}, marks.tobytes())


def path_of(alignment: MultipleAlignment, i: int, j: int) -> npt.NDArray[np.int64]:
    """Return the residues of two sequences that share a column (int64[n, 2])."""
    first, second = (alignment.columns[alignment.offsets[k] : alignment.offsets[k + 1]] for k in (i, j))
    _, x, y = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return np.stack([x, y], axis=1).astype(np.int64)

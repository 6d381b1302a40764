"""How much an alignment has in common with a reference alignment of the same sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.databases.sequence_rows import SequenceRow, read_alignment
from clalign.errors import InputError, quoted
from clalign.values.multiple_alignments import MultipleAlignment


@dataclass(frozen=True, slots=True)
class AlignmentAccuracy:
    """What two alignments have in common.

    Attributes
    ----------
    common_pairs, reference_pairs, test_pairs : int
        Pairs of residues that stand in a column: in both alignments, and in each.
    common_gaps : int
        Residues, counted once for each other sequence, that stand beside no residue of it in both alignments.
    n_characters : int
        Residues, counted once for each other sequence.
    common_columns, reference_columns : int
        Columns of at least two residues of the reference, and those of them that are whole in the test.
    """

    common_pairs: int
    reference_pairs: int
    test_pairs: int
    common_gaps: int
    n_characters: int
    common_columns: int
    reference_columns: int

    @property
    def ama(self) -> float:
        """Alignment metric accuracy: the share of residues that have the same partner, or none, in both."""
        return _share(2 * self.common_pairs + self.common_gaps, self.n_characters)

    @property
    def sensitivity(self) -> float:
        """The share of the reference's pairs that are found; the sum-of-pairs score."""
        return _share(self.common_pairs, self.reference_pairs)

    @property
    def ppv(self) -> float:
        """The share of the pairs found that are in the reference."""
        return _share(self.common_pairs, self.test_pairs)

    @property
    def total_column(self) -> float:
        """The share of the reference's columns that are whole."""
        return _share(self.common_columns, self.reference_columns)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def alignment_accuracy(test: MultipleAlignment, reference: MultipleAlignment) -> AlignmentAccuracy:
    """Compare an alignment with a reference of the same sequences in the same order."""
    common = reference_pairs = test_pairs = gaps = characters = 0
    n, tested, expected = len(reference), test.positions(), reference.positions()
    found = [_partners(tested, i) for i in range(n)]
    wanted = [_partners(expected, i) for i in range(n)]
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            a, b = found[i][j], wanted[i][j]
            gaps += int(((a < 0) & (b < 0)).sum())
            characters += len(a)
            if i < j:
                common += int(((a == b) & (a >= 0)).sum())
                test_pairs += int((a >= 0).sum())
                reference_pairs += int((b >= 0).sum())
    whole = _columns(tested)
    columns = _columns(expected)
    return AlignmentAccuracy(common, reference_pairs, test_pairs, gaps, characters, len(whole & columns), len(columns))


def _partners(positions: npt.NDArray[np.int32], i: int) -> npt.NDArray[np.int32]:
    """Return the residue of each sequence beside each one of sequence i, -1 where there is none (int32[N, length])."""
    return positions[:, positions[i] >= 0]


def _columns(positions: npt.NDArray[np.int32]) -> set[bytes]:
    """Return the columns of at least two residues."""
    several = (positions >= 0).sum(axis=0) > 1
    return {column.tobytes() for column in np.ascontiguousarray(positions.T[several])}


def compare_files(test: str, reference: str) -> AlignmentAccuracy:
    """Compare an alignment in a file with a reference in another one, over the sequences of the reference.

    Raises
    ------
    InputError
        If a sequence of the reference is missing in the test, or differs there.
    """
    rows = {row.name: row for row in read_alignment(test)}
    wanted = read_alignment(reference)
    for row in wanted:
        if row.name not in rows:
            raise InputError(test, f"the sequence {quoted(row.name)} is not in it.", f"{reference} has it.")
        if rows[row.name].residues.upper() != row.residues.upper():
            reason = f"the residues of {quoted(row.name)} differ from those in {reference}."
            raise InputError(test, reason, "Compare alignments of the same sequences.")
    return alignment_accuracy(_alignment([rows[row.name] for row in wanted]), _alignment(wanted))


def _alignment(rows: Sequence[SequenceRow]) -> MultipleAlignment:
    return MultipleAlignment.from_rows([row.text for row in rows])

"""The accuracy of an alignment by a reference alignment of the same sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.databases.sequence_rows import SequenceRow, core_blocks, read_alignment
from clalign.errors import InputError, quoted
from clalign.values.multiple_alignments import MultipleAlignment

MAX_CHARACTERS = 1 << 24
"""Characters of columns that are compared at a time."""

Mask = npt.NDArray[np.bool_]


class AlignmentAccuracy(Struct, frozen=True):
    """Counts of what an alignment has in common with its reference.

    Attributes
    ----------
    common_pairs, reference_pairs, test_pairs : int
        Pairs of residues in the same column: of both alignments, and of each.
    common_gaps : int
        Residues aligned to no residue of another sequence in both alignments, counted for each other sequence.
    n_characters : int
        Residues, counted for each other sequence.
    common_columns, reference_columns : int
        Columns of the reference with at least two residues, and those of them that the test has.

    Notes
    -----
    For core blocks the pairs and residues of core blocks of the reference count, and pairs of the test with at least
    one such residue.
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
        """The share of the reference's columns that the test has."""
        return _share(self.common_columns, self.reference_columns)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def alignment_accuracy(
    test: MultipleAlignment, reference: MultipleAlignment, core: Mask | None = None
) -> AlignmentAccuracy:
    """Compare an alignment with a reference of the same sequences in the same order.

    Parameters
    ----------
    test, reference : MultipleAlignment
    core : bool[n_columns], optional
        The columns of the reference that count; by default all.
    """
    core = np.ones(reference.n_columns, bool) if core is None else core
    wanted, sizes = _presence(reference), np.bincount(reference.columns, minlength=reference.n_columns)
    found, test_sizes = _presence(test), np.bincount(test.columns, minlength=test.n_columns)
    is_core = core[reference.columns]
    others = np.bincount(test.columns[~is_core], minlength=test.n_columns)
    together = reference.columns[is_core].astype(np.int64) * max(1, test.n_columns) + test.columns[is_core]
    both, n_both = np.unique(together, return_counts=True)
    of_reference, of_test = np.divmod(both, max(1, test.n_columns))
    gaps, step = 0, max(1, MAX_CHARACTERS // max(1, len(reference)))
    for first in range(0, len(n_both), step):
        some = slice(first, first + step)
        n_absent = (~(wanted[of_reference[some]] | found[of_test[some]])).sum(axis=1)
        gaps += int((n_absent * n_both[some]).sum())
    is_whole = (n_both == sizes[of_reference]) & (n_both == test_sizes[of_test]) & (n_both > 1)
    return AlignmentAccuracy(
        common_pairs=_pairs(n_both),
        reference_pairs=_pairs(sizes[core]),
        test_pairs=_pairs(test_sizes) - _pairs(others),
        common_gaps=gaps,
        n_characters=int(is_core.sum()) * (len(reference) - 1),
        common_columns=int(is_whole.sum()),
        reference_columns=int((sizes[core] > 1).sum()),
    )


def residue_agreements(test: MultipleAlignment, reference: MultipleAlignment) -> npt.NDArray[np.float32]:
    """Return the share of the other sequences that have the same partner, or none, beside each residue in both.

    The mean over all residues is `AlignmentAccuracy.ama`.

    Parameters
    ----------
    test, reference : MultipleAlignment
        Of the same sequences in the same order.

    Returns
    -------
    float32[n_residues]
        Sequence after sequence.
    """
    wanted, found = _presence(reference), _presence(test)
    together = reference.columns.astype(np.int64) * max(1, test.n_columns) + test.columns
    both, groups, n_both = np.unique(together, return_inverse=True, return_counts=True)
    of_reference, of_test = np.divmod(both, max(1, test.n_columns))
    same, step = n_both - 1, max(1, MAX_CHARACTERS // max(1, len(reference)))
    for first in range(0, len(both), step):
        some = slice(first, first + step)
        same[some] += (~(wanted[of_reference[some]] | found[of_test[some]])).sum(axis=1)
    return np.asarray(same[groups] / max(1, len(reference) - 1), np.float32)


def _presence(alignment: MultipleAlignment) -> Mask:
    """Return which sequences have a residue in each column (bool[n_columns, N])."""
    present = np.zeros((alignment.n_columns, len(alignment)), bool)
    present[alignment.columns, np.repeat(np.arange(len(alignment)), np.diff(alignment.offsets))] = True
    return present


def _pairs(sizes: npt.NDArray[np.int64]) -> int:
    """Return the number of pairs among the residues of all columns, given the number of residues of each."""
    return int((sizes * (sizes - 1) // 2).sum())


def compare_files(test: str, reference: str, is_core: bool = False) -> AlignmentAccuracy:
    """Compare an alignment in a file with a reference in another one, over the sequences of the reference.

    Parameters
    ----------
    test, reference : str
        Alignments of any format; the order of their sequences does not matter, and the test may have more of them.
    is_core : bool
        Whether to count only core blocks: columns marked in a BAliBASE reference (XML), or with upper-case residues.

    Raises
    ------
    InputError
        If a sequence of the reference is missing in the test, or differs there, or no core blocks are marked.
    """
    rows = {row.name: row for row in read_alignment(test)}
    wanted = read_alignment(reference)
    for row in wanted:
        if row.name not in rows:
            raise InputError(
                test, f"the sequence {quoted(row.name)} of {reference} is missing.", "Add it, or remove it there."
            )
        if rows[row.name].residues.upper() != row.residues.upper():
            reason = f"the residues of {quoted(row.name)} differ from those in {reference}."
            raise InputError(test, reason, "Compare alignments of the same sequences.")
    core = core_blocks(reference, wanted) if is_core else None
    return alignment_accuracy(_alignment([rows[row.name] for row in wanted]), _alignment(wanted), core)


def _alignment(rows: Sequence[SequenceRow]) -> MultipleAlignment:
    return MultipleAlignment.from_rows([row.text for row in rows])

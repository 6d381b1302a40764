"""What is searched: which sequences of a database count, and which HMMER3 cannot search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.databases.refused_letters import refused_record, refused_rows
from clalign.databases.reports import InputReport
from clalign.engines.plan7.spec import SearchSpec
from clalign.values.alphabets import Alphabet
from clalign.values.local_scores import LengthTerms, length_terms
from clalign.values.profiles import Hmm
from clalign.values.sequences import SequenceBatch, SequenceDatabase

MAX_LENGTH = 100_000
"""HMMER3 refuses sequences longer than this (residues)."""

MAX_NAMED = 3
"""Limit of the sequences named in a message."""


class Skipped(Struct, frozen=True):
    """Database rows that HMMER3 cannot search.

    Attributes
    ----------
    rows : int64[n]
        Rising.
    texts : tuple of str
        What a user should know of them, and of other differences from what HMMER3 reads.
    """

    rows: npt.NDArray[np.int64]
    texts: tuple[str, ...] = ()


NOTHING_SKIPPED = Skipped(np.empty(0, np.int64))


class SearchableBatch(Struct, frozen=True):
    """A batch as HMMER3 searches it: what cannot be searched is empty.

    Attributes
    ----------
    batch : SequenceBatch
        The same rows.
    terms : LengthTerms
        Of its rows.
    empty : int64[n]
        Positions without residues.
    """

    batch: SequenceBatch
    terms: LengthTerms
    empty: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Targets:
    """What is searched, and what E-values count.

    Attributes
    ----------
    database : SequenceDatabase
    empty_inputs : int64[n]
        Sorted places in the input of the sequences without residues, which HMMER2 does not count.
    n_profiles : int or None
        In a scan the number of profiles, which are the targets of each sequence; None in a search.
    left_out : Skipped
        What HMMER3 profiles do not search, nor count.
    travels_once : bool
        Workers of a cluster keep one for all queries.
    """

    travels_once: ClassVar[bool] = True

    database: SequenceDatabase
    empty_inputs: npt.NDArray[np.int64]
    n_profiles: int | None = None
    left_out: Skipped = NOTHING_SKIPPED
    _searchable: WeakKeyDictionary[SequenceBatch, tuple[SequenceBatch | None, LengthTerms, npt.NDArray[np.int64]]] = (
        field(default_factory=WeakKeyDictionary, repr=False, compare=False)
    )

    def n(self, origin: Literal["hmmer2", "hmmer3"]) -> float:
        """Return the number that E-values of a profile count with.

        In a scan it is that of the profiles. HMMER2 counts the sequences that have residues, HMMER3 all
        that it can read.
        """
        uncounted = self.database.n_empty if origin == "hmmer2" else len(self.left_out.rows)
        return float(self.n_profiles or len(self.database) - uncounted)

    def searchable(self, batch: SequenceBatch) -> SearchableBatch:
        """Return a batch of the database as HMMER3 searches it; the same arrays for the same batch."""
        if batch not in self._searchable:
            kept = _without(batch, self.left_out.rows)
            empty = np.flatnonzero(kept.lengths == 0).astype(np.int64)
            # None for the batch itself: a value that held its own key would keep it for ever.
            self._searchable[batch] = None if kept is batch else kept, length_terms(kept.lengths), empty
        other, terms, empty = self._searchable[batch]
        return SearchableBatch(batch if other is None else other, terms, empty)


def _without(batch: SequenceBatch, rows: npt.NDArray[np.int64]) -> SequenceBatch:
    """Return a batch with the residues of some database rows taken out; itself if it has none of them."""
    leaves = np.isin(batch.targets, rows) & (batch.lengths > 0)
    if not leaves.any():
        return batch
    lengths = np.where(leaves, 0, batch.lengths)
    codes = batch.codes[~np.repeat(leaves, batch.lengths)]
    return SequenceBatch(codes, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), batch.targets)


def targets_of(
    spec: SearchSpec, database: SequenceDatabase, profiles: Sequence[Hmm], report: InputReport | None = None
) -> Targets:
    """Return the targets of a search or scan.

    Parameters
    ----------
    spec : SearchSpec
    database : SequenceDatabase
    profiles : sequence of Hmm
    report : InputReport, optional
        Of the database; without one, HMMER3's rules for characters are not applied.

    Raises
    ------
    InputError
        If a record has characters that HMMER3 refuses, and such are not to be skipped.
    """
    empty = np.empty(0, np.int64)
    if database.n_empty:
        empty = np.sort(database.order[np.flatnonzero(np.diff(database.offsets) == 0)])
    newer = [hmm for hmm in profiles if hmm.origin == "hmmer3"]
    left_out = NOTHING_SKIPPED
    if newer:
        left_out = _left_out(spec, database, newer[0].alphabet, report)
    return Targets(database, empty, len(profiles) if spec.is_scan else None, left_out)


def _left_out(spec: SearchSpec, database: SequenceDatabase, alphabet: Alphabet, report: InputReport | None) -> Skipped:
    long = np.flatnonzero(np.diff(database.offsets) > MAX_LENGTH).astype(np.int64)
    texts = []
    if len(long):
        texts.append(
            f"Left out, because HMMER3 searches no sequence longer than {MAX_LENGTH:,} residues:"
            f" {_named(database, long)}."
        )
    if report is not None:
        digits = [report.issue_text(issue) for issue in report.issues if issue.kind == "digits"]
        texts.extend(f"{text} HMMER3 itself refuses such a file." for text in digits)
    bad = np.empty(0, np.int64) if report is None else refused_rows(database, alphabet, report)
    if len(bad) and not spec.skip_bad:
        assert report is not None
        advice = "Leave such records out with --skip_bad,"
        raise refused_record(spec.targets, database, bad, alphabet, report.format, advice)
    if len(bad):
        texts.append(f"Left out, because HMMER3 refuses characters in them: {_named(database, bad)}.")
    rows = np.union1d(long, bad) if len(long) else bad  # it loads another part of numpy, mostly for nothing
    return Skipped(rows, tuple(texts))


def _named(database: SequenceDatabase, rows: npt.NDArray[np.int64]) -> str:
    first = rows[np.argsort(database.order[rows])][:MAX_NAMED]
    names = ", ".join(f"{database.header(int(row))[0]} ({database.length(int(row)):,} residues)" for row in first)
    return names if len(rows) <= MAX_NAMED else f"{names} and {len(rows) - MAX_NAMED:,} others"

"""The inputs of a search: profiles, or sequences of which they are made, and which targets count or are refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace as change

from clalign.building.specs import BuildSpec
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases import cache
from clalign.databases.letters import refused_record, refused_rows
from clalign.databases.loading import load_database
from clalign.databases.profile_library import Take, kept_models, load_library
from clalign.databases.reports import InputReport
from clalign.engines.plan7.spec import BUILD_OPTIONS, SearchSpec
from clalign.errors import InputError, quoted
from clalign.formats.sources import opened
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import AMINO, Alphabet
from clalign.values.devices import Device
from clalign.values.local_scores import LengthTerms, length_terms
from clalign.values.profiles import Hmm
from clalign.values.sequences import SequenceBatch, SequenceDatabase

if TYPE_CHECKING:  # a search with profiles builds none: its start does not wait for the builder
    from clalign.building.profiles import Builder


def load_queries(
    spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext, keep: bool = True
) -> tuple[list[Hmm], str]:
    """Return the profiles of a search, and the SHA-256 of the file that they come from.

    Parameters
    ----------
    spec : SearchSpec
    pick_device : callable
        Returns the device for the user's words; it scores random sequences with profiles that are made.
    context : JobContext
    keep : bool
        Whether profiles are read from and written to the cache.

    Raises
    ------
    InputError
        If the file holds none, or a sequence with characters that HMMER3 refuses; of a search in rounds also if its
        profiles are not those of HMMER3 for proteins.
    """
    if spec.query_kind == "alignments":
        return _of_alignments(spec, pick_device, context, keep)
    if not spec.makes_first:
        found, digest = load_library(spec.profiles, context.check, keep)
        if spec.has_rounds:
            _refuse_others(spec.profiles, found)
        return found, digest
    queries, report = load_database(spec.profiles, alphabet="amino", sequence_format=spec.query_format, context=context)
    if len(bad := refused_rows(queries, AMINO, report)):
        advice = "Leave such records out, give --qkind alignments if it is an alignment," if spec.has_rounds else _LEAVE
        raise refused_record(spec.profiles, queries, bad, AMINO, report.format, advice)
    for text in report.oddities(without=("empty",)):
        context.warn(text)
    rows = np.argsort(queries.order)
    rows = rows[np.diff(queries.offsets)[rows] > 0]  # HMMER skips those without residues, too
    if not len(rows):
        hint = "Check whether this is the right file, and whether it is complete."
        raise InputError(spec.profiles, f"none of its records has residues ({len(queries):,}).", hint)
    how = BuildSpec(by_matrix=True, **{name: getattr(spec, name) for name in BUILD_OPTIONS})

    def make_one(builder: Builder, row: int) -> Hmm | None:
        return _profile(builder, queries, row, context)

    return _made(spec, report.digest, how, rows.tolist(), pick_device, context, keep, make_one), report.digest


def _of_alignments(
    spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext, keep: bool
) -> tuple[list[Hmm], str]:
    """Return the profiles of the alignments of a file, as hmmbuild builds them, and the SHA-256 of the file."""
    from clalign.building.alignments import build_one, read_alignments_of
    from clalign.building.guess import guessed_alphabet

    path, how = spec.profiles, replace(spec.round_spec(by_hand=False), form=spec.query_format)
    with opened(path, context=context) as source:
        digest = cache.checksums_of(source, context).sha256
    given = list(read_alignments_of(path, how, context))
    guessed = guessed_alphabet(row for rows in given for row in rows.cells)
    if guessed is not None and guessed.is_nucleic:
        raise InputError(path, f"its rows are {guessed.label}: rounds compare proteins.", _PROTEINS)

    def make_one(builder: Builder, number: int) -> Hmm:
        built = build_one(builder, path, given[number], number, given[0])
        assert built.columns is not None
        return change(built.hmm, columns=built.columns.astype(np.int32), mask=built.mask)

    return _made(spec, digest, how, range(len(given)), pick_device, context, keep, make_one), digest


_LEAVE = "Leave such records out,"
_PROTEINS = "Give sequences, an alignment or a HMMER3 profile of proteins."


def _refuse_others(path: str, profiles: list[Hmm]) -> None:
    """Refuse what rounds cannot begin with.

    Raises
    ------
    InputError
        If one of the profiles is not of HMMER3, or not for proteins.
    """
    for hmm in profiles:
        if hmm.origin != "hmmer3":
            hint = "Convert it with hmmconvert, or search with it once: clalign hmmsearch."
            raise InputError(path, f"{quoted(hmm.name)} is a HMMER2 profile: rounds begin with those of HMMER3.", hint)
        if hmm.alphabet != AMINO:
            raise InputError(
                path, f"the profile {quoted(hmm.name)} is for {hmm.alphabet.label}: rounds compare proteins.", _PROTEINS
            )


def _made(
    spec: SearchSpec, digest: str, how: BuildSpec, numbers: Iterable[int], pick_device: Callable[[str], Device],
    context: JobContext, keep: bool, make_one: Callable[[Builder, int], Hmm | None],
) -> list[Hmm]:  # fmt: skip
    """Return the profiles of queries by their numbers, made by a function, or kept by the checksum of their file."""

    def make(take: Take) -> None:
        from clalign.building.profiles import Builder

        left, n_made = list(numbers), 0
        n = len(left)

        def make_them(session: Session) -> None:
            nonlocal n_made
            builder = Builder(how, AMINO, session, context.check)
            while left:
                context.check()
                context.progress("profiles", n - len(left), n, "queries")
                hmm = make_one(builder, left[0])
                del left[0]
                if hmm is not None:
                    take(hmm)
                    n_made += 1
            context.progress("profiles", n, n, "queries")

        with opening_of(lambda: pick_device(spec.device), context) as opening:
            opening.work(make_them, context.check, context.warn)
        if not n_made:
            raise InputError(spec.profiles, "no profile can be made of any of its sequences.", "Choose other queries.")

    parts = [digest, matrix_digest(spec), asdict(how)]
    known = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return kept_models(known, make, keep and spec.seed != 0)


def with_later_rounds(
    run: RunFile, spec: SearchSpec, first: list[Hmm], context: JobContext, device: Device | None = None
) -> list[Hmm]:
    """Return the profiles of a run by their numbers, given those that it began with.

    A device fits the score statistics of later ones again; without one they are those of the run.
    """
    if not spec.has_rounds:
        return first
    from clalign.engines.plan7.rounds import all_profiles

    if device is None:
        return all_profiles(run, spec, first, context.check)
    with opening_of(lambda: device, context) as opening:
        return opening.work(
            lambda session: all_profiles(run, spec, first, context.check, session), context.check, context.warn
        )


def matrix_digest(spec: SearchSpec) -> str | None:
    """Return the SHA-256 of the scores of the matrix of a search with sequences; None of one with profiles.

    Raises
    ------
    OptionError
        If there is no such matrix.
    """
    if not spec.has_sequences:
        return None
    from clalign.building.single import DEFAULT_MATRIX, scores_of

    scores = scores_of(spec.matrix or DEFAULT_MATRIX["amino"], AMINO)
    return hashlib.sha256(scores.astype("<i8").tobytes()).hexdigest()


def _profile(builder: Builder, queries: SequenceDatabase, row: int, context: JobContext) -> Hmm | None:
    """Return the profile of a query; None, with a warning, if no statistics fit its scores."""
    from clalign.building.profiles import NoProfile
    from clalign.building.rows import code_table

    text = np.frombuffer(queries[row].text.encode(), np.uint8)
    try:
        return builder.of_sequence(code_table(AMINO)[text], *queries.header(row))
    except NoProfile as error:
        context.warn(f"{queries.header(row)[0]}: {error.message} The query is left out.")
        return None


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
    return SequenceBatch.of_lengths(codes, lengths, batch.targets)


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

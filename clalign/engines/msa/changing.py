"""Changes of a finished alignment: sequences are added to it, or a block of its columns is realigned."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.sessions import Check, Session
from clalign.databases.sequence_rows import SequenceRow
from clalign.engines.msa.aligning import aligned
from clalign.engines.msa.inference import inferred
from clalign.engines.msa.inputs import AlignmentInput, checked_input
from clalign.engines.msa.pairs import PairChoice, Pairs
from clalign.engines.msa.parameters import pairs_of
from clalign.engines.msa.spec import PAIRS, AlignmentSpec
from clalign.engines.msa.word_similarities import WordSimilarities
from clalign.errors import InputError, OptionError
from clalign.jobs import JobContext, QuietContext
from clalign.values.devices import choose_device
from clalign.values.multiple_alignments import GAPS, MultipleAlignment, offsets_of
from clalign.values.specs import option


def _as_ever(name: str) -> Any:
    """Return a field of the spec of a whole alignment."""
    known = AlignmentSpec.__dataclass_fields__[name]
    return field(default=known.default, metadata=known.metadata)


@dataclass(frozen=True, slots=True)
class ChangeChoice:
    """How residues are aligned; names and defaults are those of an alignment from the beginning."""

    gap_factor: float = _as_ever("gap_factor")
    refinement: int = _as_ever("refinement")
    has_one_gap_set: bool = _as_ever("has_one_gap_set")
    is_fast: bool = option(
        False, "--fast", "Fewer pairs", "compare each sequence with its most similar ones alone", PAIRS
    )
    seed: int = _as_ever("seed")
    alphabet: Literal["auto", "amino", "dna", "rna"] = _as_ever("alphabet")

    def __post_init__(self) -> None:
        self.spec("-")

    def spec(self, path: str) -> AlignmentSpec:
        """Return the same of an alignment from the beginning, of sequences in a file."""
        return AlignmentSpec((path,), **asdict(self))


class ChangedRows(Struct, frozen=True, eq=False):
    """What has become of the rows of an alignment.

    Attributes
    ----------
    rows : list of SequenceRow
    places : int32[n_columns]
        Where each column of before is now; -1 for those that were realigned.
    """

    rows: list[SequenceRow]
    places: npt.NDArray[np.int32]


def with_added(
    session: Session, path: str, rows: list[SequenceRow], new: list[SequenceRow], choice: ChangeChoice,
    context: JobContext | None = None,
) -> ChangedRows:  # fmt: skip
    """Add sequences to an alignment, whose columns stay as they are; new ones come between them.

    Each sequence is compared with the rows and with the other new ones. Annealing begins with the given columns, and
    the refinement moves residues of the new sequences alone.

    Parameters
    ----------
    session : Session
    path : str
        Where the rows are from, for messages.
    rows, new : list of SequenceRow
        The alignment, and sequences with names of their own.
    choice : ChangeChoice
    context : JobContext, optional

    Raises
    ------
    InputError
        If two sequences have the same name, or their letters are of no alphabet.
    """
    context = context or QuietContext()
    given = checked_input(path, [*rows, *new], choice.alphabet, choice.seed)
    width = len(rows[0].text)
    posteriors = inferred(
        session, given, _pairs_with(given, len(rows), choice, context.check), choice.spec(path), context
    )
    n_new = int(given.lengths[len(rows) :].sum())
    old = MultipleAlignment.from_rows([row.text for row in rows]).columns
    # The last sequence has a residue in each given column and is compared with none: it keeps them apart and in order.
    lengths = np.append(given.lengths, width)
    columns = np.concatenate([old, width + np.arange(n_new), np.arange(width)]).astype(np.int32)
    begin = MultipleAlignment(offsets_of(lengths), columns, width + n_new)
    with serial(session) as one:
        found = aligned(
            one, replace(posteriors, lengths=lengths), choice.gap_factor, most_sweeps=choice.refinement,
            context=context, begin=begin, n_kept=len(rows),
        )  # fmt: skip
    made = found.alignment_after()
    texts = made.rows([*given.letters, b"-" * width])[len(rows) : -1]
    kept = made.columns[made.offsets[-2] :]
    before = [replace(row, text=_spread(row.text, kept, made.n_columns)) for row in rows]
    return ChangedRows(before + [replace(row, text=text) for row, text in zip(new, texts, strict=True)], kept)


def _pairs_with(given: AlignmentInput, n_rows: int, choice: ChangeChoice, check: Check) -> Pairs:
    """Return the pairs with sequences that are added (int32[P, 2])."""
    n, taken = len(given), set[tuple[int, int]]()
    most = math.ceil(2 * PairChoice(is_fast=choice.is_fast).wanted(n) / n)  # partners of a sequence
    similar = WordSimilarities(given.residues, given.alphabet.size, check=check) if most < n - 1 else None
    for i in range(n_rows, n):
        check()
        partners = np.arange(n)
        if similar is not None:
            row = similar[i, :]
            parts = ((0, n_rows), (n_rows, n))
            best = [first + np.argsort(-row[first:last], kind="stable")[:most] for first, last in parts]
            partners = np.concatenate(best)
        taken.update((min(i, j), max(i, j)) for j in partners.tolist() if i != j)
    return np.array(sorted(taken), np.int32).reshape(-1, 2)


def _spread(text: bytes, columns: npt.NDArray[np.int32], width: int) -> bytes:
    """Return a row whose characters stand in other columns, with ``-`` between them."""
    row = np.full(width, ord("-"), np.uint8)
    row[columns] = np.frombuffer(text, np.uint8)
    return row.tobytes()


def with_realigned(
    session: Session, path: str, rows: list[SequenceRow], columns: range, choice: ChangeChoice,
    context: JobContext | None = None,
) -> ChangedRows:  # fmt: skip
    """Realign the residues of a block of columns, and put them back between the others.

    Parameters
    ----------
    session : Session
    path : str
        Where the rows are from, for messages.
    rows : list of SequenceRow
    columns : range
        The block, counted from 0.
    choice : ChangeChoice
    context : JobContext, optional

    Raises
    ------
    OptionError
        If there are no such columns.
    InputError
        If fewer than two rows have residues there, or the letters are of no alphabet.
    """
    context = context or QuietContext()
    width, first, last = len(rows[0].text), columns.start, columns.stop
    if not 0 <= first < last <= width:
        raise OptionError(
            f"The columns {first + 1:,} to {last:,} are asked for, but the alignment has {width:,}.",
            "Give two of them, the first one first.",
        )
    blocks = [replace(row, text=row.text[first:last].translate(None, GAPS)) for row in rows]
    if sum(bool(block.text) for block in blocks) < 2:
        raise InputError(path, "fewer than two rows have residues in these columns.", "Choose a wider block.")
    alphabet = checked_input(path, rows, choice.alphabet, choice.seed).alphabet.name
    given = checked_input(path, blocks, alphabet, choice.seed)
    posteriors = inferred(session, given, pairs_of(given, choice.spec(path), context.check), choice.spec(path), context)
    with serial(session) as one:
        found = aligned(one, posteriors, choice.gap_factor, most_sweeps=choice.refinement, context=context)
    texts = found.alignment_after().rows(given.letters)
    made = [replace(row, text=row.text[:first] + text + row.text[last:]) for row, text in zip(rows, texts, strict=True)]
    places = np.arange(width, dtype=np.int32)
    places[last:] += len(made[0].text) - width
    places[first:last] = -1
    return ChangedRows(made, places)


@contextlib.contextmanager
def serial(session: Session) -> Iterator[Session]:
    """Give a session for what is done step after step: the processor's, or the reference where it has no driver."""
    if session.device.kind in ("cpu", "reference"):
        yield session
        return
    from clalign.compute.opencl.choice import all_devices
    from clalign.compute.opening import open_session

    processors = [device for device in all_devices() if device.kind in ("cpu", "reference")]
    with open_session(choose_device("auto", processors), session.check) as other:
        yield other

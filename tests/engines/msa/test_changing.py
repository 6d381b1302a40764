"""Changes of a finished alignment: what was aligned stays, and what is new stands where an alignment of all has it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.databases.sequence_rows import SequenceRow
from clalign.engines.msa.aligning import aligned
from clalign.engines.msa.changing import ChangeChoice, _pairs_with, serial, with_added, with_realigned
from clalign.engines.msa.inference import inferred
from clalign.engines.msa.inputs import checked_input
from clalign.errors import InputError, OptionError
from clalign.tools.alignment_accuracy import alignment_accuracy
from clalign.values.alphabets import AMINO
from clalign.values.multiple_alignments import MultipleAlignment

CHOICE = ChangeChoice()


def family(seed: int, n: int = 5, length: int = 40) -> list[SequenceRow]:
    """Return relatives: copies of one random sequence with replaced residues and with parts left out or put in."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(AMINO.canonical.encode(), np.uint8)
    ancestor = rng.choice(letters, length)
    rows = []
    for number in range(n):
        text = np.where(rng.random(length) < 0.25, rng.choice(letters, length), ancestor)
        cut, put = rng.integers(0, length - 6, 2)
        text = np.delete(text, slice(cut, cut + rng.integers(0, 4)))
        text = np.insert(text, put, rng.choice(letters, rng.integers(0, 4)))
        rows.append(SequenceRow(f"s{number}", f"relative {number}", text.tobytes()))
    return rows


def all_aligned(session: Session, sequences: list[SequenceRow], choice: ChangeChoice = CHOICE) -> list[SequenceRow]:
    given = checked_input("x", sequences)
    pairs = np.argwhere(np.triu(np.ones((len(given), len(given)), bool), 1)).astype(np.int32)
    found = aligned(session, inferred(session, given, pairs, choice.spec("x")), choice.gap_factor)
    return [
        replace(row, text=text)
        for row, text in zip(sequences, found.alignment_after().rows(given.letters), strict=True)
    ]


def texts(rows: list[SequenceRow]) -> list[bytes]:
    return [row.text for row in rows]


def columns_of(rows: list[SequenceRow]) -> list[bytes]:
    return [bytes(column) for column in zip(*texts(rows), strict=True)]


def without_gaps(rows: list[SequenceRow]) -> list[SequenceRow]:
    return [replace(row, text=row.residues) for row in rows]


@pytest.mark.parametrize("choice", [CHOICE, ChangeChoice(gap_factor=0.0, has_one_gap_set=True)])
@pytest.mark.parametrize("seed", range(3))
def test_the_alignment_of_the_rows_stays(session: Session, seed: int, choice: ChangeChoice) -> None:
    sequences = family(seed)
    old = all_aligned(session, sequences[:3])
    made = with_added(session, "x", old, sequences[3:], choice).rows
    assert [(row.name, row.description) for row in made] == [(row.name, row.description) for row in sequences]
    assert without_gaps(made) == sequences
    kept = [column for column in columns_of(made[:3]) if column != b"---"]
    assert kept == columns_of(old)
    assert all(set(column) != {ord("-")} for column in columns_of(made)), "no column is empty"


@pytest.mark.parametrize("seed", range(3))
def test_added_sequences_stand_where_an_alignment_of_all_has_them(session: Session, seed: int) -> None:
    sequences = family(seed)
    whole = all_aligned(session, sequences)
    made = with_added(session, "x", all_aligned(session, sequences[:3]), sequences[3:], CHOICE).rows
    both = [MultipleAlignment.from_rows(texts(rows)) for rows in (made, whole)]
    assert alignment_accuracy(*both).ama > 0.9


def test_fewer_pairs_are_compared_of_many() -> None:
    """Each new sequence with its most similar rows, and with the new ones that are most similar to it."""
    sequences = [*family(1, 30), *(replace(row, name=f"other_{row.name}") for row in family(2, 30))]
    given = checked_input("x", [*sequences, replace(sequences[0], name="new"), replace(sequences[40], name="newer")])
    every, few = (_pairs_with(given, 60, ChangeChoice(is_fast=is_fast), lambda: None) for is_fast in (False, True))
    assert len(every) == 2 * 60 + 1
    assert len(few) == 2 * 23 + 1
    assert (few[:, 1] >= 60).all()
    partners = [set(few[few[:, 1] == new, 0].tolist()) - {60} for new in (60, 61)]
    assert 0 in partners[0]
    assert 40 in partners[1]
    assert sum(row < 30 for row in partners[0]) > 18 < sum(row >= 30 for row in partners[1])
    assert len(_pairs_with(checked_input("x", sequences[:9]), 5, ChangeChoice(is_fast=True), lambda: None)) == 5 * 4 + 6


def test_a_copy_stands_in_the_columns_of_its_original(session: Session) -> None:
    sequences = family(4, 3)
    old = all_aligned(session, sequences)
    *rows, copy = with_added(session, "x", old, [replace(sequences[1], name="copy")], CHOICE).rows
    assert texts(rows) == texts(old)
    assert copy.text == old[1].text


def test_letters_gaps_and_empty_columns_stay(session: Session) -> None:
    """Of the rows every character is kept, also where two given columns could be made one."""
    given = [SequenceRow("a", "", b"mkvLATGH.-~EWQRI--PND"), SequenceRow("b", "", b"MKV---GH-.-EWQRI--PND")]
    new = [
        SequenceRow("c", "", b"MKVLATGHEWQRIPND"),
        SequenceRow("d", "", b""),
        SequenceRow("e", "", b"xkvlatgheBqripnd"),
    ]
    made = with_added(session, "x", given, new, CHOICE).rows
    assert texts(made[:2]) == texts(given)
    assert texts(made[2:]) == [b"MKVLATGH---EWQRI--PND", b"-" * 21, b"xkvlatgh---eBqri--pnd"]
    apart = [SequenceRow("a", "", b"MKVL-ATGHEW"), SequenceRow("b", "", b"MKV-LATGHEW")]
    *rows, _ = with_added(session, "x", apart, [SequenceRow("c", "", b"MKVLATGHEW")], CHOICE).rows
    assert texts(rows) == texts(apart)


def test_sequences_are_added_to_a_single_row(session: Session) -> None:
    sequences = family(5, 3)
    made = with_added(session, "x", sequences[:1], sequences[1:], CHOICE).rows
    assert without_gaps(made) == sequences
    whole = all_aligned(session, sequences)
    assert alignment_accuracy(*(MultipleAlignment.from_rows(texts(rows)) for rows in (made, whole))).ama > 0.9


def test_an_added_sequence_needs_a_name_of_its_own(session: Session) -> None:
    rows = family(1, 3)
    with pytest.raises(InputError, match='"s0"'):
        with_added(session, "x", all_aligned(session, rows), rows[:1], CHOICE)


def shifted(rows: list[SequenceRow], first: int, last: int) -> list[SequenceRow]:
    """Return rows whose residues in a block stand at its left end."""
    blocks = [row.text[first:last].replace(b"-", b"") for row in rows]
    return [
        replace(row, text=row.text[:first] + block.ljust(last - first, b"-") + row.text[last:])
        for row, block in zip(rows, blocks, strict=True)
    ]


@pytest.mark.parametrize("is_fast", [False, True])
def test_a_block_is_aligned_anew(session: Session, is_fast: bool) -> None:
    """What comes of it is an alignment of the block's residues by themselves; everything else stays."""
    rows = all_aligned(session, family(6))
    before = shifted(rows, 8, 30)
    made = with_realigned(session, "x", before, range(8, 30), ChangeChoice(is_fast=is_fast)).rows
    width = len(made[0].text) - len(before[0].text) + 22
    for new, old in zip(made, before, strict=True):
        assert (new.name, new.description) == (old.name, old.description)
        assert new.text[:8] == old.text[:8]
        assert new.text[8 + width :] == old.text[30:]
        assert new.residues == old.residues
    block = all_aligned(session, [replace(row, text=row.text[8:30].replace(b"-", b"")) for row in rows])
    assert [row.text[8 : 8 + width] for row in made] == texts(block)


def test_all_columns_anew_are_an_alignment_of_the_sequences(session: Session) -> None:
    sequences = family(7)
    width = max(len(row.text) for row in sequences)
    rows = [replace(row, text=row.text.ljust(width, b".")) for row in sequences]
    assert with_realigned(session, "x", rows, range(width), CHOICE).rows == all_aligned(session, sequences)


def test_rows_without_residues_in_the_block_stay_empty_there(session: Session) -> None:
    rows = [
        SequenceRow(name, "", text) for name, text in (("a", b"ACDEFGHIK"), ("b", b"AC....HIK"), ("c", b"ACDEFGHIK"))
    ]
    made = with_realigned(session, "x", rows, range(2, 6), CHOICE).rows
    assert texts(made) == [b"ACDEFGHIK", b"AC----HIK", b"ACDEFGHIK"]


@pytest.mark.parametrize("columns", [range(0), range(3, 2), range(-1, 4), range(5, 99)])
def test_a_block_of_no_columns_is_refused(session: Session, columns: range) -> None:
    with pytest.raises(OptionError, match=r"\b9\b"):
        with_realigned(session, "x", [SequenceRow("a", "", b"ACDEFGHIK")] * 2, columns, CHOICE)


def test_a_block_of_one_row_is_refused(session: Session) -> None:
    rows = [SequenceRow("a", "", b"ACDEF"), SequenceRow("b", "", b"A---F")]
    with pytest.raises(InputError):
        with_realigned(session, "x", rows, range(1, 4), CHOICE)


def test_the_processor_does_what_is_done_step_after_step(session: Session) -> None:
    with serial(session) as same:
        assert (same is session) == (session.device.kind != "gpu")
    graphics = SimpleNamespace(device=dataclasses.replace(session.device, kind="gpu"), check=session.check)
    with serial(graphics) as other:
        assert other.device.kind in ("cpu", "reference")

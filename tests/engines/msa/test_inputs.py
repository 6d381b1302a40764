"""The sequences that are to be aligned: what is refused, and what is made of their letters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clalign.databases.letters import alphabet_of
from clalign.databases.sequence_rows import SequenceRow, read_alignment, read_sequences
from clalign.engines.msa.inputs import checked_input, read_input
from clalign.errors import InputError


def rows(*texts: str) -> list[SequenceRow]:
    return [SequenceRow(f"s{k}", "", text.encode()) for k, text in enumerate(texts)]


def counts(text: str) -> np.ndarray:
    return np.bincount(np.frombuffer(text.encode(), np.uint8), minlength=256)


@pytest.mark.parametrize(
    ("letters", "name"),
    [
        ("ACGTACGTAAACGACGTAA", "dna"),
        ("ACGN" * 5 + "T" * 79 + "K", "dna"),
        ("ACGU" * 5, "rna"),
        ("MKVLATGHEWX", "amino"),
        ("A" * 19 + "B", "dna"),
        ("MKVL" * 5 + "BB", None),
        ("", "dna"),
        ("ACGT?" * 5, "dna"),
        ("MKVL-*.?" * 5, "amino"),
    ],
)
def test_alphabet_has_nearly_all_letters(letters: str, name: str | None) -> None:
    found = alphabet_of(counts(letters))
    assert (found.name if found else None) == name


def test_letters_of_no_alphabet_are_refused() -> None:
    with pytest.raises(InputError, match=r"x\.fa"):
        checked_input("x.fa", rows("MKVBBBJJ", "MKVL"))
    assert checked_input("x.fa", rows("MKVBBBJJ", "MKVL"), "amino").alphabet.name == "amino"


@pytest.mark.parametrize("given", [[], rows("MKV")])
def test_fewer_than_two_sequences_are_refused(given: list[SequenceRow]) -> None:
    with pytest.raises(InputError, match=r"x\.fa"):
        checked_input("x.fa", given)


def test_equal_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a one\nMKV\n>a two\nMKL\n")
    with pytest.raises(InputError, match='"a"'):
        read_input([str(path)])


def test_letters_are_kept_and_gaps_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a first of two\nmkv-LA tgh\n--tt\n>b\nMKV.LA_TGHTT\n>c\n")
    given = read_input([str(path)])
    assert given.letters == (b"mkvLAtghtt", b"MKVLATGHTT", b"")
    assert given.names == ("a", "b", "c")
    assert given.descriptions == ("first of two", "", "")
    assert given.residues[0].tolist() == given.residues[1].tolist()
    assert given.lengths.tolist() == [10, 10, 0]
    assert [given.alphabet.canonical[k] for k in given.residues[0]] == list("MKVLATGHTT")


def test_several_files_are_one_set(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f">{name}\nMKVL\n")
    assert read_input([str(tmp_path / "a"), str(tmp_path / "b")]).names == ("a", "b")


def test_ambiguous_residues_are_drawn_from_what_they_may_be() -> None:
    given = checked_input("x.fa", rows("B" * 200, "z" * 200, "X" * 400, "J*" * 200), "amino")
    drawn = ["".join(sorted({given.alphabet.canonical[k] for k in part})) for part in given.residues]
    assert drawn[:2] == ["DN", "EQ"]
    assert len(drawn[2]) == 20
    assert given.letters[1] == b"z" * 200
    again, other = (checked_input("x.fa", rows("X" * 400, "MK"), "amino", seed).residues[0] for seed in (1, 2))
    assert again.tolist() == checked_input("x.fa", rows("X" * 400, "MK"), "amino").residues[0].tolist()
    assert again.tolist() != other.tolist()


def test_bases_among_proteins_are_reported() -> None:
    given = checked_input("x.fa", rows("acgtn" * 8, "MKVLAAGIVGLLSAW" * 3, "ACG"))
    assert not given.alphabet.is_nucleic
    assert given.of_bases == [given.names[0]], "what is short may be a peptide"
    assert not checked_input("x.fa", rows("ACGT" * 10, "ACGA" * 10)).of_bases


def test_residues_are_those_that_fsa_draws() -> None:
    """By the first numbers of the GNU C library: 1804289383, 846930886, 1681692777, 1714636915."""
    given = checked_input("x.fa", rows("MXbA", "ZM", "x"), "amino")
    drawn = ["".join(given.alphabet.canonical[k] for k in part) for part in given.residues]
    assert drawn == ["MENA", "EM", "S"]
    assert given.n_drawn == 4


@pytest.mark.parametrize(
    ("alphabet", "text", "drawn"),
    [
        ("rna", "NNNN", "UGCU"), ("rna", "UN", "UG"), ("rna", "uuGUN", "UUGUU"), ("rna", "TTGTN", "UUGUU"),
        ("dna", "NNNN", "TGCT"), ("dna", "TTGTN", "TTGTT"), ("dna", "UN", "TG"), ("dna", "RYMK", "GCCT"),
        ("dna", "SWHB", "GAAG"), ("dna", "VDXE", "CGCT"),
    ],
)  # fmt: skip
def test_bases_are_those_that_fsa_draws(alphabet: str, text: str, drawn: str) -> None:
    """A U takes a number, though it can only be a T, and a T takes none."""
    given = checked_input("x.fa", rows(text, "A"), alphabet)
    assert "".join(given.alphabet.canonical[k] for k in given.residues[0]) == drawn
    assert given.n_ambiguous == len(text.upper().translate(str.maketrans("", "", "ACGTU")))


def test_rows_of_alignments_keep_their_gaps(tmp_path: Path) -> None:
    texts = {
        "a.afa": ">a\nMK-v\n>b\nM--L\n",
        "a.sto": "# STOCKHOLM 1.0\na MK-V\nb M--L\n//\n",
        "a.aln": "CLUSTAL W\n\na MK-v\nb M--L\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        found = read_alignment(str(tmp_path / name))
        assert [(row.name, row.text.upper()) for row in found] == [("a", b"MK-V"), ("b", b"M--L")]
        assert [row.residues.upper() for row in read_sequences(str(tmp_path / name))] == [b"MKV", b"ML"]


@pytest.mark.parametrize("text", [">a\nMKV\n>b\nMK\n>c\nMKVLL\n", ">a\nMKV\n>a\nMKL\n"])
def test_what_is_no_alignment_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.fa").write_text(text)
    with pytest.raises(InputError, match=r"x\.fa"):
        read_alignment(str(tmp_path / "x.fa"))


def test_text_before_the_first_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.fa").write_text(";note\nMKV\n>a\nMKV\n")
    with pytest.raises(InputError):
        read_sequences(str(tmp_path / "x.fa"))

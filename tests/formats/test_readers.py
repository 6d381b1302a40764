"""FASTQ, GenBank, EMBL, UniProt, Stockholm and Clustal; Biopython is the oracle where it reads the same."""

from __future__ import annotations

import io

import pytest
from Bio import SeqIO

from tests.formats.damaged_files import SEQUENCES
from tests.formats.samples import CLUSTAL, EMBL, GENBANK, STOCKHOLM, UNIPROT

FASTQ = b"@r1 first\nACGTN\n+\nIIII!\n@r2\nAC\nGT\n+r2\n@I\nI+\n\n@r3\n\n+\n\n@r4\nA\n+\n@\n"


def by_name(database) -> dict[str, str]:
    return {database[row].name: database[row].text for row in range(len(database))}


def kinds(report) -> dict[str, object]:
    return {issue.kind: issue for issue in report.issues}


def test_fastq_on_one_or_several_lines(load) -> None:
    database, report = load(FASTQ)
    assert report.format == "fastq"
    assert by_name(database) == {"r1": "ACGTN", "r2": "ACGT", "r3": "", "r4": "A"}
    assert database.header(int(database.order[:].tolist().index(0))) == ("r1", "", "first")
    assert kinds(report)["empty"].lines == (12,)


@pytest.mark.parametrize(
    ("data", "name", "format_name"),
    [(GENBANK, "genbank", "genbank"), (EMBL, "embl", "embl"), (UNIPROT, "swiss", "uniprot")],
)
def test_flat_files_hold_what_biopython_reads(load, data: bytes, name: str, format_name: str) -> None:
    database, report = load(data)
    expected = list(SeqIO.parse(io.StringIO(data.decode()), name))
    assert report.format == format_name
    assert sorted(by_name(database).values()) == sorted(str(record.seq).upper() for record in expected)
    assert report.n_sequences == len(expected)
    assert [issue for issue in report.issues if issue.severity == "caution"] == []


def test_flat_files_give_names_accessions_and_descriptions(load) -> None:
    database, _ = load(GENBANK)
    assert database.header(0) == ("AB000001", "AB000001", "A first entry on two lines.")
    database, _ = load(EMBL)
    assert database.header(0) == ("X56734", "X56734", "Trifolium repens mRNA for something")
    database, _ = load(UNIPROT)
    assert database.header(0) == ("TEST_HUMAN", "P12345", "A test protein")


def test_a_complete_last_entry_without_terminator_passes_with_a_caution(load) -> None:
    database, report = load(GENBANK[: GENBANK.rindex(b"//")])
    assert len(database) == 2
    assert kinds(report)["no_terminator"].lines == (15,)


def test_an_entry_with_another_length_than_it_declares_is_reported(load) -> None:
    _, report = load(GENBANK.replace(b" 75 bp", b" 80 bp"))
    assert kinds(report)["length"].lines == (3,)
    assert all(number in kinds(report)["length"].text for number in ("80", "75"))


def test_entries_without_residues_are_reported(load) -> None:
    only, _ = SEQUENCES["genbank.no-sequence"]
    _, report = load(only + GENBANK[GENBANK.index(b"LOCUS       AB000002") :])
    assert kinds(report)["no_sequence"].lines == (3,)
    assert report.n_sequences == 1


def test_letters_of_flat_files_have_their_lines(load) -> None:
    _, report = load(EMBL.replace(b"aatatggatt", b"aata%ggatt"))
    assert kinds(report)["letters"].lines == (9,)


@pytest.mark.parametrize(
    "data",
    [
        b">a\nACDEF\n>b two\nACDEF\nAC%EF\n>c\nAC&DE\n",
        b">a\n" + b"ACDEFGHIKL\n" * 300_000 + b">b\n" + b"ACDEFGHIKL\n" * 300_000 + b"%\n>c\nACDE\n",
        UNIPROT + UNIPROT.replace(b"TEST_HUMAN", b"b").replace(b"MKVLAAW", b"MK%LAAW"),
    ],
)
def test_the_record_is_named_that_holds_the_first_character_that_is_no_residue(load, data: bytes) -> None:
    _, report = load(data)
    issue = kinds(report)["letters"]
    assert data.splitlines()[issue.lines[0] - 1].count(b"%") == 1
    assert 'record "b"' in issue.text


def test_stockholm_rows_lose_their_gaps(load) -> None:
    database, report = load(STOCKHOLM)
    assert report.format == "stockholm"
    assert by_name(database) == {"one/1-6": "MKVLAA", "two/4-9": "MKWLA", "three": "MKVV"}
    headers = {database.header(row)[0]: database.header(row)[1:] for row in range(3)}
    assert headers["one/1-6"] == ("P00001", "The first")
    assert kinds(report)["gaps_dropped"].count == 3


def test_stockholm_without_terminator_passes_with_a_caution(load) -> None:
    _, report = load(STOCKHOLM[:-3])
    assert kinds(report)["no_terminator"].severity == "caution"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_clustal_rows_lose_their_gaps(load, end: bytes) -> None:
    database, report = load(CLUSTAL.replace(b"\n", end))
    assert report.format == "clustal"
    assert by_name(database) == {"one": "MKVLAADE", "two": "MKWVLAD"}
    assert kinds(report)["gaps_dropped"].count == 3


def test_many_records_pass_through_several_blocks(load) -> None:
    data = b"".join(b"@r%d\nACGT%s\n+\nIIII%s\n" % (i, b"A" * (i % 50), b"I" * (i % 50)) for i in range(40_000))
    database, report = load(data)
    assert report.n_sequences == 40_000
    row = int(database.order[:].tolist().index(39_999))
    assert database[row].name == "r39999"
    assert len(database[row]) == 4 + 39_999 % 50

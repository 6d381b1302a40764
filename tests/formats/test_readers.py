"""FASTQ, GenBank, EMBL, UniProt, Stockholm and Clustal; Biopython is the oracle where it reads the same."""

from __future__ import annotations

import io

import pytest
from Bio import SeqIO

from clalign.errors import InputError

FASTQ = b"@r1 first\nACGTN\n+\nIIII!\n@r2\nAC\nGT\n+r2\n@I\nI+\n\n@r3\n\n+\n\n@r4\nA\n+\n@\n"

GENBANK = b"""GBTEST.SEQ           Genetic Sequence Data Bank

LOCUS       AB000001                  75 bp    DNA     linear   BCT 01-JAN-2000
DEFINITION  A first entry
            on two lines.
ACCESSION   AB000001 AB999999
VERSION     AB000001.2
FEATURES             Location/Qualifiers
     source          1..75
                     /note="ORIGIN is not here"
ORIGIN
        1 gatcctccat atacaacggt atctccacct caggtttaga tctcaacaac ggaaccattg
       61 ccgacatgag acagt
//
LOCUS       AB000002                   9 aa            linear   BCT 01-JAN-2000
DEFINITION  A protein.
ACCESSION   AB000002
VERSION     AB000002.1
ORIGIN
        1 mkvlaawde
//
"""

EMBL = b"""ID   X56734; SV 1; linear; mRNA; STD; PLN; 25 BP.
XX
AC   X56734; S46826;
XX
DE   Trifolium repens mRNA
DE   for something
XX
SQ   Sequence 25 BP; 10 A; 5 C; 5 G; 5 T; 0 other;
     aaacaaacca aatatggatt ttatt                                              25
//
"""

UNIPROT = b"""ID   TEST_HUMAN              Reviewed;          12 AA.
AC   P12345; Q99999;
DT   01-JAN-2000, integrated into UniProtKB/Swiss-Prot.
DT   01-JAN-2000, sequence version 1.
DT   01-JAN-2000, entry version 1.
DE   RecName: Full=A test protein {ECO:0000305};
DE            Short=TP;
OS   Homo sapiens (Human).
OC   Eukaryota.
OX   NCBI_TaxID=9606;
SQ   SEQUENCE   12 AA;  1277 MW;  ABCDEF0123456789 CRC64;
     MKVLAAWDEM KV
//
"""

STOCKHOLM = b"""# STOCKHOLM 1.0
#=GF ID Test
#=GS one/1-6 AC P00001
#=GS one/1-6 DE The first
one/1-6   MK-VL
two/4-9   MKW.L
#=GC RF   xxxxx

one/1-6   AA
two/4-9   -A
//
# STOCKHOLM 1.0
three MKVV
//
"""

CLUSTAL = b"""CLUSTAL W (1.83) multiple sequence alignment

one      MK-VLAA 6
two      MKWVL-A 6
         ** ** *

one      DE 8
two      D- 7
         *
"""


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
    ("data", "words", "line"),
    [
        (b"@a\nACGT\n+\nIII\n", "ends within the record", 1),
        (b"@a\nACGT\n", "ends within the record", 1),
        (b"@a\nACGT\n+\n", "ends within the record", 1),
        (b"@a\nACGT\n+\nIIIII\n", "qualities or more", 4),
        (b"@a\nACGT\n+b\nIIII\n", "another record", 3),
        (b"@a\nACGT\n@b\nACGT\n+\nIIII\n", "another record begins", 3),
        (b"@a\nACGT\n+\nI I\n", "qualities", 4),
        (b"@a\nACGT\n+\nIIII\nACGT\n", "header line with @", 5),
    ],
)
def test_damaged_fastq_is_refused_with_its_line(load, data: bytes, words: str, line: int) -> None:
    with pytest.raises(InputError, match=words) as error:
        load(data)
    assert error.value.line == line


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


@pytest.mark.parametrize("data", [GENBANK, EMBL, UNIPROT])
@pytest.mark.parametrize("lost", [60, 100])
def test_flat_files_that_are_cut_off_are_refused(load, data: bytes, lost: int) -> None:
    with pytest.raises(InputError, match="ends within the") as error:
        load(data[:-lost])
    assert error.value.line is not None


def test_an_entry_with_another_length_than_it_declares_is_reported(load) -> None:
    _, report = load(GENBANK.replace(b" 75 bp", b" 80 bp"))
    assert kinds(report)["length"].lines == (3,)
    assert "declares 80 and has 75" in kinds(report)["length"].text


def test_entries_without_residues_are_reported_or_refused(load) -> None:
    only = GENBANK[: GENBANK.index(b"ORIGIN\n")] + b"CONTIG      join(X1:1..75)\n//\n"
    with pytest.raises(InputError, match="only describe"):
        load(only)
    _, report = load(only + GENBANK[GENBANK.index(b"LOCUS       AB000002") :])
    assert kinds(report)["no_sequence"].lines == (3,)
    assert report.n_sequences == 1


def test_entries_that_run_into_each_other_are_refused(load) -> None:
    with pytest.raises(InputError, match="no closing //") as error:
        load(GENBANK.replace(b"acagt\n//", b"acagt\n"))
    assert error.value.line == 15


def test_a_feature_table_after_the_sequence_is_refused(load) -> None:
    with pytest.raises(InputError, match="residues or //") as error:
        load(GENBANK.replace(b"acagt\n//", b"acagt\nDEFINITION  Another\n//"))
    assert error.value.line == 14


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


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        (STOCKHOLM.replace(b"two/4-9   -A\n", b"two/4-9   -AA\n"), "differ in length", 10),
        (STOCKHOLM.replace(b"three MKVV", b"three"), "no residues", 13),
        (STOCKHOLM.replace(b"-A\n//\n", b"-A\n"), "another alignment begins", 11),
        (STOCKHOLM[: STOCKHOLM.index(b"one/1-6   MK")], "ends within the alignment", 1),
        (STOCKHOLM + b"four MKV\n", "STOCKHOLM", 15),
    ],
)
def test_damaged_stockholm_is_refused_with_its_line(load, data: bytes, words: str, line: int) -> None:
    with pytest.raises(InputError, match=words) as error:
        load(data)
    assert error.value.line == line


def test_stockholm_without_terminator_passes_with_a_caution(load) -> None:
    _, report = load(STOCKHOLM[:-3])
    assert kinds(report)["no_terminator"].severity == "caution"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_clustal_rows_lose_their_gaps(load, end: bytes) -> None:
    database, report = load(CLUSTAL.replace(b"\n", end))
    assert report.format == "clustal"
    assert by_name(database) == {"one": "MKVLAADE", "two": "MKWVLAD"}
    assert kinds(report)["gaps_dropped"].count == 3


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        (CLUSTAL.replace(b"two      D- 7\n", b""), "differ in length", 4),
        (CLUSTAL.replace(b"two      D- 7", b"two"), "no residues", 8),
    ],
)
def test_damaged_clustal_is_refused_with_its_line(load, data: bytes, words: str, line: int) -> None:
    with pytest.raises(InputError, match=words) as error:
        load(data)
    assert error.value.line == line


def test_many_records_pass_through_several_blocks(load) -> None:
    data = b"".join(b"@r%d\nACGT%s\n+\nIIII%s\n" % (i, b"A" * (i % 50), b"I" * (i % 50)) for i in range(40_000))
    database, report = load(data)
    assert report.n_sequences == 40_000
    row = int(database.order[:].tolist().index(39_999))
    assert database[row].name == "r39999"
    assert len(database[row]) == 4 + 39_999 % 50

"""Alignments of every format that is read: the sequences are the same, whatever the rows look like."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from clalign.building.specs import BuildSpec
from clalign.databases.sequence_rows import read_alignment, read_sequences
from clalign.errors import Cancelled, InputError
from clalign.formats import a3m, sources
from clalign.formats.blocks import Reading, RefusedLetter
from clalign.formats.readers import read_alignments
from clalign.formats.row_alignments import read_rows
from clalign.formats.sources import TextReader, opened
from clalign.jobs import QuietContext
from clalign.tools.hmm_building import build_profiles
from clalign.values.devices import REFERENCE
from tests.formats.samples import FORMATS, ROWS


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_sequences_are_the_same(load, name: str, end: str) -> None:
    database, report = load(FORMATS[name].replace("\n", end).encode())
    assert report.format == ("aligned fasta" if name == "aligned fasta" else name.split()[0])
    found = {database.header(row)[0]: database[row].text.upper() for row in range(len(database))}
    assert found == {name: row.replace("-", "") for name, row in ROWS.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_a_profile_is_built_of_each(tmp_path: Path, name: str) -> None:
    (tmp_path / "x").write_text(FORMATS[name])
    spec = BuildSpec(alphabet="amino", msv_n=2, viterbi_n=2, forward_n=2)
    value = build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), spec, REFERENCE, QuietContext())
    assert (value["length"], value["n_sequences"]) == (11, 3)


TWICE = {
    "stockholm": ("# STOCKHOLM 1.0\nq1 ACDE\nq1 AC-E\n//\n", 3),
    "stockholm: one of several": ("# STOCKHOLM 1.0\nq1 ACDE\nq2 AC-E\n#=GR q2 SS HHHH\nq1 A-DE\nq4 ACDE\n//\n", 5),
    "stockholm: in the second block": ("# STOCKHOLM 1.0\nq1 AC\nq2 AC\n\nq1 DE\nq1 DE\n//\n", 6),
    "stockholm: in the second alignment": ("# STOCKHOLM 1.0\nq1 AC\n//\n# STOCKHOLM 1.0\nq1 AC\nq1 DE\n//\n", 6),
    "clustal": ("CLUSTAL W\n\nq1 ACDE\nq1 AC-E\n   ** *\n", 4),
    "selex": ("# SELEX\nq1 ACDE\nq2 AC-E\nq1 ACDF\n", 4),
    "msf: names": ("x MSF: 4 Check: 1 ..\n Name: a Check: 1\n Name: a Check: 1\n//\na ACDE\n", 3),
    "msf: rows": ("x MSF: 4 Check: 1 ..\n Name: a Check: 1\n Name: b Check: 1\n//\na AC\na DE\nb ACDE\n", 6),
    "nexus": ("#NEXUS\nbegin data;\ndimensions nchar=4;\nformat datatype=protein;\nmatrix\na AC\nDE\na ACDF\n;\n", 8),
    "nexus interleaved": (
        "#NEXUS\nbegin data;\nformat datatype=protein interleave;\nmatrix\na AC\nb AC\nb DF\na DE\n;\n", 7
    ),
    "nexus interleaved: all rows": (
        "#NEXUS\nbegin data;\ndimensions ntax=2;\nformat datatype=protein interleave;\nmatrix\na AC\na DE\n;\n", 5
    ),
    "balibase": (
        "<macsim>\n" + "<sequence><seq-name>a</seq-name>\n<seq-data>ACDE</seq-data></sequence>\n" * 2 + "</macsim>\n", 5
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TWICE)
def test_a_name_may_occur_once_in_a_block(load, tmp_path: Path, case: str) -> None:
    text, line = TWICE[case]
    with pytest.raises(InputError) as refused:
        load(text.encode())
    assert refused.value.line == line
    if "second alignment" not in case:
        with pytest.raises(InputError) as refused:
            read_rows(str(tmp_path / "input.txt"))
        assert refused.value.line == line


def test_rows_of_stockholm_are_sequences_in_the_order_in_which_they_are_mentioned(load, tmp_path: Path) -> None:
    """HMMER numbers them so; as a table they keep the order of the rows, and their letters are those of the file."""
    text = b"# STOCKHOLM 1.0\n#=GS b AC B2\n#=GS a DE one\n#=GS a DE more\na Ac.E\nb AC-E\n//\n"
    database, _ = load(text)
    headers = [database.header(row) for row in np.argsort(database.order)]
    assert headers == [("b", "B2", ""), ("a", "", "one more")]
    path = str(tmp_path / "input.txt")
    for read in (read_sequences, read_alignment):
        found = [(row.name, row.description, row.text) for row in read(path)]
        assert found == [("b", "", b"AC-E"), ("a", "one more", b"Ac.E")]
    table = read_rows(path)
    assert (table.names, table.descriptions) == (["a", "b"], ["one more", ""])
    assert [row.tobytes() for row in table.cells] == [b"Ac.E", b"AC-E"]


def test_annotation_of_a_row_that_is_missing_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.sto"
    path.write_text("# STOCKHOLM 1.0\n#=GR c SS HHHH\na ACDE\n//\n")
    with pytest.raises(InputError) as refused:
        read_rows(str(path))
    assert refused.value.line == 2
    assert [row.name for row in read_sequences(str(path))] == ["a"]


def test_an_alignment_that_begins_within_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sto"
    path.write_text("# STOCKHOLM 1.0\na ACDE\n# STOCKHOLM 1.0\nb ACDE\n//\n")
    with pytest.raises(InputError) as refused:
        read_rows(str(path))
    assert refused.value.line == 3


@pytest.mark.parametrize("form", ["afa", "a3m"])
def test_rows_of_one_name_stay_two_where_they_may_have_it(load, form: str) -> None:
    database, report = load(b">a\nAC-DE\n>a\nACWDE\n>a_3\nACFDE\n>a\nACCDE\n", sequence_format=form)
    assert sorted(database[row].text for row in range(len(database))) == ["ACCDE", "ACDE", "ACFDE", "ACWDE"]
    assert "duplicate_names" in [issue.kind for issue in report.issues]


def test_names_that_are_given_to_rows_are_not_those_of_others(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(">a\nACDE\n>a_4\nACDF\n>b\nACeDE\n>a\nACDW\n")
    found = read_rows(str(tmp_path / "x"))
    assert (len(set(found.names)), [row.tobytes() for row in found.cells][-1]) == (4, b"AC.DW")


HH_SUITE = {
    "comment of ColabFold": "#5\t1\n>q1\nACDEF\n>q2\nAC-EF\n",
    "comment of HH-suite": "#A3M#\n#q1 some words\n\n>q1\nACDEF\n# another\n>q2\nAC-\n#third\nEF\n",
    "comments among rows": ">q1\nACDEF\n#between\n>q2\nAC-EF\n",
    "secondary structure": ">ss_pred PSIPRED\nCCHHH\n>ss_conf\n99999\n>q1\nACDEF\n>q2\nAC-EF\n",
    "of known structure": ">ss_dssp\nCCH-H\n>sa_dssp\nABCDE\n>aa_dssp\nACDEF\n>q1\nACDEF\n>q2\nAC-EF\n",
    "longer names": ">ss_predict PSIPRED\nCCHHH\n>ss_pred_x\nCCHHH\n>q1\nACDEF\n>q2\nAC-EF\n",
    "at the end": "#c\n>q1\nACDEF\n>q2\nAC-EF\n>ss_pred\nCCHHH\n",
}


@pytest.mark.parametrize("case", HH_SUITE)
def test_comments_and_annotation_of_a3m_are_no_sequences(load, tmp_path: Path, case: str) -> None:
    database, report = load(HH_SUITE[case].encode())
    assert report.format == "a3m"
    assert {database.header(row)[0]: database[row].text for row in range(len(database))} == {
        "q1": "ACDEF",
        "q2": "ACEF",
    }
    assert not [issue for issue in report.issues if issue.severity == "caution"]
    path = str(tmp_path / "input.txt")
    assert [(row.name, row.text) for row in read_alignment(path)] == [("q1", b"ACDEF"), ("q2", b"AC-EF")]
    assert [row.name for row in read_sequences(path)] == ["q1", "q2"]
    assert list(read_rows(path).names) == ["q1", "q2"]


def test_comments_make_no_a3m_of_sequences_that_are_not_aligned(load) -> None:
    _, report = load(b">a\nACDEF\n#c\n>b\nACD\n")
    assert (report.format, [issue.kind for issue in report.issues]) == ("fasta", ["letters"])


ODD_LETTERS = {
    "fasta": (">a\nACDE\n>b\nACDE\nACñE\n", "b", 5, "ñ"),
    "fasta in latin-1": (">a\nAC\udce9E\n>b\nACDE\n", "a", 2, "é"),
    "fastq": ("@a\nACGT\n+\nIIII\n@b\nAC#T\n+\nIIII\n", "b", 6, "#"),
    "stockholm": ("# STOCKHOLM 1.0\na ACDE\nb ACDE\n\na ACDE\nb A3DE\n//\n", "b", 6, "3"),
    "clustal": ("CLUSTAL W\n\na AC!E\nb ACDE\n", "a", 3, "!"),
    "a3m": ("#c\n>a\nACDE\n>b\nAC\nD\u20ac\n", "b", 6, "\u20ac"),
}


@pytest.mark.parametrize("case", ODD_LETTERS)
def test_letters_that_are_none_are_refused_where_they_would_be_written(tmp_path: Path, case: str) -> None:
    text, record, line, letter = ODD_LETTERS[case]
    path = tmp_path / "x"
    path.write_bytes(text.encode(errors="surrogateescape"))
    uses = [read_sequences] if case == "fastq" else [read_sequences, read_alignment, read_rows]
    for use in uses:
        with pytest.raises(RefusedLetter) as refused:
            use(str(path))
        found = refused.value
        assert (found.record, found.line, found.letter, found.exit_code) == (record, line, letter, 2)


def test_digits_that_number_residues_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a\n1 ACDE 4\n>b\nACD>c\nWW\n")
    shown: list[str] = []
    context = QuietContext()
    context.warn = shown.append  # type: ignore[method-assign]
    assert [(row.name, row.text) for row in read_sequences(str(path), context)] == [
        ("a", b"ACDE"), ("b", b"ACD"), ("c", b"WW"),
    ]  # fmt: skip
    assert [text.split(": ")[0] for text in shown] == [f"{path}, line 4", f"{path}, line 2"]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("aligned fasta", "a3m")])
def test_large_alignments_are_refused(load, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_KEPT_BYTES", 1000)
    with pytest.raises(InputError, match=r"1\.0 kB"):
        load(FORMATS[name].encode())


def test_a_nexus_matrix_may_begin_within_a_line(load) -> None:
    database, _ = load(
        b"#NEXUS\nbegin data; dimensions nchar=6; format datatype=dna; matrix\na ACGTAC\nb AC-TAC\n;\nend;\n"
    )
    assert sorted(database[row].text for row in range(len(database))) == ["ACGTAC", "ACTAC"]
    database, _ = load(b"#NEXUS\nbegin data;format\ndatatype=dna;MATRIX a ACGT\nb AC-T;end;\n")
    assert sorted(database[row].text for row in range(len(database))) == ["ACGT", "ACT"]


def test_words_in_quotes_of_nexus_may_hold_what_has_a_meaning_elsewhere(load) -> None:
    database, _ = load(
        b"#NEXUS\n[it's ' a [note]]begin data;title 'a;b';format datatype=dna;matrix\n"
        b"'b|x=1;z' [its] ACGT\n 'it''s[1];' AC[']-T\n5'end AC-- [';']\n'[' AAAA;end;\n"
    )
    found = {database.header(row)[0]: database[row].text for row in range(len(database))}
    assert found == {"b|x=1;z": "ACGT", "it's[1];": "ACT", "5'end": "AC", "[": "AAAA"}


@pytest.mark.parametrize("text", [b";", b"'", b" 'a';", b"a'", b"[']"])
def test_a_nexus_line_of_many_marks_takes_no_long_time(load, text: bytes) -> None:
    begun = time.process_time()
    with pytest.raises(InputError):
        load(b"#NEXUS\nbegin data;\n" + text * 200_001 + b"\n")
    assert time.process_time() - begun < 1.5


def test_rows_given_as_a3m_keep_their_headers_and_need_equal_columns(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_KEPT_BYTES", 10)
    database, _ = load(b">a one\nAC-GTa.c\n>a two\nACGGT\n>b\nAC\n-GT\n", sequence_format="a3m")
    assert [database.header(row)[2] for row in np.argsort(database.order)] == ["one", "two", ""]
    assert sorted(database[row].text.upper() for row in range(3)) == ["ACGGT", "ACGT", "ACGTAC"]
    with pytest.raises(InputError) as refused:
        load(b">a\nACaGT\n>b\nAC-\n", sequence_format="a3m")
    assert refused.value.line == 3


def columns_of(text: str) -> list[str]:
    """Return what stands before the first column of a row of A3M, then each column with the inserts behind it."""
    return re.split(r"(?=[A-Z-])", f"#{text.replace('.', '')}")


def test_rows_of_a3m_are_filled_up_to_the_longest_inserts(tmp_path: Path) -> None:
    rng = random.Random(4)
    texts = ["".join(rng.choice("AC-acg.") for _ in range(9)) for _ in range(300)]
    texts = [text for text in texts if len(columns_of(text)) == 5]
    path = tmp_path / "x.a3m"
    path.write_text("".join(f">r {n}\n{text[:5]} \n{text[5:]}\n" for n, text in enumerate(texts)))
    context, n_checks = QuietContext(), []
    context.check = lambda: n_checks.append(1)  # type: ignore[method-assign]
    with opened(str(path)) as source, ExitStack() as files:
        (rows,) = read_alignments("a3m", Reading(TextReader(source, context)), files)
        found = rows.alignment()
    widths = [max(map(len, column)) for column in zip(*map(columns_of, texts), strict=True)]
    assert [row.tobytes().decode() for row in found.cells] == [
        "".join(part.ljust(width, ".") for part, width in zip(columns_of(text), widths, strict=True))[1:]
        for text in texts
    ]
    assert len(set(found.names)) == len(texts) > 30
    assert list(found.descriptions) == [str(n) for n in range(len(texts))]
    assert len(n_checks) > 2 * len(texts), "it can be stopped before each row"


def test_a3m_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_KEPT_BYTES", 40 << 20)
    (tmp_path / "wide.a3m").write_bytes(b">a\n" + b"A" * 1_000_000 + b"\n>b\n" + b"C" * 999_999 + b"Ca\n")
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="42 MB") as refused:
            read_rows(str(tmp_path / "wide.a3m"))
        assert refused.value.line == 2
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
        monkeypatch.undo()
        tracemalloc.reset_peak()
        assert read_rows(str(tmp_path / "wide.a3m")).n_rows == 2
        assert tracemalloc.get_traced_memory()[1] < (a3m.COLUMN_BYTES + a3m.ROW_COPIES + 8) << 20
    finally:
        tracemalloc.stop()


def test_lower_case_alone_makes_no_a3m(load) -> None:
    _, report = load(b">a\nACGTac-gtACG\n>b\nACgtACGTACG\n")
    assert report.format == "fasta"


def test_a_long_build_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(FORMATS["clustal"])

    class Stopped(QuietContext):
        n = 0

        def check(self) -> None:
            self.n += 1
            if self.n > 20:
                raise Cancelled

    with pytest.raises(Cancelled):
        build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), BuildSpec(alphabet="amino"), REFERENCE, Stopped())
    assert not (tmp_path / "x.hmm").exists()


def test_formats_have_the_names_of_hmmer_too(load) -> None:
    for name in ("afa", "a2m", "AFA"):
        assert load(b">a\nAC-DE\n>b\nACW-E\n", sequence_format=name)[0][0].text == "ACDE"
    assert load(b"# STOCKHOLM 1.0\na AC-DE\n//\n", sequence_format="pfam")[0][0].text == "ACDE"
    assert load(b" 2 5\na  AC-DE\nb  AC-DE\n", sequence_format="phylips")[0][1].text == "ACDE"

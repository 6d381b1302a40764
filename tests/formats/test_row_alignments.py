import io
from pathlib import Path

import numpy as np
import pytest

from clalign.databases.sequence_rows import read_sequences
from clalign.errors import Cancelled, InputError
from clalign.formats import aligned
from clalign.formats.row_alignments import list_alignments, read_rows
from clalign.formats.row_forms import ENDINGS, FORMS, form_of
from clalign.formats.row_writers import Part, column_marks, write_rows
from clalign.jobs import Job, QuietContext
from clalign.values.row_alignments import RowAlignment, RowTexts, is_residue

STOCKHOLM = """# STOCKHOLM 1.0
#=GF ID   Made
#=GF CC   first line
#=GF CC   second line
#=GF XX
#=GS one/1-4 DE the first one
#=GS one/1-4 WT 0.36
one/1-4     AC-D
#=GR one/1-4 SS HH.E
#=GR one/1-4 PP 9*.7
two/2-4     ACG.
#=GC SS_cons HHEE
#=GC own     ab.d

one/1-4     EFGH
#=GR one/1-4 SS CCCC
#=GR one/1-4 PP 0000
two/2-4     --GH
#=GC SS_cons EEEE
#=GC own     efgh
//
# STOCKHOLM 1.0
#=GF ID   Other
x  AAA
y  A-A
//
"""


@pytest.fixture
def stockholm(tmp_path: Path) -> Path:
    path = tmp_path / "made.sto"
    path.write_text(STOCKHOLM)
    return path


def rows_of(alignment: RowAlignment) -> list[bytes]:
    return [row.tobytes() for row in alignment.cells]


def written(alignment: RowAlignment, form: str, part: Part | None = None) -> str:
    stream = io.StringIO()
    write_rows(alignment, form, stream, part)
    return stream.getvalue()


def words(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_a_stockholm_file_is_read_with_all_that_it_says(stockholm: Path) -> None:
    found = read_rows(str(stockholm))
    assert rows_of(found) == [b"AC-DEFGH", b"ACG.--GH"]
    assert found.names == ["one/1-4", "two/2-4"]
    assert found.descriptions == ["the first one", ""]
    assert found.notes.file == [("ID", "Made"), ("CC", "first line"), ("CC", "second line"), ("XX", "")]
    assert found.notes.rows == [("one/1-4", "DE", "the first one"), ("one/1-4", "WT", "0.36")]
    assert found.notes.columns == {"SS_cons": b"HHEEEEEE", "own": b"ab.defgh"}
    assert found.notes.residues["PP"].of(0) == b"9*.70000"
    assert found.notes.residues["PP"].of(1) == b""
    assert found.notes.title() == "Made"


def test_each_alignment_of_a_stockholm_file_can_be_read(stockholm: Path) -> None:
    assert list_alignments(str(stockholm)) == ["Made", "Other"]
    other = read_rows(str(stockholm), 1)
    assert rows_of(other) == [b"AAA", b"A-A"]
    assert other.notes.title() == "Other"
    with pytest.raises(InputError, match=stockholm.name):
        read_rows(str(stockholm), 2)


def test_stockholm_is_written_back_without_loss(stockholm: Path, tmp_path: Path) -> None:
    made = written(read_rows(str(stockholm)), "stockholm")
    path = tmp_path / "again.sto"
    path.write_text(made)
    again = read_rows(str(path))
    assert written(again, "stockholm") == made
    shown = words(made)
    for line in words(STOCKHOLM.split("//")[0]):
        if line.startswith(("#=GF", "#=GS", "# ")):
            assert line in shown
    assert "#=GR one/1-4 SS HH.ECCCC" in shown
    assert shown.index("#=GR one/1-4 PP 9*.70000") < shown.index("two/2-4 ACG.--GH") < shown.index("#=GC own ab.defgh")


def test_names_that_would_begin_another_line_of_stockholm_are_read_back(tmp_path: Path) -> None:
    names, path = ["#a", "//", "%23b", "two words"], tmp_path / "names.sto"
    given = RowAlignment.of_rows(names, [b"AC-D"] * 4, ["one", "", "", ""])
    given.notes.rows.append(("#a", "WT", "0.5"))
    given.notes.residues["SS"] = RowTexts(np.array([0]), np.frombuffer(b"HH.E", np.uint8).reshape(1, 4))
    path.write_text(written(given, "stockholm"))
    again = read_rows(str(path))
    assert again.names == ["%23a", "%2F/", "%23b", "two_words"]
    assert again.descriptions[0] == "one"
    assert ("%23a", "WT", "0.5") in again.notes.rows
    assert again.notes.residues["SS"].of(0) == b"HH.E"


@pytest.mark.parametrize(("form", "names"), [("stockholm", ["#a", "%23a"]), ("phylip", ["a b", "a_b"])])
def test_names_that_are_written_alike_are_refused(form: str, names: list[str]) -> None:
    with pytest.raises(InputError, match=names[1]):
        written(RowAlignment.of_rows(names, [b"ACD", b"ACD"]), form)


LETTER_BY_LETTER = ("fasta", "stockholm", "clustal")


def alike(alignment: RowAlignment, form: str) -> list[bytes]:
    """Return rows as a format can hold them: others have one kind of gap, or know inserts by small letters."""
    rows = rows_of(alignment)
    return rows if form in LETTER_BY_LETTER else [row.upper().replace(b".", b"-") for row in rows]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_format_is_read_back(stockholm: Path, tmp_path: Path, form: str) -> None:
    given = read_rows(str(stockholm))
    path = tmp_path / f"again{ENDINGS[form][0]}"
    path.write_text(written(given, form))
    again = read_rows(str(path))
    assert form_of(str(path)) == form
    assert alike(again, form) == alike(given, form)
    assert list(again.names) == list(given.names)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_block_is_written_in_the_order_asked_for(stockholm: Path, tmp_path: Path, form: str) -> None:
    given = read_rows(str(stockholm))
    path = tmp_path / f"part{ENDINGS[form][0]}"
    path.write_text(written(given, form, Part(np.array([1, 0]), range(2, 6))))
    again = read_rows(str(path))
    gap = b"." if form in LETTER_BY_LETTER else b"-"
    assert (list(again.names), alike(again, form)) == (["two/2-4", "one/1-4"], [b"G" + gap + b"--", b"-DEF"])
    if form == "stockholm":
        assert again.notes.columns["own"] == b".def"
        assert again.notes.residues["SS"].of(1) == b".ECC"


@pytest.mark.parametrize("gap", [b"-", b"."])
def test_inserts_are_columns_of_many_gaps_where_no_letter_is_a_capital(gap: bytes) -> None:
    rows = [row.replace(b"-", gap) for row in (b"acd--fg", b"ac-e-fg", b"-cd-hfg")]
    given = RowAlignment.of_rows(["a", "b", "c"], rows)
    assert written(given, "a2m") == ">a\nACD..FG\n>b\nAC-e.FG\n>c\n-CD.hFG\n"
    assert written(given, "a3m") == ">a\nACDFG\n>b\nAC-eFG\n>c\n-CDhFG\n"


HELD = {
    "fasta": b"AC?*G-T?", "stockholm": b"AC?*G-T?", "clustal": b"AC?*G-T?", "phylip": b"AC?*G-T?", "nexus": b"AC?*G-T?",
    "msf": b"ACN*G-TN", "a2m": b"ACNNG-Tn", "a3m": b"ACNNG-Tn",
}  # fmt: skip
"""What becomes of missing data and a stop: A2M, A3M and MSF know no ``?``, the first two no ``*`` either."""


@pytest.mark.parametrize("form", sorted(FORMS))
def test_missing_data_and_stops_are_no_gaps(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"held{ENDINGS[form][0]}"
    names = [f"r{number}" for number in range(4)]
    path.write_text(written(RowAlignment.of_rows(names, [b"AC?*G-T?", *[b"ACGTGAT-"] * 3]), form))
    assert rows_of(read_rows(str(path)))[0] == HELD[form]


def test_names_that_occur_twice_are_shown_but_not_written_where_they_must_differ(tmp_path: Path) -> None:
    path = tmp_path / "twice.fa"
    path.write_text(">a\nAC-\n>a again\nACG\n")
    found = read_rows(str(path))
    assert (list(found.names), list(found.descriptions)) == (["a", "a"], ["", "again"])
    assert written(found, "fasta") == ">a\nAC-\n>a again\nACG\n"
    with pytest.raises(InputError, match=r"^a: "):
        written(found, "stockholm")


def test_fasta_in_many_lines_with_comments_and_odd_letters(tmp_path: Path) -> None:
    path = tmp_path / "lines.fa"
    path.write_bytes(b"; made\n>one first\r\nAC-D \r\n; between\r\nEF*H\r\n>two\nac.d\nefxh\n>\nACGTACGT")
    found = read_rows(str(path))
    assert rows_of(found) == [b"AC-DEF*H", b"ac.defxh", b"ACGTACGT"]
    assert list(found.names) == ["one", "two", "unnamed_3"]
    assert found.descriptions[0] == "first"


def test_sequences_without_a_name_get_one_and_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">\nACD\n>b\nACDE\n> \nAC\n")
    messages: list[str] = []
    context = QuietContext()
    context.warn = messages.append  # type: ignore[method-assign]
    assert [row.name for row in read_sequences(str(path), context)] == ["unnamed_1", "b", "unnamed_3"]
    assert [text.split(": ")[0] for text in messages] == [f"{path}, line 1"]


def test_msf_has_fifty_columns_in_a_block(tmp_path: Path) -> None:
    path = tmp_path / "long.fa"
    path.write_text(f">one\n{'ACDEF' * 21}\n")
    lines = written(read_rows(str(path)), "msf").split("//\n")[1].split("\n")
    rows = [line.split()[1:] for line in lines if line.strip()]
    assert [[len(group) for group in row] for row in rows] == [[10] * 5, [10] * 5, [5]]


def test_headers_without_residues_are_rows_that_are_too_short(tmp_path: Path) -> None:
    path = tmp_path / "headers.fa"
    path.write_text(">one\n>two\nACGT\n>three\n")
    with pytest.raises(InputError, match='"two"') as error:
        read_rows(str(path))
    assert error.value.line == 3


def test_text_before_the_first_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "before.fa"
    path.write_text("; made\nACGT\n>one\nACGT\n")
    with pytest.raises(InputError):
        read_rows(str(path))


def test_large_alignments_are_kept_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligned, "MAX_BYTES_IN_MEMORY", 100)
    letters = np.random.default_rng(3).choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY-", np.uint8), (40, 130))
    given = RowAlignment.of_rows([f"row{i}" for i in range(40)], [row.tobytes() for row in letters])
    for form in FORMS:  # Clustal has rows in blocks
        path = tmp_path / f"large{ENDINGS[form][0]}"
        path.write_text(written(given, form))
        found = read_rows(str(path))
        assert isinstance(found.cells, np.memmap) or isinstance(found.cells.base, np.memmap)
        assert (found.cells == letters).all()


def test_reading_stops_when_nobody_waits(stockholm: Path) -> None:
    job = Job(lambda event: None)
    job.cancel()
    with pytest.raises(Cancelled):
        read_rows(str(stockholm), 0, job)


def test_marks_of_clustal() -> None:
    rows = [b"AKSAC-W", b"AKTGC-Y", b"AKASAAW"]
    cells = np.array([list(row) for row in rows], np.uint8)
    assert column_marks(cells) == "**:.. :"


def test_positions_and_residues() -> None:
    alignment = RowAlignment.of_rows(["a"], [b"A-c.G*~"])
    assert is_residue(alignment.cells[0]).tolist() == [True, False, True, False, True, False, False]
    assert [alignment.position(0, column) for column in range(5)] == [1, 1, 2, 2, 3]


BALIBASE = """<?xml version="1.0"?>
<macsim><alignment><aln-name>made</aln-name>
<sequence><seq-name>a</seq-name><seq-data>ACD-</seq-data></sequence>
<sequence><seq-name>b</seq-name><seq-data>A-DE</seq-data></sequence>
<column-score><colsco-name>coreblock</colsco-name><colsco-data>1 0 1 0</colsco-data></column-score>
</alignment></macsim>
"""


def test_core_blocks_of_balibase_are_an_annotation(tmp_path: Path) -> None:
    path = tmp_path / "made.xml"
    path.write_text(BALIBASE)
    found = read_rows(str(path))
    assert rows_of(found) == [b"ACD-", b"A-DE"]
    assert found.notes.columns == {"core": b"*.*."}


def test_the_stockholm_files_of_others_are_written_back_whole(data_folder: Path) -> None:
    paths = [path for ending in ("sto", "stk", "seed") for path in data_folder.rglob(f"*.{ending}")]
    n_read = 0
    for path in paths:
        shown = path.read_text("latin-1")
        if not shown.startswith("# STOCKHOLM") or len(shown) > 300_000:
            continue
        try:
            given = [read_rows(str(path), number) for number in range(len(list_alignments(str(path))))]
            made = "".join(written(alignment, "stockholm") for alignment in given)
        except InputError:
            continue  # of two rows of one name, or no alignment: told where it is read
        n_read += 1
        assert facts(made) == facts(shown), path
    assert n_read > 10


def facts(text: str) -> dict[tuple[str, ...], str]:
    """Return all that a Stockholm file says, blocks put together: by alignment and label."""
    found: dict[tuple[str, ...], str] = {}
    number, counts = 0, dict[tuple[str, ...], int]()
    for line in text.splitlines():
        words = line.split(None, {"#=GF": 2, "#=GC": 2, "#=GS": 3, "#=GR": 3}.get(line[:4], 1))
        if line.startswith("//"):
            number += 1
        elif words and words[0] in ("#=GF", "#=GS"):  # many lines of one tag stand one after the other
            key = (str(number), *words[: 2 if words[0] == "#=GF" else 3])
            counts[key] = counts.get(key, 0) + 1
            place = 2 if words[0] == "#=GF" else 3
            found[(*key, str(counts[key]))] = " ".join(words[place].split()) if len(words) > place else ""
        elif words and (line[0] != "#" or words[0] in ("#=GC", "#=GR")):
            key = (str(number), *words[:-1])
            found[key] = found.get(key, "") + words[-1].rstrip()
    return found

"""``clalign add`` and ``clalign realign`` from end to end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.databases.sequence_rows import read_alignment

pytestmark = pytest.mark.usefixtures("worker_here")

ROWS = {"a": "MKVLATGHEWQRI--PNDFCYSTAAGKL", "b": "MKVLSTGHDWQKI--PNDFCYTA-AGK-", "c": "-KVMAT-HEW-RIPDYFC--WSTKAGKL"}
NEW = ">d like a\nMKVLATGHEWQRIPNDFCYSTAAGKL\n>e\nMKVMATHEWRIPDYFCWSTKAGKL\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.sto").write_text(
        "# STOCKHOLM 1.0\n" + "".join(f"{name} {text}\n" for name, text in ROWS.items()) + "//\n"
    )
    (tmp_path / "new.fa").write_text(NEW)
    return tmp_path


def rows_of(path: str) -> dict[str, str]:
    return {row.name: row.text.decode() for row in read_alignment(path)}


def test_sequences_are_added(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["add", "-q", "--device", "reference", "old.sto"]
    assert main([*words, "new.fa", "-o", "all.afa"]) == 0
    capsys.readouterr()
    found = rows_of("all.afa")
    assert list(found) == ["a", "b", "c", "d", "e"]
    assert {name: found[name] for name in "abc"} == ROWS
    assert (found["d"], found["e"].replace("-", "")) == (ROWS["a"], "MKVMATHEWRIPDYFCWSTKAGKL")
    assert (folder / "all.afa").read_text().splitlines()[6] == ">d like a"
    assert main([*words, "new.fa"]) == 0
    assert capsys.readouterr().out == (folder / "all.afa").read_text()


def test_standard_input_and_the_alignment_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(NEW.encode())))
    assert main(["add", "-q", "--device", "reference", "old.sto", "-", "-o", "old.sto"]) == 0
    assert len(rows_of("old.sto")) == 5


def test_a_block_is_aligned_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = {name: text[:12] + text[12:22].replace("-", "").ljust(10, "-") + text[22:] for name, text in ROWS.items()}
    (folder / "broken.afa").write_text("".join(f">{name}\n{text}\n" for name, text in broken.items()))
    words = ["realign", "-q", "--device", "reference", "--columns", "13-22", "broken.afa"]
    assert main([*words, "-o", "better.afa"]) == 0
    assert "better.afa" in capsys.readouterr().out
    for name, text in rows_of("better.afa").items():
        assert text.replace("-", "") == broken[name].replace("-", "")
        assert text.startswith(broken[name][:12])
        assert text.endswith(broken[name][22:])
    assert rows_of("better.afa") != broken
    assert main(words) == 0
    assert capsys.readouterr().out == (folder / "better.afa").read_text()


NOTED = """# STOCKHOLM 1.0
#=GF ID family
#=GF SQ 2
#=GF Accuracy 0.9
#=GS a AC P1
a             ACDEF--GHIKL
#=GR a SS     HHHEE--CCCCC
b             ACDEFW.-HIKL
#=GR b SS     HHHEEC.-CCCC
#=GC RF       xxxxx..xxxxx
#=GC Accuracy 999990099999
//
"""


def test_what_stockholm_says_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of columns in their columns, of residues beside them; what was said of the whole is no longer true."""
    (folder / "noted.sto").write_text(NOTED)
    (folder / "c.fa").write_text(">c\nACDEFGHIKL\n")
    words = ["-q", "--device", "reference", "--format", "stockholm"]
    assert main(["add", *words, "noted.sto", "c.fa"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "# STOCKHOLM 1.0", "#=GF ID family", "#=GS a AC P1", "a         ACDEF--GHIKL", "#=GR a SS HHHEE--CCCCC",
        "b         ACDEFW.-HIKL", "#=GR b SS HHHEEC.-CCCC", "c         ACDEF--GHIKL", "#=GC RF   xxxxx..xxxxx", "//",
    ]  # fmt: skip
    assert main(["realign", *words, "--gapfactor", "0", "--columns", "5-9", "noted.sto"]) == 0
    lines = dict(line.rsplit(None, 1) for line in capsys.readouterr().out.splitlines() if " " in line)
    row, symbols = lines["a"], lines["#=GR a SS"]
    assert symbols.translate(str.maketrans("", "", ".-")) == "HHHEECCCCC"
    assert [letter != "-" for letter in row] == [symbol not in ".-" for symbol in symbols]
    assert lines["#=GC RF"] == "xxxx" + "." * (len(row) - 7) + "xxx"


@pytest.mark.parametrize("name", ["x.sto", "x.aln"])
def test_the_ending_says_what_is_written(name: str, folder: Path) -> None:
    assert main(["add", "-q", "--device", "reference", "-o", name, "old.sto", "new.fa"]) == 0
    assert (folder / name).read_text().startswith({"x.sto": "# STOCKHOLM", "x.aln": "CLUSTAL"}[name])
    assert sorted(rows_of(name)) == ["a", "b", "c", "d", "e"]

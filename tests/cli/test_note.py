"""Notes on the command line and in what is exported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run, write_note

pytestmark = pytest.mark.usefixtures("worker_here")

Capture = pytest.CaptureFixture[str]


def exported(run: Path, flag: str, capsys: Capture) -> list[str]:
    assert main(["export", str(run), flag, "-"]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_note_is_written_printed_and_removed(small_run: Path, capsys: Capture) -> None:
    run = str(small_run)
    assert main(["note", run, "seq2"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["note", run, "seq2", "a fragment,\n I think"]) == 0
    assert main(["note", "--profile", "motif", run, "seq1", "–"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["note", run, "seq2"]) == 0
    assert capsys.readouterr().out == "a fragment, I think\n"
    assert main(["note", run, "seq2", ""]) == 0
    with open_run(small_run) as found:
        assert found.notes() == {(0, 0): "–"}


@pytest.mark.parametrize(
    ("words", "messages"),
    [(["none", "x"], "motif"), (["seq1", "x" * 501], "501"), (["--profile", "other", "seq1"], "other")],
)
def test_what_makes_no_sense_is_reported(small_run: Path, capsys: Capture, words: list[str], messages: str) -> None:
    assert main(["note", str(small_run), *words]) == ExitCode.INPUT
    assert messages in capsys.readouterr().err
    with open_run(small_run) as found:
        assert found.notes() == {}


def test_hits_of_one_name_are_not_mixed_up(small_run: Path, capsys: Capture) -> None:
    with open_run(small_run, writable=True) as found:
        found.connection.execute("UPDATE targets SET name = 'seq1'")
        found.connection.commit()
    assert main(["note", str(small_run), "seq1", "x"]) == ExitCode.INPUT
    assert re.search(r"\b2 .*seq1", capsys.readouterr().err)


def test_profile_searches_export_notes_last(small_run: Path, capsys: Capture) -> None:
    before = {flag: exported(small_run, flag, capsys) for flag in ("--tsv", "--json", "--domtsv", "--tblout", "-o")}
    write_note(small_run, 0, 1, 'two "words"')
    after = {flag: exported(small_run, flag, capsys) for flag in before}
    assert after["--tsv"] == [*before["--tsv"][:2], before["--tsv"][2] + 'two "words"']
    assert after["--json"][0] == before["--json"][0]
    assert json.loads(after["--json"][1]) == {**json.loads(before["--json"][1]), "note": 'two "words"'}
    assert all(after[flag] == before[flag] for flag in ("--domtsv", "--tblout", "-o"))


def test_scans_export_notes_of_the_same_pair(small_run: Path, capsys: Capture) -> None:
    with open_run(small_run, writable=True) as found:
        found.set_facts(spec={**found.facts.spec, "direction": "scan"}, direction="scan")
    write_note(small_run, 0, 1, "mine")
    lines = [line.split("\t") for line in exported(small_run, "--tsv", capsys)]
    assert [(line[0], line[1], line[-1]) for line in lines[1:]] == [("seq1", "motif", ""), ("seq2", "motif", "mine")]


@pytest.fixture
def pair_run(tmp_path: Path) -> Path:
    """Two queries, each like two targets."""
    one, two = "MKVLAAGIVGLCAKWERT", "HHWYPPNDEEKRSTQCFM"
    (tmp_path / "q.fasta").write_text(f">one\n{one}\n>two\n{two}\n")
    (tmp_path / "t.fasta").write_text(f">both\n{one}{two}\n>other\n{two}AA{one}\n")
    words = ["-q", "--device", "reference", "--run", str(tmp_path / "r.clalign"), "-o", str(tmp_path / "r.txt")]
    assert main(["sw", *words, str(tmp_path / "q.fasta"), str(tmp_path / "t.fasta")]) == 0
    return tmp_path / "r.clalign"


def test_comparisons_of_sequences_export_notes_last(pair_run: Path, capsys: Capture) -> None:
    before = {flag: exported(pair_run, flag, capsys) for flag in ("--tsv", "--json", "--sam", "-o")}
    assert main(["note", str(pair_run), "both", "x"]) == ExitCode.INPUT
    assert "--query" in capsys.readouterr().err
    assert main(["note", "--query", "two", str(pair_run), "both", "the second half"]) == 0
    assert main(["note", "--query", "2", str(pair_run), "both"]) == 0
    assert capsys.readouterr().out == "the second half\n"
    lines = [line.split("\t") for line in exported(pair_run, "--tsv", capsys)]
    assert lines[0][-1] == "note"
    assert {(line[0], line[1]): line[-1] for line in lines[1:]} == {
        ("one", "both"): "", ("one", "other"): "", ("two", "both"): "the second half", ("two", "other"): ""
    }  # fmt: skip
    objects = map(json.loads, exported(pair_run, "--json", capsys))
    assert [found.get("note") for found in objects if found["query"]["name"] == "two"].count("the second half") == 1
    assert all(exported(pair_run, flag, capsys) == before[flag] for flag in ("--sam", "-o"))
    assert main(["export", str(pair_run), "--outfmt", "6 std", "-o", "-"]) == 0
    assert "half" not in capsys.readouterr().out

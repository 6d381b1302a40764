"""``clalign runs``: the library of runs on the command line."""

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ExitCode, RunBusy
from clalign.runs.connection import is_owned, owned
from clalign.runs.run_file import create_run, open_run
from clalign.tools import library

pytestmark = pytest.mark.usefixtures("worker_here")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))

    def make(name: str, state: Any = "done") -> Path:
        path = tmp_path / f"{name}.clalign"
        spec = SearchSpec(str(tmp_path / "globins.hmm"), str(tmp_path / "swissprot.fasta.gz"))
        create_run(path, engine="plan7", spec=spec.to_dict(), state=state).close()
        return path

    return make


def test_runs_are_listed_named_and_found_by_words(made: Callable[..., Path], capsys: Any) -> None:
    path = made("a")
    made("b")
    assert main(["runs", "name", str(path), "  my   first try "]) == 0
    assert capsys.readouterr().out == "my first try\n"
    assert main(["runs", "list", "FIRST", "globins", "--folder", str(path.parent), "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["name"], found["kind"], found["state"], found["path"]) == (
        "my first try",
        "hmmsearch",
        "done",
        str(path),
    )
    assert main(["runs", "name", str(path), ""]) == 0
    assert capsys.readouterr().out == "globins x swissprot\n"
    with open_run(path) as run:
        assert run.facts.name == ""


def test_a_run_is_deleted_only_when_that_is_meant(made: Callable[..., Path], capsys: Any) -> None:
    path = made("a")
    assert main(["runs", "delete", str(path)]) == 0
    assert path.exists()
    with owned(path), pytest.raises(RunBusy):
        library.delete(path)
    assert main(["runs", "delete", str(path), "--yes"]) == 0
    assert not path.exists()
    assert main(["runs", "delete", str(path), "--yes"]) != 0
    assert main(["runs", "compare", "alone"]) == ExitCode.USAGE


def test_what_is_no_run_is_listed_with_the_reason(made: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "bad.clalign").write_bytes(b"no run")
    made("a", state="running")
    with contextlib.closing(sqlite3.connect(made("newer"))) as connection:
        connection.execute("PRAGMA user_version = 2")
    entries = {entry.path.stem: entry for entry in library.listed(tmp_path)}
    assert entries["bad"].state == "unreadable"
    assert entries["bad"].problem
    assert (entries["newer"].state, entries["newer"].n_hits) == ("unreadable", 0)
    assert entries["newer"].problem
    for words in (["export", "-o", "-"], ["resume", "-q"], ["verify", "-q"]):
        assert main([*words, str(tmp_path / "newer.clalign")]) == ExitCode.UNREADABLE
    assert entries["a"].state == "stopped", "nobody works on it"
    with owned(tmp_path / "a.clalign"):
        assert is_owned(tmp_path / "a.clalign")
        assert library.look_at(tmp_path / "a.clalign").state == "elsewhere"
    assert not is_owned(tmp_path / "a.clalign")


def test_a_comparison_tells_which_hits_are_in_one_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = {
        "first": {("q", "a"): (10.0, 1e-3), ("q", "b"): (20.0, 1e-5)},
        "second": {("q", "b"): (25.0, 1e-6), ("q", "c"): (27.0, 1e-4)},
    }
    monkeypatch.setattr(library, "_best_hits", lambda path: hits[path.name])
    pairs = library.compare(Path("first"), Path("second"))
    assert library.counts(pairs) == {"both": 1, "first": 1, "second": 1}
    assert [(pair.target, pair.status) for pair in pairs] == [("c", "second"), ("a", "first"), ("b", "both")]
    assert list(library.comparison_lines(pairs))[1:] == [
        "q\tc\tsecond\t\t\t27\t0.0001\t",
        "q\ta\tfirst\t10\t0.001\t\t\t",
        "q\tb\tboth\t20\t1e-05\t25\t1e-06\t5",
    ]

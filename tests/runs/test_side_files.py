"""Files at the names that SQLite keeps beside a run: no other file is taken for one, overwritten or removed."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import clalign
from clalign.cli import main
from clalign.engines.export import export
from clalign.errors import ExitCode, InputError, OptionError, OutputError, RunExists
from clalign.runs.run_file import create_run, open_run
from clalign.runs.side_files import SIDE_FILES, remove_run
from clalign.tools import library

pytestmark = pytest.mark.usefixtures("worker_here")

SW = ("sw", "-q", "--device", "reference")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("q.fa").write_text(">q\nMKVLAAGIVLAAGIV\n")
    Path("d.fa").write_text(">a\nMKVLAAGIVLAAGIV\n")
    return tmp_path


@pytest.fixture
def run(files: Path) -> Path:
    clalign.sw("q.fa", "d.fa", "r.clalign", device="reference").close()
    return files / "r.clalign"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("ending", [".clalign-wal", ".clalign-shm", ".clalign-journal", ".stdin", ".fd-63", ".pipe-x"])
def test_no_output_takes_a_name_beside_the_run_that_is_made(files: Path, ending: str) -> None:
    before = contents(files)
    assert main([*SW, "--run", "r.clalign", "-o", f"r{ending}", "q.fa", "d.fa"]) == ExitCode.INPUT
    assert contents(files) == before


def test_no_output_takes_a_name_beside_a_run_that_is_there(run: Path) -> None:
    Path("link.clalign").symlink_to(run)
    before = contents(run.parent)
    for ending in SIDE_FILES:
        for name in ("r.clalign", "link.clalign"):
            assert main(["export", "r.clalign", "-o", name + ending]) == ExitCode.INPUT
            assert main(["resume", "-q", "r.clalign", "--tsv", name + ending]) == ExitCode.INPUT
            assert main(["picture", "r.clalign", "--kind", "scores", "-o", name + ending]) == ExitCode.INPUT
            with pytest.raises(OptionError):
                export(run, "text", name + ending)
        assert main([*SW, "--run", f"r.clalign{ending}", "-o", os.devnull, "q.fa", "d.fa"]) == ExitCode.CANNOT_WRITE
    assert contents(run.parent) == before


@pytest.mark.parametrize("ending", SIDE_FILES)
def test_a_run_is_not_made_beside_another_file(files: Path, ending: str) -> None:
    Path(f"r.clalign{ending}").write_text("mine")
    before = contents(files)
    assert main([*SW, "--run", "r.clalign", "-o", os.devnull, "q.fa", "d.fa"]) == ExitCode.CANNOT_WRITE
    with pytest.raises(OutputError):
        create_run(files / "r.clalign", engine="plan7")
    assert contents(files) == before


@pytest.mark.parametrize("ending", SIDE_FILES)
def test_a_run_is_not_opened_beside_another_file(run: Path, ending: str) -> None:
    beside = Path(f"r.clalign{ending}")
    beside.write_text("mine")
    before = contents(run.parent)
    for is_writable in (False, True):
        with pytest.raises(InputError):
            open_run(run, writable=is_writable)
    for words in (["export"], ["resume", "-q"], ["verify", "-q"], ["runs", "name"]):
        assert main([*words, "r.clalign", *(["name"] if "name" in words else [])]) == ExitCode.UNREADABLE
    assert contents(run.parent) == before
    beside.unlink()
    os.mkfifo(beside)
    with pytest.raises(InputError):
        open_run(run)
    beside.unlink()
    beside.symlink_to("q.fa")
    with pytest.raises(InputError):
        open_run(run)
    beside.unlink()
    open_run(run).close()


def test_a_copy_of_standard_input_is_not_taken_for_the_run(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b">q\nMKVL\n"), isatty=lambda: False))
    before = contents(files)
    assert main([*SW, "--run", "r.stdin", "-o", os.devnull, "-", "d.fa"]) == ExitCode.CANNOT_WRITE
    assert contents(files) == before


def test_what_sqlite_keeps_of_a_run_is_its_own(run: Path) -> None:
    with open_run(run, writable=True) as first:
        first.connection.execute("PRAGMA journal_mode = WAL")
        first.set_facts(name="first")
        copy = run.with_name("copy.clalign")
        for ending in ("", "-wal", "-shm"):
            shutil.copy(f"{run}{ending}", f"{copy}{ending}")
        with open_run(run) as second:
            assert second.facts.name == "first"
    for size in (0, 3, 4096, 28672, 32768):  # as SQLite makes it, page by page, before it is in use
        Path(f"{copy}-shm").write_bytes(bytes(size))
        with open_run(copy) as found:
            assert found.facts.name == "first"
    assert main(["runs", "delete", "--yes", str(copy)]) == ExitCode.DONE
    assert [path for path in run.parent.iterdir() if path.name.startswith("copy")] == []


WRITES = """
import sys
from pathlib import Path
from clalign.runs.run_file import open_run

with open_run(Path(sys.argv[1]), writable=True) as run:
    run.set_facts(name="second")
"""

HOLDS = f"""
import subprocess, sys
from pathlib import Path
from clalign.runs.run_file import open_run
from clalign.runs.side_files import database_beside

path = Path(sys.argv[1])
with open_run(path) as held:
    assert held.facts.name == "first"
    open_run(path).close()
    assert database_beside(f"{{path}}-wal") is not None
    subprocess.run([sys.executable, "-c", {WRITES!r}, path], check=True)
    print(held.facts.name, Path(f"{{path}}-wal").exists())
"""


def test_looking_at_a_run_leaves_the_locks_of_who_has_it_open(run: Path) -> None:
    with open_run(run, writable=True) as first:
        first.connection.execute("PRAGMA journal_mode = WAL")
        first.set_facts(name="first")
    done = subprocess.run([sys.executable, "-c", HOLDS, str(run)], stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "second True\n")


def test_only_runs_are_deleted(run: Path) -> None:
    made = {
        "text.clalign": lambda path: path.write_text("my thesis\n"),
        "empty.clalign": lambda path: path.touch(),
        "other.clalign": lambda path: sqlite3.connect(path).execute("CREATE TABLE mine (a)").connection.close(),
        "pipe.clalign": os.mkfifo,
        "folder.clalign": Path.mkdir,
        "link.clalign": lambda path: path.symlink_to(run),
        "dangling.clalign": lambda path: path.symlink_to("nowhere"),
    }
    for name, make in made.items():
        make(run.with_name(name))
    names, before = sorted(path.name for path in run.parent.iterdir()), contents(run.parent)
    for name in made:
        assert main(["runs", "delete", name]) == ExitCode.CANNOT_WRITE
        assert main(["runs", "delete", "--yes", "r.clalign", name]) == ExitCode.CANNOT_WRITE
        for remove in (library.delete, remove_run):
            with pytest.raises(OutputError):
                remove(run.with_name(name))
    assert sorted(path.name for path in run.parent.iterdir()) == names
    assert contents(run.parent) == before


def test_files_beside_a_deleted_run_stay(run: Path) -> None:
    for ending in SIDE_FILES:
        Path(f"r.clalign{ending}").write_text("mine")
    assert main(["runs", "delete", "--yes", "r.clalign"]) == ExitCode.DONE
    assert not run.exists()
    assert [Path(f"r.clalign{ending}").read_text() for ending in SIDE_FILES] == ["mine"] * 3


@pytest.mark.parametrize("n", [1, 15, 16, 71, 100, 4096, 0.5])
def test_a_damaged_run_is_deleted(run: Path, n: float) -> None:
    data = run.read_bytes()
    run.write_bytes(data[: n if isinstance(n, int) else int(n * len(data))])
    library.delete(run)
    assert not run.exists()


def test_a_run_that_is_named_twice_is_deleted_once(run: Path) -> None:
    assert main(["runs", "delete", "--yes", "r.clalign", str(run)]) == ExitCode.DONE
    assert not run.exists()


def test_a_new_run_says_at_once_whose_file_it_is(files: Path) -> None:
    with create_run(files / "new.clalign", engine="plan7"):
        assert Path("new.clalign").read_bytes()[68:72] == b"clal"
    with pytest.raises(RunExists):
        create_run(files / "new.clalign", engine="plan7")

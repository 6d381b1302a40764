"""Run files on a medium that is only read, and files that others hold: they open, or one sentence says why not."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clalign.errors import InputError, OutputError, RunBusy
from clalign.runs import connection as door
from clalign.runs.inputs import relocate
from clalign.runs.run_file import create_run, open_connection, open_run
from tests.run_facts import report_of


@pytest.fixture
def done_run(tmp_path: Path) -> Path:
    """A run that is done, in one file."""
    with create_run(tmp_path / "done.clalign", engine="plan7", state="done") as run:
        run.seal()
    return run.path


def only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As SQLite does it: it falls back to reading where the system lets it do no more."""
    connect = door.connect
    monkeypatch.setattr(door, "connect", lambda path, mode, *more: connect(path, mode.replace("rw", "ro"), *more))


def test_a_moved_input_of_a_run_that_cannot_be_written_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, moved = tmp_path / "a.clalign", tmp_path / "t.fa"
    moved.write_text(">a\nMKV\n")
    digest = "0b2d2c0bf1d5b0d8"
    spec = {"direction": "pairwise", "queries": "gone.fa", "targets": "gone.fa"}
    database = report_of(1, 3, digest=digest)
    with create_run(path, engine="plan7", spec=spec, database=database, state="done") as run:
        run.seal()
    monkeypatch.setattr("clalign.runs.inputs.digest_of", lambda path, context: digest)
    only_read(monkeypatch)
    with open_run(path, writable=True) as run, pytest.raises(OutputError, match="readonly"):
        relocate(run, [str(moved)])


def failing(code: int, *modes: str) -> Any:
    """Return what opens run files, but in some modes fails as SQLite does."""
    connect = door.connect

    def fail(path: Path, mode: str, *more: Any) -> Any:
        if mode in modes:
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = code
            raise error
        return connect(path, mode, *more)

    return fail


def test_a_log_that_cannot_be_shared_is_not_needed_where_nobody_writes(
    done_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder that is only read, where a file was left in the mode in which several write."""
    monkeypatch.setattr(door, "connect", failing(sqlite3.SQLITE_READONLY_DIRECTORY, "ro", "rw"))
    with pytest.raises(InputError, match="readonly"):
        open_run(done_run)
    with pytest.raises(OutputError, match=done_run.name):
        open_run(done_run, writable=True)
    monkeypatch.setattr(os, "access", lambda *about: False)
    with open_run(done_run) as run:
        assert run.state == "done"
    done_run.with_name(f"{done_run.name}-wal").write_bytes(b"what was written last")
    with pytest.raises(InputError, match=done_run.name):
        open_run(done_run)


def test_a_file_that_others_hold_while_its_tables_are_checked_is_busy(
    done_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_tables(*about: Any) -> None:
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error

    monkeypatch.setattr(door, "check_tables", check_tables)
    with pytest.raises(RunBusy):
        open_run(done_run)


@pytest.mark.parametrize("opened", [open_run, open_connection])
def test_what_was_cut_off_in_the_middle_of_writing_is_taken_back_by_who_reads(
    opened: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "a.clalign"
    with create_run(path, engine="plan7", spec={}, state="stopped") as run:
        run.seal()
    script = (
        "import os, sqlite3, sys\n"
        "writer = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "writer.execute('PRAGMA cache_size = 1')\n"
        "writer.execute('BEGIN')\n"
        "writer.execute('UPDATE facts SET value = ?', ('x' * 5,))\n"
        "for number in range(1000):\n"
        "    writer.execute('INSERT INTO facts VALUES (?, ?)', (f'fact {number}', 100 * 'y'))\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], timeout=60, check=False).returncode == 9
    assert path.with_name("a.clalign-journal").stat().st_size > 1000
    opened(path).close()
    with open_run(path) as run:
        assert run.state == "stopped"
        assert run.connection.execute("SELECT count(*) FROM facts WHERE name = 'fact 1'").fetchone() == (0,)
    assert not path.with_name("a.clalign-journal").exists()

"""Notes beside hits: written, replaced, removed, refused; files with and without them."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from clalign.errors import InputError, OptionError, OutputError, RunBusy
from clalign.runs import connection as door
from clalign.runs.notes import MAX_LENGTH, OF_HIT
from clalign.runs.run_file import create_run, open_run, write_note
from clalign.runs.sealing import seal_finished


def put_hit(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO targets VALUES (7, 'seven', '', '', 30)")
    connection.execute("INSERT INTO hits (query, row, score) VALUES (0, 7, 1.0)")
    connection.commit()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A finished run with one hit."""
    with create_run(tmp_path / "made.clalign", engine="plan7", state="done") as run:
        put_hit(run.connection)
        run.seal()
    return tmp_path / "made.clalign"


def notes_of(path: Path) -> dict[tuple[int, int], str]:
    with open_run(path) as run:
        return run.notes()


def test_a_note_comes_and_no_words_are_none(path: Path) -> None:
    assert notes_of(path) == {}
    assert write_note(path, 0, 7, "") == ""
    assert notes_of(path) == {}
    write_note(path, 0, 7, "a fragment")
    assert notes_of(path) == {(0, 7): "a fragment"}


def test_a_note_is_replaced_and_removed(path: Path) -> None:
    write_note(path, 0, 7, "one")
    write_note(path, 1, 7, "of another profile")
    write_note(path, 0, 7, "two")
    assert notes_of(path) == {(0, 7): "two", (1, 7): "of another profile"}
    write_note(path, 0, 7, " \n ")
    assert notes_of(path) == {(1, 7): "of another profile"}


def test_a_note_is_one_line(path: Path) -> None:
    assert write_note(path, 0, 7, "  first\r\nsecond\tthird ‹é›  ") == "first second third ‹é›"
    assert notes_of(path) == {(0, 7): "first second third ‹é›"}


def test_a_note_that_is_too_long_changes_nothing(path: Path) -> None:
    write_note(path, 0, 7, "kept")
    write_note(path, 0, 8, "x" * MAX_LENGTH)
    with pytest.raises(OptionError, match=rf"\b{MAX_LENGTH}\b.*\b{MAX_LENGTH + 1}\b"):
        write_note(path, 0, 7, "x" * (MAX_LENGTH + 1))
    assert notes_of(path)[0, 7] == "kept"


def test_readers_that_were_open_before_see_it(path: Path) -> None:
    with open_run(path) as run:
        assert run.notes() == {}
        assert run.connection.execute(f"SELECT {OF_HIT} FROM hits").fetchall() == [(None,)]
        write_note(path, 0, 7, "new")
        assert run.notes() == {(0, 7): "new"}
        assert run.connection.execute(f"SELECT {OF_HIT} FROM hits").fetchall() == [("new",)]


def test_a_file_that_cannot_be_written_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_note(path, 0, 7, "kept")
    before, connect = path.read_bytes(), door.connect
    # SQLite falls back to reading when the system lets it do no more.
    monkeypatch.setattr(door, "connect", lambda path, mode, *more: connect(path, "ro", *more))
    with pytest.raises(OutputError, match=r"made\.clalign .*readonly") as caught:
        write_note(path, 0, 7, "lost")
    assert "copy" in caught.value.hint
    assert not isinstance(caught.value, RunBusy)
    assert path.read_bytes() == before


def test_a_copy_of_the_file_alone_has_the_notes(tmp_path: Path) -> None:
    path, copy = tmp_path / "made.clalign", tmp_path / "copy.clalign"
    with create_run(path, engine="plan7", state="done") as run:
        put_hit(run.connection)
        reader = open_run(path)
        assert reader.notes() == {}
        run.seal()  # which the reader, a window, hinders
    write_note(path, 0, 7, "mine")
    shutil.copy(path, copy)
    with open_run(copy) as copied:
        assert copied.notes() == {(0, 7): "mine"}
    seal_finished(path)
    assert reader.notes() == {(0, 7): "mine"}
    reader.close()
    seal_finished(path)
    assert {one.name for one in tmp_path.iterdir()} >= {path.name}
    assert not list(tmp_path.glob("made.clalign-*")), "a finished run is one file"
    with open_run(path, writable=True) as run:
        run.set_facts(state="stopped")
        run.connection.execute("PRAGMA journal_mode = WAL")
        seal_finished(path)
        assert run.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.clalign"):
        write_note(tmp_path / "none.clalign", 0, 7, "x")
    (tmp_path / "text.clalign").write_text("something else altogether, and long enough to be read")
    with pytest.raises(InputError, match=r"text\.clalign"):
        write_note(tmp_path / "text.clalign", 0, 7, "x")


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_job_that_is_writing_is_not_disturbed(path: Path, mode: str) -> None:
    worker = sqlite3.connect(path)
    worker.execute(f"PRAGMA journal_mode = {mode}")
    worker.execute("BEGIN IMMEDIATE")
    worker.execute("INSERT INTO facts VALUES ('name', '\"half\"')")
    with pytest.raises(RunBusy, match=path.name) as caught:
        write_note(path, 0, 7, "too soon", patience=0.01)
    assert caught.value.hint
    worker.commit()
    worker.close()
    assert write_note(path, 0, 7, "now", patience=0.01) == "now"
    with open_run(path) as run:
        assert run.facts.name == "half"
        assert run.notes() == {(0, 7): "now"}


def test_a_job_waits_for_a_note(tmp_path: Path) -> None:
    """Notes of a run that is being written, from another thread all the time: no transaction of the job is lost."""
    path = tmp_path / "live.clalign"
    with create_run(path, engine="plan7", state="running") as run:
        written: list[str] = []
        writer = threading.Thread(target=lambda: written.extend(write_note(path, 0, n, f"n{n}") for n in range(40)))
        writer.start()
        for number in range(40):
            run.add_message("note", str(number))
        writer.join()
        assert len(run.messages()) == 40
        assert run.notes() == {(0, n): f"n{n}" for n in range(40)}
        assert written == [f"n{n}" for n in range(40)]


def test_a_note_outlives_its_hit(path: Path) -> None:
    write_note(path, 0, 7, "stays")
    with open_run(path, writable=True) as run:
        run.set_hits(0, [])
        assert run.notes() == {(0, 7): "stays"}

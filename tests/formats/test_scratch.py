"""Temporary folders: those of dead processes go, all others stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from clalign.cli.run_places import run_place
from clalign.formats import scratch
from clalign.formats.scratch import OWNER, Scratch, adopt, is_orphan, remove_orphans

LONG_AGO = 1e9

MAKES_ONE = """
import sys, time
from clalign.formats.scratch import Scratch
place = Scratch()
(place.path / "search.clalign").write_text("x")
print(place.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder: Path) -> Path:
    os.utime(folder / OWNER, (LONG_AGO, LONG_AGO))
    return folder


def test_the_folder_of_a_killed_process_goes_with_the_next_start(temporary: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", MAKES_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        folder = aged(Path(child.stdout.readline().decode().strip()))
        remove_orphans()
        assert (folder / "search.clalign").exists()
        child.kill()
        child.wait()
    assert is_orphan(folder)
    place = run_place(None)
    assert not folder.exists()
    assert list(temporary.iterdir()) == [place.path.parent]
    place.clear()
    assert list(temporary.iterdir()) == []


def test_a_run_that_was_announced_stays(temporary: Path) -> None:
    place = run_place(None)
    place.path.write_text("x")
    assert place.scratch
    aged(place.scratch.path)
    place.leave()
    remove_orphans()
    assert place.path.exists()


def test_what_is_not_marked_or_not_old_or_not_ours_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (temporary / "clalign-thesis").mkdir()
    (temporary / "clalign-thesis" / "thesis.txt").write_text("x")
    young, other, elsewhere = (Scratch() for _ in range(3))
    for place in (young, other, elsewhere):
        place._mark.close()
    aged(other.path)
    (temporary / "target").mkdir()
    os.rename(aged(elsewhere.path), temporary / "target" / "of-a-link")
    if sys.platform != "win32":
        (temporary / "clalign-link").symlink_to(temporary / "target" / "of-a-link")
        with monkeypatch.context() as patched:
            patched.setattr(os, "getuid", lambda: 123456)
            remove_orphans()
        assert other.path.exists()
    remove_orphans()
    assert not other.path.exists()
    assert young.path.exists()
    assert (temporary / "clalign-thesis" / "thesis.txt").exists()
    assert (temporary / "target" / "of-a-link" / OWNER).exists()


def test_a_run_that_is_taken_up_again_stays() -> None:
    place = Scratch()
    place._mark.close()
    aged(place.path)
    assert is_orphan(place.path)
    adopt(place.path)
    assert not is_orphan(place.path)


def test_a_file_system_without_locks_keeps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(scratch, "_locked", lambda number: False)
        place = Scratch()
    assert not (place.path / OWNER).exists()
    assert not is_orphan(place.path)
    assert time.time() > LONG_AGO

"""Standard streams that are closed, or that nobody reads: the files are written all the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from clalign.cli import main, program, watch
from clalign.errors import ExitCode

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams of POSIX")

COMMAND = (sys.executable, "-m", "clalign")


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A search of a sequence with itself that writes two files; its scratch folder is empty before."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    path = tmp_path / "a.fa"
    path.write_text(">one\nMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA\n")
    outputs = ["--tsv", str(tmp_path / "a.tsv"), "-o", str(tmp_path / "a.txt")]
    return ["sw", "--device", "reference", *outputs, str(path), str(path)]


def left_in(folder: Path) -> set[str]:
    """Return which of the outputs of the search are there, and what is left in its scratch folder."""
    outputs = {path.name for path in folder.iterdir() if path.suffix in (".tsv", ".txt")}
    return outputs | {path.name for path in (folder / "scratch").glob("clalign-*")}


def unread_pipe() -> int:
    """Return the end to write to of a pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.thorough(mode=["json"])
@pytest.mark.parametrize("mode", ["plain", "json"])
def test_a_reader_of_standard_error_that_goes_ends_nothing(mode: str, search: list[str], tmp_path: Path) -> None:
    pipe = unread_pipe()
    assert subprocess.run([*COMMAND, *search, "--progress", mode], stderr=pipe, check=False).returncode == 0
    assert left_in(tmp_path) == {"a.tsv", "a.txt"}
    done = subprocess.run([*COMMAND, "sw", str(tmp_path / "none"), search[-1]], stderr=pipe, check=False)
    os.close(pipe)
    assert done.returncode == ExitCode.UNREADABLE


@pytest.mark.thorough(closed=[">&- 2>&-"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_end_nothing(closed: str, search: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *search], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr
    assert left_in(tmp_path) == {"a.tsv", "a.txt"}


def test_a_closed_standard_input_is_reported(search: list[str], tmp_path: Path) -> None:
    words = [*COMMAND, *search[:-1], "-"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.UNREADABLE
    assert done.stderr.startswith("clalign: standard input: ")
    assert left_in(tmp_path) == set()


FULL = Path("/dev/full")


@pytest.mark.thorough(words=["search"], buffering=[[]])
@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("words", [["--help"], ["hmmsearch", "--help"], ["cache"], ["devices"], "search"])
@pytest.mark.parametrize("buffering", [[], ["-u"]])
def test_a_full_disk_behind_standard_output_is_reported(
    buffering: list[str], words: list[str] | str, search: list[str]
) -> None:
    asked = [*search[:3], "-q", *search[-2:]] if words == "search" else words
    command = [sys.executable, *buffering, "-m", "clalign", *asked]
    for is_reported in (True, False):
        with FULL.open("w") as full:
            standard_error = subprocess.PIPE if is_reported else full
            done = subprocess.run(command, stdout=full, stderr=standard_error, text=True, check=False)
        assert done.returncode == ExitCode.CANNOT_WRITE
        if is_reported:
            assert re.search("^clalign: .*No space left on device", done.stderr, re.MULTILINE)
            assert "Traceback" not in done.stderr
            assert "Exception ignored" not in done.stderr


@pytest.mark.thorough(encoding=["utf-16", "undefined"])
@pytest.mark.parametrize(
    ("encoding", "written"),
    [("utf-16", "utf-16"), ("utf-32", "utf-32"), ("utf-7", "utf-7"), ("cp1252", "cp1252"), ("idna", "utf-8"),
     ("undefined", "utf-8"), ("utf-16:strict", "utf-16")],
)  # fmt: skip
def test_a_worker_is_understood_in_every_encoding(encoding: str, written: str, search: list[str]) -> None:
    words = [*COMMAND, *search[:3], "-q", *search[-2:]]
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(words, capture_output=True, env=variables, timeout=120, check=False)
    assert done.returncode == 0
    assert "Query: one (" in done.stdout.decode(written)


@pytest.mark.parametrize("buffering", [[], ["-u"]])
def test_a_reader_of_standard_output_has_read_enough(buffering: list[str]) -> None:
    pipe = unread_pipe()
    command = [sys.executable, *buffering, "-m", "clalign", "--help"]
    done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_pipe_that_breaks_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(program, "_run", broken)
    assert main(["devices"]) == ExitCode.CANNOT_WRITE
    assert capfd.readouterr().err.startswith("clalign: ")


def test_a_fault_leaves_no_scratch_behind(
    search: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(*_: object) -> None:
        raise RuntimeError("made up")

    monkeypatch.setattr(watch, "_follow", fault)
    assert main(search) == ExitCode.ENGINE
    assert "made up" in capsys.readouterr().err
    assert left_in(tmp_path) == set()

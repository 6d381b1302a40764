"""What the environment may hold: levels of the log, few open files, folders whose names are no UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.children import own_command
from clalign.cli import main
from clalign.cli.environment import NEEDED_FILES, log_level
from clalign.errors import ExitCode

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILE, TARGETS = str(GOLDEN / "profiles" / "katdna_ls.hmm"), str(GOLDEN / "sequences" / "kat.fa")


@pytest.mark.parametrize("level", ["loud", "10", " "])
def test_a_level_of_the_log_that_is_none_is_refused(
    level: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLALIGN_LOG", level)
    assert main(["cache"]) == ExitCode.INPUT
    told = capsys.readouterr().err
    assert f'CLALIGN_LOG is "{level}"' in told
    assert "Set it to one of DEBUG" in told


@pytest.mark.parametrize(("level", "number"), [("", 30), ("info", 20), ("DEBUG", 10), ("loud", 30)])
def test_an_empty_level_of_the_log_is_that_of_warnings(
    level: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLALIGN_LOG", level)
    assert log_level() == number


def test_a_worker_takes_an_empty_level(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLALIGN_LOG", "")
    assert main(["hmmsearch", "-q", "--device", "reference", "--tsv", "-", "-o", os.devnull, PROFILE, TARGETS]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("n", [5, 8, 16, NEEDED_FILES - 1])
def test_too_few_open_files_are_told(n: int) -> None:
    done = limited(f"-n {n}", "devices")
    assert done.returncode == ExitCode.INPUT
    assert f"Only {n} files may be open at a time" in done.stderr
    assert "ulimit -n 1024" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_few_open_files_are_enough_where_more_are_allowed() -> None:
    for limit in ("-S -n 12", f"-n {NEEDED_FILES}"):
        done = limited(limit, "hmmsearch", "-q", "--device", "auto", "--tsv", "-", "-o", os.devnull, PROFILE, TARGETS)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("\n") > 1


def limited(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *own_command(*words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)

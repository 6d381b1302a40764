"""The sequential program in C++, and what is said where it cannot be had."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clalign.errors import Cancelled
from clalign.jobs import JobContext, QuietContext
from clalign.labs.laboratory import DONE
from clalign.labs.measuring import NOT_REACHED
from clalign.labs.plain_program import COMPILERS, FLAGS, plain_rows
from clalign.labs.smith_waterman_ladder import random_pairs
from clalign.labs.smith_waterman_rungs import SCORING
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE

PAIRS, LENGTH, SEED = 4, 30, 5


SCRIPTS = pytest.mark.skipif(sys.platform == "win32", reason="A script stands for the compiler.")


class Stopped(QuietContext):
    """Asks to stop once the compiler was started."""

    def __init__(self, started: Path) -> None:
        self._started = started

    def check(self) -> None:
        if self._started.exists():
            raise Cancelled


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Make a script the compiler, which runs some lines, with the path of the program as `$program`, and writes it."""

    def install(lines: str, program: str) -> None:
        script = tmp_path / "c++"
        of_program = f"cat >$program <<'END'\n#!/bin/sh\n{program}\nEND\nchmod +x $program\n"
        script.write_text(f"#!/bin/sh\nprogram=$3\n{of_program}{lines}\n")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    return install


def rows(context: JobContext | None = None, ends: float = math.inf) -> list[dict[str, object]]:
    """Return what is found of each way to compile."""
    return list(plain_rows(FLAGS, PAIRS, LENGTH, SEED, context or QuietContext(), ends).values())


@pytest.fixture
def scores() -> list[int]:
    return [one.score for one in SMITH_WATERMAN_TRACE.reference(random_pairs(PAIRS, LENGTH, SEED), SCORING)]


def test_the_program_finds_the_scores_of_the_reference() -> None:
    found = plain_rows({"C++ -O3", "sequential"}, PAIRS, LENGTH, SEED, QuietContext())
    assert set(found) == {"C++ -O3"}
    row = found["C++ -O3"]
    if any(map(shutil.which, COMPILERS)):
        assert row["status"] == DONE
        assert row["equal"]
        assert row["total_seconds"] > 0
    else:
        assert row["reason"] == "No compiler of C++ is installed."


def printing(seconds: float, scores: list[int]) -> str:
    """Return a program with this output."""
    return f"echo {' '.join(map(str, [seconds, *scores]))}"


@SCRIPTS
def test_right_scores_have_a_time(compiler: Callable[[str, str], None], scores: list[int]) -> None:
    compiler("", printing(0.25, scores))
    assert [(row["total_seconds"], row["equal"]) for row in rows()] == [(0.25, True)] * 2


@SCRIPTS
@pytest.mark.parametrize("place", [0, 1])
def test_another_score_is_noticed(compiler: Callable[[str, str], None], scores: list[int], place: int) -> None:
    scores[place] += 1
    compiler("", printing(0.25, scores))
    assert [(row["status"], row["equal"]) for row in rows()] == [(DONE, False)] * 2


@SCRIPTS
@pytest.mark.parametrize(
    ("lines", "program", "reason"),
    [
        ("echo no such option >&2; exit 1", "echo", "The compiler failed: no such option"),
        ("rm $program; echo no such option >&2; exit 1", "echo", "The compiler failed: no such option"),
        ("", "echo no memory >&2; exit 3", "The program failed (3): no memory"),
        ("", "kill -9 $$", "The program failed (-9): "),
        ("chmod -x $program", "echo", "The system could not start the compiler or its program (Permission denied)."),
        ("rm $program", "echo", "The system could not start the compiler or its program (No such file or directory)."),
    ],
    ids=["compiler", "no program", "program", "killed", "forbidden", "missing"],
)  # fmt: skip
def test_what_fails_is_reported(compiler: Callable[[str, str], None], lines: str, program: str, reason: str) -> None:
    compiler(lines, program)
    assert [(row["status"], row["reason"]) for row in rows()] == [("not run", reason)] * 2


@SCRIPTS
def test_a_program_without_output_is_wrong(compiler: Callable[[str, str], None]) -> None:
    compiler("", "exit 0")
    assert [(row["status"], row["equal"]) for row in rows()] == [(DONE, False)] * 2


@SCRIPTS
def test_a_slow_compiler_can_be_stopped(compiler: Callable[[str, str], None], tmp_path: Path) -> None:
    started = tmp_path / "started"
    compiler(f"touch {started}; exec sleep 60", "echo")
    began = time.monotonic()
    with pytest.raises(Cancelled):
        rows(Stopped(started))
    assert time.monotonic() - began < 30


@SCRIPTS
def test_a_slow_compiler_has_the_time_that_was_given(compiler: Callable[[str, str], None]) -> None:
    compiler("exec sleep 60", "echo")
    began = time.monotonic()
    assert [row["reason"] for row in rows(ends=began + 0.5)] == [NOT_REACHED] * 2
    assert time.monotonic() - began < 30


def test_without_a_compiler_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert {row["status"] for row in plain_rows(FLAGS, PAIRS, LENGTH, SEED, QuietContext()).values()} == {"not run"}

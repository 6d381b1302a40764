"""The sequential program in C++, and what is said where it cannot be had."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from clalign.jobs import QuietContext
from clalign.labs import plain_program
from clalign.labs.laboratory import DONE
from clalign.labs.plain_program import COMPILERS, FLAGS, plain_rows
from clalign.labs.smith_waterman_ladder import random_pairs
from clalign.labs.smith_waterman_rungs import SCORING
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE

PAIRS, LENGTH, SEED = 4, 30, 5


def rows(monkeypatch: pytest.MonkeyPatch, returncode: int, output: str) -> dict[str, dict[str, object]]:
    """Return the rows where compiler and program end so."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    ended = subprocess.CompletedProcess([], returncode, output, "no such option")
    monkeypatch.setattr(plain_program, "ask", lambda command, seconds: ended)
    return plain_rows(FLAGS, PAIRS, LENGTH, SEED, QuietContext())


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


def test_right_scores_have_a_time(monkeypatch: pytest.MonkeyPatch, scores: list[int]) -> None:
    for row in rows(monkeypatch, 0, "\n".join(map(str, [0.25, *scores]))).values():
        assert (row["total_seconds"], row["equal"]) == (0.25, True)


def test_another_score_is_noticed(monkeypatch: pytest.MonkeyPatch, scores: list[int]) -> None:
    scores[1] += 1
    for row in rows(monkeypatch, 0, "\n".join(map(str, [0.25, *scores]))).values():
        assert (row["status"], row["equal"]) == (DONE, False)


def test_a_compiler_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in rows(monkeypatch, 1, "").values():
        assert (row["status"], row["reason"]) == ("not run", "The compiler failed: no such option")


def test_without_a_compiler_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert {row["status"] for row in plain_rows(FLAGS, PAIRS, LENGTH, SEED, QuietContext()).values()} == {"not run"}

"""A long pair that is stopped on the command line goes on where it was, with the result of one that never stopped."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.errors import ExitCode
from clalign.system.processes import own_command

LETTERS = np.frombuffer(b"ACGT", np.uint8)
LENGTH = 60_000
"""Residues, so that a pair takes many times as long as a processor computes at a time."""

MAX_READINGS = 300.0
"""Seconds that a command may take on a busy machine."""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that aligns a pair, without its run."""
    folder, rng = tmp_path_factory.mktemp("pair"), np.random.default_rng(7)
    query = rng.choice(LETTERS, LENGTH)
    target = np.delete(query, rng.integers(0, LENGTH, 600))
    target[rng.integers(0, len(target), 6000)] = rng.choice(LETTERS, 6000)
    for name, codes in (("query", query), ("target", target)):
        (folder / f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), codes.tobytes()))
    return ["sw", "--long", "--device", "cpu", str(folder / "query.fa"), str(folder / "target.fa")]


def start(command: str, *words: str) -> subprocess.Popen[str]:
    columns = "6 score qstart qend sstart send cigar"
    words = (command, "--progress", "json", "--outfmt", columns, *words)
    return subprocess.Popen(own_command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def cells_done(line: str) -> float:
    """Return how many cells a line of progress tells of; 0 if it tells of something else."""
    event: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
    value = event.get("value")
    is_search = event.get("kind") == "progress" and isinstance(value, dict) and value["stage"] == "search"
    return float(value["done"]) if is_search and isinstance(value, dict) else 0.0


def n_kept(run: Path) -> int:
    """Return the rows of what is kept of pairs that are not done."""
    with closing(sqlite3.connect(run)) as connection:
        there = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'pairwise_checkpoints'")
        if not there.fetchone()[0]:
            return 0
        return int(connection.execute("SELECT count(*) FROM pairwise_checkpoints").fetchone()[0])


@pytest.fixture(scope="module")
def whole(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The alignment that nobody disturbs."""
    run = tmp_path_factory.mktemp("whole") / "whole.clalign"
    process = start(*words, "--run", str(run))
    out, messages = process.communicate(timeout=MAX_READINGS)
    assert process.returncode == 0, messages
    assert out.count("\t") == 5
    return out


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)]
)
def test_a_pair_that_a_signal_stops_goes_on(
    number: signal.Signals, code: ExitCode, words: list[str], whole: str, tmp_path: Path
) -> None:
    run = tmp_path / "stopped.clalign"
    process = start(*words, "--run", str(run))
    assert process.stderr
    before = next(filter(None, map(cells_done, process.stderr)), 0.0)
    process.send_signal(number)
    out, messages = process.communicate(timeout=MAX_READINGS)
    assert process.returncode == code, messages
    assert "\t" not in out, "no pair is done"
    assert before < LENGTH**2 / 2, "much of it is left"
    assert n_kept(run) > 1
    process = start("resume", str(run))
    out, messages = process.communicate(timeout=MAX_READINGS)
    assert process.returncode == 0, messages
    assert next(filter(None, map(cells_done, messages.splitlines()))) >= before > 0
    assert out == whole
    assert n_kept(run) == 0
    assert sorted(os.listdir(tmp_path)) == ["stopped.clalign"]

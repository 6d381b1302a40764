"""Options that HMMER refuses together are refused here, too, and no others."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.cli.options import spec_of
from clalign.cli.parser import UsageError
from clalign.cli.program import parser_of
from clalign.engines.engine import engine_named
from clalign.errors import ExitCode

ROOT = Path(__file__).parents[2]
NEWER = ROOT / "resources" / "examples" / "rrm_1_hmmer3.hmm"
OLDER = ROOT / "tests" / "golden" / "profiles" / "rrm_ls.hmm"
TARGETS = ROOT / "tests" / "golden" / "hmmer3" / "sequences" / "odd.fa"

VALUES = {
    "-E": "10", "-T": "1", "--domE": "10", "--domT": "1", "--incE": "0.01", "--incT": "1", "--incdomE": "0.01",
    "--incdomT": "1", "--cut_ga": "", "--cut_nc": "", "--cut_tc": "", "--max": "", "--F1": "0.02", "--F2": "1e-3",
    "--F3": "1e-5", "--nobias": "", "--nonull2": "", "-Z": "10", "--domZ": "10", "--seed": "42", "--noali": "",
    "--acc": "", "--notextw": "", "--textw": "130", "-o": "{}/text", "--tblout": "{}/hits", "--domtblout": "{}/domains",
    "--pfamtblout": "{}/pfam", "--cpu": "1",
}  # fmt: skip
"""Every option of both programs, many at its default: HMMER refuses what is given, whatever the value."""

CUTOFFS = ("--cut_ga", "--cut_nc", "--cut_tc")
THRESHOLDS = ("-E", "-T", "--domE", "--domT", "--incE", "--incT", "--incdomE", "--incdomT")

REFUSED = {
    ("-E", "-T"), ("--domE", "--domT"), ("--incE", "--incT"), ("--incdomE", "--incdomT"),
    *itertools.product(THRESHOLDS, CUTOFFS), *itertools.combinations(CUTOFFS, 2),
    ("--max", "--F1"), ("--max", "--F2"), ("--max", "--F3"), ("--max", "--nobias"), ("--notextw", "--textw"),
}  # fmt: skip
"""The pairs that hmmsearch and hmmscan 3.3.2 end at, all with exit code 1."""


def words_of(flags: tuple[str, ...], folder: Path) -> list[str]:
    return [word for flag in flags for word in (flag, VALUES[flag].format(folder)) if word]


def is_refused(name: str, words: list[str], profiles: Path) -> bool:
    parser, engine = parser_of(name), engine_named("plan7")
    assert parser is not None
    try:
        arguments = parser.parse_args([*words, str(profiles), str(TARGETS)])
    except UsageError:
        return True
    command = engine.command(name)
    return command.conflict(vars(arguments), spec_of(arguments, engine, command)) is not None


@pytest.mark.thorough(command=["hmmsearch"])
@pytest.mark.parametrize("command", ["hmmsearch", "hmmscan"])
def test_the_pairs_that_hmmer_refuses_and_no_others(command: str, tmp_path: Path) -> None:
    pairs = list(itertools.combinations(VALUES, 2))
    refused = {pair for pair in pairs if is_refused(command, words_of(pair, tmp_path), NEWER)}
    assert refused == REFUSED
    assert not [flag for flag in VALUES if is_refused(command, words_of((flag,), tmp_path), NEWER)]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("hmmsearch") is None, reason="HMMER 3 is not installed")
def test_the_list_is_that_of_hmmer(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text(">a\nMKVL\n")
    refused = set()
    for pair in itertools.combinations(VALUES, 2):
        command = ["hmmsearch", *words_of(pair, tmp_path), str(NEWER), str(targets)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "is incompatible with" in done.stdout:
            assert done.returncode == 1
            refused.add(pair)
    assert refused == REFUSED


def test_both_limits_count_for_hmmer2_profiles(tmp_path: Path) -> None:
    pairs = [pair for pair in REFUSED if is_refused("hmmsearch", words_of(pair, tmp_path), OLDER)]
    assert sorted(pairs) == sorted([*itertools.combinations(CUTOFFS, 2), ("--notextw", "--textw")])


def test_profiles_from_standard_input_are_judged_and_not_left_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clalign", "hmmsearch", "--cut_ga", "--domT", "3", "-", str(TARGETS)]
    done = subprocess.run(
        command, input=NEWER.read_bytes(), capture_output=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == ExitCode.USAGE
    assert b"--cut_ga and --domT" in done.stderr
    assert not list(tmp_path.glob("clalign*"))

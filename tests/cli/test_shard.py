"""`clalign shard` and `clalign merge`: a search in parts by its planned commands and its script."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import clalign
from clalign.cli import main
from clalign.databases.loading import load_database
from clalign.errors import ExitCode

PROFILE, PROTEINS = clalign.example("rrm_1.hmm"), clalign.example("swissprot_sample.fasta.gz")
SEARCH = ["hmmsearch", "-E", "1e-3", PROFILE, PROTEINS]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_of_parts_sums_up_to_the_database(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard", "7", *SEARCH]) == 0
    lines = [line.replace(",", "").split() for line in capsys.readouterr().out.splitlines()[1:8]]
    database = load_database(PROTEINS)[0]
    assert [line[0] for line in lines] == [f"{number}/7" for number in range(1, 8)]
    assert sum(int(line[1]) for line in lines) == len(database)
    assert sum(int(line[2]) for line in lines) == database.n_residues


def test_commands_of_parts_and_merge_make_the_outputs_of_one_search(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shard", "2", "--commands", *SEARCH]) == 0
    commands = capsys.readouterr().out.splitlines()
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    assert main(["merge", *map(str, here.glob("parts/*.clalign")), "-o", "whole.clalign"]) == 0
    assert "Merged 2 parts" in capsys.readouterr().err
    assert main(["export", "whole.clalign", "--tsv", "merged.tsv"]) == 0
    assert main([*SEARCH, "--tsv", "one.tsv", "-o", "one.txt"]) == 0
    assert Path("merged.tsv").read_bytes() == Path("one.tsv").read_bytes()
    assert len(Path("one.tsv").read_text().splitlines()) > 2


@pytest.mark.skipif(sys.platform == "win32", reason="schedulers of Windows take no scripts of this kind")
def test_the_script_searches_the_part_that_a_scheduler_names(here: Path) -> None:
    assert main(["shard", "2", "--script", "my search.sh", *SEARCH]) == 0
    program = here / "clalign"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clalign "$@"\n')
    program.chmod(0o755)
    for number, variable in enumerate(("SLURM_ARRAY_TASK_ID", "SGE_TASK_ID"), 1):
        asked = {"PATH": "/usr/bin:/bin", "CLALIGN": str(program), variable: str(number)}
        subprocess.run(["bash", "my search.sh"], check=True, env=asked, capture_output=True)
    again = subprocess.run(
        ["bash", "my search.sh", "2"], env={"PATH": "/usr/bin:/bin", "CLALIGN": str(program)}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "complete already" in again.stderr
    assert sorted(path.name for path in here.glob("parts/*")) == [
        "hmmsearch-1-of-2.clalign", "hmmsearch-2-of-2.clalign"
    ]  # fmt: skip
    none = subprocess.run(["bash", "my search.sh"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert (none.returncode, "Which of the 2 parts?" in none.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["shard", "3"], "no search after the number of parts"),
        (["shard", "0", *SEARCH], "0"),
        (["shard", "3", "align", "a.fa"], "needs all of its sequences at once"),
        (["shard", "3", *SEARCH, "--tblout", "a"], "--tblout is the same for no two parts"),
        (["shard", "3", *SEARCH, "--shard", "1/2"], "--shard is the same"),
        (["shard", "3", "hmmsearch", "a.hmm", "-"], "Standard input"),
        (["shard", "3", "sw", "--pairs", "a", "b"], "Given pairs"),
        (["shard", "3", "hmmsearch", "--nonsense", "a", "b"], "unknown option --nonsense"),
        (["align", "--shard", "1/2", "a.fa"], "only searches are made in parts"),
        (["hmmsearch", "--shard", "5/4", PROFILE, PROTEINS], '--shard is "5/4"'),
        (["merge", "nothing.clalign", "-o", "whole.clalign"], "does not exist"),
        (["merge", "nothing.clalign"], "-o"),
    ],
)
def test_what_makes_no_sense_is_told(
    words: list[str], told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) in (ExitCode.USAGE, ExitCode.INPUT, ExitCode.UNREADABLE)
    assert told in capsys.readouterr().err
    assert not list(here.iterdir())

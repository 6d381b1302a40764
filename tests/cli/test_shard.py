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

pytestmark = pytest.mark.usefixtures("worker_here")

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
    assert main(["export", "whole.clalign", "--tsv", "merged.tsv"]) == 0
    assert main([*SEARCH, "--tsv", "one.tsv", "-o", "one.txt"]) == 0
    assert Path("merged.tsv").read_bytes() == Path("one.tsv").read_bytes()
    assert len(Path("one.tsv").read_text().splitlines()) > 2


def test_a_part_without_sequences_has_no_queries(here: Path) -> None:
    three, written = clalign.example("three_proteins.fasta"), 0
    for number in range(1, 9):
        words = ["hmmscan", "-q", "--device", "reference", "--shard", f"{number}/8", "-o", "out"]
        assert main([*words, clalign.example("rrm_1_hmmer3.hmm"), three]) == 0
        written += Path("out").read_text().count("Query:")
    assert written == 3


@pytest.mark.thorough
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
    assert "clalign: " in again.stderr
    assert sorted(path.name for path in here.glob("parts/*")) == [
        "hmmsearch-1-of-2.clalign", "hmmsearch-2-of-2.clalign"
    ]  # fmt: skip
    none = subprocess.run(["bash", "my search.sh"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert (none.returncode, bool(none.stderr)) == (2, True)


@pytest.fixture
def noting(here: Path) -> Path:
    """A program that notes what it is called with, in place of clalign; its name is odd as well."""
    program = here / "it's $(exit 7)" / "clalign"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$@" >> "$NOTED"\n')
    program.chmod(0o755)
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="schedulers of Windows take no scripts of this kind")
@pytest.mark.parametrize("odd", ["two  spaces", "it's", '"$HOME`id`"', "back\\slash", "*?[a]", "-dash", "two\nlines"])
def test_names_come_as_they_are_to_the_commands_of_parts(
    odd: str, here: Path, noting: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(noting.parent), prepend=":")
    monkeypatch.setenv("NOTED", str(here / "noted"))
    (here / odd).write_bytes(Path(PROTEINS).read_bytes())
    is_one_line = "\n" not in odd
    script, folder = ("-script.sh", f"{odd} parts") if is_one_line else ("script.sh", "parts")
    search = ["hmmsearch", "--", PROFILE, odd]
    assert main(["shard", "2", f"--script={script}", f"--folder={folder}", *search]) == 0
    clear = f"./{folder}" if folder.startswith("-") else folder
    run = f"{clear}/hmmsearch-2-of-2.clalign"
    subprocess.run(["bash", "--", script, "2"], check=True, capture_output=True)
    messages = (here / "noted").read_text().split("\0")
    flags = ["--shard", "2/2", "--run", run]
    assert messages == ["hmmsearch", *flags, "--progress", "plain", "-o", "/dev/null", *search[1:], ""]
    assert (here / folder).is_dir()
    capsys.readouterr()
    assert (main(["shard", "2", "--commands", f"--folder={folder}", *search]) == 0) is is_one_line
    if is_one_line:
        command = capsys.readouterr().out.splitlines()[1]
        (here / "noted").unlink()
        subprocess.run(["sh", "-c", command], check=True)
        assert (here / "noted").read_text().split("\0") == ["hmmsearch", *flags, "-o", "/dev/null", *search[1:], ""]


@pytest.mark.parametrize("flag", ["--script", "--folder"])
def test_names_with_line_ends_would_be_commands_in_the_comments_of_a_script(
    flag: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shard", "2", flag, "a\nexit", "--script", "b\nexit", *SEARCH]) == ExitCode.INPUT
    assert "exit" in capsys.readouterr().err
    assert not list(here.iterdir())

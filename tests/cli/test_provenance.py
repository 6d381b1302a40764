"""Texts and tables that have a place for it say what made them: version, command, checksums of inputs, device, date."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

import clalign
from clalign.cli import main
from clalign.errors import ExitCode

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
PROTEINS = EXAMPLES / "three_proteins.fasta"

MADE = [
    ("hmmsearch", "rrm_1.hmm", "-o"),
    ("hmmscan", "rrm_1.hmm", "-o"),
    ("hmmsearch", "globins4.hmm", "-o"),
    ("hmmscan", "globins4.hmm", "-o"),
    *(("hmmsearch", "globins4.hmm", flag) for flag in ("--tblout", "--domtblout")),
    ("hmmscan", "globins4.hmm", "--tblout"),
    ("sw", "three_proteins.fasta", "-o"),
    ("sw", "three_proteins.fasta", "--sam"),
]


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize(("command", "query", "flag"), MADE)
def test_a_file_says_what_made_it(command: str, query: str, flag: str, tmp_path: Path) -> None:
    made, inputs = tmp_path / "made", [EXAMPLES / query, PROTEINS]
    assert main([command, "-q", "--device", "reference", flag, str(made), *map(str, inputs)]) == ExitCode.DONE
    text = made.read_text("utf-8")
    assert clalign.__version__ in text
    assert f"clalign {command} " in text
    assert "Reference (NumPy)" in text
    assert re.search(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}", text)
    found = {tuple(line.split("  ", 1)) for line in re.findall(r"SHA-256: +(.*)", text)}
    assert found == {(hashlib.sha256(path.read_bytes()).hexdigest(), str(path)) for path in inputs}


def test_sha256sum_checks_the_inputs(tmp_path: Path) -> None:
    made, copy = tmp_path / "made", tmp_path / "proteins.fasta"
    copy.write_bytes(PROTEINS.read_bytes())
    words = ["-q", "--device", "reference", "--tblout", str(made), str(EXAMPLES / "globins4.hmm"), str(copy)]
    assert main(["hmmsearch", *words]) == ExitCode.DONE
    sums = "".join(f"{line}\n" for line in re.findall(r"# SHA-256: +(.*)", made.read_text("utf-8")))
    check = ["sha256sum", "--check", "--status"]
    assert subprocess.run(check, input=sums, text=True, check=False).returncode == 0
    copy.write_text(">other\nACD\n", encoding="utf-8")
    assert subprocess.run(check, input=sums, text=True, check=False).returncode == 1

"""``clalign accuracy`` from end to end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from clalign.cli import main

REFERENCE = ">a\nACd-\n>b\nACdE\n"
TEST = ">b\nA-CDE\n>a\nAC-D-\n>more\nACCDE\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("tests", "references"):
        (tmp_path / name).mkdir()
    (tmp_path / "test.afa").write_text(TEST)
    (tmp_path / "reference.afa").write_text(REFERENCE)
    return tmp_path


def test_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accuracy", "test.afa", "reference.afa", "reference.afa"]) == 0
    assert capsys.readouterr().out == (
        "   AMA        SP       PPV        TC    Alignment\n"
        "0.7143    0.6667    1.0000    0.6667    test.afa\n"
        "1.0000    1.0000    1.0000    1.0000    reference.afa\n"
    )
    assert main(["accuracy", "--core", "test.afa", "reference.afa"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "0.6000    0.5000    1.0000    0.5000    test.afa"


def test_what_has_no_measure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "reference.afa").write_text(">a\nA-\n>b\n-C\n")
    assert main(["accuracy", "reference.afa", "reference.afa"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "1.0000         -         -         -    reference.afa"
    assert main(["accuracy", "--json", "reference.afa", "reference.afa"]) == 0
    assert json.loads(capsys.readouterr().out)["alignments"][0]["sp"] is None


def test_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """References are found by their names, those of BAliBASE before others, and means are told."""
    (folder / "tests" / "one.afa").write_text(TEST)
    (folder / "tests" / "two.fasta").write_text(REFERENCE)
    (folder / "references" / "one.tfa").write_text(">a\nACD\n")
    (folder / "references" / "two.fa").write_text(REFERENCE)
    (folder / "references" / "three.fa").write_text(REFERENCE)
    (folder / "references" / "one.xml.gz").write_bytes(gzip.compress(
        b"<macsim><seq-name>a</seq-name><seq-data>ACD-</seq-data>"
        b"<seq-name>b</seq-name><seq-data>ACDE</seq-data></macsim>"
    ))  # fmt: skip
    assert main(["accuracy", "--json", "tests", "references"]) == 0
    messages = capsys.readouterr()
    assert messages.err.startswith("clalign: 1 of 3 ")
    found = json.loads(messages.out)
    assert (found["schema"], found["columns"]) == (1, "all")
    assert [one["reference"] for one in found["alignments"]] == [
        str(Path("references") / name) for name in ("one.xml.gz", "two.fa")
    ]
    assert found["alignments"][0]["common_pairs"] == 2
    (mean,) = found["means"]
    assert (mean["test"], mean["n"], mean["ama"]) == ("tests", 2, pytest.approx((5 / 7 + 1) / 2))
    assert main(["accuracy", "tests", "references"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0.8571    0.8333    1.0000    0.8333    mean of 2 in tests"

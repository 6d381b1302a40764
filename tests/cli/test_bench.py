"""``clalign bench`` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.errors import ExitCode

pytestmark = pytest.mark.usefixtures("worker_here")

SMALL = ("--nodes", "15", "--residues", "30000")


def bench(*words: str) -> int:
    return main(["bench", "-q", *words])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "here.json"
    assert bench("--device", "reference", *SMALL, "--json", str(path)) == 0
    return path


@pytest.mark.thorough
def test_table_and_document(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(kept.read_text())
    assert document["kind"] == "comparison"
    assert document["job"]["n_residues"] == 30_000
    assert bench("--import", str(kept)) == 0
    text = capsys.readouterr().out
    assert text.startswith("15 nodes against")
    assert "Reference (NumPy) (here)  identical" in text


@pytest.mark.thorough
def test_same_job_here_and_there(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--device", "reference", "--import", str(kept), "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    assert [row.get("machine") for row in document["devices"]] == [None, "here"]
    assert all(row["identical"] for row in document["devices"])


def test_different_scores_have_their_exit_code(kept: Path, tmp_path: Path) -> None:
    document = json.loads(kept.read_text())
    document["devices"][0]["sample_equal"] = False
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(document))
    assert bench("--import", str(path)) == ExitCode.DIFFERENT


def test_another_job_is_reported_before_measuring(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--device", "reference", "--nodes", "99", "--import", str(kept)) == ExitCode.INPUT
    assert "15" in capsys.readouterr().err

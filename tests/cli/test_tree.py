"""``clalign tree`` from end to end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from Bio import Phylo

from clalign.cli import main
from clalign.errors import ExitCode
from clalign.tools import guide_trees

pytestmark = pytest.mark.usefixtures("worker_here")

ROWS = {
    "a": "ACDEFGHIKLMNPQRSTVWY",
    "b": "ACDEFGHIKLMNPQRSTVWW",
    "c": "ACDEFGHIKLYYYYYSTVWW",
    "d": "ACDEFGHIKLYYYYYAAAWW",
}
PROBS = "(0, 0) ~ (1, 0) => 0.9\n(0, 1) ~ (1, 1) => 0.5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.afa").write_text("".join(f">{name}\n{text}\n" for name, text in ROWS.items()))
    (tmp_path / "two.afa").write_text(">a\nAC\n>b\nAC\n")
    (tmp_path / "three.afa").write_text(">a\nAC\n>b\nAC\n>c\nA-\n")
    (tmp_path / "two.probs").write_text(PROBS)
    return tmp_path


def test_newick_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares of differences of these rows are additive: 1, 5, 3 of 20 columns along the path from a to d."""
    assert main(["tree", "--distance", "p", "a.afa"]) == 0
    tree = Phylo.read(io.StringIO(capsys.readouterr().out), "newick")
    paths = {"ab": 1, "ac": 6, "ad": 9, "bc": 5, "bd": 8, "cd": 3}
    for (one, other), columns in paths.items():
        assert tree.distance(one, other) == pytest.approx(columns / 20, abs=1e-6)


def test_all_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tree", "--midpoint", "--matrix", "d.tsv", "--draw", "t.svg", "-o", "t.nwk", "a.afa"]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    assert (folder / "d.tsv").read_text().splitlines()[0] == "name\ta\tb\tc\td"
    assert (folder / "t.svg").read_text().startswith("<svg")
    assert len(Phylo.read(folder / "t.nwk", "newick").root.clades) == 2
    assert main(["tree", "--matrix", "-", "a.afa"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "    4", "the tree is not wanted there, too"


def test_distances_by_posteriors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", "--distance", "posterior", "--probs", "two.probs", "--matrix", "-", "two.afa"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["a", "0.000000", "0.300000"]


def test_too_many_sequences_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide_trees, "MAX_SEQUENCES", 3)
    assert main(["tree", "a.afa"]) == ExitCode.UNREADABLE
    assert "a.afa: 4 " in capsys.readouterr().err

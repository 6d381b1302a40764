"""``clalign explain`` tells of every step, and agrees with the search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.explain import explanation_lines
from clalign.errors import ExitCode

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
GOLDEN = Path(__file__).parents[1] / "golden"
GLOBINS = str(EXAMPLES / "globins4.hmm")
BUILT = str(GOLDEN / "sequences" / "built.fa")

STAGES = ["msv", "bias", "viterbi", "forward", "domains", "reported"]


def names_of(table: Path) -> list[str]:
    return [line.split()[0] for line in table.read_text().splitlines() if not line.startswith("#")]


def test_every_step_of_a_hit_and_of_a_miss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "hits.tbl"
    words = ["-q", "--device", "reference"]
    assert main(["hmmsearch", *words, "--tblout", str(table), "-o", str(tmp_path / "x"), GLOBINS, BUILT]) == 0
    hits = names_of(table)
    every = [line[1:].split()[0] for line in Path(BUILT).read_text().splitlines() if line.startswith(">")]
    missed = [name for name in every if name not in hits]
    assert hits
    assert missed
    for name in (hits[0], missed[0]):
        assert main(["explain", *words, "--json", GLOBINS, BUILT, name]) == 0
        value = json.loads(capsys.readouterr().out)
        assert value["target"] == name
        assert [step["stage"] for step in value["steps"]][:4] == STAGES[:4]
        came = [step for step in value["steps"] if step["ran"]]
        assert all(step["passed"] for step in came) == (name in hits)
        text = "\n".join(explanation_lines(value))
        assert value["verdict"].split(",")[0] in text
        assert text.count("passed") >= len(came)


def test_the_profile_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "two.hmm"
    library.write_text(Path(GLOBINS).read_text() + (GOLDEN / "profiles" / "globins_ls.hmm").read_text())
    name = Path(BUILT).read_text().split()[0][1:]
    assert main(["explain", "-q", str(library), BUILT, name]) == ExitCode.INPUT
    assert "Choose one with --profile" in capsys.readouterr().err
    assert main(["explain", "-q", "--device", "reference", "--profile", "2", str(library), BUILT, name]) == 0
    assert "Viterbi score" in capsys.readouterr().out
    assert main(["explain", "-q", "--profile", "3", str(library), BUILT, name]) == ExitCode.INPUT
    assert "holds no profile 3" in capsys.readouterr().err


def test_unknown_sequences_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-q", "--device", "reference", GLOBINS, BUILT, "nobody"]) == ExitCode.UNREADABLE
    assert 'no sequence is named "nobody"' in capsys.readouterr().err
    assert main(["explain", "-q", GLOBINS, "/no/such/file", "x"]) == ExitCode.UNREADABLE
    assert main(["explain", "-q", GLOBINS, "-", "x"]) == ExitCode.INPUT


def test_no_two_numbers_on_different_sides_of_a_limit_look_alike() -> None:
    step = {"stage": "bias", "label": "Bias filter", "text": "", "pvalue": 0.021, "limit": 0.02, "ran": True}
    steps = [
        {**step, "score": -3.24, "threshold": -3.21, "passed": False},
        {**step, "score": None, "threshold": -3.21, "pvalue": 0.0, "passed": True},
    ]
    value = {"profile": "p", "target": "t", "length": 9, "steps": steps, "verdict": "v"}
    close, beyond = explanation_lines(value)[4:6]
    assert close.split()[2:4] == ["-3.24", "-3.21"]
    assert beyond.split()[2:5] == ["inf", "-3.2", "<1e-300"]

"""Pairwise searches whose E-values are adjusted to the composition of each pair."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.engines.pairwise.explain import explain_pair
from clalign.engines.pairwise.report_text import explanation_lines
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.errors import OptionError
from clalign.formats.matrices import load_matrix
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import AMINO, encode
from clalign.values.composition import lambda_factors
from clalign.values.devices import REFERENCE
from clalign.values.karlin_altschul import Statistics
from clalign.values.sequences import SequenceBatch

sys.path.insert(0, str(Path(__file__).parent))
from pairwise_cases import changed, fasta, make_inputs, random_text, records, search

LIMIT = 0.01


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A query rich in S, E and K, and targets: like it, as rich as it, and neither."""
    rng, folder = np.random.default_rng(11), tmp_path_factory.mktemp("biased")
    shares = np.array([8.0 if letter in "SEK" else 1.0 for letter in AMINO.canonical])

    def rich(n: int) -> str:
        return "".join(rng.choice(list(AMINO.canonical), n, p=shares / shares.sum()))

    query = rich(90)
    targets = [(f"alike{i}", changed(rng, "amino", query)) for i in range(4)]
    targets += [(f"rich{i}", rich(100 + 7 * i)) for i in range(12)]
    targets += [(f"part{i}", random_text(rng, "amino", 80) + query[9 * i : 9 * i + 24]) for i in range(6)]
    targets += [(f"other{i}", random_text(rng, "amino", 90)) for i in range(6)]
    return fasta(folder / "q.fa", [("q", query)]), fasta(folder / "t.fa", targets)


def adjusted(run: RunFile, inputs: tuple[Path, Path]) -> list[tuple[float, str]]:
    """E-value and name of every hit of a run that is not adjusted, with the factor put in."""
    (_, query), texts = records(inputs[0])[0], dict(records(inputs[1]))
    known = Statistics.from_dict(run.card(0)["statistics"])
    values = []
    for hit in run.hits(0):
        batch = SequenceBatch.from_texts([encode(texts[hit.name])])
        factor = float(lambda_factors(load_matrix("BLOSUM62"), encode(query), batch)[0])
        values.append((known.evalue(hit.raw * factor), hit.name))
    return sorted(values)


def test_hits_are_those_of_adjusted_evalues(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    with search(inputs, tmp_path / "off.clalign", evalue=1e6) as run:
        plain = {hit.name: hit.evalue for hit in run.hits(0)}
        expected = [(value, name) for value, name in adjusted(run, inputs) if value <= LIMIT]
    with search(inputs, tmp_path / "all.clalign", evalue=LIMIT, composition="scale") as run:
        found = [(hit.evalue, hit.name) for hit in run.hits(0)]
        assert "composition" in run.card(0)["statistics_words"]
        assert verify_pairwise(run, None, 20, REFERENCE, QuietContext())["differing"] == 0
    assert [name for _, name in found] == [name for _, name in expected]
    assert [value for value, _ in found] == pytest.approx([value for value, _ in expected], rel=1e-9)
    # It must have mattered: some are left out, and the order is another one.
    assert 3 < len(found) < sum(value <= LIMIT for value in plain.values())
    with search(inputs, tmp_path / "top.clalign", evalue=LIMIT, composition="scale", top=3) as run:
        assert [hit.name for hit in run.hits(0)] == [name for _, name in found[:3]]


def test_an_explanation_tells_the_factor(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    with search(inputs, tmp_path / "a.clalign", composition="scale") as run:
        hit = next(iter(run.hits(0)))
        value = explain_pair(run, 0, hit.name, lambda _: REFERENCE, QuietContext())
        lost = explain_pair(run, 0, "other0", lambda _: REFERENCE, QuietContext())
    assert 0.5 <= value["factor"] < 1.0
    assert (value["bits"], value["evalue"]) == pytest.approx((hit.score, hit.evalue), rel=1e-9)
    lines = "\n".join(explanation_lines(value))
    assert f"Lambda:   0.267 x {value['factor']:.4g} = " in lines
    assert "not reported" in lost["verdict"]


@pytest.mark.parametrize(
    "options", [{"statistics": "fitted"}, {"in_step": True}, {"mode": "global"}, {"gap_first": 40, "gap_next": 3}]
)
def test_where_nothing_can_be_adjusted_it_is_refused(
    inputs: tuple[Path, Path], tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(OptionError) as caught:
        search(inputs, tmp_path / "a.clalign", composition="scale", **options)
    assert "--composition scale" in caught.value.hint


def test_nucleic_acids_are_not_adjusted(tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        search(make_inputs(tmp_path, "dna"), tmp_path / "a.clalign", composition="scale")

"""A small run made by hand, so that its outputs can be foretold letter by letter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.engines.plan7.spec import SearchSpec
from clalign.runs.batches import BatchResult
from clalign.runs.run_file import RunFile, create_run
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, Hit, Scores
from tests.run_facts import DEVICE, report_of

CARD: dict[str, Any] = {
    "name": "motif", "accession": "PF1", "description": "A motif", "length": 4, "alphabet": "amino",
    "origin": "hmmer2", "consensus": "ACDE", "cutoffs": {"ga": [20.0, 10.0], "tc": None, "nc": None},
    "calibration": {"mu": -10.0, "lambda": 0.5}, "facts": {}, "reference": "", "structure": "HHTT",
    "report_score": 1.0, "include_score": 5.0,
}  # fmt: skip


def domain(number: int, states: str, rows: tuple[str, str, str], **more: Any) -> Domain:
    values: dict[str, Any] = {
        "score": 12.345678, "bias": 0.006, "evalue": 1.23456789e-5, "query_range": (0, 4), "target_range": (0, 4),
        "raw": 12346, **more,
    }  # fmt: skip
    return Domain(number=number, envelope=values["target_range"], states=states, text=AlignmentText(*rows), **values)


def hit(row: int, name: str, domains: tuple[Domain, ...], **more: Any) -> Hit:
    values: dict[str, Any] = {
        "accession": "", "description": "", "length": 9, "score": 12.345678, "bias": 0.006, "evalue": 1.23456789e-5,
        "raw": 12346, "n_domains": len(domains), **more,
    }  # fmt: skip
    return Hit(row=row, input_index=row, name=name, domains=domains, is_significant=values["evalue"] <= 0.01, **values)


def hits() -> tuple[Hit, ...]:
    whole = domain(1, "MMMM", ("ACDE", "A DE", "AWDE"), target_range=(0, 4))
    inserted = domain(
        2, "MIIMDM", ("A..CDE", "A++  E", "Ag-W-E"), query_range=(0, 4), target_range=(4, 9), score=9.0, evalue=2e-3
    )
    tail = domain(1, "MM", ("DE", "DE", "DE"), query_range=(2, 4), target_range=(1, 3), score=-3.0, evalue=5.0)
    return (
        hit(0, "seq1", (whole, inserted), accession="Q1", description="first  one\twith tab", score=21.345678),
        hit(1, "seq2", (tail,), description="second", score=-3.0, evalue=5.0),
    )


def fill(run: RunFile, found: tuple[Hit, ...], state: str = "done") -> None:
    run.set_cards([CARD])
    scores = Scores(np.arange(3, dtype=np.int64), np.array([21346, -3000, -20000], np.int32))
    run.add_batch(BatchResult(0, 0, 3, scores, found, 1e3, 0.1, "by hand"))
    run.set_facts(state=state, device=DEVICE, versions={"clalign": "9.9"}, n_targets=3, database=report_of(3, 27))


@pytest.fixture
def small_run(tmp_path: Path) -> Path:
    path = tmp_path / "small.clalign"
    with create_run(path, engine="plan7", spec=SearchSpec("motif.hmm", "seqs.fa").to_dict()) as run:
        fill(run, hits())
    return path


@pytest.fixture
def stopped_run(tmp_path: Path) -> Path:
    path = tmp_path / "stopped.clalign"
    with create_run(path, engine="plan7", spec=SearchSpec("motif.hmm", "seqs.fa").to_dict()) as run:
        fill(run, hits(), "stopped")
        run.set_facts(database=report_of(12, 90, 2))
    return path


@pytest.fixture
def empty_run(tmp_path: Path) -> Path:
    path = tmp_path / "empty.clalign"
    with create_run(path, engine="plan7", spec=SearchSpec("motif.hmm", "seqs.fa").to_dict()) as run:
        fill(run, ())
    return path

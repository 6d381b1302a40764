"""What the simulation of large clusters is made of: units that nobody computes, and results that were made before."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from clalign.engines.plan7.survivors import Survivors, pack_survivors
from clalign.execution.units import Unit
from clalign.runs.batches import pack_scores
from clalign.runs.run_file import BatchResult
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, Hit, Scores

UNIT_ROWS = 64
NODES = 200
CELLS = 1e11
"""Of a unit; at the mean rate it takes a second."""

CARD = {
    "accession": "PF00000.1", "description": "A family that is made up", "length": NODES, "alphabet": "amino",
    "origin": "hmmer2", "consensus": "", "reference": None, "structure": None, "facts": {}, "cutoffs": {},
    "calibration": None,
}  # fmt: skip


class Rows:
    """Rows of a unit."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def n_cells(self, model_length: int) -> int:
        """Return the cells."""
        return int(CELLS * self.n / UNIT_ROWS)


class Cutter:
    """Cuts units of the same size."""

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a unit ends."""
        return min(last, first + max(1, int(UNIT_ROWS * share)))

    def batch(self, first: int, last: int) -> Rows:
        """Return rows."""
        return Rows(last - first)

    def measure(self, cells: float, seconds: float) -> None:
        """Do nothing."""

    def shrink(self, batch: Rows) -> bool:
        """Do nothing."""
        return False


class Search:
    """Describes the best target of a query."""

    length = NODES

    def described(self, raw: int, row: int) -> dict[str, Any]:
        """Return what a run keeps."""
        return {"name": f"UniRef90_{row}", "score": raw / 1000, "evalue": 1e-3}


class Stock:
    """Results of units, made once: to make them is the business of executors.

    Parameters
    ----------
    n_hits : float
        Of a unit, on average.
    n_scores : int
        Sequences of a unit as the run file keeps their scores.
    """

    def __init__(self, n_hits: float, n_scores: int = UNIT_ROWS, n_survivors: int = 2) -> None:
        chance = np.random.default_rng(1)
        self.n_hits, self.chance = n_hits, random.Random(1)
        scores = chance.normal(-8000, 3000, n_scores).astype(np.int32)
        self.scores = Scores(np.arange(n_scores, dtype=np.int64), scores)
        self.packed = pack_scores(scores)
        rows = np.arange(n_survivors, dtype=np.int64)
        numbers = chance.normal(5, 2, n_survivors).astype(np.float32)
        reached = np.ones(n_survivors, np.uint8)
        self.kept = {"plan7_batches": pack_survivors(Survivors(rows, numbers, numbers, numbers, numbers, reached))}
        text = AlignmentText("ACDEFGHIKL" * 15, "ACDE+GHI L" * 15, "ACDEYGHIVL" * 15)
        domain = Domain(
            number=1, score=55.5, bias=0.1, evalue=1e-12, profile_range=(0, 150), target_range=(20, 170),
            envelope=(20, 170), raw=55500, states="M" * 150, text=text,
        )  # fmt: skip
        self.hit: dict[str, Any] = {
            "accession": "", "description": "A protein that is made up OS=Nobody OX=9606", "length": 350,
            "score": 55.5, "bias": 0.1, "evalue": 1e-12, "raw": 55500, "n_domains": 1, "domains": (domain,),
            "is_included": True,
        }  # fmt: skip

    def hits(self, unit: Unit[Any]) -> tuple[Hit, ...]:
        """Return hits in a unit."""
        n = int(self.n_hits) + (self.chance.random() < self.n_hits % 1)
        rows = sorted(self.chance.sample(range(unit.first, unit.last), min(n, unit.last - unit.first)))
        return tuple(Hit(row=row, input_index=row, name=f"UniRef90_{row:09d}", **self.hit) for row in rows)

    def result(self, unit: Unit[Any], device: str, seconds: float) -> BatchResult:
        """Return what a device found in a unit."""
        return BatchResult(
            unit.query.number, unit.first, unit.last, self.scores, self.hits(unit),
            CELLS * (unit.last - unit.first) / UNIT_ROWS, seconds, device, self.packed, self.kept,
        )  # fmt: skip

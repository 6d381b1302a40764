"""The rungs of the Smith-Waterman ladder, and what was published of them.

Published: CUDA on a GeForce RTX 3060, the sequential program in C++ on one core of a Ryzen 5 7600; 1000 pairs of 512
random nucleotides each, match +1, mismatch -1, each residue of a gap -2, with the path of the best alignment.
"""

from __future__ import annotations

from clalign.compute.sessions import AnyStage
from clalign.labs.ladder import RungOfPairs
from clalign.labs.publications import published_figures
from clalign.stages.pairwise.smith_waterman_ladder import PairLadderChoices, PairLadderStage, SequentialLadderStage
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.devices import Device
from clalign.values.scoring import GapCosts, Scoring, SubstitutionMatrix
from clalign.values.text_columns import Row

PAIRS, LENGTH = 1000, 512
SCORING = Scoring(SubstitutionMatrix.match_mismatch(1, -1), GapCosts(2, 2))

PUBLISHED_DEVICE = "GeForce RTX 3060"


def _figures() -> dict[str, Row]:
    found = published_figures("001", "h", "i", "d")
    first = found["sequential"]["total_seconds"]
    unknown = dict.fromkeys(("kernel_seconds", "copy_seconds"))
    return {
        name: {**unknown, **figures, "speedup": round(first / figures["total_seconds"], 2)}
        for name, figures in found.items()
    }


PUBLISHED = _figures()
"""Seconds by the rung's name; a speed-up compares whole times."""


class PairRung(RungOfPairs, frozen=True):
    """One row of the ladder."""

    def stage(self, device: Device) -> AnyStage:
        """Return the stage, with a work-group that the device allows."""
        if self.choices is not None:
            return PairLadderStage(self.choices.within(device))
        return SequentialLadderStage() if self.on_one_core else SMITH_WATERMAN_TRACE


PAIR_RUNGS = (
    PairRung("sequential", "one core, cell after cell, whole matrices"),
    PairRung("global", "a work-group a pair; matrices in global memory, copied back", PairLadderChoices()),
    PairRung("maximum", "the same, but the best cell is found on the device", PairLadderChoices(maximum="device")),
    PairRung(
        "local",
        "three diagonals of scores in local memory; directions copied back",
        PairLadderChoices(scores="local", maximum="device"),
    ),
    PairRung(
        "path",
        "the same, but the path is walked on the device",
        PairLadderChoices(scores="local", maximum="device", path="device"),
    ),
    PairRung("program", "the program's own kernel"),
)

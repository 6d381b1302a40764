"""The rungs of the pair HMM's ladder, and what was published of them.

Published: FSA with CUDA on a GeForce GTX 480, the sequential program in C++ on one core of an i7 860; seconds of one
pair of 1417 and 1460 residues, minutes of a whole run with 73 proteins.
"""

from __future__ import annotations

from clalign.labs.ladder import RungOfPairs
from clalign.labs.ladder_rungs import PROGRAM_SHAPES
from clalign.labs.publications import Figures, published_figures
from clalign.stages.pairhmm.pair_hmm_ladder import (
    AllPairsStage,
    Lap,
    PairHmmLadderBase,
    PairHmmLadderChoices,
    PairHmmLadderStage,
    SequentialStage,
)
from clalign.values.devices import Device

SIZES = ((1182, 1199), (1417, 1460), (1949, 2205))
"""Residues of x and y: the smallest, the mean and the largest pair of the published run."""

X, Y = SIZES[1]
PAIRS = 849
"""Lengths and number of the pairs of the published run."""

COUNTS_OF_PAIR = 4
"""How often a run needs the expected counts of a pair: two rounds of learning from all pairs and two from this one."""

PUBLISHED_DEVICE = "GeForce GTX 480"

SWEEPS = ("forward", "backward", "baum_welch")


def _figures() -> dict[str, Figures]:
    found = published_figures("003", "figure 6.7", "figure 6.1", "figure 6.3", "figure 6.8", "figure 6.2", "figure 6.4")
    first = found["sequential"]["run_minutes"]
    return {name: {**figures, "speedup": round(first / figures["run_minutes"], 3)} for name, figures in found.items()}


PUBLISHED = _figures()
"""By the rung's name; a speed-up compares whole runs."""


class PairHmmRung(RungOfPairs, frozen=True):
    """One row of the ladder."""

    @property
    def is_for_all(self) -> bool:
        """Whether it computes all pairs at once."""
        return self.name in PROGRAM_SHAPES

    @property
    def option(self) -> str | None:
        """The compiler's option that the rung tries, or None: what that does to the results is to be seen."""
        compiler = self.choices.compiler if self.choices else "strict"
        return compiler if compiler != "strict" else None

    def obstacle(self, device: Device) -> str | None:
        """Return why it cannot be had on a device, or None."""
        kind = PROGRAM_SHAPES.get(self.name, "")
        return f"This shape is made for {kind.upper()}s." if kind not in ("", device.kind) else None

    def stage(self, device: Device, lap: Lap) -> PairHmmLadderBase:
        """Return the stage, with a work-group that the device allows; `lap` is called after each of its parts."""
        if self.choices is not None:
            return PairHmmLadderStage(self.choices.within(device), lap)
        return SequentialStage(lap) if self.on_one_core else AllPairsStage(self.name, lap)


PAIR_HMM_RUNGS = (
    PairHmmRung("sequential", "one core, cell after cell, whole tables"),
    PairHmmRung("cells", "1: a work-item a cell, a launch a diagonal", PairHmmLadderChoices()),
    PairHmmRung("local", "2: the same, terms are added in local memory", PairHmmLadderChoices("local")),
    PairHmmRung(
        "states", "3: the same, a work-item a state of a cell", PairHmmLadderChoices("local", "state", group=480)
    ),
    PairHmmRung(
        "states+mad",
        "the same, products and sums rounded once",
        PairHmmLadderChoices("local", "state", "-cl-mad-enable", group=480),
    ),
    PairHmmRung(
        "states+relaxed",
        "the same, with the compiler's least exact arithmetic",
        PairHmmLadderChoices("local", "state", "-cl-fast-relaxed-math", group=480),
    ),
    PairHmmRung("lanes", "the program's kernel: all pairs at once, a work-group a pair"),
    PairHmmRung("vector", "the program's kernel: all pairs at once, a core a pair, explicit vectors"),
)

"""HMMER3's filters one after the other: what passes one is listed on the device for the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.local_profiles import LocalProfile
from clalign.reference.filters import FilterLimits, Passage, passage
from clalign.sequences import SequenceBatch
from clalign.sessions import Check, nothing_to_check

__all__ = ["FILTERS", "FilterLimits", "FilterModel", "Filtered", "FiltersStage", "Passage", "passage"]

PASSED_MSV, PASSED_BIAS, PASSED_VITERBI, PASSED_FORWARD = 1, 2, 3, 4
"""How many filters a target has passed, in `Filtered.reached`."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class FilterModel:
    """A calibrated profile and what lets a target pass."""

    profile: LocalProfile
    limits: FilterLimits


@dataclass(frozen=True, slots=True)
class Filtered:
    """What became of the targets of a batch. Scores in nats.

    Attributes
    ----------
    msv : float32[n]
        Of every target; infinite where HMMER's bytes overflow, not a number without residues.
    rows : int32[m]
        Rising positions in the batch of those that passed the MSV filter.
    bias, viterbi, forward : float32[m]
        Their scores in the later filters, not a number where a filter was not run. Without the
        bias filter its score is that of the null model.
    reached : uint8[m]
        How many filters they passed: `PASSED_MSV`, `PASSED_BIAS`, `PASSED_VITERBI` (or it was left
        out), `PASSED_FORWARD`.
    """

    msv: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]
    bias: npt.NDArray[np.float32]
    viterbi: npt.NDArray[np.float32]
    forward: npt.NDArray[np.float32]
    reached: npt.NDArray[np.uint8]


class FiltersStage:
    """All filters on every sequence of a batch; the lists of what passes never leave the device."""

    name = "filters"

    def start(self, session: Any, batch: SequenceBatch, model: FilterModel) -> Callable[[], Filtered]:
        """Enqueue all filters; nothing waits for the host between them."""
        if len(batch) == 0:
            return lambda: self.reference(batch, model)
        from clalign.stages.filter_cascade import Cascade

        return Cascade(session, batch, model).start()

    def reference(self, batch: SequenceBatch, model: FilterModel, check: Check = nothing_to_check) -> Filtered:
        """Send target after target through the plain filters."""
        msv = np.full(len(batch), np.nan, np.float32)
        passed: list[tuple[int, Passage]] = []
        for row in range(len(batch)):
            check()
            codes = batch.residues(row)
            if not len(codes):
                continue
            found = passage(codes, model.profile, model.limits)
            msv[row] = found.msv
            if found.reached:
                passed.append((row, found))

        def column(name: str) -> npt.NDArray[np.float32]:
            return np.array([getattr(found, name) for _, found in passed], np.float32)

        return Filtered(
            msv=msv,
            rows=np.array([row for row, _ in passed], np.int32),
            bias=column("bias"),
            viterbi=column("viterbi"),
            forward=column("forward"),
            reached=np.array([found.reached for _, found in passed], np.uint8),
        )


FILTERS = FiltersStage()

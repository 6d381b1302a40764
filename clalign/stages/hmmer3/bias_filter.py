"""HMMER3's bias filter on any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import Geometry, in_turns
from clalign.compute.sessions import Buffer, Check, KernelSession
from clalign.stages.hmmer3.model_groups import Form, Together
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.values.devices import Device
from clalign.values.local_profiles import LocalProfile, composition_odds
from clalign.values.local_scores import composition_steps

GROUP = 64
ITEMS = 512
"""Work-items for each compute unit of a GPU; a CPU has one."""


class BiasFilterStage(ScoringStage):
    """The bias filter's score of every sequence of a batch in nats."""

    name = "bias_filter"
    entry = "bias_filter"

    def shape_on(self, device: Device) -> str:
        """Return the only shape."""
        return "item"

    def _score(self, codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Check) -> float:
        from clalign.reference.bias_filter import bias_filter_score

        return bias_filter_score(codes, profile, check)

    def _terms(self, terms: LengthBuffers) -> tuple[Buffer, ...]:
        return terms.null_loop, terms.null

    def _form(self, session: KernelSession, profile: LocalProfile) -> Form:
        steps = composition_steps(profile.length)
        numbers = (steps.leave, steps.stay)
        return Form(self.defines, "composition", lambda one: [composition_odds(one)], numbers=numbers)

    def _geometry(self, device: Device, chosen: RowList) -> Callable[[Together], Geometry]:
        geometry = in_turns(device, chosen.room, GROUP, ITEMS)
        return lambda _: geometry


BIAS_FILTER = BiasFilterStage()

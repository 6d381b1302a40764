"""HMMER3's bias filter on any device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import in_turns
from clalign.compute.sessions import Buffer, Check, KernelSession, nothing_to_check
from clalign.stages.hmmer3.model_groups import Form, launch, together
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.values.local_profiles import LocalProfile, composition_odds, composition_steps
from clalign.values.sequences import SequenceBatch

Scores = npt.NDArray[np.float32]

GROUP = 64
ITEMS = 512
"""Work-items a compute unit of a GPU; a CPU has one."""

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {"bias_filter_item": ({"BLOCK": 4},)}
"""Choices that are compiled for other vendors in the tests."""


class BiasFilterStage(ScoringStage):
    """The bias filter's score of every sequence of a batch in nats."""

    name = "bias_filter"

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = nothing_to_check) -> Scores:
        """Score the batch with the plain reference."""
        from clalign.reference.bias_filter import bias_filter_score

        offsets = batch.offsets
        values = [bias_filter_score(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]
        return np.array(values, np.float32)

    def enqueue(
        self,
        session: KernelSession,
        batch: SequenceBatch,
        profiles: Sequence[LocalProfile],
        chosen: RowList,
        terms: LengthBuffers,
    ) -> Buffer:
        """Enqueue the kernel for the chosen rows; return the buffer that gets their scores (float32[chosen.room])."""

        def form_of(profile: LocalProfile) -> Form:
            steps = composition_steps(profile.length)
            numbers = (steps.leave, steps.stay)
            return Form(self.defines, "composition", lambda one: [composition_odds(one)], numbers=numbers)

        scores = session.allocate(4 * chosen.room)
        geometry = in_turns(session.device, chosen.room, GROUP, ITEMS)
        head = (*session.residues(batch), terms.null_loop, terms.null, chosen.rows, chosen.count)
        groups = together(session, profiles, form_of, chosen.chosen, is_passing=chosen.chosen is not None)
        launch(
            session, ("bias_filter_item", "bias_filter"), lambda _: geometry, groups,
            (*head, np.uint32(chosen.most)), (scores,),
        )  # fmt: skip
        return scores


BIAS_FILTER = BiasFilterStage()

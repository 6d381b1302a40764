"""HMMER3's Forward score in single precision, on any device."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import (
    fits_local,
    lane_backend,
    lanes_group,
    room_for,
    stepped,
)
from clalign.compute.sessions import Buffer, Check, KernelSession, Tables, nothing_to_check
from clalign.stages.hmmer3.forward_tables import VECTOR_LANES, lanes_tables, striped_tables
from clalign.stages.hmmer3.model_groups import Form, geometry_on, launch, together
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch

Scores = npt.NDArray[np.float32]
Choices = Mapping[str, int]

COMMON_VECTORS = 256
"""Rows of up to so many vectors share a program."""

LANES_GROUP = 128
"""Work-items of a GPU that share a table in local memory."""

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "forward_lanes": (
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 50, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_TRANSITIONS": 0},
        {"NODES": 1, "LANE_BACKEND": 0},
    ),
    "forward_vector": ({"VECTORS": 8, "SEQUENCES": 1},),
}
"""Choices that are compiled for other vendors in the tests."""


class ForwardStage(ScoringStage):
    """The Forward score of every sequence of a batch in nats, to a few units of the last place of a float."""

    name = "forward"

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = nothing_to_check) -> Scores:
        """Score the batch with the plain reference."""
        from clalign.reference.forward import forward_score

        offsets = batch.offsets
        values = [forward_score(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]
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
        device, choices = session.device, self.defines
        scores = session.allocate(4 * chosen.room)
        head = (*session.residues(batch), terms.move, chosen.rows, chosen.count, np.uint32(chosen.most))
        shape = self.shape_on(device)

        def form_of(profile: LocalProfile) -> Form:
            return (_vector_form if shape == "vector" else _lanes_form)(session, profile, choices)

        kernel = f"forward_{shape}", "forward"
        is_passing = chosen.chosen is not None or "NODES" in choices
        groups = together(session, profiles, form_of, chosen.chosen, is_passing)
        launch(session, kernel, geometry_on(device, shape, chosen.most), groups, head, (scores,))
        return scores


FORWARD = ForwardStage()


def _vector_form(session: KernelSession, profile: LocalProfile, choices: Choices) -> Form:
    def make(one: LocalProfile) -> Tables:
        return striped_tables(session, one)

    vectors = -(-profile.length // VECTOR_LANES)
    defines = {"VECTORS": room_for(vectors, COMMON_VECTORS), **choices}
    return Form(defines, "striped forward", make, vectors)


def _lanes_form(session: KernelSession, profile: LocalProfile, choices: Choices) -> Form:
    device, backend = session.device, {**lane_backend(session.device), **choices}
    lanes, given = backend["LANES"], choices.get("NODES", 0)

    def make(one: LocalProfile) -> Tables:
        return lanes_tables(session, one, lanes, given or stepped(-(-one.length // lanes)))

    nodes = given or stepped(-(-profile.length // lanes))
    is_local = fits_local(device, (8 * nodes + 1) * lanes * 4)
    group = lanes_group(device, backend, LANES_GROUP)
    defines = {"NODES": nodes, "GROUP": group, "LOCAL_TRANSITIONS": is_local, **backend}
    return Form(defines, f"forward lanes {lanes}", make)

"""HMMER3's Forward score in single precision, on any device."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, nothing_to_check
from clalign.stages.hmmer3.chosen import Chosen, ChosenStage, LengthBuffers
from clalign.stages.hmmer3.forward_tables import VECTOR_LANES, lanes_tables, striped_tables
from clalign.stages.plan7.viterbi_shapes import LOCAL_SHARE, lane_backend
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch

Scores = npt.NDArray[np.float32]
Choices = Mapping[str, int]

LANES_GROUP = 128
"""Work-items of a GPU that share a table in local memory."""

GROUPS_PER_UNIT = 16

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "forward_lanes": (
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 50, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_STEPS": 0},
        {"NODES": 1, "LANE_BACKEND": 0},
    ),
    "forward_vector": ({"VECTORS": 8, "SEQUENCES": 1},),
}
"""Choices that are compiled for other vendors in the tests."""


class ForwardStage(ChosenStage):
    """The Forward score of every sequence of a batch in nats, to a few units of the last place of a float.

    Parameters
    ----------
    shape : str, optional
        ``lanes`` or ``vector``; by default what suits the device.
    defines : dict, optional
        Compile-time choices that replace the default ones.
    """

    name = "forward"

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = nothing_to_check) -> Scores:
        """Score the batch with the plain reference."""
        from clalign.reference.forward import forward_score

        offsets = batch.offsets
        values = [forward_score(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]
        return np.array(values, np.float32)

    def enqueue(
        self, session: Any, batch: SequenceBatch, profile: LocalProfile, chosen: Chosen, terms: LengthBuffers
    ) -> Any:
        """Enqueue the kernel for the chosen rows; return the buffer that gets their scores (float32[chosen.most])."""
        shape = self.shape or ("vector" if session.device.kind == "cpu" else "lanes")
        launch = {"lanes": launch_lanes, "vector": launch_vector}[shape]
        head = (*session.residues(batch), terms.move, chosen.rows, chosen.count)
        scores = session.allocate(4 * chosen.most)
        launch(session, profile, chosen.most, head, self.defines, scores)
        return scores


def launch_vector(
    session: Any, profile: LocalProfile, most: int, head: tuple[Any, ...], choices: Choices, scores: Any
) -> None:
    """Enqueue the shape for CPUs."""
    vectors = -(-profile.length // VECTOR_LANES)
    defines = {"VECTORS": max(4, 1 << (vectors - 1).bit_length()), **choices}
    session.launch(
        "forward_vector", "forward", defines, max(1, session.device.n_compute_units), 1,
        *head, np.int32(vectors), *striped_tables(session, profile), session.zeros(4), scores,
    )  # fmt: skip


def launch_lanes(
    session: Any, profile: LocalProfile, most: int, head: tuple[Any, ...], choices: Choices, scores: Any
) -> None:
    """Enqueue the shape for GPUs."""
    device, defines = session.device, {**lane_backend(session.device), **choices}
    lanes, nodes = defines["LANES"], -(-profile.length // defines["LANES"])
    group = lanes if defines["LANE_BACKEND"] == 0 else min(LANES_GROUP, device.max_work_group)
    needed = (8 * nodes + 1) * lanes * 4
    is_local = int(needed <= LOCAL_SHARE * device.local_bytes)
    defines = {"NODES": nodes, "GROUP": group, "LOCAL_STEPS": is_local, **defines}
    group = defines["GROUP"]
    n_groups = max(1, min(-(-most // (group // lanes)), device.n_compute_units * GROUPS_PER_UNIT))
    session.launch(
        "forward_lanes", "forward", defines, n_groups * group, group,
        *head, session.zeros(4), *lanes_tables(session, profile, lanes), scores,
    )  # fmt: skip


FORWARD = ForwardStage()

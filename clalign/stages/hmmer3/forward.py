"""HMMER3's Forward score in single precision, on any device."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import fits_local, in_groups, lane_backend, lanes_group, one_a_core, room_for, stepped
from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, Tables, nothing_to_check
from clalign.stages.hmmer3.forward_tables import VECTOR_LANES, lanes_tables, striped_tables
from clalign.stages.hmmer3.model_groups import Form, launch
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
        head = (*session.residues(batch), terms.move, chosen.rows, chosen.count)
        scores = session.allocate(4 * chosen.room)
        if self.shape_on(session.device) == "vector":
            launch_vector(session, profiles, (*head, np.uint32(chosen.most)), self.defines, scores, chosen.chosen)
        else:
            (profile,) = profiles
            launch_lanes(session, profile, chosen.most, head, self.defines, scores)
        return scores


def launch_vector(
    session: KernelSession,
    profiles: Sequence[LocalProfile],
    head: tuple[Argument, ...],
    choices: Choices,
    scores: Buffer,
    chosen: Sequence[int] | None = None,
) -> None:
    """Enqueue the shape for CPUs, for some of the models."""

    def make(one: LocalProfile) -> Tables:
        return striped_tables(session, one)

    def form_of(profile: LocalProfile) -> Form:
        vectors = -(-profile.length // VECTOR_LANES)
        defines = {"VECTORS": room_for(vectors, COMMON_VECTORS), **choices}
        return Form(defines, "striped forward", make, vectors)

    launch(
        session, ("forward_vector", "forward"), one_a_core(session.device), profiles, form_of, head, (scores,), chosen
    )


def launch_lanes(
    session: KernelSession, profile: LocalProfile, most: int, head: tuple[Buffer, ...], choices: Choices, scores: Buffer
) -> None:
    """Enqueue the shape for GPUs."""
    device, defines = session.device, {**lane_backend(session.device), **choices}
    lanes = defines["LANES"]
    nodes = stepped(-(-profile.length // lanes))
    is_local = fits_local(device, (8 * nodes + 1) * lanes * 4)
    group = lanes_group(device, defines, LANES_GROUP)
    defines = {"NODES": nodes, "GROUP": group, "LOCAL_TRANSITIONS": is_local, **defines}
    geometry = in_groups(device, defines["GROUP"], -(-most // (defines["GROUP"] // lanes)))
    session.launch(
        "forward_lanes", "forward", defines, *geometry,
        *head, session.zeros(4), *lanes_tables(session, profile, lanes, choices.get("NODES", 0)), scores,
    )  # fmt: skip


FORWARD = ForwardStage()

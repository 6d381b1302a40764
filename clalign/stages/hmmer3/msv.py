"""MSV on a device: ungapped segments, as many as there are, for the sequences that SSV leaves undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import (
    lane_backend,
    lanes_group,
    room_for,
    stepped,
)
from clalign.compute.sessions import Buffer, Check, KernelSession, Tables, nothing_to_check
from clalign.stages.hmmer3.model_groups import Form, geometry_on, launch, together
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.stages.hmmer3.ssv import byte_numbers
from clalign.values.alphabets import N_CODES
from clalign.values.local_profiles import NEVER_BYTE, LocalProfile, byte_scores, length_terms
from clalign.values.sequences import SequenceBatch

Levels = npt.NDArray[np.uint8]
Choices = Mapping[str, int]

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "msv_lanes": (
        {"NODES": 8, "GROUP": 64, "LANE_BACKEND": 3},
        {"NODES": 40, "GROUP": 64, "LANE_BACKEND": 3},
        {"NODES": 1, "GROUP": 32, "LANE_BACKEND": 0},
    ),
    "msv_vector": ({"VECTORS": 4}, {"VECTORS": 30}),
}
"""Choices that are compiled for other vendors in the tests."""

VECTOR_LANES = 16

COMMON_VECTORS = 128
"""Rows of up to so many vectors share a program."""

LANES_GROUP = 128


class MsvStage(ScoringStage):
    """The 8-bit score of state J of every sequence of a batch (uint8[n]); exact."""

    name = "msv"
    dtype = np.uint8

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = nothing_to_check) -> Levels:
        """Score the batch with the plain reference."""
        from clalign.reference.msv import msv_level

        scores, moves = byte_scores(model), length_terms(batch.lengths).byte_move
        levels = np.empty(len(batch), np.uint8)
        for row in range(len(batch)):
            check()
            levels[row] = msv_level(batch.residues(row), scores, int(moves[row]))
        return levels

    def enqueue(
        self,
        session: KernelSession,
        batch: SequenceBatch,
        profiles: Sequence[LocalProfile],
        chosen: RowList,
        terms: LengthBuffers,
    ) -> Buffer:
        """Enqueue the kernel on chosen rows; return a buffer of uint8[chosen.room]."""
        device, choices = session.device, self.defines
        levels = session.allocate(chosen.room)
        head = (*session.residues(batch), chosen.rows, chosen.count, np.uint32(chosen.most), terms.byte_move)
        shape = self.shape_on(device)

        def form_of(profile: LocalProfile) -> Form:
            return (_vector_form if shape == "vector" else _lanes_form)(session, profile, choices)

        kernel, geometry = (f"msv_{shape}", "msv_score"), geometry_on(device, shape, chosen.most)
        launch(session, kernel, geometry, together(session, profiles, form_of), head, (levels,))
        return levels


MSV = MsvStage()


def _costs(profile: LocalProfile, lanes: int, nodes: int) -> npt.NDArray[np.uint8]:
    """Return the costs padded to so many lanes of nodes (uint8[N_CODES, lanes, nodes])."""
    costs = np.full((N_CODES, lanes * nodes), NEVER_BYTE, np.uint8)
    costs[:, : profile.length] = byte_scores(profile).costs[:, 1:]
    return costs.reshape(N_CODES, lanes, nodes)


def _vector_form(session: KernelSession, profile: LocalProfile, choices: Choices) -> Form:
    def make(one: LocalProfile) -> Tables:
        return [_costs(one, VECTOR_LANES, -(-one.length // VECTOR_LANES)).transpose(0, 2, 1)]

    vectors = -(-profile.length // VECTOR_LANES)
    defines = {"VECTORS": room_for(vectors, COMMON_VECTORS), **choices}
    return Form(defines, "msv vector", make, vectors, _numbers(session, profile))


def _numbers(session: KernelSession, profile: LocalProfile) -> tuple[np.int32, np.int32]:
    begin, bias = byte_numbers(session, profile)
    return np.int32(begin), np.int32(bias)


def _lanes_form(session: KernelSession, profile: LocalProfile, choices: Choices) -> Form:
    device = session.device
    backend = {**lane_backend(device), **choices}
    lanes = backend["LANES"]

    def make(one: LocalProfile) -> Tables:
        nodes = stepped(-(-one.length // lanes))
        fours = -(-nodes // 4)
        costs = np.full((N_CODES, lanes, 4 * fours), NEVER_BYTE, np.uint8)
        costs[:, :, :nodes] = _costs(one, lanes, nodes)
        return [costs.reshape(N_CODES, lanes, fours, 4).transpose(0, 2, 1, 3)]

    nodes = stepped(-(-profile.length // lanes))
    defines = {"NODES": nodes, "GROUP": lanes_group(device, backend, LANES_GROUP), **backend}
    return Form(defines, f"msv lanes {lanes}", make, numbers=_numbers(session, profile))

"""MSV on a device: ungapped segments, as many as there are, for the sequences that SSV leaves undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import GROUPS_PER_UNIT, lane_backend, lanes_group, one_a_core, room_for, stepped
from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, Tables, nothing_to_check
from clalign.stages.hmmer3.model_groups import Form, launch
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.stages.hmmer3.shelf_tables import of_each
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
        levels = session.allocate(chosen.room)
        head = (*session.residues(batch), chosen.rows, chosen.count)
        if self.shape_on(session.device) == "vector":
            _launch_vector(session, profiles, self.defines, (*head, np.uint32(chosen.most), terms.byte_move), levels)
        else:
            (profile,) = profiles
            _launch_lanes(session, profile, self.defines, (*head, terms.byte_move), levels)
        return levels


MSV = MsvStage()


def _costs(profile: LocalProfile, lanes: int, nodes: int) -> npt.NDArray[np.uint8]:
    """Return the costs padded to so many lanes of nodes (uint8[N_CODES, lanes, nodes])."""
    costs = np.full((N_CODES, lanes * nodes), NEVER_BYTE, np.uint8)
    costs[:, : profile.length] = byte_scores(profile).costs[:, 1:]
    return costs.reshape(N_CODES, lanes, nodes)


def _launch_vector(
    session: KernelSession,
    profiles: Sequence[LocalProfile],
    choices: Choices,
    head: tuple[Argument, ...],
    levels: Buffer,
) -> None:
    def make(one: LocalProfile) -> Tables:
        return [_costs(one, VECTOR_LANES, -(-one.length // VECTOR_LANES)).transpose(0, 2, 1)]

    def form_of(profile: LocalProfile) -> Form:
        vectors = -(-profile.length // VECTOR_LANES)
        defines = {"VECTORS": room_for(vectors, COMMON_VECTORS), **choices}
        return Form(defines, "msv vector", make, vectors, _numbers(session, profile))

    launch(session, ("msv_vector", "msv_score"), one_a_core(session.device), profiles, form_of, head, (levels,))


def _numbers(session: KernelSession, profile: LocalProfile) -> tuple[np.int32, np.int32]:
    begin, bias = byte_numbers(session, profile)
    return np.int32(begin), np.int32(bias)


def _launch_lanes(
    session: KernelSession,
    profile: LocalProfile,
    choices: Choices,
    head: tuple[Buffer, ...],
    levels: Buffer,
) -> None:
    device = session.device
    defines = {**lane_backend(device), **choices}
    lanes = defines["LANES"]
    nodes = stepped(-(-profile.length // lanes))

    def make(one: LocalProfile) -> Tables:
        nodes = stepped(-(-one.length // lanes))
        fours = -(-nodes // 4)
        costs = np.full((N_CODES, lanes, 4 * fours), NEVER_BYTE, np.uint8)
        costs[:, :, :nodes] = _costs(one, lanes, nodes)
        return [costs.reshape(N_CODES, lanes, fours, 4).transpose(0, 2, 1, 3)]

    defines = {"NODES": nodes, "GROUP": lanes_group(device, defines, LANES_GROUP), **defines}
    group = defines["GROUP"]
    session.launch(
        "msv_lanes", "msv_score", defines, device.n_compute_units * GROUPS_PER_UNIT * group, group,
        *head, *_numbers(session, profile), *of_each(session, profile, f"msv lanes {lanes}", make), levels,
    )  # fmt: skip

"""MSV on a device: ungapped segments, as many as there are, for the sequences that SSV leaves undecided."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import lane_backend, lanes_group, room_for, spread, stepped
from clalign.compute.sessions import Buffer, Check, KernelSession, Tables
from clalign.stages.hmmer3.model_groups import Form
from clalign.stages.hmmer3.row_lists import LengthBuffers, ScoringStage
from clalign.values.alphabets import N_CODES
from clalign.values.local_profiles import LocalProfile, byte_scores
from clalign.values.local_scores import NEVER_BYTE, length_terms

VECTOR_LANES = 16

COMMON_VECTORS = 128
"""Rows of up to this many vectors share a program."""

LANES_GROUP = 128


class MsvStage(ScoringStage):
    """The 8-bit score of state J of every sequence of a batch (uint8[n]); exact."""

    name = "msv"
    entry = "msv_score"
    dtype = np.uint8

    def _score(self, codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Check) -> float:
        from clalign.reference.msv import msv_level

        check()
        move = length_terms(np.array([len(codes)])).byte_move[0]
        return msv_level(codes, byte_scores(profile), int(move))

    def _terms(self, terms: LengthBuffers) -> tuple[Buffer, ...]:
        return (terms.byte_move,)

    def _form(self, session: KernelSession, profile: LocalProfile) -> Form:
        scores = byte_scores(profile)
        numbers = np.int32(scores.begin), np.int32(scores.bias)
        if self.shape_on(session.device) == "vector":
            vectors = -(-profile.length // VECTOR_LANES)
            defines = {"VECTORS": room_for(vectors, COMMON_VECTORS), **self.defines}

            def make_vectors(one: LocalProfile) -> Tables:
                return [_costs(one, VECTOR_LANES, -(-one.length // VECTOR_LANES)).transpose(0, 2, 1)]

            return Form(defines, "msv vector", make_vectors, vectors, numbers)
        backend = {**lane_backend(session.device), **self.defines}
        lanes = backend["LANES"]

        def make(one: LocalProfile) -> Tables:
            nodes = stepped(-(-one.length // lanes))
            fours = -(-nodes // 4)
            costs = np.full((N_CODES, lanes, 4 * fours), NEVER_BYTE, np.uint8)
            costs[:, :, :nodes] = _costs(one, lanes, nodes)
            return [costs.reshape(N_CODES, lanes, fours, 4).transpose(0, 2, 1, 3)]

        group = lanes_group(session.device, backend, LANES_GROUP)
        defines = {"NODES": stepped(-(-profile.length // lanes)), "GROUP": group, **backend}
        return Form(defines, f"msv lanes {lanes}", make, numbers=numbers)


MSV = MsvStage()


def _costs(profile: LocalProfile, lanes: int, nodes: int) -> npt.NDArray[np.uint8]:
    """Return the costs padded to this many lanes of nodes (uint8[N_CODES, lanes, nodes])."""
    return spread(byte_scores(profile).costs[:, 1:], lanes, nodes, NEVER_BYTE)

"""HMMER3's Forward score in single precision, on any device."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import fits_local, lane_backend, lanes_group, room_for, stepped
from clalign.compute.sessions import Buffer, Check, KernelSession
from clalign.stages.hmmer3.forward_tables import VECTOR_LANES, lanes_tables, striped_tables
from clalign.stages.hmmer3.model_groups import Form
from clalign.stages.hmmer3.row_lists import LengthBuffers, ScoringStage
from clalign.values.local_profiles import LocalProfile

COMMON_VECTORS = 256
"""Rows of up to this many vectors share a program."""

LANES_GROUP = 128
"""Work-items of a GPU that share a table in local memory."""


class ForwardStage(ScoringStage):
    """The Forward score of every sequence of a batch in nats, to a few units of the last place of a float."""

    name = "forward"
    entry = "forward"

    def _score(self, codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Check) -> float:
        from clalign.reference.forward import forward_score

        return forward_score(codes, profile, check)

    def _terms(self, terms: LengthBuffers) -> tuple[Buffer, ...]:
        return (terms.move,)

    def _form(self, session: KernelSession, profile: LocalProfile) -> Form:
        device = session.device
        if self.shape_on(device) == "vector":
            vectors = -(-profile.length // VECTOR_LANES)
            defines = {"VECTORS": room_for(vectors, COMMON_VECTORS), **self.defines}
            return Form(defines, "striped forward", partial(striped_tables, session), vectors)
        backend = {**lane_backend(device), **self.defines}
        lanes, given = backend["LANES"], self.defines.get("NODES", 0)

        def nodes_of(one: LocalProfile) -> int:
            return given or stepped(-(-one.length // lanes))

        nodes = nodes_of(profile)
        is_local = fits_local(device, (8 * nodes + 1) * lanes * 4)
        group = lanes_group(device, backend, LANES_GROUP)
        defines = {"NODES": nodes, "GROUP": group, "LOCAL_TRANSITIONS": is_local, **backend}
        return Form(defines, f"forward lanes {lanes}", lambda one: lanes_tables(session, one, lanes, nodes_of(one)))


FORWARD = ForwardStage()

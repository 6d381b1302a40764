"""Plan7 Viterbi scores with HMMER2's integers, on any device."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.devices import Device
from clalign.hits import Scores
from clalign.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile
from clalign.reference.viterbi import viterbi_score
from clalign.sequences import SequenceBatch
from clalign.sessions import Check, nothing_to_check

Table = npt.NDArray[np.int32]
Values = npt.NDArray[np.int32]

N_TRANSITIONS = 9
VECTOR_LANES = 8
LOCAL_SHARE = 0.9
"""Share of the local memory that the table of transitions may take."""

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "viterbi_lanes": (
        {"NODES": 4, "SEQUENCES": 2, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 16, "SEQUENCES": 1, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 160, "SEQUENCES": 1, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_TRANSITIONS": 0},
        {"NODES": 4, "SEQUENCES": 2, "GROUP": 32, "LANE_BACKEND": 0},
    ),
    "viterbi_vector": ({"LANES": 8, "VECTORS": 16}, {"LANES": 16, "VECTORS": 16}),
}
"""Choices that are compiled for other vendors in the tests."""


def transition_table(profile: IntegerProfile) -> Table:
    """Return the transitions as the kernels index them (int32[N_TRANSITIONS, M]).

    Rows: into M from M, I, D of the node before; begin; M-I; I-I; M and D to the next D; end.
    """
    t = profile.transitions
    rows = [t[MM, :-1], t[IM, :-1], t[DM, :-1], profile.begin[1:], t[MI, 1:], t[II, 1:], t[MD, 1:], t[DD, 1:]]
    return np.stack([*rows, profile.end[1:]]).astype(np.int32)


def emission_table(profile: IntegerProfile) -> Table:
    """Return match and insert scores as the kernels index them (int32[N_CODES, 2, M])."""
    return np.stack([profile.match[:, 1:], profile.insert[:, 1:]], axis=1).astype(np.int32)


def special_table(profile: IntegerProfile) -> Table:
    """Return the scores of the special states in the kernels' order (int32[8])."""
    return np.array(list(asdict(profile.special).values()), np.int32)


def _spread(table: Table, lanes: int, per_lane: int) -> Table:
    """Pad the nodes (last axis) with impossible ones and fold them to [lanes, per_lane]."""
    padded = np.full((*table.shape[:-1], lanes * per_lane), IMPOSSIBLE, np.int32)
    padded[..., : table.shape[-1]] = table
    folded: Table = padded.reshape(*table.shape[:-1], lanes, per_lane)
    return folded


def _crossings(leaving_delete: Table, n_steps: int) -> Table:
    """Return what deletes pay to cross nodes: int32[per_lane + n_steps, lanes] (see the vector kernel)."""
    sums = np.cumsum(leaving_delete.astype(np.int64), axis=1)
    before = np.concatenate([np.zeros((len(sums), 1), np.int64), sums[:, :-1]], axis=1)
    whole: list[npt.NDArray[np.int64]] = [sums[:, -1]]
    for step in range(n_steps - 1):
        shifted = np.concatenate([np.zeros(1 << step, np.int64), whole[-1][: -(1 << step)]])
        whole.append(whole[-1] + shifted)
    table: Table = np.maximum(np.concatenate([before.T, np.stack(whole)]), IMPOSSIBLE).astype(np.int32)
    return table


def vector_tables(session: Any, model: IntegerProfile, lanes: int) -> list[Any]:
    """Return the tables of the striped kernels (``common/striped.h``) on a device, made once a model."""

    def make() -> list[Any]:
        per_lane = -(-model.length // lanes)
        transitions = _spread(transition_table(model), lanes, per_lane)
        emissions = _spread(emission_table(model), lanes, per_lane)
        crossings = _crossings(transitions[7], lanes.bit_length() - 1)
        arrays = [transitions.transpose(2, 0, 1), crossings, emissions.transpose(0, 3, 1, 2), special_table(model)]
        return [session.upload(array) for array in arrays]

    tables: list[Any] = session.resident(f"vector{lanes}", model, make)
    return tables


def lane_backend(device: Device) -> dict[str, int]:
    """Return the macros by which the lanes of a GPU exchange values (``common/lanes.h``)."""
    vendor = device.vendor.lower()
    if device.kind == "gpu" and "nvidia" in vendor:
        return {"LANE_BACKEND": 1, "LANES": 32, "COMPUTE_CAPABILITY": device.compute_capability}
    if device.kind == "gpu" and "intel" in vendor and "cl_intel_subgroups" in device.extensions:
        return {"LANE_BACKEND": 2, "LANES": 16}
    if (
        device.kind == "gpu"
        and ("amd" in vendor or "advanced micro" in vendor)
        and "clover" not in device.platform.lower()
    ):
        return {"LANE_BACKEND": 3, "LANES": 32}
    return {"LANE_BACKEND": 0, "LANES": 32}


class ViterbiStage:
    """The Viterbi score of every sequence of a batch; exact on every device.

    Parameters
    ----------
    shape : str, optional
        ``lanes`` or ``vector``; by default what suits the device.
    defines : dict, optional
        Compile-time choices that replace the default ones.
    """

    name = "viterbi"

    def __init__(self, shape: str | None = None, **defines: int) -> None:
        self.shape = shape
        self.defines = defines

    def reference(self, batch: SequenceBatch, model: IntegerProfile, check: Check = nothing_to_check) -> Scores:
        """Score the batch with the plain reference."""
        offsets = batch.offsets
        values = [viterbi_score(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]
        return Scores(batch.targets, np.array(values, np.int32))

    def start(self, session: Any, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Scores]:
        """Start scoring the batch on an OpenCL session; return what waits for the scores."""
        if len(batch) == 0:
            return lambda: Scores(batch.targets, np.empty(0, np.int32))
        shape = self.shape or ("vector" if session.device.kind == "cpu" else "lanes")
        run = self._launch_vector if shape == "vector" else self._launch_lanes
        fetch = run(session, batch, model)
        return lambda: Scores(batch.targets, fetch())

    def _launch_vector(self, session: Any, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Values]:
        lanes = self.defines.get("LANES", VECTOR_LANES)
        vectors = -(-model.length // lanes)
        defines = {"LANES": lanes, "VECTORS": vectors, **self.defines}
        tables = vector_tables(session, model, lanes)
        scores = session.allocate(4 * len(batch))
        next_row = session.zeros(4)
        n_items = max(1, session.device.n_compute_units)
        session.launch(
            "viterbi_vector", "viterbi_score", defines, n_items, 1,
            *session.residues(batch), np.uint32(len(batch)), *tables,
            next_row, scores,
        )  # fmt: skip
        fetch: Callable[[], Values] = session.fetch(scores, len(batch), np.int32)
        return fetch

    def _launch_lanes(self, session: Any, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Values]:
        device = session.device
        backend = {**lane_backend(device), **{k: v for k, v in self.defines.items() if k in ("LANES", "LANE_BACKEND")}}
        lanes = backend["LANES"]
        nodes = -(-model.length // lanes)
        group = lanes if backend["LANE_BACKEND"] == 0 else min(128, device.max_work_group)
        needed = (N_TRANSITIONS * nodes + 1) * lanes * 4
        defines: dict[str, int] = {
            **backend,
            "NODES": nodes,
            "SEQUENCES": 2 if nodes <= 16 else 1,
            "GROUP": group,
            "LOCAL_TRANSITIONS": int(needed <= LOCAL_SHARE * device.local_bytes),
            **self.defines,
        }
        tables = session.resident(f"viterbi_lanes{lanes}", model, lambda: self._lanes_tables(session, model, lanes))
        scores = session.allocate(4 * len(batch))
        sharing = defines["GROUP"] // lanes * defines["SEQUENCES"]
        n_groups = min(-(-len(batch) // sharing), device.n_compute_units * 16)
        session.launch(
            "viterbi_lanes", "viterbi_score", defines, n_groups * defines["GROUP"], defines["GROUP"],
            *session.residues(batch), np.uint32(len(batch)), *tables, scores,
        )  # fmt: skip
        fetch: Callable[[], Values] = session.fetch(scores, len(batch), np.int32)
        return fetch

    @staticmethod
    def _lanes_tables(session: Any, model: IntegerProfile, lanes: int) -> list[Any]:
        per_lane = -(-model.length // lanes)
        transitions = _spread(transition_table(model), lanes, per_lane)
        emissions = _spread(emission_table(model), lanes, per_lane)
        arrays = [transitions.transpose(0, 2, 1), emissions.transpose(0, 1, 3, 2), special_table(model)]
        return [session.upload(array) for array in arrays]


VITERBI = ViterbiStage()

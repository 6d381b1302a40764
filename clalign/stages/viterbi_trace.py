"""The best paths of the sequences that are hits: directions on the device, the walk on the host."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.alignments import DomainPath
from clalign.errors import OutOfDeviceMemory
from clalign.profiles import IntegerProfile
from clalign.reference.viterbi_trace import viterbi_trace, wing_in, wing_out
from clalign.sequences import SequenceBatch
from clalign.stages.viterbi import VECTOR_LANES, emission_table, special_table, transition_table, vector_tables

FROM_B, FROM_M, FROM_I, FROM_D = range(4)
CELL_I_FROM_I, CELL_D_FROM_D = 4, 8
CELL_IMPOSSIBLE = {"M": 16, "I": 32, "D": 64}
FLAG_C_FROM_E, FLAG_J_FROM_E, FLAG_B_FROM_J = 1, 2, 4
FLAG_C_IMPOSSIBLE, FLAG_J_IMPOSSIBLE, FLAG_B_IMPOSSIBLE = 8, 16, 32
FLAG_E_IMPOSSIBLE, FLAG_N_IMPOSSIBLE = 64, 128

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that the directions of one launch may take."""

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "viterbi_trace_item": ({},),
    "viterbi_trace_vector": ({"LANES": 8, "VECTORS": 16}, {"LANES": 16, "VECTORS": 16}),
}
"""Choices that are compiled for other vendors in the tests."""

Paths = list[list[DomainPath] | None]


@dataclass(frozen=True, slots=True)
class Directions:
    """What the kernel wrote for one sequence.

    Attributes
    ----------
    cells : uint8[length, width]
    flags : uint8[length + 1]
    exits : int32[length + 1]
    places : int64[M]
        Where each node stands in a row of `cells`.
    """

    cells: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]
    exits: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]


class ViterbiTraceStage:
    """The domains of the best path of every sequence of a batch, in HMMER2's order of ties.

    Parameters
    ----------
    shape : str, optional
        ``item`` or ``vector``; by default what suits the device.
    defines : dict, optional
        Compile-time choices that replace the default ones.
    """

    name = "viterbi_trace"

    def __init__(self, shape: str | None = None, **defines: int) -> None:
        self.shape = shape
        self.lanes = defines.get("LANES", VECTOR_LANES)
        self.defines = defines

    def reference(self, batch: SequenceBatch, model: IntegerProfile) -> Paths:
        """Trace the batch with the plain reference."""
        offsets = batch.offsets
        return [viterbi_trace(batch.codes[a:b], model) for a, b in itertools.pairwise(offsets)]

    def launch(self, session: Any, batch: SequenceBatch, model: IntegerProfile) -> Paths:
        """Trace the batch on an OpenCL session.

        Sequences whose directions do not fit the device's memory at all are traced by the reference,
        which needs memory only for the square root of their length (`MatrixRows`).
        """
        limit = int(session.device.max_buffer_bytes * MEMORY_SHARE) or 2**28
        paths: Paths = []
        first = 0
        while first < len(batch):
            last = _fitting(batch, first, model.length, limit)
            part = _part(batch, first, max(last, first + 1))
            try:
                paths += self._launch_part(session, part, model) if last > first else self.reference(part, model)
            except OutOfDeviceMemory:
                if last - first <= 1:
                    paths += self.reference(part, model)
                else:
                    limit //= 2
                    continue
            first = max(last, first + 1)
        return paths

    def _launch_part(self, session: Any, batch: SequenceBatch, model: IntegerProfile) -> Paths:
        shape = self.shape or ("vector" if session.device.kind == "cpu" else "item")
        n, n_residues = len(batch), int(batch.offsets[-1])
        places = node_places(model.length, self.lanes if shape == "vector" else 1)
        width = self.lanes * -(-model.length // self.lanes) if shape == "vector" else model.length
        sequences = [session.upload(batch.codes), session.upload(batch.offsets), np.uint32(n)]
        cells = session.allocate(n_residues * width)
        flags, exits = session.allocate(n_residues + n), session.allocate(4 * (n_residues + n))
        enqueue = self._enqueue_vector if shape == "vector" else self._enqueue_item
        enqueue(session, n, model, sequences, [cells, flags, exits])
        all_cells = session.download(cells, (n_residues, width), np.uint8)
        all_flags = session.download(flags, n_residues + n, np.uint8)
        all_exits = session.download(exits, n_residues + n, np.int32)
        paths: Paths = []
        for row, (a, b) in enumerate(itertools.pairwise(batch.offsets)):
            special = slice(a + row, b + row + 1)
            directions = Directions(all_cells[a:b], all_flags[special], all_exits[special], places)
            paths.append(walk(directions, model))
        return paths

    def _enqueue_item(
        self, session: Any, n: int, model: IntegerProfile, sequences: list[Any], outputs: list[Any]
    ) -> None:
        def make() -> list[Any]:
            arrays = [transition_table(model).T, emission_table(model).transpose(0, 2, 1), special_table(model)]
            return [session.upload(array) for array in arrays]

        tables = session.resident("viterbi_trace_item", model, make)
        rows = session.allocate(n * 3 * model.length * 4)
        session.launch(
            "viterbi_trace_item", "viterbi_trace", self.defines, n, None,
            *sequences, np.int32(model.length), *tables, rows, *outputs,
        )  # fmt: skip

    def _enqueue_vector(
        self, session: Any, n: int, model: IntegerProfile, sequences: list[Any], outputs: list[Any]
    ) -> None:
        defines = {"LANES": self.lanes, "VECTORS": -(-model.length // self.lanes), **self.defines}
        next_row = session.upload(np.zeros(1, np.int32))
        session.launch(
            "viterbi_trace_vector", "viterbi_trace", defines, max(1, session.device.n_compute_units), 1,
            *sequences, *vector_tables(session, model, self.lanes), next_row, *outputs,
        )  # fmt: skip


def node_places(n_nodes: int, lanes: int) -> npt.NDArray[np.int64]:
    """Return where each node's direction stands in a row that is striped over so many lanes."""
    vectors = -(-n_nodes // lanes)
    nodes = np.arange(n_nodes, dtype=np.int64)
    return nodes if lanes == 1 else nodes % vectors * lanes + nodes // vectors


def _fitting(batch: SequenceBatch, first: int, m: int, limit: int) -> int:
    """Return the end of the longest run of sequences whose directions and rows fit the limit."""
    start = int(batch.offsets[first])
    needed = (batch.offsets[first + 1 :].astype(np.int64) - start) * (m + 5) + np.arange(1, len(batch) - first + 1) * (
        12 * m
    )
    return first + int(np.searchsorted(needed, limit, side="right"))


def _part(batch: SequenceBatch, first: int, last: int) -> SequenceBatch:
    start, end = int(batch.offsets[first]), int(batch.offsets[last])
    return SequenceBatch(batch.codes[start:end], batch.offsets[first : last + 1] - start, batch.targets[first:last])


def walk(directions: Directions, model: IntegerProfile) -> list[DomainPath] | None:
    """Return the domains of the path that the directions describe, in the order of the sequence.

    None if the path meets an impossible state.
    """
    flags = directions.flags
    i = len(flags) - 1
    if i == 0 or flags[i] & FLAG_C_IMPOSSIBLE:
        return None
    i = _last_flagged(flags, i, FLAG_C_FROM_E)
    domains: list[DomainPath] = []
    while True:
        if flags[i] & FLAG_E_IMPOSSIBLE:
            return None
        found = _walk_domain(directions, i, model)
        if found is None:
            return None
        path, i = found
        domains.append(path)
        if flags[i] & (FLAG_B_IMPOSSIBLE | FLAG_N_IMPOSSIBLE):
            return None
        if not flags[i] & FLAG_B_FROM_J:
            return domains[::-1]
        if flags[i] & FLAG_J_IMPOSSIBLE:
            return None
        i = _last_flagged(flags, i, FLAG_J_FROM_E)


def _last_flagged(flags: npt.NDArray[np.uint8], i: int, flag: int) -> int:
    """Return the last row up to i that has the flag: where a looping state was entered."""
    return int(np.flatnonzero(flags[: i + 1] & flag)[-1])


def _walk_domain(directions: Directions, i: int, model: IntegerProfile) -> tuple[DomainPath, int] | None:
    """Walk from E of row i back to B; return the path and the row of that B."""
    cells, places = directions.cells, directions.places
    k = int(directions.exits[i])
    states, state = wing_out(model, k), "M"
    while True:
        cell = int(cells[i - 1, places[k - 1]])
        if cell & CELL_IMPOSSIBLE[state]:
            return None
        states.append(state)
        if state == "M":
            i -= 1
            origin = cell & 3
            if origin == FROM_B:
                states += wing_in(model, k)
                first = 1 if states[-1] == "D" else k
                return DomainPath("".join(reversed(states)), first - 1, i), i
            k -= 1
            state = "MMID"[origin]
        elif state == "I":
            i -= 1
            state = "I" if cell & CELL_I_FROM_I else "M"
        else:
            k -= 1
            state = "D" if cell & CELL_D_FROM_D else "M"


VITERBI_TRACE = ViterbiTraceStage()

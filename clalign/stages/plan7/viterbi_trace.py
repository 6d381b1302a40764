"""The best paths of the sequences that are hits, traced on the device."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import lane_backend, one_a_core
from clalign.compute.sessions import Buffer, Check, KernelSession, Stage, no_check
from clalign.errors import OutOfDeviceMemory
from clalign.stages.plan7.viterbi_tables import (
    emission_table,
    lanes_tables,
    special_table,
    transition_table,
    vector_tables,
)
from clalign.values.alignments import DomainPath
from clalign.values.profiles import INT_SCALE, IntegerProfile
from clalign.values.sequences import SequenceBatch

VECTOR_LANES = 8
"""Lanes of the shape for CPUs."""

STEP_INSERT, STEP_BEGINS, STEP_NODE_SHIFT = 1, 2, 2
"""Bits of a step that kernels write for a residue (``common/plan7_traceback.h``)."""

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that the directions of one launch may take."""

Paths = list[list[DomainPath] | None]


class ViterbiTraceStage(Stage[SequenceBatch, IntegerProfile, Paths]):
    """The domains of the best path of every sequence of a batch, in HMMER2's order of ties."""

    name = "viterbi_trace"

    def reference(self, batch: SequenceBatch, model: IntegerProfile, check: Check = no_check) -> Paths:
        from clalign.reference.viterbi_trace import viterbi_trace

        offsets = batch.offsets
        return [viterbi_trace(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]

    def start(self, session: KernelSession, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Paths]:
        """Start tracing the batch on an OpenCL session; return a callable that waits for the paths.

        What does not fit the device's memory at once is traced part by part when the paths are asked
        for. A sequence whose directions do not fit at all is traced by the reference, which needs
        memory only for the square root of its length (`MatrixRows`), but much time.
        """
        limit = int(session.device.max_buffer_bytes * MEMORY_SHARE) or 2**28
        if len(batch) and _fitting(batch, 0, self._width(session, model), limit) == len(batch):
            try:
                whole = self._start_part(session, batch, model)
            except OutOfDeviceMemory:
                limit //= 2
            else:
                return lambda: self._collected(whole, session, batch, model, limit)
        return lambda: self._in_parts(session, batch, model, limit)

    def _collected(
        self,
        whole: Callable[[], Paths],
        session: KernelSession,
        batch: SequenceBatch,
        model: IntegerProfile,
        limit: int,
    ) -> Paths:
        """Return the paths of a batch that was started whole; in parts if it was too large after all."""
        try:
            return whole()
        except OutOfDeviceMemory:
            return self._in_parts(session, batch, model, limit // 2)

    def _in_parts(self, session: KernelSession, batch: SequenceBatch, model: IntegerProfile, limit: int) -> Paths:
        paths: Paths = []
        first = 0
        while first < len(batch):
            session.check()
            last = max(_fitting(batch, first, self._width(session, model), limit), first + 1)
            part = _part(batch, first, last)
            try:
                paths += self._start_part(session, part, model)()
            except OutOfDeviceMemory:
                if last - first > 1:
                    limit //= 2
                    continue
                paths += self.reference(part, model, session.check)
            first = last
        return paths

    def _start_part(self, session: KernelSession, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Paths]:
        shape = self.shape_on(session.device)
        n, n_residues = len(batch), int(batch.offsets[-1])
        sequences = [session.share(batch.codes), session.share(batch.offsets)]
        width = self._width(session, model)
        sizes = [n_residues * width, n_residues + n, 4 * (n_residues + n), 4 * n_residues, n]
        buffers = [session.allocate(size) for size in sizes[:3]] + [session.results(size) for size in sizes[3:]]
        enqueue = {"vector": self._enqueue_vector, "lanes": self._enqueue_lanes, "item": self._enqueue_item}[shape]
        enqueue(session, n, model, sequences, buffers)
        fetch_steps = session.fetch(buffers[3], n_residues, np.int32)
        fetch_possible = session.fetch(buffers[4], n, np.uint8)

        def collect() -> Paths:
            steps, possible = fetch_steps(), fetch_possible()
            session.demand((possible < 2).all(), "neither that there is a path nor that there is none")
            whole = np.repeat(possible, batch.lengths)
            nodes = np.where(whole, steps, 0) >> STEP_NODE_SHIFT
            within = (nodes >= 0).all() and (nodes <= model.length).all()
            session.demand(within, "a path through nodes that the model does not have")
            return [
                paths_of(steps[a:b], model) if reached else None
                for (a, b), reached in zip(itertools.pairwise(batch.offsets), possible, strict=True)
            ]

        return collect

    def _choices(self, session: KernelSession) -> dict[str, int]:
        """Return the compile-time choices that a device wants and those that replace them."""
        return {**lane_backend(session.device), **self.defines}

    @property
    def _vector_lanes(self) -> int:
        return self.defines.get("LANES", VECTOR_LANES)

    def _width(self, session: KernelSession, model: IntegerProfile) -> int:
        """Return the directions in a row: the nodes, filled up to whole lanes."""
        shape = self.shape_on(session.device)
        lanes = {"vector": self._vector_lanes, "lanes": self._choices(session)["LANES"], "item": 1}[shape]
        return lanes * -(-model.length // lanes)

    def _enqueue_lanes(
        self, session: KernelSession, n: int, model: IntegerProfile, sequences: list[Buffer], buffers: list[Buffer]
    ) -> None:
        choices = self._choices(session)
        lanes = choices["LANES"]
        session.launch(
            "viterbi_trace_lanes", "viterbi_trace", {"NODES": -(-model.length // lanes), **choices}, n * lanes, lanes,
            *sequences, *lanes_tables(session, model, lanes), *buffers,
        )  # fmt: skip

    def _enqueue_item(
        self, session: KernelSession, n: int, model: IntegerProfile, sequences: list[Buffer], buffers: list[Buffer]
    ) -> None:
        def make() -> list[Buffer]:
            arrays = [transition_table(model).T, emission_table(model).transpose(0, 2, 1), special_table(model)]
            return [session.upload(array) for array in arrays]

        tables = session.cached("viterbi_trace_item", model, make)
        rows = session.allocate(n * 3 * model.length * 4)
        session.launch(
            "viterbi_trace_item", "viterbi_trace", self.defines, n, None,
            *sequences, np.uint32(n), np.int32(model.length), *tables, rows, *buffers,
        )  # fmt: skip

    def _enqueue_vector(
        self, session: KernelSession, n: int, model: IntegerProfile, sequences: list[Buffer], buffers: list[Buffer]
    ) -> None:
        lanes = self._vector_lanes
        defines = {"LANES": lanes, "VECTORS": -(-model.length // lanes), **self.defines}
        session.launch(
            "viterbi_trace_vector", "viterbi_trace", defines, *one_a_core(session.device),
            *sequences, np.uint32(n), *vector_tables(session, model, lanes), session.zeros(4), *buffers,
        )  # fmt: skip


def _fitting(batch: SequenceBatch, first: int, width: int, limit: int) -> int:
    """Return the end of the longest run of sequences whose directions and rows fit the limit."""
    start = int(batch.offsets[first])
    residues = batch.offsets[first + 1 :].astype(np.int64) - start
    needed = residues * (width + 5) + np.arange(1, len(residues) + 1) * 12 * width
    return first + int(np.searchsorted(needed, limit, side="right"))


def _part(batch: SequenceBatch, first: int, last: int) -> SequenceBatch:
    start, end = int(batch.offsets[first]), int(batch.offsets[last])
    return SequenceBatch(batch.codes[start:end], batch.offsets[first : last + 1] - start, batch.targets[first:last])


def paths_of(steps: npt.NDArray[np.int32], model: IntegerProfile) -> list[DomainPath]:
    """Return the domains of a path from what the kernel wrote for each residue (int32[length])."""
    inside = np.flatnonzero(steps)
    begins = np.flatnonzero(steps[inside] & STEP_BEGINS)
    return [_path_of(steps[part], int(part[0]), model) for part in np.split(inside, begins[1:])]


def _path_of(steps: npt.NDArray[np.int32], residue: int, model: IntegerProfile) -> DomainPath:
    """Return one domain; the nodes left out between two residues are deletes."""
    nodes = steps >> STEP_NODE_SHIFT
    skipped = np.maximum(np.diff(nodes, prepend=nodes[0]) - 1, 0)
    emitting = np.arange(len(steps)) + np.cumsum(skipped)
    states = np.full(int(emitting[-1]) + 1, ord("D"), np.uint8)
    states[emitting] = np.where(steps & STEP_INSERT, ord("I"), ord("M"))
    before, after = _wings(model, int(nodes[0]), int(nodes[-1]))
    text = "D" * before + states.tobytes().decode("ascii") + "D" * after
    return DomainPath(text, int(nodes[0]) - 1 - before, residue)


def _wings(model: IntegerProfile, first: int, last: int) -> tuple[int, int]:
    """Return how many deletes the ways into the first node and out of the last one go through.

    HMMER2 folds such ways into one step; those that are at least 1 bit dearer unfolded went through all the deletes.
    """
    into = first - 1 if model.begin_unfolded[first] + INT_SCALE <= model.begin[first] else 0
    out = model.length - last if model.end_unfolded[last] + INT_SCALE <= model.end[last] else 0
    return into, out


VITERBI_TRACE = ViterbiTraceStage()

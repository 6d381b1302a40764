"""Random tracebacks through regions that may hold several domains."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, KernelSession, no_check
from clalign.stages.hmmer3.local_tables import (
    DomainStage,
    DomainTuning,
    Problems,
    complete,
    each_part,
    letter_tables,
    model_tables,
    part_table,
    portions,
)
from clalign.values.devices import Device
from clalign.values.envelopes import N_SAMPLES, Parts, Resolved, RowProfiles, generator_start
from clalign.values.null2 import null2_scores

N_ROWS = {"vector": 0, "lanes": 7}
"""Scratch rows: none where all rows are kept, or of work-items M, I and D for two residues in turn, and transitions."""

SEGMENTS_PER_SAMPLE = 4
"""Passages through the model that there is room for; with more, the regions are sampled once more."""

TALLIES = 3
"""Number of the scratch buffer of the tallies."""

N_COLUMNS, MIN_SAMPLES = 12, 50
"""Numbers that are kept of a segment, and samples that an envelope has at least (``common/sampling_clusters.h``)."""

TIED = -1
"""In place of a number of envelopes: two begin together in as many samples, and the reference decides."""

Wide = npt.NDArray[np.int64]

Found = tuple[npt.NDArray[np.float32], npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""Ratios of residues, numbers of segments and of envelopes (int32[n, 2]), and the envelopes (int32[n, most, 3])."""


class SamplingModel(Struct, frozen=True, eq=False, weakref=True):
    """The profile of each row, and the seed from which the random numbers of every region start; 0 for a random one."""

    profiles: RowProfiles
    seed: int


class SamplingStage(DomainStage[Parts, SamplingModel, list[Resolved]]):
    """The envelopes by random paths through each part of a batch, and the null2 scores."""

    name = "sampling"

    def units_per_core(self, tuning: DomainTuning) -> int:
        return tuning.sampling_units  # each step of a path waits for the one before

    def widths(self, device: Device) -> tuple[int, ...]:
        return ()  # paths are drawn one after the other: a core that has those of several regions ends after the others

    def reference(self, batch: Parts, model: SamplingModel, check: Check = no_check) -> list[Resolved]:
        from clalign.reference.sampling import resolve, sample

        return [resolve(sample(*part, generator_start(model.seed), check)) for part in each_part(batch, model.profiles)]

    def start(self, session: KernelSession, batch: Parts, model: SamplingModel) -> Callable[[], list[Resolved]]:
        if not len(batch):
            return list
        states = np.array([generator_start(model.seed) for _ in range(len(batch))], np.uint32)
        room = SEGMENTS_PER_SAMPLE * N_SAMPLES
        first, left = self._start(session, batch, model.profiles, states, room)

        def collect() -> list[Resolved]:
            undone, (factors, counts, envelopes) = left, first()
            most = int(np.delete(counts[:, 0], undone).max(initial=0))
            if most > room:
                wait, undone = self._start(session, batch, model.profiles, states, -(-most // 8) * 8)
                factors, counts, envelopes = wait()
            undone = np.union1d(undone, np.flatnonzero(counts[:, 1] == TIED)).astype(np.int32)
            return complete(self, session, batch, model, resolved(batch, factors, counts, envelopes), undone)

        return collect

    def _start(
        self, session: KernelSession, batch: Parts, profiles: RowProfiles, states: npt.NDArray[np.uint32], most: int
    ) -> tuple[Callable[[], Found], npt.NDArray[np.int32]]:
        n, of_part = len(batch), profiles.of_row[batch.rows]
        problems = Problems.of(batch.lengths, of_part, profiles)

        def scratch(p: Problems, slots: Wide) -> tuple[Wide, ...]:
            return 3 * 4 * p.cells, slots, np.full(n, N_COLUMNS * most), np.maximum(p.lengths, 4 * p.vectors) + 1

        found, left = portions(self, session.device, problems, N_ROWS, scratch)
        residue_at = np.cumsum(batch.lengths, dtype=np.int32) - batch.lengths
        listed = 3 * n * (most // MIN_SAMPLES)
        sizes: list[tuple[int, Any]] = [(int(batch.lengths.sum()), np.float32), (2 * n, np.int32), (listed, np.int32)]
        out = [session.results(size * 4) for size, _ in sizes]
        table = session.upload(part_table(batch))
        places = [session.upload(each) for each in (residue_at, states, of_part)]
        tables = [*model_tables(session, profiles).odds, *letter_tables(session, profiles)]
        for portion in found:
            portion.launch(
                session, session.residues(batch.batch)[0], table, session.upload(portion.order),
                np.uint32(len(portion.order)), *places, *tables, np.uint64(portion.cells), np.int32(portion.longest),
                np.int32(portion.room(TALLIES)), np.int32(most), session.zeros(4), portion.rows(session),
                portion.row_room, *portion.buffers(session), *out,
            )  # fmt: skip
        factors, counts, envelopes = (session.fetch(buffer, *size) for buffer, size in zip(out, sizes, strict=True))

        def collect() -> Found:
            found = factors(), counts().reshape(n, 2), envelopes().reshape(n, -1, 3)
            _demand_possible(session, batch, np.setdiff1d(np.arange(n), left), *found)
            return found

        return collect, left


def _demand_possible(
    session: KernelSession,
    parts: Parts,
    done: npt.NDArray[np.int64],
    factors: npt.NDArray[np.float32],
    counts: npt.NDArray[np.int32],
    envelopes: npt.NDArray[np.int32],
) -> None:
    """Check the kernel's results for the parts that it computed."""
    n_segments, n_envelopes = counts[done].T
    most = N_SAMPLES * (parts.lengths[done].astype(np.int64) + 1)
    counts_fit = (n_segments >= 0).all() and (n_segments <= most).all()
    session.demand(counts_fit, "more passages through a profile than a region has residues")
    session.demand(
        (n_envelopes >= TIED).all() and (n_envelopes <= envelopes.shape[1]).all(), "more envelopes than samples allow"
    )
    listed = np.arange(envelopes.shape[1]) < n_envelopes[:, None]
    first, last = (envelopes[done][:, :, column] for column in (0, 1))
    inside = (first >= 0) & (first < last) & (last <= parts.lengths[done][:, None])
    session.demand(inside[listed].all(), "an envelope outside of its region")
    bounds = np.concatenate([[0], np.cumsum(parts.lengths)])
    whole = np.concatenate([np.empty(0, np.float32), *(factors[bounds[n] : bounds[n + 1]] for n in done)])
    session.demand(not (np.isnan(whole) | (whole < 0)).any(), "ratios of residues that are not numbers")


def resolved(
    parts: Parts, factors: npt.NDArray[np.float32], counts: npt.NDArray[np.int32], envelopes: npt.NDArray[np.int32]
) -> list[Resolved]:
    """Return the kernel's results for each part (`envelopes`: int32[n, most, 3])."""
    with np.errstate(all="ignore"):  # parts that did not fit have any content
        null2 = null2_scores(factors / np.float32(N_SAMPLES))
    bounds = np.concatenate([[0], np.cumsum(parts.lengths)])
    answers = []
    for n, (a, b) in enumerate(itertools.pairwise(bounds.tolist())):
        found = envelopes[n, : max(counts[n, 1], 0), :2] + parts.first[n]
        answers.append(Resolved(tuple((first, last) for first, last in found.tolist()), null2[a:b]))
    return answers


SAMPLING = SamplingStage()

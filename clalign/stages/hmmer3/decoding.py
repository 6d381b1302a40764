"""Regions of targets that hold domains, by their posterior probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, KernelSession, no_check
from clalign.stages.hmmer3.local_tables import DomainStage, Problems, model_tables, portions
from clalign.values.envelopes import Decoded, Region, RowProfiles
from clalign.values.local_profiles import striped_odds
from clalign.values.sequences import SequenceBatch

N_ROWS = {"vector": 3, "lanes": 7}
"""Scratch rows: M, I and D, of work-items for two residues in turn, and their transitions."""


class DecodingStage(DomainStage[SequenceBatch, RowProfiles, list[Decoded]]):
    """Forward score, expected number of domains and regions of every target of a batch."""

    name = "decoding"

    def reference(self, batch: SequenceBatch, model: RowProfiles, check: Check = no_check) -> list[Decoded]:
        from clalign.reference.decoding import decode

        odds = [striped_odds(profile) for profile in model.profiles]
        return [decode(batch.residues(row), odds[model.of_row[row]], check) for row in range(len(batch))]

    def start(self, session: KernelSession, batch: SequenceBatch, model: RowProfiles) -> Callable[[], list[Decoded]]:
        if not len(batch):
            return list
        n, n_residues = len(batch), int(batch.offsets[-1])
        problems = Problems.of(batch.lengths, model.of_row, model)
        found, _ = portions(self, session.device, problems, N_ROWS, lambda p, slots: (slots,))
        tables, model_of = model_tables(session, model), session.upload(model.of_row)
        out = [session.results(4 * size) for size in (n, n, n_residues)]
        for portion in found:
            portion.launch(
                session, *session.residues(batch), session.upload(portion.order),
                np.uint32(len(portion.order)), model_of, *tables.odds,
                portion.row_room, np.int32(portion.longest), session.zeros(4), portion.rows(session),
                *portion.buffers(session), *out,
            )  # fmt: skip
        scores, expected = (session.fetch(buffer, n, np.float32) for buffer in out[:2])
        regions = session.fetch(out[2], n_residues, np.int32)

        def collect() -> list[Decoded]:
            found = scores(), expected(), regions()
            _demand_possible(session, batch, *found)
            return decoded(*found, batch.offsets)

        return collect


def _demand_possible(
    session: KernelSession,
    batch: SequenceBatch,
    scores: npt.NDArray[np.float32],
    expected: npt.NDArray[np.float32],
    regions: npt.NDArray[np.int32],
) -> None:
    filled = batch.lengths > 0
    none_odd = not ((expected[filled] < 0) | (expected[filled] > batch.lengths[filled] + 1)).any()
    session.demand(none_odd, "an impossible number of domains")
    session.demand(not np.isnan(scores[filled]).any(), "a Forward score that is not a number")
    places = np.flatnonzero(regions)
    ends = places + (regions[places] >> 1)
    row_ends = batch.offsets[np.searchsorted(batch.offsets, places, side="right")]
    fit = (regions[places] > 1).all() and (ends <= row_ends).all() and (ends[:-1] <= places[1:]).all()
    session.demand(fit, "domains beyond the end of a target, or within each other")


def decoded(
    scores: npt.NDArray[np.float32],
    expected: npt.NDArray[np.float32],
    regions: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int32],
) -> list[Decoded]:
    """Return the kernel's results for each target; `regions` as in ``decoding_simd4.cl``."""
    places = np.flatnonzero(regions)
    rows = np.searchsorted(offsets, places, side="right") - 1
    first, values = places - offsets[rows], regions[places]
    found = zip(first.tolist(), (first + (values >> 1)).tolist(), (values & 1).astype(bool).tolist(), strict=True)
    listed = [Region(*region) for region in found]
    bounds = np.searchsorted(places, offsets).tolist()
    forward = np.where(offsets[:-1] < offsets[1:], scores, np.float32(np.nan))
    numbers = zip(forward.tolist(), expected.tolist(), itertools.pairwise(bounds), strict=True)
    return [Decoded(score, n, tuple(listed[a:b])) for score, n, (a, b) in numbers]


DECODING = DecodingStage()

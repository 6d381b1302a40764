"""The filters of HMMER3 on one batch: what passes one is listed on the device for the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import in_turns
from clalign.compute.sessions import Argument, Buffer, KernelSession
from clalign.stages.hmmer3.bias_filter import BIAS_FILTER
from clalign.stages.hmmer3.forward import FORWARD
from clalign.stages.hmmer3.msv import MSV
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, length_buffers, length_terms_of
from clalign.stages.hmmer3.ssv import SSV, SsvCells, bytes_of
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER
from clalign.values.filters import FilterLimits, least_difference
from clalign.values.local_profiles import LocalProfile, nats_of
from clalign.values.sequences import SequenceBatch

N_LEVELS = 511
"""Levels of the MSV score less the cost of leaving, from -255 on."""

LEVEL_ZERO = 255

SELECT_ITEMS = 256
"""Work-items a compute unit of a GPU that look through lists; a CPU has one."""

SELECT_GROUP = 64

EVERYTHING = object()

PASSED_MSV, PASSED_BIAS, PASSED_VITERBI, PASSED_FORWARD = 1, 2, 3, 4
"""How many filters a target has passed, in `Filtered.reached`."""


class FilterModel(Struct, frozen=True, eq=False, weakref=True):
    """A calibrated profile and what lets a target pass."""

    profile: LocalProfile
    limits: FilterLimits


class Filtered(Struct, frozen=True):
    """What became of the targets of a batch. Scores in nats.

    Attributes
    ----------
    msv : float32[n]
        Of every target; infinite where HMMER's bytes overflow, not a number without residues.
    rows : int32[m]
        Rising positions in the batch of those that passed the MSV filter.
    bias, viterbi, forward : float32[m]
        Their scores in the later filters, not a number where a filter was not run. Without the
        bias filter its score is that of the null model.
    reached : uint8[m]
        How many filters they passed: `PASSED_MSV`, `PASSED_BIAS`, `PASSED_VITERBI` (or it was left
        out), `PASSED_FORWARD`.
    check : callable
        Raises `DeviceError` if the MSV scores of all targets are none, or contradict `rows`; to be called before
        anything is kept of them. Any thread may, since it takes long.
    """

    msv: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]
    bias: npt.NDArray[np.float32]
    viterbi: npt.NDArray[np.float32]
    forward: npt.NDArray[np.float32]
    reached: npt.NDArray[np.uint8]
    check: Callable[[], None] = lambda: None


_NO_SCORES = np.empty(0, np.float32)

NO_TARGETS = Filtered(
    _NO_SCORES, np.empty(0, np.int32), _NO_SCORES, _NO_SCORES, _NO_SCORES, np.empty(0, np.uint8)
)  # fmt: skip


class Least(Struct, frozen=True):
    """The least scores that pass, in nats above those of the null model or the bias filter.

    `sure` is the MSV score from which on the Viterbi filter is left out.
    """

    msv: np.float32
    sure: np.float32
    viterbi: np.float32
    forward: np.float32


def least_scores(model: FilterModel) -> Least:
    """Return the least scores that pass a model's filters."""
    settings, limits = model.profile.settings, model.limits
    assert settings.msv is not None, "the profile is not calibrated"
    assert settings.viterbi is not None
    assert settings.forward is not None
    return Least(
        least_difference(settings.msv, limits.f1),
        least_difference(settings.msv, limits.f2),
        least_difference(settings.viterbi, limits.f2),
        least_difference(settings.forward, limits.f3),
    )


class Cascade:
    """The filters on one batch."""

    def __init__(self, session: KernelSession, batch: SequenceBatch, model: FilterModel) -> None:
        self.session, self.batch, self.model = session, batch, model
        self.profile = model.profile
        self.terms: LengthBuffers = length_buffers(session, batch)
        self.least: Least = session.cached("least scores", model, lambda: least_scores(model))
        n = len(batch)
        self.msv = session.results(4 * n)
        self.bias, self.viterbi, self.forward = (session.allocate(4 * n) for _ in range(3))

    def start(self) -> Callable[[], Filtered]:
        """Enqueue everything; return what waits for the results."""
        passed = self.after_bytes(SSV.enqueue(self.session, self.batch, self.profile))
        to_forward = self.after_bias(passed)
        scores = FORWARD.enqueue(self.session, self.batch, self.profile, to_forward, self.terms)
        self.select("after_forward", to_forward.most, to_forward.rows, to_forward.count, scores, self.forward)
        found = self.session.results(16 * passed.most)
        self.select(
            "collect", passed.most, passed.rows, passed.count, self.bias, self.viterbi, self.forward, found,
        )  # fmt: skip
        return self.fetching(passed, found)

    def after_bytes(self, cells: SsvCells) -> RowList:
        """Enqueue what follows SSV, MSV where it is needed; return what passes."""
        scores = bytes_of(self.session, self.profile)
        passed, open_ = self.new_list(), self.new_list()
        nats = self.session.cached("nats of levels", EVERYTHING, self.nats)
        numbers = (np.int32(scores.begin), np.int32(scores.bias), self.least.msv)
        of_length = (self.terms.byte_move, self.terms.null, nats)
        results = (self.msv, passed.rows, passed.count)
        self.select(
            "after_ssv", len(self.batch), cells.extremes, cells.unscored, self.session.residues(self.batch)[1],
            *of_length, np.uint32(len(self.batch)), *numbers, *results, open_.rows, open_.count,
        )  # fmt: skip
        levels = MSV.enqueue(self.session, self.batch, self.profile, open_, self.terms)
        self.select("after_msv", open_.most, open_.rows, open_.count, levels, *of_length, *numbers, *results)
        return passed

    def after_bias(self, passed: RowList) -> RowList:
        """Enqueue the bias and the Viterbi filter; return what passes both."""
        to_viterbi, to_forward = self.new_list(), self.new_list()
        is_used = self.model.limits.bias
        scores = self.bias
        if is_used:
            scores = BIAS_FILTER.enqueue(self.session, self.batch, self.profile, passed, self.terms)
        self.select(
            "after_bias", passed.most, passed.rows, passed.count, scores, np.int32(is_used), self.msv,
            self.terms.null, self.least.msv, self.least.sure, self.bias, self.viterbi, self.forward,
            to_viterbi.rows, to_viterbi.count, to_forward.rows, to_forward.count,
        )  # fmt: skip
        scores = VITERBI_FILTER.enqueue(self.session, self.batch, self.profile, to_viterbi, self.terms)
        self.select(
            "after_viterbi", to_viterbi.most, to_viterbi.rows, to_viterbi.count, scores, self.bias,
            self.least.viterbi, self.viterbi, to_forward.rows, to_forward.count,
        )  # fmt: skip
        return to_forward

    def new_list(self) -> RowList:
        """Return an empty list with room for every sequence."""
        n = len(self.batch)
        return RowList(self.session.allocate(4 * n), self.session.zeros(4), n)

    def select(self, entry: str, most: int, *arguments: Argument) -> None:
        """Enqueue a kernel that looks through a list."""
        geometry = in_turns(self.session.device, most, SELECT_GROUP, SELECT_ITEMS)
        self.session.launch("filters_item", entry, {}, *geometry, *arguments)

    def nats(self) -> Buffer:
        """Return the scores of all levels on the device."""
        levels = np.arange(N_LEVELS) - LEVEL_ZERO
        return self.session.upload(np.array([nats_of(int(level), 0) for level in levels], np.float32))

    def fetching(self, passed: RowList, found: Buffer) -> Callable[[], Filtered]:
        """Return what waits for the results."""
        session, n = self.session, len(self.batch)
        fetch_count = session.fetch(passed.count, 1, np.uint32)
        fetch_msv = session.fetch(self.msv, n, np.float32)
        count = 0
        fetch_found = session.fetch(found, lambda: (count, 4), np.uint32)

        def collect() -> Filtered:
            nonlocal count
            count = int(fetch_count()[0])
            session.demand(count <= n, "more targets that pass the MSV filter than there are")
            table = fetch_found()
            return self.filtered(fetch_msv(), table[np.argsort(table[:, 0])])

        return collect

    def filtered(self, msv: npt.NDArray[np.float32], table: npt.NDArray[np.uint32]) -> Filtered:
        """Return the results, with how far each target came; what takes every target into account is checked later.

        Raises
        ------
        DeviceError
            If the scores of a filter and what came to the next one contradict each other.
        """
        least, demand = self.least, self.session.demand
        places = table[:, 0]
        is_list = not len(places) or (places[-1] < len(msv) and bool((places[1:] > places[:-1]).all()))
        demand(is_list, "targets behind the MSV filter that there are not, or twice")
        rows = places.astype(np.int32)
        bias, viterbi, score = (np.ascontiguousarray(table[:, k]).view(np.float32) for k in (1, 2, 3))
        demand(np.isfinite(bias).all(), "scores of the bias filter that are no numbers")
        with np.errstate(invalid="ignore"):
            above = msv[rows] - bias
            to_viterbi = (above >= least.msv) & ~(above >= least.sure)
            to_forward = (above >= least.sure) | (to_viterbi & (viterbi - bias >= least.viterbi))
            passes = score - bias >= least.forward
        demand(np.array_equal(~np.isnan(viterbi), to_viterbi), "other targets in the Viterbi filter than come to it")
        demand(np.array_equal(~np.isnan(score), to_forward & (above >= least.msv)),
               "other targets in the Forward filter than come to it")  # fmt: skip
        reached = PASSED_MSV + (above >= least.msv).astype(np.uint8)
        reached += ~np.isnan(score)
        reached += passes
        return Filtered(msv, rows, bias, viterbi, score, reached, self.check_of(msv, rows))

    def check_of(self, msv: npt.NDArray[np.float32], rows: npt.NDArray[np.int32]) -> Callable[[], None]:
        """Return what looks at the MSV scores of all targets; nothing is asked of the device."""
        null, least, demand = length_terms_of(self.session, self.batch).null, self.least.msv, self.session.demand
        empty = self.session.cached(
            "rows without residues", self.batch, lambda: np.flatnonzero(self.batch.lengths == 0)
        )

        def check() -> None:
            no_number = np.flatnonzero(np.isnan(msv))
            demand(np.array_equal(no_number, empty), "MSV scores that are no numbers")
            with np.errstate(invalid="ignore"):
                passed = np.flatnonzero(msv - null >= least)
            demand(np.array_equal(rows, passed), "other targets behind the MSV filter than passed it")

        return check

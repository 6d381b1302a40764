"""HMMER3's filters one after the other: targets that pass one are listed on the device for the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.geometry import in_turns
from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, Stage, no_check
from clalign.stages.hmmer3.bias_filter import BIAS_FILTER
from clalign.stages.hmmer3.forward import FORWARD
from clalign.stages.hmmer3.msv import MSV
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, length_buffers, length_terms_of
from clalign.stages.hmmer3.ssv import SSV, SsvCells
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER
from clalign.values.local_profiles import LocalProfile
from clalign.values.local_scores import FilterLimits, Passage, least_difference, nats_of
from clalign.values.sequences import SequenceBatch

N_LEVELS = 511
"""Levels of the MSV score less the cost of leaving, from -255 on."""

LEVEL_ZERO = 255

SELECT_ITEMS = 256
"""Work-items for each compute unit of a GPU that process lists; a CPU has one."""

SELECT_GROUP = 64

FEW_SEQUENCES = 64
"""With no more sequences, many models find none: one in fifty passes the first filter by chance."""

EVERYTHING = object()

PASSED_MSV, PASSED_BIAS, PASSED_VITERBI, PASSED_FORWARD = 1, 2, 3, 4
"""Numbers of passed filters in `Filtered.reached`."""


class FilterModel(Struct, frozen=True, eq=False, weakref=True, dict=True):
    """A calibrated profile and the limits of the filters."""

    profile: LocalProfile
    limits: FilterLimits

    @cached_property
    def row(self) -> tuple[int | np.float32, ...]:
        """Its values of `LIMITS`."""
        least, (shelf, place) = least_scores(self), (self.profile.shelved.shelf, self.profile.shelved.place)
        _, bias, begin = shelf.byte_scores
        return int(begin[place]), int(bias[place]), least.msv, least.sure, least.viterbi, least.forward


class Filtered(Struct, frozen=True):
    """Results of the filters for the targets of a batch, with scores in nats.

    Attributes
    ----------
    msv : float32[n]
        Score of every target; infinite where HMMER's bytes overflow, NaN without residues.
    rows : int32[m]
        Rising positions in the batch of those that passed the MSV filter.
    bias, viterbi, forward : float32[m]
        Their scores in the later filters, not a number where a filter was not run. Without the
        bias filter its score is that of the null model.
    reached : uint8[m]
        How many filters they passed: `PASSED_MSV`, `PASSED_BIAS`, `PASSED_VITERBI` (or it was left
        out), `PASSED_FORWARD`.
    check : callable
        Raises `DeviceError` if MSV scores of all targets are invalid, or contradict `rows`, for one of the models that
        were filtered together. It must be called before they are stored; any thread may call it, since it takes long.
    """

    msv: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]
    bias: npt.NDArray[np.float32]
    viterbi: npt.NDArray[np.float32]
    forward: npt.NDArray[np.float32]
    reached: npt.NDArray[np.uint8]
    check: Callable[[], None] = lambda: None


_NO_SCORES = np.empty(0, np.float32)

NO_TARGETS = Filtered(_NO_SCORES, np.empty(0, np.int32), _NO_SCORES, _NO_SCORES, _NO_SCORES, np.empty(0, np.uint8))


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


LIMITS = np.dtype(
    [("into", "<i4"), ("bias", "<i4"), ("msv", "<f4"), ("sure", "<f4"), ("viterbi", "<f4"), ("forward", "<f4")]
)
"""``limits_t`` of ``filters_item.cl``."""


class Cascade:
    """The filters on one batch with some models."""

    def __init__(self, session: KernelSession, batch: SequenceBatch, models: Sequence[FilterModel]) -> None:
        self.session, self.batch, self.models = session, batch, models
        self.profiles = [model.profile for model in models]
        self.terms: LengthBuffers = length_buffers(session, batch)
        self.limits = np.array([model.row for model in models], LIMITS)
        self.on_device = session.upload(self.limits)
        self.n, self.n_models = len(batch), len(models)
        self.msv = session.results(4 * self.n * self.n_models)
        self.bias, self.viterbi, self.forward = (session.allocate(4 * self.n * self.n_models) for _ in range(3))

    def start(self) -> Callable[[], list[Filtered]]:
        """Enqueue everything and return a callable that waits for the results of each model.

        Of few sequences most models find none, so the later filters are enqueued for those that do, when that is known.
        """
        passed = self.after_bytes(SSV.enqueue(self.session, self.batch, self.profiles))
        if self.n_models == 1 or self.n > FEW_SEQUENCES:
            return self.later(passed)
        fetch_counts = self.session.fetch(passed.count, self.n_models, np.uint32)

        def collect() -> list[Filtered]:
            chosen = tuple(np.flatnonzero(fetch_counts()).tolist())
            return self.later(replace(passed, chosen=chosen))()

        return collect

    def later(self, passed: RowList) -> Callable[[], list[Filtered]]:
        """Enqueue the filters after MSV and return a callable that waits for the results of each model."""
        session, batch, terms = self.session, self.batch, self.terms
        to_forward = self.after_bias(passed)
        scores = FORWARD.enqueue(session, batch, self.profiles, to_forward, terms)
        numbers = np.uint32(self.n), np.uint32(self.n_models)
        self.select("after_forward", to_forward.rows, to_forward.count, scores, *numbers, self.forward)
        found = session.results(16 * passed.room)
        self.select("collect", passed.rows, passed.count, *numbers, self.bias, self.viterbi, self.forward, found)
        return self.fetching(passed, found)

    @property
    def of_models(self) -> tuple[np.uint32, Buffer, np.uint32]:
        """Sequences, models and their number, as kernels take them."""
        return np.uint32(self.n), self.on_device, np.uint32(self.n_models)

    def after_bytes(self, cells: SsvCells) -> RowList:
        """Enqueue the selection after SSV, and MSV where it is needed; return the list of passed targets."""
        passed, open_ = self.new_list(), self.new_list()
        nats = self.session.cached("nats of levels", EVERYTHING, self.nats)
        of_length = (self.terms.byte_move, self.terms.null, nats)
        results = (self.msv, passed.rows, passed.count)
        self.select(
            "after_ssv", cells.extremes, cells.unscored, self.session.residues(self.batch)[1],
            *of_length, *self.of_models, *results, open_.rows, open_.count,
        )  # fmt: skip
        levels = MSV.enqueue(self.session, self.batch, self.profiles, open_, self.terms)
        self.select("after_msv", open_.rows, open_.count, levels, *of_length, *self.of_models, *results)
        return passed

    def after_bias(self, passed: RowList) -> RowList:
        """Enqueue the bias and the Viterbi filter; return the list of targets that pass both."""
        to_viterbi, to_forward = self.new_list(passed.chosen), self.new_list(passed.chosen)
        is_used = self.models[0].limits.bias
        scores = self.bias
        if is_used:
            scores = BIAS_FILTER.enqueue(self.session, self.batch, self.profiles, passed, self.terms)
        self.select(
            "after_bias", passed.rows, passed.count, scores, np.int32(is_used), *self.of_models, self.msv,
            self.terms.null, self.bias, self.viterbi, self.forward,
            to_viterbi.rows, to_viterbi.count, to_forward.rows, to_forward.count,
        )  # fmt: skip
        scores = VITERBI_FILTER.enqueue(self.session, self.batch, self.profiles, to_viterbi, self.terms)
        self.select(
            "after_viterbi", to_viterbi.rows, to_viterbi.count, scores, *self.of_models, self.bias, self.viterbi,
            to_forward.rows, to_forward.count,
        )  # fmt: skip
        return to_forward

    def new_list(self, chosen: tuple[int, ...] | None = None) -> RowList:
        """Return empty lists with room for every sequence, of which those of the chosen models may be filled."""
        rows = self.session.allocate(4 * self.n * self.n_models)
        return RowList(rows, self.session.zeros(4 * self.n_models), self.n, self.n_models, chosen)

    def select(self, entry: str, *arguments: Argument) -> None:
        """Enqueue a kernel that processes lists."""
        geometry = in_turns(self.session.device, self.n, SELECT_GROUP, SELECT_ITEMS)
        self.session.launch("filters_item", entry, {}, *geometry, *arguments)

    def nats(self) -> Buffer:
        """Return the scores of all levels on the device."""
        levels = np.arange(N_LEVELS) - LEVEL_ZERO
        return self.session.upload(np.array([nats_of(int(level), 0) for level in levels], np.float32))

    def fetching(self, passed: RowList, found: Buffer) -> Callable[[], list[Filtered]]:
        """Return a callable that waits for the results."""
        session, n = self.session, self.n
        fetch_counts = session.fetch(passed.count, self.n_models, np.uint32)
        fetch_msv = session.fetch(self.msv, (self.n_models, n), np.float32)
        total = 0
        fetch_found = session.fetch(found, lambda: (total, 4), np.uint32)

        def collect() -> list[Filtered]:
            nonlocal total
            counts = fetch_counts().astype(np.int64)
            session.demand((counts <= n).all(), "more targets that pass the MSV filter than there are")
            total = int(counts.sum())
            table = fetch_found()
            return self.filtered(fetch_msv(), counts, table)

        return collect

    def filtered(
        self, msv: npt.NDArray[np.float32], counts: npt.NDArray[np.int64], table: npt.NDArray[np.uint32]
    ) -> list[Filtered]:
        """Return the results; what involves every target is checked later by `Filtered.check`.

        Raises
        ------
        DeviceError
            If the scores of a filter and the list of the next one contradict each other.
        """
        demand = self.session.demand
        owner = np.repeat(np.arange(self.n_models), counts)
        demand(not len(table) or table[:, 0].max() < self.n, "unknown targets behind the MSV filter")
        places = owner * self.n + table[:, 0]
        order = np.argsort(places)
        table, places = table[order], places[order]
        demand((places[1:] > places[:-1]).all(), "repeated targets behind the MSV filter")
        rows, least = table[:, 0].astype(np.int32), self.limits[owner]
        bias, viterbi, score = (np.ascontiguousarray(table[:, k]).view(np.float32) for k in (1, 2, 3))
        demand(np.isfinite(bias).all(), "scores of the bias filter that are not numbers")
        with np.errstate(invalid="ignore"):
            above = msv.reshape(-1)[places] - bias
            goes_on, is_sure = above >= least["msv"], above >= least["sure"]
            to_viterbi = goes_on & ~is_sure
            to_forward = is_sure | (to_viterbi & (viterbi - bias >= least["viterbi"]))
            passes = score - bias >= least["forward"]
        was_run = ~np.isnan(score)
        demand(np.array_equal(~np.isnan(viterbi), to_viterbi), "wrong targets in the Viterbi filter")
        demand(np.array_equal(was_run, to_forward & goes_on), "wrong targets in the Forward filter")
        reached = PASSED_MSV + goes_on.astype(np.uint8)
        reached += was_run
        reached += passes
        ends = np.cumsum(counts).tolist()
        parts = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        check = cache(self.check_of(msv, places))
        return [
            Filtered(msv[k], rows[part], bias[part], viterbi[part], score[part], reached[part], check)
            for k, part in enumerate(parts)
        ]

    def check_of(self, msv: npt.NDArray[np.float32], places: npt.NDArray[np.int64]) -> Callable[[], None]:
        """Return a function that checks the MSV scores of all targets, without the device.

        Parameters
        ----------
        msv : float32[n_models, n]
        places : int64[m]
            Those of the scores that passed, rising.
        """
        null, demand = length_terms_of(self.session, self.batch).null, self.session.demand
        empty = self.session.cached("which rows have no residues", self.batch, lambda: self.batch.lengths == 0)

        def check() -> None:
            demand((np.isnan(msv) == empty).all(), "MSV scores that are not numbers")
            with np.errstate(invalid="ignore"):
                passed = np.flatnonzero(msv - null >= self.limits["msv"][:, None])
            demand(np.array_equal(places, passed), "wrong targets behind the MSV filter")

        return check


class FiltersStage(Stage[SequenceBatch, Sequence[FilterModel], list[Filtered]]):
    """All filters with some models on every sequence of a batch; the lists of what passes never leave the device.

    With few sequences several models are started at a time, since each of them is finished soon.
    """

    name = "filters"

    def start(
        self, session: KernelSession, batch: SequenceBatch, model: Sequence[FilterModel]
    ) -> Callable[[], list[Filtered]]:
        """Enqueue all filters of all models; nothing waits for the host between them."""
        if len(batch) == 0:
            return lambda: [NO_TARGETS for _ in model]
        return Cascade(session, batch, model).start()

    def reference(self, batch: SequenceBatch, model: Sequence[FilterModel], check: Check = no_check) -> list[Filtered]:
        return [self.reference_of(batch, one, check) for one in model]

    def reference_of(self, batch: SequenceBatch, model: FilterModel, check: Check = no_check) -> Filtered:
        """Return the results of the plain filters of a model, target after target."""
        from clalign.reference.filters import passage

        msv = np.full(len(batch), np.nan, np.float32)
        passed: list[tuple[int, Passage]] = []
        for row in range(len(batch)):
            check()
            codes = batch.residues(row)
            if not len(codes):
                continue
            found = passage(codes, model.profile, model.limits)
            msv[row] = found.msv
            if found.reached:
                passed.append((row, found))

        def column(name: str) -> npt.NDArray[np.float32]:
            return np.array([getattr(found, name) for _, found in passed], np.float32)

        return Filtered(
            msv=msv,
            rows=np.array([row for row, _ in passed], np.int32),
            bias=column("bias"),
            viterbi=column("viterbi"),
            forward=column("forward"),
            reached=np.array([found.reached for _, found in passed], np.uint8),
        )

    def passage(self, codes: npt.NDArray[np.uint8], model: FilterModel) -> Passage:
        """Return the scores of a target (`codes`: uint8[length]) in all plain filters."""
        from clalign.reference.filters import passage

        return passage(codes, model.profile, model.limits, to_the_end=True)


FILTERS = FiltersStage()

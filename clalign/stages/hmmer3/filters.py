"""HMMER3's filters one after the other: what passes one is listed on the device for the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, KernelSession, Stage, nothing_to_check
from clalign.stages.hmmer3.filter_cascade import NO_TARGETS, PASSED_FORWARD, Cascade, Filtered, FilterModel
from clalign.values.filters import Passage
from clalign.values.sequences import SequenceBatch

__all__ = [
    "FILTERS", "FILTERS_OF_MANY", "PASSED_FORWARD", "FilterModel", "Filtered", "FiltersOfManyStage", "FiltersStage",
]  # fmt: skip


class FiltersStage(Stage[SequenceBatch, FilterModel, Filtered]):
    """All filters on every sequence of a batch; the lists of what passes never leave the device."""

    name = "filters"

    def start(self, session: KernelSession, batch: SequenceBatch, model: FilterModel) -> Callable[[], Filtered]:
        """Enqueue all filters; nothing waits for the host between them."""
        if len(batch) == 0:
            return lambda: NO_TARGETS
        collect = Cascade(session, batch, [model]).start()
        return lambda: collect()[0]

    def reference(self, batch: SequenceBatch, model: FilterModel, check: Check = nothing_to_check) -> Filtered:
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
        """Return the scores of a target (`codes`: uint8[length]) in all the plain filters, and how far it comes."""
        from clalign.reference.filters import passage

        return passage(codes, model.profile, model.limits, to_the_end=True)


FILTERS = FiltersStage()


class FiltersOfManyStage(Stage[SequenceBatch, Sequence[FilterModel], list[Filtered]]):
    """All filters with some models on every sequence of a batch: of few sequences a model's own are soon done."""

    name = "filters"

    def start(
        self, session: KernelSession, batch: SequenceBatch, model: Sequence[FilterModel]
    ) -> Callable[[], list[Filtered]]:
        if len(batch) == 0:
            return lambda: [NO_TARGETS for _ in model]
        return Cascade(session, batch, model).start()

    def reference(
        self, batch: SequenceBatch, model: Sequence[FilterModel], check: Check = nothing_to_check
    ) -> list[Filtered]:
        return [FILTERS.reference(batch, one, check) for one in model]


FILTERS_OF_MANY = FiltersOfManyStage()

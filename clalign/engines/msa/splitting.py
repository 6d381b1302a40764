"""Stages on pairs whatever memory a device has: batches that are too large are halved, and a single pair left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.common.plain_data import Json
from clalign.compute.sessions import Session, Stage
from clalign.errors import OutOfDeviceMemory
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS, no_counts
from clalign.stages.pairhmm.posteriors import PosteriorsStage, joined
from clalign.values.multiple_alignments import offsets_of
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import ExpectedCounts, PairHmms, PosteriorBatch

Found = TypeVar("Found", ExpectedCounts, PosteriorBatch)
Rows = npt.NDArray[np.int64]

OFFSETS = {"offsets", "x_offsets", "y_offsets"}


def selected(batch: PairBatch, rows: Rows) -> PairBatch:
    """Return some pairs of a batch."""
    return replace(batch, query_rows=batch.query_rows[rows], target_rows=batch.target_rows[rows])


def expected_counts(session: Session, batch: PairBatch, models: PairHmms) -> ExpectedCounts:
    """Return the expected counts of pairs; of one that is too large for the device they are 0, as is its likelihood."""
    return _halved(session, EXPECTED_COUNTS, batch, models, lambda batch, models: no_counts(models))


def posteriors(session: Session, stage: PosteriorsStage, batch: PairBatch, models: PairHmms) -> PosteriorBatch:
    """Return the posteriors of pairs; of one that is too large for the device there are none, its likelihood is 0."""
    return _halved(session, stage, batch, models, lambda batch, models: joined(batch, {}))


def _halved(
    session: Session, stage: Stage[PairBatch, PairHmms, Found], batch: PairBatch, models: PairHmms,
    nothing: Callable[[PairBatch, PairHmms], Found],
) -> Found:  # fmt: skip
    session.check()
    try:
        return session.run(stage, batch, models)
    except OutOfDeviceMemory:
        if len(batch) == 1:
            return nothing(batch, models)
    return together([
        _halved(session, stage, selected(batch, rows), models.select(rows), nothing)
        for rows in np.array_split(np.arange(len(batch)), 2)
    ])  # fmt: skip


def together(parts: list[Found]) -> Found:
    """Return the results of pairs in several batches as if it had been one."""
    values: Json = {}
    for name in parts[0].__struct_fields__:
        arrays = [getattr(part, name) for part in parts]
        if name in OFFSETS:
            values[name] = offsets_of(np.concatenate([np.diff(array) for array in arrays]))
        else:
            values[name] = np.concatenate(arrays)
    return type(parts[0])(**values)

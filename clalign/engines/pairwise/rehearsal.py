"""Which programs a comparison of sequences will need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clalign.compute.rehearsal import Rehearsal
from clalign.engines.pairwise.inputs import PairwiseInputs
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.pair_batches import PairBatch
from clalign.values.sequences import SequenceBatch

MAX_REHEARSED = 64
"""Queries that are looked at; what others need besides is built when it is."""

MAX_ROWS = 1 << 18
"""Targets of the first batch: what takes them depends on how long they are."""

TRACED_ROWS = 64

TRACED_LENGTHS = 640, 1280, 1920, 2560
"""Pairs of these are traced by all programs there are: five strips each of 32 lanes with 4, 8, 12 and 16 rows."""


def rehearse(inputs: PairwiseInputs, session: Rehearsal) -> None:
    """Start on a session that computes nothing what a search will start, the longest query first, tracing at last."""
    lengths = np.diff(inputs.queries.offsets)[inputs.query_rows]
    numbers = np.argsort(-lengths, kind="stable")[:MAX_REHEARSED].tolist()
    batch = _first_batch(inputs)
    for number in numbers:
        for query in inputs.stranded(number):
            SMITH_WATERMAN.start(session, batch, query)
    if not len(batch) or not numbers:
        return
    for pairs in _trace_batches(inputs, numbers, len(batch)):
        SMITH_WATERMAN_TRACE.start(session, pairs, inputs.stranded(numbers[0])[0].scoring)


def _trace_batches(inputs: PairwiseInputs, numbers: list[int], n_targets: int) -> Iterator[PairBatch]:
    """Yield pairs as may be traced: what several queries find is traced together, so by any of the programs."""
    if len(numbers) > 1:
        for length in TRACED_LENGTHS:
            made_up = SequenceBatch.from_texts([np.zeros(length, np.uint8)])
            yield PairBatch.in_step(made_up, made_up)
    else:
        targets = inputs.targets.select(np.arange(n_targets)[-TRACED_ROWS:])
        yield PairBatch.of_query(inputs.stranded(numbers[0])[0].sequence.codes, targets)


def _first_batch(inputs: PairwiseInputs) -> SequenceBatch:
    """Return the longest targets without their letters, which nothing that is built depends on."""
    n = min(MAX_ROWS, len(inputs.targets))
    offsets = np.asarray(inputs.targets.offsets[: n + 1])
    n = int(np.searchsorted(offsets, 2**31 - 1, side="right")) - 1 if offsets[-1] >= 2**31 else n
    return SequenceBatch(np.empty(0, np.uint8), offsets[: n + 1].astype(np.int32), np.arange(n, dtype=np.int64))

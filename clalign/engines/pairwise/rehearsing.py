"""Which programs a comparison of sequences will need."""

from __future__ import annotations

import json
from functools import partial

import numpy as np

from clalign.compute.foresight import remembered
from clalign.compute.opening import Rehearse
from clalign.compute.rehearsal import Rehearsal
from clalign.engines.pairwise.inputs import PairwiseInputs
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.pair_batches import PairBatch
from clalign.values.sequences import SequenceBatch

MOST_REHEARSED = 64
"""Queries that are looked at; what others need besides is built when it is."""

MOST_ROWS = 1 << 18
"""Targets of the first batch: what takes them depends on how long they are."""

TRACED_ROWS = 64

LENGTHS_TRACED_ALIKE = 128
"""Queries that take as many of these are traced with the same programs: 32 lanes of four rows are the fewest."""

WORTH_REMEMBERING = 4
"""Queries of which it is remembered what programs they need; of fewer that is found again as soon as read."""


def foresight_of(inputs: PairwiseInputs) -> Rehearse:
    """Return what tells which programs a search will need, and remembers that if there are several queries."""
    ahead: Rehearse = partial(rehearse, inputs)
    if len(inputs.query_rows) < WORTH_REMEMBERING:
        return ahead
    reports = inputs.query_report, inputs.target_report
    read = [(report.digest, report.alphabet, report.format) for report in reports]
    lengths = np.sort(np.diff(inputs.queries.offsets)[inputs.query_rows])[-MOST_REHEARSED:].tolist()
    return remembered(ahead, "sequences", json.dumps([read, inputs.chosen.to_dict(), inputs.strands, lengths]))


def rehearse(inputs: PairwiseInputs, session: Rehearsal) -> None:
    """Start on a session that computes nothing what a search will start, the longest query first, tracing at last."""
    lengths = np.diff(inputs.queries.offsets)[inputs.query_rows]
    numbers = np.argsort(-lengths, kind="stable")[:MOST_REHEARSED].tolist()
    batch = _first_batch(inputs)
    for number in numbers:
        for query in inputs.stranded(number):
            SMITH_WATERMAN.start(session, batch, query)
    if not len(batch):
        return
    # What is found with several queries is traced together, or that with one of them alone.
    alike = {-(-int(lengths[number]) // LENGTHS_TRACED_ALIKE): number for number in numbers}
    targets = inputs.targets.select(np.arange(len(batch))[-TRACED_ROWS:])
    for together in (numbers, *([number] for number in alike.values() if len(numbers) > 1)):
        queries = [inputs.stranded(number)[0] for number in together]
        rows = np.arange(len(queries) * len(targets), dtype=np.int32)
        texts = SequenceBatch.from_texts([query.sequence.codes for query in queries])
        pairs = PairBatch(texts, targets, rows // len(targets), rows % len(targets))
        SMITH_WATERMAN_TRACE.start(session, pairs, queries[0].scoring)


def _first_batch(inputs: PairwiseInputs) -> SequenceBatch:
    """Return the longest targets without their letters, which nothing that is built depends on."""
    n = min(MOST_ROWS, len(inputs.targets))
    offsets = np.asarray(inputs.targets.offsets[: n + 1])
    n = int(np.searchsorted(offsets, 2**31 - 1, side="right")) - 1 if offsets[-1] >= 2**31 else n
    return SequenceBatch(np.empty(0, np.uint8), offsets[: n + 1].astype(np.int32), np.arange(n, dtype=np.int64))

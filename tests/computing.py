"""Computing a run in the process of a test, and a database in its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clalign.engines.engine import engine_with
from clalign.execution.job import Task
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import Alphabet
from clalign.values.devices import Device
from clalign.values.sequences import Sequence, SequenceDatabase
from clalign.values.specs import Spec


def compute_search(
    run: RunFile, spec: Spec, pick_device: Callable[[str], Device], context: JobContext
) -> dict[str, Any]:
    """Search, or go on with a search, whatever the engine; return its summary."""
    engine = engine_with(spec.command)
    assert engine is not None
    return engine.compute(Task(run, spec, pick_device, context))


def database_of(sequences: Iterable[Sequence], alphabet: Alphabet) -> SequenceDatabase:
    """Return a database in memory, sorted by falling length."""
    given = list(sequences)
    order = np.argsort([-len(sequence) for sequence in given], kind="stable").astype(np.int64)
    rows = [given[i] for i in order]
    texts = [f"{s.name}\t{s.accession}\t{s.description}".encode() for s in rows]
    offsets, text_offsets = (
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        for sizes in ([len(s) for s in rows], [len(text) for text in texts])
    )
    codes = np.concatenate([np.empty(0, np.uint8), *[s.codes for s in rows]])
    text = np.frombuffer(b"".join(texts), np.uint8)
    return SequenceDatabase(alphabet, codes, offsets, order, text, text_offsets, n_empty=sum(len(s) == 0 for s in rows))

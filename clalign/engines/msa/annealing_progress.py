"""An annealing that is watched while it goes on: now and then, the alignment that its merges have made until then."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.jobs import JobContext
from clalign.values.documents import JobResult
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, offsets_of

SECONDS, SHARE = 0.5, 0.01
"""Least time between two reports (s), and the most that reports may take of the time of merging."""

MAX_RESIDUES = 200_000
"""Larger alignments are not reported: there is too much to be sent, and to be seen."""


class MergeReports:
    """Reports to a job what columns were merged until now; `reported_alignment` reads it.

    Parameters
    ----------
    context : JobContext
    n_residues : int
        Of all sequences.
    """

    def __init__(self, context: JobContext, n_residues: int) -> None:
        self._context, self._is_small = context, n_residues <= MAX_RESIDUES
        self._next = 0.0

    def __call__(self, merges: Callable[[], ColumnMerges]) -> None:
        """Report the merges, unless it is too early for others."""
        began = time.monotonic()
        if not self._is_small or began < self._next:
            return
        found = merges()
        alignment = found.alignment_after()
        columns = base64.b64encode(zlib.compress(alignment.columns.astype("<i4").tobytes(), 1)).decode()
        self._context.partial(n_merges=len(found), n_columns=alignment.n_columns, columns=columns)
        ended = time.monotonic()
        self._next = ended + max(SECONDS, (ended - began) / SHARE)


def reported_alignment(value: JobResult, lengths: npt.NDArray[np.int64]) -> MultipleAlignment:
    """Return the alignment that was reported.

    Parameters
    ----------
    value : dict
        Of the event.
    lengths : int64[N]
        Residues of each sequence.
    """
    columns = np.frombuffer(zlib.decompress(base64.b64decode(value["columns"])), "<i4")
    return MultipleAlignment(offsets_of(lengths), columns.astype(np.int32), int(value["n_columns"]))

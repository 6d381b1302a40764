"""What passed the first of HMMER3's filters in a batch, as it is kept in a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.errors import DamagedRun
from clalign.runs.batches import compress, n_rows_of, unpacked
from clalign.runs.columns import SqlRow

SURVIVOR_BYTES = 8 + 4 * 4 + 1
"""Size of what is kept of a sequence (bytes)."""

_COLUMNS = (("msv", "<f4"), ("bias", "<f4"), ("viterbi", "<f4"), ("forward", "<f4"), ("reached", "u1"))


class Survivors(Struct, frozen=True):
    """Targets that passed the first of HMMER3's filters, in rising order of their rows.

    Attributes
    ----------
    rows : int64[m]
        Row of each in the database.
    msv, bias, viterbi, forward : float32[m]
        As in `FilterScores`, not a number where a filter was not run.
    reached : uint8[m]
        How many filters each passed: MSV, bias, Viterbi (or it was left out), Forward.
    """

    rows: npt.NDArray[np.int64]
    msv: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    viterbi: npt.NDArray[np.float32]
    forward: npt.NDArray[np.float32]
    reached: npt.NDArray[np.uint8]


def pack_survivors(survivors: Survivors) -> SqlRow:
    """Return survivors as they are stored, and how many passed each filter."""
    columns = [np.diff(survivors.rows, prepend=0).astype("<i8").tobytes()]
    columns += [getattr(survivors, name).astype(kind).tobytes() for name, kind in _COLUMNS]
    passed = (int(np.count_nonzero(survivors.reached >= stage)) for stage in (1, 2, 3, 4))
    return compress(b"".join(columns), 1), *passed


def unpack_survivors(blob: bytes, first: int, last: int, path: Path) -> Survivors:
    """Return what passed the first filter in a batch, as `clalign.runs.batches.unpack_scores`."""
    data = unpacked(blob, SURVIVOR_BYTES * n_rows_of(first, last, path), path)
    n, rest = divmod(len(data), SURVIVOR_BYTES)
    rows = np.cumsum(np.frombuffer(data, "<i8", n))
    columns, start = [rows], 8 * n
    for _, kind in _COLUMNS:
        columns.append(np.frombuffer(data, kind, n, start))
        start += columns[-1].nbytes
    in_order = not n or (rows[0] >= first and rows[-1] < last and bool((np.diff(rows) > 0).all()))
    if rest or not in_order or columns[-1].max(initial=0) > 4:
        raise DamagedRun(path, "sequences that passed filters are not those of their batch")
    return Survivors(*columns)

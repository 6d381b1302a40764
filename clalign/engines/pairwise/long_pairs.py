"""Long pairs: each has all of a device, reports its progress, and goes on from what an earlier worker kept of it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Session
from clalign.engines.pairwise.tables import CHECKPOINTS
from clalign.execution.units import UnitProgress
from clalign.runs.tables import SqlRow
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.pairwise.long_pair_state import State
from clalign.values.pair_alignments import PairAlignment, path_of
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import PairwiseQuery
from clalign.values.sequences import SequenceBatch

WAY_BACK = {"reference": 2.0}
USUAL_WAY_BACK = 1.2
"""Cells that are computed for the alignment of a pair, in multiples of those that it has, at most or about."""

KEPT_EVERY = 10.0
"""Time from one state that is kept to the next (s), as long as keeping does not take long."""

MAX_OF_TIME = 0.05
"""Share of the time that keeping may take."""

BYTES_A_SECOND = 5e7
"""Bytes that are packed and written in a second, at least."""

MAX_STOP_SECONDS = 1.0
"""Time that keeping a state may take when a job is stopped (s), unless more has been computed since the last one."""

ROW_BYTES = 2**24
"""Size of a row of a run file (bytes)."""

FORMAT = 1


def align_long(
    session: Session,
    queries: Sequence[PairwiseQuery],
    target: npt.NDArray[np.uint8],
    names: str,
    progress: UnitProgress,
) -> list[PairAlignment]:
    """Align a query, on each of its strands, with a target.

    Parameters
    ----------
    session : Session
    queries : sequence of PairwiseQuery
        The strands.
    target : uint8[n]
        Letter codes.
    names : str
        Both, in words.
    progress : UnitProgress
    """
    kept = Checkpoint(progress, _key(queries, target), names)
    progress.begin(kept.seconds)
    cells = len(queries[0].sequence.codes) * len(target)
    more = WAY_BACK.get(session.device.kind, USUAL_WAY_BACK)
    for number in range(len(kept.found), len(queries)):
        query, n_done = queries[number], 0

        def report(some: int, number: int = number) -> None:
            nonlocal n_done
            n_done += some
            progress.report(cells * number + min(cells, int(n_done / more)))

        batch = PairBatch.of_query(query.sequence.codes, SequenceBatch.from_texts([target]))
        kept.found.append(session.run(LONG_PAIR, batch, LongPairChoice(query.scoring, report, kept)))
    return kept.found


def _key(queries: Sequence[PairwiseQuery], target: npt.NDArray[np.uint8]) -> str:
    """Return a digest of a pair and of how it is scored."""
    scoring = queries[0].scoring
    content = [scoring.mode, scoring.gaps.first, scoring.gaps.next, len(target), *(query.length for query in queries)]
    digest = hashlib.sha256(json.dumps(content).encode("ascii"))
    for codes in (target, *(query.sequence.codes for query in queries)):
        digest.update(codes.tobytes())
    digest.update(scoring.matrix.scores.tobytes())
    return digest.hexdigest()


class Checkpoint:
    """What a run file keeps of a pair that is not done; a `Keeper`.

    Parameters
    ----------
    progress : UnitProgress
    key : str
        Of the pair.
    names : str

    Attributes
    ----------
    found : list of PairAlignment
        Of the strands that are done.
    seconds : float
        That the device has spent until then.
    """

    def __init__(self, progress: UnitProgress, key: str, names: str) -> None:
        self._progress, self._key, self._names = progress, key, names
        self.found: list[PairAlignment] = []
        self.seconds = 0.0
        self._state: State | None = None
        self._last, self._took = time.monotonic(), 0.0
        rows = progress.kept(CHECKPOINTS.name)
        if rows:
            try:
                self._take(rows)
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                self.found, self.seconds, self._state = [], 0.0, None
                self.refuse(str(error))

    def _take(self, rows: list[SqlRow]) -> None:
        head = json.loads(rows[0][1])
        if head["format"] != FORMAT or head["key"] != self._key:
            raise ValueError("it is of another pair")
        if head["digest"] != _digest(rows[1:]):
            raise ValueError("it is damaged")
        found = [PairAlignment(score, tuple(q), tuple(t), path_of(cigar)) for score, q, t, cigar in head["found"]]
        state: dict[str, bytearray] = {}
        for name, some in rows[1:]:
            state.setdefault(name, bytearray()).extend(some)
        self._state = {name: bytes(data) for name, data in state.items()}
        self.found, self.seconds = found, float(head["seconds"])

    def is_due(self, n_bytes: int) -> bool:
        """Return whether it is long enough since the last time."""
        del n_bytes
        return time.monotonic() - self._last > max(KEPT_EVERY, self._took / MAX_OF_TIME)

    def is_due_in_the_end(self, n_bytes: int) -> bool:
        """Return whether keeping it takes no longer than one may wait for the end of a job, or than to do it again."""
        return n_bytes / BYTES_A_SECOND < max(MAX_STOP_SECONDS, time.monotonic() - self._last)

    def keep(self, state: State) -> None:
        """Have the state written."""
        began = time.monotonic()
        rows = list(_rows(state))
        found = [(one.score, one.query_range, one.target_range, one.cigar) for one in self.found]
        head = {
            "format": FORMAT, "key": self._key, "digest": _digest(rows), "seconds": self._progress.seconds,
            "found": found,
        }  # fmt: skip
        self._progress.keep(CHECKPOINTS.name, [("head", json.dumps(head).encode("ascii")), *rows])
        self._last = time.monotonic()
        self._took = self._last - began

    def kept(self) -> State | None:
        """Return the state that was found, once: it is of the strand that was being aligned."""
        state, self._state = self._state, None
        return state

    def refuse(self, why: str) -> None:
        """Warn that the pair is computed from its beginning."""
        self._progress.warn(
            f"What was kept of {self._names} cannot be used ({why}); this pair is computed from its beginning."
        )


def _rows(state: State) -> Iterator[tuple[str, bytes]]:
    for name, data in state.items():
        for start in range(0, max(1, len(data)), ROW_BYTES):
            yield name, data[start : start + ROW_BYTES]


def _digest(rows: list[SqlRow]) -> str:
    digest = hashlib.sha256()
    for name, data in rows:
        digest.update(f"{name} {len(data)} ".encode())
        digest.update(data)
    return digest.hexdigest()

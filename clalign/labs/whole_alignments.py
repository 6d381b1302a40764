"""Whole alignments whose pairs a rung of the pair HMM's ladder computes, one after the other (003, chapter 6)."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from clalign.compute.opening import open_session
from clalign.compute.sessions import AnyStage, Building, Check, KernelSession, Session
from clalign.formats.scratch import Scratch
from clalign.jobs import JobContext
from clalign.labs.laboratory import DONE
from clalign.labs.ladder import NO_PROCESSOR, device_for, measurable_device
from clalign.labs.measuring import NOT_REACHED, PartOf, Row, differs, not_run
from clalign.labs.pair_hmm_ladder import Entries, difference_of
from clalign.labs.pair_hmm_rungs import PAIR_HMM_RUNGS, PairHmmRung
from clalign.labs.repeating import Found, Request
from clalign.labs.whole_runs import whole_run
from clalign.stages.pairhmm.expected_counts import ExpectedCountsStage
from clalign.stages.pairhmm.pair_hmm_ladder import OnePairStage, nobody_counts
from clalign.stages.pairhmm.posteriors import PosteriorsStage
from clalign.values.alphabets import decode
from clalign.values.devices import Device
from clalign.values.pair_hmm import PosteriorBatch
from clalign.values.synthetic import random_codes

SIZES = {"small": (3, 20), "cpu": (8, 250), "gpu": (4, 1452), "accelerator": (4, 1452), "full": (73, 1452)}
"""Proteins and their mean residues; what is published is the last."""

SUBSTITUTED, GAPPED, GAP = 0.5, 0.01, 5
"""Share of the residues that a relative has changed and of places with a gap, and the mean residues of a gap."""

TOLERANCE = 1e-3
"""Tolerance of a posterior: differences of single precision grow while models are learned."""

STEPS = ("learning", "posteriors", "merging")


def relatives(n: int, length: int, seed: int) -> str:
    """Return proteins that descend from a random one, as FASTA."""
    rng = np.random.default_rng(seed)
    ancestor, lines = random_codes(rng, length), []
    for number in range(n):
        changed = np.where(rng.random(length) < SUBSTITUTED, random_codes(rng, length), ancestor)
        first, *parts = np.split(changed, np.flatnonzero(rng.random(length) < GAPPED))
        codes = [first]
        for part in parts:
            gap = int(rng.geometric(1 / GAP))
            codes += [random_codes(rng, gap), part] if rng.random() < 0.5 else [part[gap:]]
        lines.append(f">relative{number + 1}\n{decode(np.concatenate(codes))}\n")
    return "".join(lines)


class RungSession:
    """A session on which a rung computes pairs, and which measures how long each step takes.

    Parameters
    ----------
    session : Session
    stage : OnePairStage
    seconds : dict
        To which times are added by `STEPS`.
    found : list
        To which posteriors are added.
    """

    def __init__(
        self, session: Session, stage: OnePairStage, seconds: dict[str, float], found: list[PosteriorBatch]
    ) -> None:
        self._session, self._stage, self._seconds, self._found = session, stage, seconds, found

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.__exit__(kind, error, trace)

    def run(self, stage: AnyStage, batch: Any, model: Any) -> Any:
        """Run a stage; those of the pair HMM as the rung does."""
        began, session, step, found = time.perf_counter(), cast("KernelSession", self._session), "merging", None
        if isinstance(stage, ExpectedCountsStage):
            found, step = self._stage.counts(session, batch, model), "learning"
        elif isinstance(stage, PosteriorsStage):
            step = "posteriors"
            self._found.append(self._stage.posteriors(session, batch, model))
        else:
            found = self._session.run(stage, batch, model)
        self._seconds[step] += time.perf_counter() - began
        return self._found[-1] if step == "posteriors" else found

    def second_queue(self) -> RungSession:
        """Return a session with another queue of the device."""
        queue = cast("Session", cast("KernelSession", self._session).second_queue())
        return RungSession(queue, self._stage, self._seconds, self._found)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def whole_alignments(request: Request, context: JobContext) -> Found:
    """Align the same proteins with each rung that is asked for; their posteriors must be alike."""
    names = {name for item in request.items for name in item.shown_rows}
    rungs = [rung for rung in PAIR_HMM_RUNGS if rung.name in names]
    device, rows = measurable_device(request.device), dict[str, Row]()
    n, length = SIZES["small" if request.is_small else "full" if request.is_full else device.kind]
    expected, n_pairs = list[PosteriorBatch](), 0
    text = f"{device.name}, " + (request.db or f"{n} proteins of {length:,} residues, more or less")
    with Scratch() as folder:
        given, warm = Path(request.db or folder / "relatives.fasta"), folder / "warm.fasta"
        if request.db is None:
            given.write_text(relatives(n, length, request.seed))
        warm.write_text(relatives(2, 9, request.seed))
        for place, rung in enumerate(rungs):
            context.progress("lab", place, len(rungs), "rungs", now=rung.name)
            used = device_for(rung, device)
            if used is None or request.is_over:
                rows[rung.name] = not_run(NOT_REACHED if used else NO_PROCESSOR)
                continue
            part = PartOf(context, rung.name, place, 1, len(rungs))
            _run(rung, used, str(warm), part)  # builds the kernels
            rows[rung.name], n_pairs, found = _run(rung, used, str(given), part)
            expected = expected or found
            if difference_of(_entries(expected), _entries(found)) > TOLERANCE:
                rows[rung.name] = differs("Its posteriors are not those of the first rung.")
    wrong = tuple(
        f"the alignment of {name}" for name, row in rows.items() if row["status"] == DONE and not row["equal"]
    )
    return Found({"rows": rows}, f"{text}, {n_pairs:,} pairs.", wrong)


def _run(rung: PairHmmRung, device: Device, path: str, context: JobContext) -> tuple[Row, int, list[PosteriorBatch]]:
    """Return the minutes of the steps of an alignment, its number of pairs, and its posteriors."""
    seconds, found = defaultdict[str, float](float), list[PosteriorBatch]()
    stage = cast("OnePairStage", rung.stage(device, nobody_counts))

    def open_it(device: Device, check: Check, building: Building) -> Session:
        return cast("Session", RungSession(open_session(device, check, building), stage, seconds, found))

    options = {"is_fast": True, "has_one_gap_set": True, "refinement": 0}
    began = time.perf_counter()
    with whole_run("align", context, open_it, sequences=(path,), device=device.id, **options) as (_, summary):
        ended = time.perf_counter()
    minutes = {f"{step}_minutes": seconds[step] / 60 for step in STEPS}
    row = {"status": DONE, "reason": None, "equal": True, "run_minutes": (ended - began) / 60, **minutes}
    return row, summary["n_pairs"], found


def _entries(found: list[PosteriorBatch]) -> Entries:
    """Return pair and residues of each posterior as one number, and the posteriors."""
    keys: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    first = 0
    for one in found:
        pairs = first + np.repeat(np.arange(len(one.offsets) - 1), np.diff(one.offsets))
        keys.append(np.asarray((pairs << 40) + (one.x.astype(np.int64) << 20) + one.y, np.int64))
        first += len(one.offsets) - 1
    return np.concatenate(keys), np.concatenate([np.empty(0, np.float32), *(one.values for one in found)])

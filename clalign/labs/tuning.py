"""Finding the choices by which the Viterbi kernels are fastest on a device.

One choice after another is varied while the others stay as they are, and the fastest is kept. A
candidate only counts if its scores equal those of the plain kernel, which serves every model.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np

from clalign.devices import Device
from clalign.errors import ClalignError, OptionError
from clalign.hits import Scores
from clalign.jobs import JobContext
from clalign.profiles import IntegerProfile
from clalign.reference.cases import random_profile, swissprot_batch
from clalign.sequences import SequenceBatch
from clalign.sessions import open_session
from clalign.stages.viterbi import ViterbiStage
from clalign.stages.viterbi_tuning import PREFIX, ViterbiTuning, tuning_of

NODES = (61, 240)
"""Lengths of the models that are tried: a short and a longer one."""

SEED = 6
RUNS = 3
TURNS = 3
TRIAL_SECONDS = 0.05
LEAST_SEQUENCES, MOST_SEQUENCES = 64, 200_000
LEAST_PER_UNIT = 1024
"""Sequences a compute unit of a GPU has at least in a trial: with fewer it is not full."""

WORTH = 1.03
"""Another choice must be so many times faster than the one in use; less may be chance."""

FIRST_GCUPS = {"cpu": 4.0, "gpu": 200.0, "accelerator": 20.0}

GPU_CANDIDATES: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("strip_nodes", "item", (8, 12, 16, 20, 24)),
    ("strip_group", "item", (32, 64, 128, 256)),
    ("strip_groups", "item", (2, 4, 8)),
    ("lanes_group", "lanes", (32, 64, 128, 256)),
)
CPU_CANDIDATES: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("vector_lanes", "vector", (8, 16)),
    ("vector_sequences", "vector", (1, 2, 3)),
)
"""Choice, shape that it is for, values."""

CROSSOVER = (4, 8, 16, 32, 64, 128)
"""Sequences a compute unit at which `item` and `lanes` are compared."""

Row = dict[str, Any]


class Tuner:
    """The search for the fastest choices on one device.

    Parameters
    ----------
    device : Device
    context : JobContext
        Told of every trial (`partial`, with a ``row``), and asked whether to stop.
    """

    def __init__(self, device: Device, context: JobContext) -> None:
        self.device = device
        self.context = context
        self.tuning = tuning_of(device)
        self.rows: list[Row] = []
        rng = np.random.default_rng(SEED)
        self.models = [random_profile(rng, nodes, local=False) for nodes in NODES]
        rate = (device.gcups or FIRST_GCUPS[device.kind]) * 1e9
        n = int(rate * TRIAL_SECONDS / (354 * sum(NODES) / len(NODES)))
        if device.kind != "cpu":
            n = max(n, LEAST_PER_UNIT * device.n_compute_units)
        self.batch = swissprot_batch(rng, min(max(n, LEAST_SEQUENCES), MOST_SEQUENCES))
        self.truth: list[Scores] = []

    def find(self) -> ViterbiTuning:
        """Return the fastest choices that were met; their trials are in `rows`."""
        before = self.tuning
        shape = "vector" if self.device.kind == "cpu" else "lanes"
        self._show_progress()
        with open_session(self.device, self.context.check) as session:
            plain = ViterbiStage(shape, PLAIN=1)
            self.truth = [session.run(plain, self.batch, model) for model in self.models]
        for name, shape, values in self._candidates():
            self._vary(name, shape, values)
        if self.device.kind != "cpu":
            self._cross_over()
        self._confirm(before)
        return self.tuning

    def _confirm(self, before: ViterbiTuning) -> None:
        """Go back to the choices before unless those found are faster where both take turns."""
        if self.tuning == before:
            return
        stage, ratios = ViterbiStage(), []
        with (
            open_session(_with(self.device, before), self.context.check) as old,
            open_session(_with(self.device, self.tuning), self.context.check) as new,
        ):
            for model in self.models:
                for session in (old, new):
                    session.run(stage, self.batch, model)
                for _ in range(TURNS):
                    rate = self._rate(old, stage, self.batch, model)
                    ratios.append(self._rate(new, stage, self.batch, model) / rate)
        if statistics.median(ratios) <= 1:
            self.tuning = before

    def _candidates(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        return CPU_CANDIDATES if self.device.kind == "cpu" else GPU_CANDIDATES

    def _show_progress(self) -> None:
        """Tell how many of the trials are over; there are fewer if a crossing is found early."""
        total = sum(len({*values, getattr(self.tuning, name)}) for name, _, values in self._candidates())
        total += 0 if self.device.kind == "cpu" else 2 * len(CROSSOVER)
        self.context.progress("tune", len(self.rows), max(total, len(self.rows)), "trials")

    def _vary(self, name: str, shape: str, values: tuple[int, ...]) -> None:
        rates = {}
        for value in sorted({*values, getattr(self.tuning, name)}):
            self.context.check()
            rates[value] = self._trial(name, value, shape)
        best = max(rates, key=lambda value: rates[value])
        if rates[best] > WORTH * rates[getattr(self.tuning, name)]:
            self.tuning = replace(self.tuning, **{name: best})

    def _trial(self, name: str, value: int, shape: str) -> float:
        """Return the mean rate over the models in GCUPS; 0 if the device cannot do it or does it wrong."""
        tuning = replace(self.tuning, **{name: value})
        row: Row = {"choice": name, "value": value, "shape": shape, "gcups": 0.0, "problem": ""}
        rates = []
        try:
            with open_session(_with(self.device, tuning), self.context.check) as session:
                for model, truth in zip(self.models, self.truth, strict=True):
                    stage = ViterbiStage(shape)
                    if not (session.run(stage, self.batch, model).values == truth.values).all():
                        row["problem"] = "its scores differ"
                        break
                    rates.append(self._rate(session, stage, self.batch, model))
        except ClalignError as error:
            row["problem"] = error.message
        if not row["problem"]:
            row["gcups"] = statistics.mean(rates)
        self._tell(row)
        return float(row["gcups"])

    def _rate(self, session: Any, stage: ViterbiStage, batch: SequenceBatch, model: IntegerProfile) -> float:
        seconds = []
        for _ in range(RUNS):
            self.context.check()
            began = time.perf_counter()
            session.run(stage, batch, model)
            seconds.append(time.perf_counter() - began)
        return batch.n_cells(model.length) / statistics.median(seconds) / 1e9

    def _cross_over(self) -> None:
        """Find from how many sequences a compute unit the strips are faster."""
        found = CROSSOVER[-1] * 2
        with open_session(_with(self.device, self.tuning), self.context.check) as session:
            for share in reversed(CROSSOVER):
                n = min(share * self.device.n_compute_units, len(self.batch))
                rows = np.linspace(0, len(self.batch) - 1, n).astype(np.int64)
                part = _select(self.batch, rows)
                rates = {}
                for shape in ("item", "lanes"):
                    stage = ViterbiStage(shape)
                    session.run(stage, part, self.models[-1])
                    rates[shape] = self._rate(session, stage, part, self.models[-1])
                    self._tell({"choice": "strip_least", "value": share, "shape": shape, "gcups": rates[shape]})
                if rates["item"] <= rates["lanes"]:
                    break
                found = share
        self.tuning = replace(self.tuning, strip_least=found)

    def _tell(self, row: Row) -> None:
        row = {"problem": "", **row}
        self.rows.append(row)
        self.context.partial(row=row)
        self._show_progress()


def _with(device: Device, tuning: ViterbiTuning) -> Device:
    return replace(device, tuning={PREFIX + name: value for name, value in tuning.to_dict().items()})


def _select(batch: SequenceBatch, rows: np.ndarray[Any, Any]) -> SequenceBatch:
    codes = [batch.codes[batch.offsets[row] : batch.offsets[row + 1]] for row in rows]
    return SequenceBatch.from_texts(codes)


def tune(device: Device, context: JobContext) -> dict[str, Any]:
    """Find the fastest choices for a device and keep them.

    Returns
    -------
    dict
        ``device`` (its name), ``tuning`` (what is kept), ``before`` (what was used until now) and
        ``rows`` (every trial: choice, value, shape, gcups, problem).

    Raises
    ------
    OptionError
        If there is nothing to tune.
    """
    from clalign.opencl.discover import device_key
    from clalign.opencl.tunings import keep_tuning

    if device.kind == "reference":
        raise OptionError(f"{device.name} has nothing to tune.", "Choose an OpenCL device. See: clalign devices")
    before = tuning_of(device)
    tuner = Tuner(replace(device, tuning={}), context)
    found = tuner.find()
    keep_tuning(device_key(device), {PREFIX + name: value for name, value in found.to_dict().items()})
    return {"device": device.name, "tuning": found.to_dict(), "before": before.to_dict(), "rows": tuner.rows}


def forget(device: Device) -> dict[str, Any]:
    """Go back to the choices of the device's vendor."""
    from clalign.opencl.discover import device_key
    from clalign.opencl.tunings import keep_tuning

    keep_tuning(device_key(device), None)
    plain = tuning_of(replace(device, tuning={}))
    return {"device": device.name, "tuning": plain.to_dict(), "before": tuning_of(device).to_dict(), "rows": []}

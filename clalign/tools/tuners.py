"""The searches for the choices by which the kernels of each stage are fastest on a device.

One choice after another is varied while the others stay as they are, and the fastest is kept. A
candidate only counts if its scores are right.
"""

from __future__ import annotations

import statistics
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from clalign.compute.opening import open_session
from clalign.compute.sessions import Session, Stage
from clalign.compute.tuning import Candidates, Tuning
from clalign.errors import ClalignError
from clalign.formats.matrices import load_matrix
from clalign.jobs import JobContext
from clalign.stages.hmmer3.ssv import SsvStage
from clalign.stages.hmmer3.ssv_tuning import SsvTuning
from clalign.stages.pairwise.smith_waterman import SmithWatermanStage
from clalign.stages.pairwise.smith_waterman_tuning import PairTuning
from clalign.stages.plan7.viterbi import ViterbiStage
from clalign.stages.plan7.viterbi_tuning import ViterbiTuning
from clalign.values.devices import Device
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_local_profile, random_profile, swissprot_batch

NODES = (61, 240)
"""Lengths of the models that are tried: a short and a longer one."""

SSV_CPU_NODES = (61, 110)
"""The same for SSV on a CPU, which works on several sequences at once only for models that are not long."""

QUERY_LENGTHS = (150, 500)
"""Residues of the queries of Smith-Waterman that are tried."""

SSV_SPEED, PAIR_SPEED = 16, 4
"""How many times faster SSV and Smith-Waterman are than Viterbi, about: so much more is to do in a trial."""

N_CHECKED = 5
"""Sequences whose scores are compared with the reference for each model, the middle one among them."""

SEED = 6
RUNS = 3
TURNS = 3
TRIAL_SECONDS = 0.05
MIN_SEQUENCES = 64

WORTH = 1.03
"""Another choice must be so many times faster than the one in use; less may be chance."""

MEAN_RESIDUES = 354
"""Of a sequence."""

FIRST_GCUPS = {"cpu": 4.0, "gpu": 200.0, "accelerator": 20.0}

CROSSOVER = (4, 8, 16, 32, 64, 128)
"""Sequences a compute unit at which `item` and `lanes` are compared."""

Row = dict[str, Any]


class Tuner(ABC):
    """The search for the fastest choices of some kernels on one device.

    Right is what the built-in choices give, and for some sequences what the reference says.

    Parameters
    ----------
    device : Device
    context : JobContext
        Told of every trial (`partial`, with a ``row``), and asked whether to stop.
    """

    choices: ClassVar[type[Tuning]]
    family: ClassVar[str]
    """What the names of choices begin with where trials are told, and nothing else does."""
    stage: ClassVar[type[Stage[SequenceBatch, Any, Any]]]
    lengths: ClassVar[tuple[int, ...]] = NODES
    """Of the models."""
    speed: ClassVar[int] = 1
    """How many times faster than Viterbi."""
    least_per_unit: ClassVar[int] = 1024
    """Sequences a compute unit of a GPU has at least in a trial: with fewer it is not full."""
    most_sequences: ClassVar[int] = 200_000

    def __init__(self, device: Device, context: JobContext) -> None:
        self.device = device
        self.context = context
        self.tuning = self.choices.of(device)
        self.rows: list[Row] = []
        self.n_before = self.n_after = 0
        rng = np.random.default_rng(SEED)
        rate = (device.gcups or FIRST_GCUPS[device.kind]) * 1e9 * self.speed
        n = int(rate * TRIAL_SECONDS / (MEAN_RESIDUES * statistics.mean(self.lengths)))
        if device.kind != "cpu":
            n = max(n, self.least_per_unit * device.n_compute_units)
        self.batch = swissprot_batch(rng, min(max(n, MIN_SEQUENCES), self.most_sequences))
        self.models = self._models(rng)
        self.truth: list[npt.NDArray[Any]] = []

    def find(self) -> Tuning:
        """Return the fastest choices that were met; their trials are in `rows`."""
        before = self.tuning
        self._show_progress()
        self.truth = self._right_scores()
        self._try_all()
        self._confirm(before)
        return self.tuning

    @abstractmethod
    def _models(self, rng: np.random.Generator) -> list[Any]:
        """Return the models that are tried."""

    def _right_scores(self) -> list[npt.NDArray[Any]]:
        """Return the scores of the batch for each model: of the built-in choices, and of the reference for some."""
        stage, found = self.stage(), []
        rows = np.linspace(0, len(self.batch) - 1, N_CHECKED).astype(np.int64)
        part = _select(self.batch, rows)
        with open_session(self.device, self.context.check) as session:
            for model in self.models:
                values = self._values(session.run(stage, self.batch, model))
                values[rows] = self._values(stage.reference(part, model, self.context.check))
                found.append(values)
        return found

    def _candidates(self) -> Candidates:
        """Return each choice, the shape that it is for, and the values that are tried."""
        return self.choices.candidates(self.device)

    def _values(self, result: Any) -> npt.NDArray[Any]:
        """Return the scores of what a stage returned."""
        values: npt.NDArray[Any] = result
        return values

    def _try_all(self) -> None:
        """Vary one choice after the other."""
        for name, shape, values in self._candidates():
            self._vary(name, shape, values)

    @property
    def n_trials(self) -> int:
        """Number of trials; there are fewer if a crossing is found early."""
        return sum(len({*values, getattr(self.tuning, name)}) for name, _, values in self._candidates())

    def _confirm(self, before: Tuning) -> None:
        """Go back to the choices before unless those found are faster where both take turns."""
        if self.tuning == before:
            return
        stage, ratios = self.stage(), []
        with (
            open_session(self._device(before), self.context.check) as old,
            open_session(self._device(self.tuning), self.context.check) as new,
        ):
            for model in self.models:
                for session in (old, new):
                    session.run(stage, self.batch, model)
                for _ in range(TURNS):
                    rate = self._rate(old, stage, self.batch, model)
                    ratios.append(self._rate(new, stage, self.batch, model) / rate)
        if statistics.median(ratios) <= 1:
            self.tuning = before

    def _show_progress(self) -> None:
        """Tell how many of all trials are over."""
        done = self.n_before + len(self.rows)
        self.context.progress("tune", done, max(self.n_before + self.n_trials + self.n_after, done), "trials")

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
        row: Row = {"choice": self.family + name, "value": value, "shape": shape, "gcups": 0.0, "problem": ""}
        rates = []
        try:
            with open_session(self._device(tuning), self.context.check) as session:
                for model, truth in zip(self.models, self.truth, strict=True):
                    stage = self.stage(shape)
                    if not (self._values(session.run(stage, self.batch, model)) == truth).all():
                        row["problem"] = "its scores differ"
                        break
                    rates.append(self._rate(session, stage, self.batch, model))
        except ClalignError as error:
            row["problem"] = error.message
        if not row["problem"]:
            row["gcups"] = statistics.mean(rates)
        self._tell(row)
        return float(row["gcups"])

    def _rate(self, session: Session, stage: Stage[SequenceBatch, Any, Any], batch: SequenceBatch, model: Any) -> float:
        seconds = []
        for _ in range(RUNS):
            self.context.check()
            began = time.perf_counter()
            session.run(stage, batch, model)
            seconds.append(time.perf_counter() - began)
        return batch.n_cells(model.length) / statistics.median(seconds) / 1e9

    def _tell(self, row: Row) -> None:
        row = {"problem": "", **row}
        self.rows.append(row)
        self.context.partial(row=row)
        self._show_progress()

    def _device(self, tuning: Tuning) -> Device:
        kept = {self.choices.prefix + name: value for name, value in asdict(tuning).items()}
        return replace(self.device, tuning=kept)


class ViterbiTuner(Tuner):
    """Right is what the plain kernel says, which serves every model."""

    choices, family = ViterbiTuning, ""
    stage = ViterbiStage

    def _models(self, rng: np.random.Generator) -> list[Any]:
        return [random_profile(rng, nodes, local=False) for nodes in self.lengths]

    def _right_scores(self) -> list[npt.NDArray[Any]]:
        plain = ViterbiStage("vector" if self.device.kind == "cpu" else "lanes", PLAIN=1)
        with open_session(self.device, self.context.check) as session:
            return [self._values(session.run(plain, self.batch, model)) for model in self.models]

    def _values(self, result: Any) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = result.values
        return values

    @property
    def n_trials(self) -> int:
        """Number of trials; there are fewer if a crossing is found early."""
        return super().n_trials + (0 if self.device.kind == "cpu" else 2 * len(CROSSOVER))

    def _try_all(self) -> None:
        super()._try_all()
        if self.device.kind != "cpu":
            self._cross_over()

    def _cross_over(self) -> None:
        """Find from how many sequences a compute unit the strips are faster."""
        found = CROSSOVER[-1] * 2
        with open_session(self._device(self.tuning), self.context.check) as session:
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
        self.tuning = replace(self.tuning, **{"strip_least": found})


class SsvTuner(Tuner):
    """SSV of HMMER3's profiles."""

    choices, family = SsvTuning, SsvTuning.prefix
    stage = SsvStage
    speed = SSV_SPEED

    def _models(self, rng: np.random.Generator) -> list[Any]:
        lengths = SSV_CPU_NODES if self.device.kind == "cpu" else self.lengths
        return [random_local_profile(rng, nodes) for nodes in lengths]


class PairTuner(Tuner):
    """Smith-Waterman; the queries are parts of the database, so that there are high scores, too.

    On a GPU how many targets are left to lanes depends on the size of the database, so it is about Swiss-Prot's on
    a large one.
    """

    choices, family = PairTuning, PairTuning.prefix
    stage = SmithWatermanStage
    lengths = QUERY_LENGTHS
    speed = PAIR_SPEED
    least_per_unit, most_sequences = 4096, 600_000

    def _models(self, rng: np.random.Generator) -> list[Any]:
        scoring = Scoring(load_matrix("BLOSUM62"), GapCosts(12, 1))
        begin = int(self.batch.offsets[(len(self.batch) - 1) // 2])
        parts = [self.batch.codes[begin : begin + length] for length in self.lengths]
        return [PairwiseQuery(Sequence("query", "", codes), scoring) for codes in parts]

    def _values(self, result: Any) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = result.scores.values
        return values


def _select(batch: SequenceBatch, rows: np.ndarray[Any, Any]) -> SequenceBatch:
    codes = [batch.codes[batch.offsets[row] : batch.offsets[row + 1]] for row in rows]
    return SequenceBatch.from_texts(codes)

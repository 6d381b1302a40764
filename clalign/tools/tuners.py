"""Searches for the fastest settings of the kernels of each stage on a device.

One setting after another is varied while the others are kept, and the fastest right one is taken.
"""

from __future__ import annotations

import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, replace
from operator import attrgetter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from clalign.common.plain_data import Json
from clalign.compute.geometry import Candidates, Tuning
from clalign.compute.opening import open_session
from clalign.compute.sessions import AnyStage, Session
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
from clalign.values.local_profiles import LocalProfile
from clalign.values.profiles import IntegerProfile
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_local_profile, random_profile, swissprot_batch

NODES = (61, 240)
"""Lengths of the models of trials: a short and a longer one."""

SSV_CPU_NODES = (61, 110)
"""Lengths of the models of trials of SSV on a CPU, which works on several sequences at once only for shorter models."""

QUERY_LENGTHS = (150, 500)
"""Lengths of the queries of trials of Smith-Waterman (residues)."""

SSV_SPEED, PAIR_SPEED = 16, 4
"""Approximate speed of SSV and of Smith-Waterman relative to Viterbi, by which their trials are larger."""

N_CHECKED = 5
"""Sequences whose scores are compared with the reference for each model, the middle one among them."""

SEED = 6

RUNS, TURNS = 3, 3
"""Runs of a trial, whose median counts, and turns of the last comparison."""

TRIAL_SECONDS, MIN_SEQUENCES = 0.05, 64
"""Size of a trial: sequences that take this time (s), at least this number."""

WORTH = 1.03
"""Factor by which another setting must be faster than the one in use; less may be chance."""

MEAN_RESIDUES = 354
"""Mean length of sequences (residues)."""

FIRST_GCUPS = {"cpu": 4.0, "gpu": 200.0, "accelerator": 20.0}

CROSSOVER = (4, 8, 16, 32, 64, 128)
"""Sequences per compute unit at which `item` and `lanes` are compared."""

Row = Json


Model = IntegerProfile | LocalProfile | PairwiseQuery
Scores = npt.NDArray[np.number]


class Tuner(ABC):
    """The search for the fastest settings of some kernels on one device.

    Right scores are those of the built-in settings, and of the reference for some sequences.

    Parameters
    ----------
    device : Device
    context : JobContext
        Gets each trial (`partial`, with a ``row``), and raises `Cancelled` if the job is to stop.
    """

    choices: ClassVar[type[Tuning]]
    family: ClassVar[str]
    """Prefix of the names of settings in trials."""
    stage: ClassVar[type[AnyStage]]
    scores_of: ClassVar[Callable[..., Scores]] = staticmethod(lambda result: result)
    """Returns the scores in a result of the stage."""
    lengths: ClassVar[tuple[int, ...]] = NODES
    """Lengths of the models."""
    speed: ClassVar[int] = 1
    """Approximate speed relative to Viterbi."""
    least_per_unit: ClassVar[int] = 1024
    """Sequences per compute unit of a GPU in a trial at least: with fewer it is not full."""
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
        self.truth: list[Scores] = []

    def find(self) -> Tuning:
        """Return the fastest settings; the trials are in `rows`."""
        before = self.tuning
        self._show_progress()
        self.truth = self._right_scores()
        self._try_all()
        self._confirm(before)
        return self.tuning

    @abstractmethod
    def _models(self, rng: np.random.Generator) -> list[Model]:
        """Return the models of trials."""

    def _right_scores(self) -> list[Scores]:
        """Return the right scores of the batch for each model."""
        stage, found = self.stage(), []
        rows = np.linspace(0, len(self.batch) - 1, N_CHECKED).astype(np.int64)
        part = SequenceBatch.from_texts(map(self.batch.residues, rows))
        with open_session(self.device, self.context.check) as session:
            for model in self.models:
                values = self.scores_of(session.run(stage, self.batch, model))
                values[rows] = self.scores_of(stage.reference(part, model, self.context.check))
                found.append(values)
        return found

    def _candidates(self) -> Candidates:
        """Return each setting, the shape that it is for, and the values to try."""
        return self.choices.candidates(self.device)

    def _try_all(self) -> None:
        """Vary one setting after another."""
        for name, shape, values in self._candidates():
            self._vary(name, shape, values)

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return sum(len({*values, getattr(self.tuning, name)}) for name, _, values in self._candidates())

    def _confirm(self, before: Tuning) -> None:
        """Return to the settings before unless the new ones are faster when both take turns."""
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
        """Report how many of all trials are done."""
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
        """Return the mean rate over the models (GCUPS); 0 if it fails or its scores are wrong."""
        tuning = replace(self.tuning, **{name: value})
        row: Row = {"choice": self.family + name, "value": value, "shape": shape, "gcups": 0.0, "problem": ""}
        rates = []
        try:
            with open_session(self._device(tuning), self.context.check) as session:
                for model, truth in zip(self.models, self.truth, strict=True):
                    stage = self.stage(shape)
                    if not (self.scores_of(session.run(stage, self.batch, model)) == truth).all():
                        row["problem"] = "its scores differ"
                        break
                    rates.append(self._rate(session, stage, self.batch, model))
        except ClalignError as error:
            row["problem"] = error.message
        if not row["problem"]:
            row["gcups"] = statistics.mean(rates)
        self._add(row)
        return float(row["gcups"])

    def _rate(self, session: Session, stage: AnyStage, batch: SequenceBatch, model: Model) -> float:
        seconds = []
        for _ in range(RUNS):
            self.context.check()
            began = time.perf_counter()
            session.run(stage, batch, model)
            seconds.append(time.perf_counter() - began)
        return batch.n_cells(model.length) / statistics.median(seconds) / 1e9

    def _add(self, row: Row) -> None:
        row = {"problem": "", **row}
        self.rows.append(row)
        self.context.partial(row=row)
        self._show_progress()

    def _device(self, tuning: Tuning) -> Device:
        kept = {self.choices.prefix + name: value for name, value in asdict(tuning).items()}
        return replace(self.device, tuning=kept)


class ViterbiTuner(Tuner):
    """Viterbi of HMMER2's profiles; right scores are those of the plain kernel, which takes every model."""

    choices, family = ViterbiTuning, ""
    stage, scores_of = ViterbiStage, attrgetter("values")

    def _models(self, rng: np.random.Generator) -> list[Model]:
        return [random_profile(rng, nodes, local=False) for nodes in self.lengths]

    def _right_scores(self) -> list[Scores]:
        plain: AnyStage = ViterbiStage("vector" if self.device.kind == "cpu" else "lanes", PLAIN=1)
        with open_session(self.device, self.context.check) as session:
            return [self.scores_of(session.run(plain, self.batch, model)) for model in self.models]

    @property
    def n_trials(self) -> int:
        """Number of trials; there are fewer if a crossing is found early."""
        return super().n_trials + (0 if self.device.kind == "cpu" else 2 * len(CROSSOVER))

    def _try_all(self) -> None:
        super()._try_all()
        if self.device.kind != "cpu":
            self._cross_over()

    def _cross_over(self) -> None:
        """Find the number of sequences per compute unit from which on the strips are faster."""
        found = CROSSOVER[-1] * 2
        with open_session(self._device(self.tuning), self.context.check) as session:
            for share in reversed(CROSSOVER):
                n = min(share * self.device.n_compute_units, len(self.batch))
                rows = np.linspace(0, len(self.batch) - 1, n).astype(np.int64)
                part = SequenceBatch.from_texts(map(self.batch.residues, rows))
                rates = {}
                for shape in ("item", "lanes"):
                    stage: AnyStage = ViterbiStage(shape)
                    session.run(stage, part, self.models[-1])
                    rates[shape] = self._rate(session, stage, part, self.models[-1])
                    self._add({"choice": "strip_least", "value": share, "shape": shape, "gcups": rates[shape]})
                if rates["item"] <= rates["lanes"]:
                    break
                found = share
        self.tuning = replace(self.tuning, **{"strip_least": found})


class SsvTuner(Tuner):
    """SSV of HMMER3's profiles."""

    choices, family = SsvTuning, SsvTuning.prefix
    stage = SsvStage
    speed = SSV_SPEED

    def _models(self, rng: np.random.Generator) -> list[Model]:
        lengths = SSV_CPU_NODES if self.device.kind == "cpu" else self.lengths
        return [random_local_profile(rng, nodes) for nodes in lengths]


class PairTuner(Tuner):
    """Smith-Waterman; the queries are parts of the database, so that some scores are high.

    On a GPU the number of targets for lanes depends on the size of the database, which is about that of Swiss-Prot.
    """

    choices, family = PairTuning, PairTuning.prefix
    stage, scores_of = SmithWatermanStage, attrgetter("scores.values")
    lengths = QUERY_LENGTHS
    speed = PAIR_SPEED
    least_per_unit, most_sequences = 4096, 600_000

    def _models(self, rng: np.random.Generator) -> list[Model]:
        scoring = Scoring(load_matrix("BLOSUM62"), GapCosts(12, 1))
        begin = int(self.batch.offsets[(len(self.batch) - 1) // 2])
        parts = [self.batch.codes[begin : begin + length] for length in self.lengths]
        return [PairwiseQuery(Sequence("query", "", codes), scoring) for codes in parts]

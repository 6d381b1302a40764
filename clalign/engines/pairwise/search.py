"""The pairwise search job: sequences against a database of sequences, batch after batch into a run file.

A run file of it differs from one of profiles in this:

* The fact ``scoring`` holds matrix and gap costs as they were used, ``queries`` the report of the query file, beside
  ``database``.
* What profiles are there, queries are here; a query's number is its place among those of its file that have residues
  (of given pairs, among all). Its card has ``strands``,
  ``statistics`` (or None), ``statistics_words``, ``fitted`` and ``curve``, written when they are known, and
  ``is_adjusted`` where E-values are adjusted to the composition of each pair.
* Scores, and the histogram, are in units of the matrix, bins 1 wide (``histogram_bin``, ``histogram_unit``). On two
  strands the better score counts.
* A hit is a target with one alignment, or with one of each strand, as its domains (`clalign.values.hits.PairFacts`).
  Its score is in bits if there are statistics; otherwise it is the raw score, and the E-value is not a number.

Where statistics are known before, hits are found batch by batch; where they are fitted to the scores of the run, or
where there are none, at the end of each query. In the end the first `top` of each query are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from clalign.compute.sessions import Session
from clalign.databases.reports import InputReport
from clalign.engines.pairwise.inputs import STRANDS, PairwiseInputs, cautions, load_inputs
from clalign.engines.pairwise.lists import plan_of_pairs
from clalign.engines.pairwise.query import (
    QuerySearch,
    card_of_query,
    card_with,
    hits_in_steps,
    prepare_query,
    refuse_unknown_statistics,
    statistics_at_end,
)
from clalign.engines.pairwise.rehearsal import rehearse
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import PairwiseFacts, n_wider
from clalign.execution.job import Task
from clalign.execution.speed import Estimate, Pace
from clalign.execution.units import Plan, Storing
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device
from clalign.values.documents import BegunFacts, Card, JobResult
from clalign.values.sequences import SequenceDatabase

CARDS_AT_ONCE = 64
"""Cards of queries that are made before a job is asked whether to stop."""

PAIR_SPEED = 4
"""Smith-Waterman is at least this many times as fast as Viterbi, by whose rate devices are known."""

GPU_PATIENCE = 2.5
"""Batches of a GPU may take this many times longer: the longest targets, which come first, keep few of its units busy,
and with many others beside them that costs least.
"""

GPU_REMEMBERED = 0.5
"""The first batches of a GPU, which hold the longest targets, say little of the rate of others."""


class PairwiseWork(Struct):
    """Queries and the targets that they are compared with."""

    task: Task[PairwiseSpec]
    inputs: PairwiseInputs
    texts: list[str]

    @classmethod
    def loaded(cls, task: Task[PairwiseSpec]) -> PairwiseWork:
        """Read the input; a begun run has its statistics."""
        inputs = load_inputs(task.run, task.spec, task.context)
        if not task.spec.is_pairs:
            task.build_ahead(partial(rehearse, inputs))
        if not isinstance(task.run.facts, PairwiseFacts):
            refuse_unknown_statistics(inputs, task.spec)
        return cls(task, inputs, cautions(inputs))

    @property
    def targets(self) -> SequenceDatabase:
        """The sequences that are searched."""
        return self.inputs.targets

    @property
    def report(self) -> InputReport:
        """The report on the targets."""
        return self.inputs.target_report

    def store(self) -> BegunFacts:
        """Store the cards of the queries, and return the facts of the input."""
        run, spec, inputs, check = self.task.run, self.task.spec, self.inputs, self.task.context.check

        def card(number: int) -> Card:
            if number % CARDS_AT_ONCE == 0:
                check()
            return card_of_query(inputs, number, spec)

        if not isinstance(run.facts, PairwiseFacts):
            run.set_cards(map(card, range(len(inputs.query_rows))))
        return {
            "scoring": inputs.chosen.to_dict(),
            "queries": inputs.query_report,
            "strands": [STRANDS[strand] for strand in inputs.strands],
            "n_targets": len(inputs.targets),
        }

    def cautions(self) -> list[str]:
        """Return the sentences that the user should read about the input."""
        return self.texts

    def plan(self) -> Plan:
        """Return every query with all targets, or the given pairs."""
        if self.task.spec.is_pairs:
            plan, texts = plan_of_pairs(self.task.spec, self.inputs)
            for text in texts:
                self.task.warn(text)
            return plan
        inputs, spec, database = self.inputs, self.task.spec, self.inputs.targets
        lengths = [inputs.queries.length(int(row)) * len(inputs.strands) for row in inputs.query_rows]

        def pace_of(device: Device) -> Pace:
            of_gpu = {"patience": GPU_PATIENCE, "remembered": GPU_REMEMBERED} if device.kind == "gpu" else {}
            return Pace.of(device, database, lengths, PAIR_SPEED, **of_gpu)

        # The longest first: if several devices share them, none is left alone with it in the end.
        numbers = sorted(range(len(lengths)), key=lambda number: -lengths[number])
        return Plan(
            numbers, len(database), float(database.n_residues) * sum(lengths),
            lambda run, number: prepare_query(run, inputs, number, spec), pace_of, self._concluded, trace=hits_in_steps,
        )  # fmt: skip

    def _concluded(self, run: RunFile, number: int, search: QuerySearch, session: Session) -> Storing:
        """Compute the statistics of a query, and its hits if these wait for them."""
        inputs, top = self.inputs, self.task.spec.top
        if self.task.spec.shard is not None:  # all else needs the scores of the other parts
            return (lambda run: run.keep_best(number, top)) if search.finds_early else (lambda run: None)
        search.statistics, fitted = statistics_at_end(run, inputs, search, number)
        card = card_with(run.card(number), inputs, search, search.statistics, fitted)
        hits = None if search.finds_early else search.best_hits(run, number, session)

        def store(run: RunFile) -> None:
            if hits is None:
                run.keep_best(number, top)
            else:
                run.set_hits(number, hits)
            run.set_card(number, card)

        return store

    def estimate(self, n_cells: float, devices: Sequence[Device]) -> Estimate:
        """Return the estimate that the window shows before a search; see `clalign.engines.pairwise.estimate`."""
        from clalign.engines.pairwise.estimate import estimate

        return estimate(len(self.inputs.query_rows), self.inputs.queries.n_residues, n_cells, devices)

    def summary(self) -> JobResult:
        """Return the further counts of such a run."""
        in_16_bits, in_32_bits = n_wider(self.task.run)
        return {"n_queries": len(self.inputs.query_rows), "n_in_16_bits": in_16_bits, "n_in_32_bits": in_32_bits}

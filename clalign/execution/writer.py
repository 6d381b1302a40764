"""The writer: stores results in whatever order they come, and tells how far the run is."""

from __future__ import annotations

from typing import Any, Generic

from clalign.execution.planner import Planner
from clalign.execution.units import Batch, Query, Scored, Storing, Unit
from clalign.jobs import JobContext
from clalign.runs.run_file import BatchResult, RunFile
from clalign.values.profiles import IMPOSSIBLE


class Writer(Generic[Batch]):
    """Writes what executors have computed; works in the thread that opened the run.

    Parameters
    ----------
    run : RunFile
    planner : Planner
        Told of what is stored.
    context : JobContext
        Told of the progress.

    Attributes
    ----------
    done_cells, device_seconds : float
        Of the whole run, earlier workers included.
    """

    def __init__(self, run: RunFile, planner: Planner[Batch], context: JobContext) -> None:
        self.run = run
        self.planner = planner
        self.context = context
        self.done_cells, self.device_seconds = run.work_done()
        self._cells_of = {number: run.work_done(number)[0] for number in planner.plan.phases or ()}

    @property
    def gcups(self) -> float:
        """10^9 cells a second, over the whole run."""
        return self.done_cells / max(self.device_seconds, 1e-9) / 1e9

    def store(self, unit: Unit[Batch], scored: Scored[Any], result: BatchResult) -> None:
        """Store what was found in a unit."""
        self.run.add_batch(result, scored.hits_of)
        self.done_cells += result.cells
        self.device_seconds += result.seconds
        query, plan = unit.query, self.planner.plan
        query.n_hits += len(result.hits) + len(scored.hits_of)
        if query.best is not None:
            query.best = _better(query.best, result)
        self.planner.stored(unit)
        number = scored.hits_of[-1][0] if scored.hits_of else query.number
        if plan.phases is not None:
            self._cells_of[number] += result.cells
            phase, done = plan.phases[number], self._cells_of[number]
            self.context.progress(phase.stage, done, phase.n_cells, "cells", gcups=self.gcups, **phase.facts)
        else:
            self.context.progress(
                "search", self.done_cells, plan.n_cells, "cells", gcups=self.gcups, profile=number
            )  # fmt: skip
        self.context.partial(profile=number, n_hits=query.n_hits, n_scored=plan.n_rows - query.n_left)

    def conclude(self, unit: Unit[Batch], storing: Storing) -> None:
        """Store what was computed at the end of a query, and its best target, for one that reports nothing."""
        storing(self.run)
        query = unit.query
        best = query.best or self._best_of(query)
        if best[0] > IMPOSSIBLE:
            self.run.set_best(query.number, query.search.described(*best))
        self.planner.stored(unit)

    def _best_of(self, query: Query[Batch]) -> tuple[int, int]:
        """Look through all scores of a query, of which an earlier worker stored some."""
        best = IMPOSSIBLE, 0
        for first, _, values in self.run.scores(query.number):
            row = int(values.argmax())
            best = max(best, (int(values[row]), first + row), key=lambda found: found[0])
        return best


def _better(best: tuple[int, int], result: BatchResult) -> tuple[int, int]:
    """Return the higher one of a score and those of a batch; of equal ones that of the first row."""
    values = result.scores.values
    row = int(values.argmax())
    return max(best, (int(values[row]), result.first + row), key=lambda found: (found[0], -found[1]))

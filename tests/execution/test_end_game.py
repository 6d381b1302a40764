"""Devices of very different speed together, in simulated time: a slow one costs nothing, and two of a kind halve it."""

from __future__ import annotations

import heapq
import random
from typing import Any

import pytest

from clalign.execution.planner import LATE, Planner
from clalign.execution.units import Plan, Unit

BATCH = 0.1
"""Seconds of a unit."""

IN_HAND = 4
"""Units that an executor has at a time: two are scored, of two the hits are looked at."""

STEP = 0.02
"""Who has nothing to do asks again after so many seconds."""


class New:
    """A run that holds nothing."""

    def begun(self) -> set[int]:
        return set()

    def best(self, number: int) -> None:
        return None


class Simulated:
    """An executor that only waits: it takes up to four units, and delivers them in their order."""

    def __init__(self, cells: list[float], rate: float, hangs_at: float = float("inf")) -> None:
        self.cells, self.rate, self.hangs_at = cells, rate, hangs_at
        self.held: list[Unit] = []
        self.is_at_work = False

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        wanted, end = share * BATCH * self.rate, first + 1
        most = self.cells[first]
        while end < last and most + self.cells[end] <= wanted:
            most += self.cells[end]
            end += 1
        return end

    def seconds(self, unit: Unit) -> float:
        return sum(self.cells[unit.first : unit.last]) / self.rate


def simulated(
    cells: list[float], rates: list[float], n_queries: int = 1, hangs_at: float = float("inf")
) -> tuple[float, float]:
    """Return when everything was stored, and the cells that were computed for nothing; the first device may hang."""
    now, events, wasted = [0.0], list[tuple[float, int]](), 0.0
    plan = Plan(range(n_queries), len(cells), 1.0, lambda run, number: number, lambda device: None)
    planner: Planner = Planner(plan, len(rates), lambda: now[0])
    all_of_them = [Simulated(cells, rate, hangs_at if not n else float("inf")) for n, rate in enumerate(rates)]
    run: Any = New()
    heapq.heapify(events)
    for number in range(len(rates)):
        heapq.heappush(events, (0.0, number))
    while events:
        now[0], number = heapq.heappop(events)
        one = all_of_them[number]
        if now[0] >= one.hangs_at:
            continue
        if one.is_at_work:
            unit, one.is_at_work = one.held.pop(0), False
            n = sum(cells[unit.first : unit.last])
            planner.delivered([(unit, n)], one)
            if planner.is_wanted(unit):
                planner.stored(unit)
            else:
                wasted += n
        while len(one.held) < IN_HAND and (unit := planner.take(run, one)) is not None:
            one.held.append(unit)
        if one.held:
            one.is_at_work = True
            heapq.heappush(events, (now[0] + max(1e-4, one.seconds(one.held[0])), number))
        elif planner.wait():
            heapq.heappush(events, (now[0] + STEP, number))
        else:
            return now[0], wasted
    raise AssertionError("it never ends")


@pytest.fixture(autouse=True)
def never_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clalign.execution.planner.LOOK_SECONDS", 0.0)


def rows(n: int, most: float, seed: int = 1) -> list[float]:
    """Return the cells of so many sequences, sorted as a database has them, of which the longest has `most`."""
    chance = random.Random(seed)
    found = [min(most, chance.lognormvariate(-1.2, 0.7) * most / 20) for _ in range(n - 3)]
    return sorted([*found, most, most, most / 2], reverse=True)


@pytest.mark.parametrize("n_queries", [1, 3, 20])
@pytest.mark.parametrize("ratio", [1, 2, 10, 100, 1000])
def test_a_slower_device_never_costs_time(ratio: int, n_queries: int) -> None:
    """At most what it takes to see that it is late: a fiftieth of a second, and a unit."""
    cells = rows(4000, 50.0)
    rate = n_queries * sum(cells) / 10.0
    alone, _ = simulated(cells, [rate], n_queries)
    both, wasted = simulated(cells, [rate, rate / ratio], n_queries)
    best = alone / (1 + 1 / ratio)
    assert both <= best + BATCH + 3 * STEP, (alone, both, best)
    assert both <= alone + STEP, (alone, both)
    assert wasted <= 2 * IN_HAND * BATCH * rate


@pytest.mark.parametrize("n_devices", [2, 4, 8])
def test_equal_devices_share_the_time(n_devices: int) -> None:
    cells = rows(20000, 5.0)
    rate = sum(cells) / 10.0
    took, _ = simulated(cells, [rate] * n_devices)
    assert took <= 10.0 / n_devices + BATCH / 2


@pytest.mark.parametrize("ratio", [1, 10, 100])
@pytest.mark.parametrize("moment", [0.0, 0.05, 3.0, 9.9])
def test_one_that_hangs_is_done_without(moment: float, ratio: int) -> None:
    """The others have its units as soon as it is clear that it is late."""
    cells = rows(4000, 5.0)
    rate = sum(cells) / 10.0
    took, _ = simulated(cells, [rate / ratio, rate], hangs_at=moment)
    left = max(10.0 - moment / ratio, 10.0 / (1 + 1 / ratio))
    assert took <= left + 2 * LATE * BATCH + 2 * IN_HAND * BATCH

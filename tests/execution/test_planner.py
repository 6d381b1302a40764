"""Every row is handed out until it is stored, and every query is concluded once, whoever asks and whoever fails."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.common.amounts import rate_of_run
from clalign.engines.plan7.profile_search import _with_rounds
from clalign.engines.plan7.spec import SearchSpec
from clalign.execution import planner as module
from clalign.execution.planner import Planner
from clalign.execution.units import Finished, Phase, Plan, Unit
from clalign.execution.writer import Writer
from clalign.jobs import QuietContext
from clalign.runs.batches import BatchResult
from clalign.values.devices import REFERENCE
from clalign.values.hits import Scores


class Begun:
    """What a planner asks of a run."""

    def __init__(self, finished: dict[int, list[tuple[int, int]]], bests: set[int]) -> None:
        self.ranges, self.bests = finished, bests

    def begun(self) -> set[int]:
        return set(self.ranges)

    def finished(self, number: int) -> list[tuple[int, int]]:
        return self.ranges.get(number, [])

    def best(self, number: int) -> dict[str, Any] | None:
        return {} if number in self.bests else None

    def n_hits(self, number: int | None) -> int:
        return 5

    def work_done(self) -> tuple[float, float]:
        return 0.0, 0.0

    def add_batches(self, *given: Any) -> None:
        """Keep nothing."""

    def set_bests(self, bests: list[tuple[int, Any]]) -> None:
        self.bests.update(number for number, _ in bests)

    transaction = nullcontext


class Step:
    """Cuts so many rows."""

    def __init__(self, n: int) -> None:
        self.n = n

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        return min(first + max(1, int(share * self.n)), last)


n_twice, n_together = [0], [0]
"""Units that were given twice in all examples, and how often several were given together."""


def planner_of(
    n_queries: int, n_rows: int, n_executors: int = 1, clock: Callable[[], float] = time.monotonic,
    groups: Sequence[int] = (0,),
) -> Planner:  # fmt: skip
    plan = Plan(range(n_queries), n_rows, 1.0, lambda run, number: number, lambda device: None, groups=groups)
    return Planner(plan, n_executors, clock)


@settings(deadline=None)
@given(
    st.integers(0, 4), st.integers(0, 20), st.lists(st.integers(1, 7), min_size=1, max_size=3), st.randoms(),
    st.sets(st.integers(0, 20), max_size=4),
)  # fmt: skip
def test_every_row_is_stored_once(n_queries: int, n_rows: int, sizes: list[int], chance: Any, cuts: set[int]) -> None:
    edges = sorted(cut for cut in cuts if cut < n_rows)
    done = list(zip(edges[::2], edges[1::2], strict=False))
    run: Any = Begun({0: done, 1: [(0, n_rows)] if n_rows else []}, {1} if n_rows else set())
    clock = [0.0]
    groups = [0, *sorted(chance.sample(range(1, n_queries), chance.randrange(n_queries)) if n_queries else [])]
    planner, cutters = planner_of(n_queries, n_rows, len(sizes), lambda: clock[0], groups), [Step(n) for n in sizes]
    rows, ends = Counter[tuple[int, int]](), Counter[int]()
    held: list[tuple[Unit, Any]] = []
    n_failures = 9
    while True:
        clock[0] += chance.choice([0.0, 0.1, 20.0])
        cutter = chance.choice(cutters)
        units = planner.take_several(run, cutter, chance.choice([0.0, 1.0, 50.0]), 3) if len(held) < 6 else []
        n_together[0] += len(units) > 1
        for unit in units:
            assert (unit, cutter) not in held, "nobody has the same unit twice"
            held.append((unit, cutter))
            n_twice[0] += [one for one, _ in held].count(unit) > 1
        if not units and not held and not planner.wait():
            break
        if held and (not units or chance.random() < 0.6):
            unit, cutter = held.pop(chance.randrange(len(held)))
            if n_failures and chance.random() < 0.3:
                n_failures -= 1
                back = [unit, *(one for one, holder in held if holder is cutter)]
                held = [pair for pair in held if pair[1] is not cutter]
                planner.give_back(back, cutter)
                continue
            others = [one for one, holder in held if holder is cutter] if chance.random() < 0.5 else []
            held = [pair for pair in held if not (others and pair[1] is cutter)]
            planner.delivered([(one, 1.0) for one in (unit, *others)], cutter)
            for one in (unit, *others):
                if not planner.is_wanted(one):
                    continue
                if one.is_end:
                    assert one.query.n_left == 0, "all rows come before the end"
                    ends[one.query.number] += 1
                rows.update((one.query.number, row) for row in range(one.first, one.last))
                planner.stored(one)
    assert not planner.wait()
    known = {(0, row) for first, last in done for row in range(first, last)}
    wanted = {(number, row) for number in range(n_queries) for row in range(n_rows)} - known
    wanted -= {(1, row) for row in range(n_rows)}
    assert rows == Counter(wanted)
    assert ends == Counter(number for number in range(n_queries) if not (number == 1 and n_rows))


def test_units_were_given_twice_and_several_together() -> None:
    if not n_twice[0]:  # that test did not run in this process
        test_every_row_is_stored_once()
    assert n_twice[0], "or nothing was tried"
    assert n_together[0]


def taken_by(planner: Planner, run: Any, cutter: Any) -> Unit:
    unit = planner.take(run, cutter)
    assert unit is not None
    return unit


def test_what_comes_back_is_first_and_cut_as_it_suits_who_asks() -> None:
    run: Any = Begun({}, set())
    planner, large, small = planner_of(1, 12), Step(6), Step(2)
    planner.give_back([taken_by(planner, run, large)], large)
    again = [taken_by(planner, run, small) for _ in range(3)]
    assert [(unit.first, unit.last) for unit in again] == [(0, 2), (2, 4), (4, 6)]


def test_no_more_is_handed_out_than_is_stored_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OUT", 3)
    run: Any = Begun({}, set())
    planner, step = planner_of(1, 9), Step(1)
    units = [taken_by(planner, run, step) for _ in range(3)]
    assert planner.take(run, step) is None
    assert planner.wait(), "there is more"
    planner.stored(units[0])
    assert planner.take(run, step) is not None


def test_the_writer_counts_what_is_done() -> None:
    run: Any = Begun({}, set())
    search: Any = SimpleNamespace(described=lambda raw, row: {"row": row})
    plan, cutter = Plan(range(1), 4, 1.0, lambda run, number: search, lambda device: None), Step(2)
    planner: Planner = Planner(plan)
    writer = Writer(run, planner, QuietContext())
    for unit in reversed([taken_by(planner, run, cutter), taken_by(planner, run, cutter)]):
        assert not run.bests, "not all of its rows are stored"
        scores = Scores(np.arange(unit.first, unit.last), np.array([7, 7], np.int32))
        result = BatchResult(0, unit.first, unit.last, scores, (), 1e6, 0.5, "device")
        writer.store([Finished(unit, result)], REFERENCE)
        assert unit.query.best == (7, unit.first), "of equal ones the first"
    assert (writer.done_cells, writer.new_cells) == (2e6, 2e6)
    before, rate, after = writer.seconds, writer.gcups, writer.seconds
    assert rate_of_run(2e6, after) <= rate <= rate_of_run(2e6, before), "all that the job has computed, by all its time"
    assert unit.query.n_left == 0
    assert run.bests == {0}, "stored with the last rows"
    assert planner.take(run, cutter) is None
    assert not planner.wait(), "nothing is left to do at the end of the query"


def test_a_search_is_made_anew_once_rows_come_back() -> None:
    """It may have taken note of their scores, which would count twice."""
    plan = Plan(range(1), 10, 1.0, lambda run, number: object(), lambda device: None)
    planner, run, cutter = Planner(plan, 1), Begun({}, set()), Step(4)
    unit = taken_by(planner, run, cutter)
    first = unit.query.search
    assert taken_by(planner, run, cutter).query.search is first
    planner.give_back([unit], cutter)
    again = taken_by(planner, run, cutter)
    assert (again.first, again.last) == (unit.first, unit.last)
    assert again.query.search is not first
    assert taken_by(planner, run, cutter).query.search is again.query.search


def test_others_take_units_while_a_search_is_made() -> None:
    has_begun, is_released, was_released = threading.Event(), threading.Event(), list[bool]()

    def search_of(run: Any, number: int) -> Any:
        if number == 0:
            has_begun.set()
            was_released.append(is_released.wait(10))
        return number

    planner: Planner = Planner(Plan(range(2), 10, 1.0, search_of, lambda device: None), 2)
    run: Any = Begun({}, set())
    slow = threading.Thread(target=planner.take, args=(run, Step(4)))
    slow.start()
    assert has_begun.wait(10)
    assert taken_by(planner, run, Step(4)).query.search == 1
    is_released.set()
    slow.join()
    assert was_released == [True]


def test_what_cannot_be_searched_is_not_lost() -> None:
    faults = [OSError("The disk is gone.")]

    def search_of(run: Any, number: int) -> Any:
        for fault in faults:
            raise fault
        return number

    planner: Planner = Planner(Plan(range(1), 10, 1.0, search_of, lambda device: None))
    run: Any = Begun({}, set())
    with pytest.raises(OSError, match="disk"):
        planner.take(run, Step(10))
    faults.clear()
    unit = taken_by(planner, run, Step(10))
    assert (unit.query.search, unit.first, unit.last) == (0, 0, 10)


def test_who_cannot_prepare_a_query_gives_back_what_it_has_of_others() -> None:
    faults = [OSError("The disk is gone.")]

    def search_of(run: Any, number: int) -> Any:
        if number and faults:
            raise faults.pop()
        return number

    planner: Planner = Planner(Plan(range(2), 10, 1.0, search_of, lambda device: None))
    run: Any = Begun({}, set())
    cutter = Step(10)
    unit = taken_by(planner, run, cutter)
    with pytest.raises(OSError, match="disk"):
        planner.take(run, cutter)
    planner.give_back([unit], cutter)
    assert {taken_by(planner, run, cutter).query.number for _ in range(2)} == {0, 1}


def test_a_processor_takes_nothing_while_it_helps_a_card() -> None:
    """It is asked for domains by the executor of the card, and cannot do both."""
    run: Any = Begun({}, set())
    planner, card, processor = planner_of(1, 12, 2), Step(6), Step(2)
    planner.yield_while_helping(processor)
    assert taken_by(planner, run, card).last > 0
    planner.lend(1, card)
    assert planner.take(run, processor) is None
    assert planner.wait(), "there will be something to do"
    planner.lend(-1, card)
    assert taken_by(planner, run, processor).first > 0


def test_a_processor_does_not_wait_for_a_card_that_hangs() -> None:
    """Nor when all that the card had was taken from it."""
    clock, run = [0.0], Begun({}, set())
    given: Any = run
    planner, card, processor = planner_of(1, 12, 2, lambda: clock[0]), Step(6), Step(2)
    planner.yield_while_helping(processor)
    taken_by(planner, given, card)
    planner.lend(1, card)
    clock[0] += 1.0
    assert planner.take(given, processor) is None
    clock[0] += 100.0
    rows = 0
    while (unit := taken_by(planner, given, processor)) and not unit.is_end:
        rows += unit.last - unit.first
        planner.delivered([(unit, 1.0)], processor)
        planner.stored(unit)
    assert rows == 12


def test_what_a_lost_executor_had_is_cut_anew_for_a_smaller_one() -> None:
    """What it has computed after all is stored only if nobody else has."""
    clock, run = [0.0], Begun({}, set())
    given: Any = run
    planner, large, small = planner_of(1, 8, 2, lambda: clock[0]), Step(8), Step(2)
    unit = taken_by(planner, given, large)
    clock[0] += 0.01
    assert planner.take(given, small) is None
    clock[0] += 100.0
    parts = [taken_by(planner, given, small)]
    assert (parts[0].first, parts[0].last) == (0, 2)
    assert not planner.is_wanted(unit)
    planner.delivered([(unit, 8.0)], large)
    rest = []
    while True:
        for part in [*parts, *rest]:
            planner.delivered([(part, 1.0)], small)
            planner.stored(part)
        parts, rest = [], []
        found = planner.take(given, small)
        if found is None or found.is_end:
            break
        parts = [found]
    assert found is not None, "all rows are stored, and the query ends"


def test_two_that_hang_at_the_same_thing_are_done_without() -> None:
    clock, run = [0.0], Begun({}, set())
    given: Any = run
    planner, executors = planner_of(1, 1, 3, lambda: clock[0]), [Step(1) for _ in range(3)]
    units = []
    for executor in executors:
        units.append(taken_by(planner, given, executor))
        clock[0] += 100.0
    assert len(set(units)) == 1
    planner.delivered([(units[0], 1.0)], executors[2])
    assert planner.is_wanted(units[0])
    planner.stored(units[0])
    assert not planner.is_wanted(units[0])


def test_ends_can_be_had_alone_and_the_last_one_is_known() -> None:
    run: Any = Begun({}, set())
    plan = Plan(
        (0, 1), 10, 1.0, lambda run, number: number, lambda device: None, phases={n: Phase("", 1.0) for n in (0, 1)},
        is_needed=lambda run, number: number == 0,
    )  # fmt: skip
    planner, cutter, home = Planner(plan, 2), Step(10), object()
    unit = planner.take(run, cutter)  # type: ignore[arg-type]
    assert unit is not None
    assert planner.take_end(run, home) is None, "rows are to be stored"  # type: ignore[arg-type]
    planner.delivered([(unit, 1.0)], cutter)  # type: ignore[arg-type]
    planner.stored(unit)
    assert not planner.is_over
    end = planner.take_end(run, home)  # type: ignore[arg-type]
    assert end is not None
    assert end.is_end
    planner.delivered([(end, 0.0)], home)  # type: ignore[arg-type]
    planner.stored(end)
    assert planner.take_end(run, home) is None  # type: ignore[arg-type]
    assert planner.is_over, "the other query is not needed"


def test_no_phase_begins_before_the_end_of_the_one_before() -> None:
    """Who is much slower than another leaves it the end, and must not go on without what the end comes to."""
    clock, given = [0.0], Begun({}, set())
    run: Any = given
    phases = {number: Phase(f"round {number}", 8.0) for number in range(2)}
    plan = Plan(range(2), 8, 16.0, lambda run, number: number, lambda device: None, phases=phases)
    planner, fast, slow = Planner(plan, 2, lambda: clock[0]), Step(6), Step(2)
    parts = [(fast, taken_by(planner, run, fast)), (slow, taken_by(planner, run, slow))]
    for cutter, unit in parts:
        clock[0] += 0.01 if cutter is fast else 10.0
        planner.delivered([(unit, 6.0)], cutter)
        planner.stored(unit)
    assert planner.take(run, slow) is None
    assert planner.wait(), "the end is not taken yet"
    end = taken_by(planner, run, fast)
    assert end.is_end
    assert planner.take(run, slow) is None, "the end is not stored yet"
    planner.stored(end)
    assert taken_by(planner, run, slow).query.number == 1


def test_no_round_is_lost_where_an_executor_gives_back_what_it_had() -> None:
    class Rounds(Begun):
        """A run with two queries of three rounds, and two of one; each end of a round makes the next one."""

        n = 4

        def n_queries(self) -> int:
            return self.n

    run: Any = Rounds({}, set())
    of_first = Plan(range(4), 10, 1.0, lambda run, number: number, lambda device: None, groups=(0, 2))
    rounds: Any = None
    task: Any = SimpleNamespace(run=run, spec=SearchSpec("", "", direction="rounds", iterations=3))
    planner = Planner(_with_rounds(of_first, rounds, task), 2)
    one, other, searched = Step(10), Step(10), list[int]()

    def searches_one(cutter: Any) -> bool:
        if (unit := planner.take(run, cutter)) is None:
            return False
        planner.delivered([(unit, 1.0)], cutter)
        planner.stored(unit)
        if unit.is_end and unit.query.number in (0, 1, 4, 5):
            run.n = min(8, run.n + 1)
        if not unit.is_end:
            searched.append(unit.query.number)
        return True

    held = taken_by(planner, run, one)
    while searches_one(other):
        pass
    planner.give_back([held], one)  # type: ignore[arg-type]
    while searches_one(other) or searches_one(one):
        pass
    assert planner.is_over
    assert set(searched) == set(range(8))

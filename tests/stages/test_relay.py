"""Groups wait for each other in every way, for as many as run at once, and beyond that leave in time."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.compute.group_barriers import (
    METHODS,
    BarrierKernel,
    GroupBarrier,
    count_concurrent_groups,
    max_concurrent_groups,
)
from clalign.compute.sessions import Session
from clalign.errors import GroupsNotConcurrent, OptionError
from clalign.stages.sync.relay import RelayStage

ROUNDS = 40
WAYS = [method for method in METHODS if method != "launch"]

CPU_SIZES, GPU_SIZES = (1, 32), (32, 64, 128, 256)


def numbers(how: GroupBarrier, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (how.n_groups, how.size), dtype=np.uint32)


def kernel(session: Session, how: GroupBarrier) -> BarrierKernel:
    return RelayStage(how).prepared(session, numbers(how), 0, how)[0].kernel


def most(session: Session, size: int, method: str = "lbs") -> int:
    how = GroupBarrier(1, size, method)
    return max_concurrent_groups(session, how, kernel(session, how))


def sizes(session: Session) -> tuple[int, ...]:
    return CPU_SIZES if session.device.kind == "cpu" else GPU_SIZES


def check(session: Session, how: GroupBarrier, rounds: int = ROUNDS) -> int:
    """Compare some rounds with the reference; return how many groups took part."""
    stage, given = RelayStage(how), numbers(how, rounds)
    found = session.run(stage, given, rounds)
    assert np.array_equal(found, stage.reference(given[: len(found)], rounds))
    return len(found)


def possible(n: int, size: int, method: str, **more: int) -> GroupBarrier | None:
    try:
        return GroupBarrier(n, size, method, **more)
    except OptionError:
        return None


def some(most: int) -> list[int]:
    """Return numbers of groups up to the most: one, those at which a tree grows, and the most."""
    return sorted({n for n in (1, 2, 3, 7, 32, 33, 60, most - 1, most) if 1 <= n <= most})


def test_two_groups_by_hand() -> None:
    given = np.array([[1], [2]], np.uint32)
    first = [(2 * 1664525 + 1013904223) % 2**32, (1 * 1664525 + 1013904223) % 2**32]
    second = [(first[1] * 1664525 + 1013904224) % 2**32, (first[0] * 1664525 + 1013904224) % 2**32]
    assert RelayStage(GroupBarrier(2, 1)).reference(given, 1).ravel().tolist() == first
    assert RelayStage(GroupBarrier(2, 1)).reference(given, 2).ravel().tolist() == second
    assert RelayStage(GroupBarrier(2, 1)).reference(given, 0).ravel().tolist() == [1, 2]


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_a_launch_for_each_round(session: Session, n: int) -> None:
    for rounds in (0, 1, 2, ROUNDS):
        assert check(session, GroupBarrier(n, 4), rounds) == n


@pytest.mark.parametrize("method", WAYS)
def test_every_method_for_some_groups(session: Session, method: str) -> None:
    for size in sizes(session):
        for n in some(most(session, size, method if size > 1 else "lbs")):
            how = possible(n, size, method)
            assert how is None or check(session, how) == n


@pytest.mark.thorough
@pytest.mark.parametrize("method", WAYS)
def test_every_method_for_every_number_of_groups(session: Session, method: str) -> None:
    for size in sizes(session):
        for n in range(1, most(session, size, method if size > 1 else "lbs") + 1):
            how = possible(n, size, method)
            assert how is None or check(session, how) == n


@pytest.mark.parametrize("sets", [1, 2])
def test_sets_of_ilbs(session: Session, sets: int) -> None:
    n = min(10, most(session, 32, "ilbs"))
    assert check(session, GroupBarrier(n, 32, "ilbs", sets=min(sets, n))) == n
    assert check(session, GroupBarrier(n, 32, "ilbs", sets=n)) == n


@pytest.mark.thorough
@pytest.mark.parametrize("method", WAYS)
def test_a_thousand_times_without_a_hang(session: Session, method: str) -> None:
    n = min(32, most(session, 32, method))
    for _ in range(1000):
        assert check(session, GroupBarrier(n, 32, method), 20) == n


@pytest.mark.thorough(method=["lbs", "ulfs"])
@pytest.mark.parametrize("method", WAYS)
def test_more_than_run_at_once_leave_and_are_reported(session: Session, method: str) -> None:
    size = 64 if method == "lfs" else 32
    n = most(session, size, method) + 1
    how = possible(n, size, method)
    if how is None:  # LFS watches no more than run at once
        return
    assert count_concurrent_groups(session, how, kernel(session, how)) < n
    with pytest.raises(GroupsNotConcurrent, match=f"did not run {n:,} groups of {size} work-items at once") as messages:
        check(session, how)
    assert "launch" in messages.value.hint
    assert check(session, GroupBarrier(n, size)) == n  # nothing of it is left


@pytest.mark.parametrize("method", WAYS)
def test_discovered_groups_take_part(session: Session, method: str) -> None:
    size = 64 if method == "lfs" else 32
    limit = most(session, size, method)
    for n in (1, limit, limit + 3):
        how = possible(n, size, method, discovered=True)
        if how is not None:
            assert 1 <= check(session, how) <= min(n, limit)


def test_all_of_those_that_fit_are_found(session: Session) -> None:
    limit = most(session, 32)
    for n in (1, limit):
        how = GroupBarrier(n, 32, "lbs")
        assert count_concurrent_groups(session, how, kernel(session, how)) == n
    units = session.device.n_compute_units
    assert limit == units if session.device.kind == "cpu" else limit >= units


def test_groups_that_do_not_wait_are_noticed(session: Session) -> None:
    how = GroupBarrier(2, 32, "lbs")
    given, wrong = numbers(how), RelayStage(how, SABOTAGE=1)
    if most(session, 32) > 1:
        assert not np.array_equal(session.run(wrong, given, 20_000), wrong.reference(given, 20_000))


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("no method", {"method": "hope"}),
        ("too few", {"n_groups": 0}),
        ("sets", {"method": "ilbs", "sets": 5}),
        ("more than 2", {"method": "lfs", "size": 2}),
        ("two work-items", {"method": "ulfs", "size": 1}),
        ("several launches", {"discovered": True}),
    ],
)
def test_what_cannot_be_is_reported(words: str, changes: dict) -> None:
    with pytest.raises(OptionError, match=words) as messages:
        GroupBarrier(**{"n_groups": 4, "size": 8, **changes})
    assert messages.value.hint


def test_levels_and_sets() -> None:
    assert [GroupBarrier(n, 32).levels for n in (1, 2, 32, 33, 1024, 1025)] == [1, 2, 2, 3, 3, 4]
    assert [GroupBarrier(n, 32).chosen_sets for n in (1, 7, 36, 60)] == [1, 3, 6, 8]

"""Keys are sorted with their places, equal ones in order, however the groups meet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.compute.group_barriers import GroupBarrier
from clalign.compute.sessions import Session
from clalign.errors import OptionError
from clalign.stages.sync.bitonic_sort import BITONIC_SORT, BitonicSortStage, sortable

KEYS = (np.uint32, np.uint64)
LENGTHS = (0, 1, 2, 3, 1023, 1024, 1025, 2048, 4097, 8192, 16385, 65536, 70001)

WAYS = (
    None,
    *(GroupBarrier(2, 32, method) for method in ("lbs", "ilbs", "lfs", "ulfs")),
    GroupBarrier(9, 32, "lbs", discovered=True),
)


def keys(n: int, dtype: type, kinds: int = 0, seed: int = 1) -> np.ndarray:
    """Return random keys, among them the least and the greatest that there are."""
    most = np.iinfo(dtype).max
    found = np.random.default_rng(seed).integers(0, kinds or most, n, dtype=dtype, endpoint=True)
    found[: n // 8 : 2], found[1 : n // 8 : 2] = most, 0
    return np.random.default_rng(seed + 1).permutation(found)


def check(session: Session, given: np.ndarray, how: GroupBarrier | None = None) -> None:
    found = session.run(BITONIC_SORT, given, how)
    assert found.dtype == np.uint32
    assert np.array_equal(found, BITONIC_SORT.reference(given, how))


def test_places_by_hand(any_session: Session) -> None:
    assert any_session.run(BITONIC_SORT, np.array([7, 3, 7, 0, 3], np.uint32), None).tolist() == [3, 1, 4, 0, 2]


@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("n", LENGTHS)
def test_equals_reference(session: Session, n: int, dtype: type) -> None:
    check(session, keys(n, dtype))
    check(session, keys(n, dtype, kinds=3))


@pytest.mark.thorough(how=WAYS[1:2])
@pytest.mark.parametrize("how", WAYS[1:], ids=lambda how: f"{how.method}{'-discovered' * how.discovered}")
def test_however_the_groups_meet(session: Session, how: GroupBarrier) -> None:
    for n in (1, 1025, 70001):
        check(session, keys(n, np.uint32, kinds=999, seed=n), how)
    check(session, keys(5000, np.uint64, kinds=9), how)


@pytest.mark.parametrize("pattern", ["rising", "falling", "same", "organ"])
def test_keys_that_are_in_some_order(session: Session, pattern: str) -> None:
    n = 20_000
    rising = np.arange(n, dtype=np.uint32)
    given = {"rising": rising, "falling": rising[::-1], "same": rising * 0, "organ": np.minimum(rising, rising[::-1])}
    check(session, given[pattern].copy())


@pytest.mark.thorough
@given(st.lists(st.integers(0, 2**32 - 1), max_size=70), st.integers(1, 5), st.sampled_from([1, 4]))
@settings(max_examples=40, deadline=None)
def test_small_tiles(session: Session, values: list[int], n_groups: int, size: int) -> None:
    """With tiles of four items there are many rounds of all kinds, whose spans are not full."""
    stage, given = BitonicSortStage("item", TILE_LOG=2), np.array(values, np.uint32)
    assert np.array_equal(session.run(stage, given, GroupBarrier(n_groups, size)), stage.reference(given, None))


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", KEYS)
def test_many_keys(session: Session, dtype: type) -> None:
    n = 1 << (20 if session.device.kind == "gpu" else 17)
    check(session, keys(n - 47, dtype))
    check(session, keys(n, dtype, kinds=50))


@pytest.mark.thorough
def test_the_most_keys_of_a_gpu(session: Session) -> None:
    check(session, keys(1 << (26 if session.device.kind == "gpu" else 18), np.uint32, kinds=1 << 24))


def test_groups_that_do_not_all_run_are_replaced_by_launches(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    n = session.device.n_compute_units * (1 if session.device.kind == "cpu" else 100) + 1
    check(session, keys(5000, np.uint32), GroupBarrier(n, 32, "lbs"))
    assert "Each round becomes a launch" in caplog.text


@pytest.mark.parametrize("how", WAYS[:2], ids=["launch", "lbs"])
def test_planted_fault_is_noticed(session: Session, how: GroupBarrier | None) -> None:
    given, wrong = keys(5000, np.uint32), BitonicSortStage("item", SABOTAGE=1)
    assert not np.array_equal(session.run(wrong, given, how), wrong.reference(given, how))


def test_wrong_keys_are_reported(session: Session) -> None:
    with pytest.raises(OptionError, match="int16"):
        session.run(BITONIC_SORT, np.zeros(3, np.int16), None)


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u1", "u4", "u8", "f4", "f8"])
@pytest.mark.parametrize("falling", [False, True])
def test_sortable_keys_have_the_order_of_the_values(dtype: str, falling: bool) -> None:
    values = np.frombuffer(np.random.default_rng(5).bytes(4000), dtype)
    if values.dtype.kind == "f":
        odd = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45]
        values = np.concatenate([values, np.array(odd, dtype)])
    wanted = values if values.dtype.kind == "f" else values.astype(object)
    expected = np.argsort(-wanted if falling else wanted, kind="stable")
    assert np.array_equal(np.argsort(sortable(values, falling), kind="stable"), expected)

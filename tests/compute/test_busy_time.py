"""What runs beside something else counts once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clalign.compute.opencl import busy_time
from clalign.compute.opencl.busy_time import BusyTime


@given(st.lists(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)), max_size=6), max_size=12))
def test_time_is_that_of_all_spans_together(parts: list[list[tuple[int, int]]]) -> None:
    busy, covered = BusyTime(), np.zeros(300, bool)
    for part in parts:
        busy.add((begin, begin + length) for begin, length in part)
        for begin, length in part:
            covered[begin : begin + length] = True
        assert round(busy.seconds * 1e9) == covered.sum()


def test_a_long_history_takes_no_memory_and_counts_once() -> None:
    busy = BusyTime()
    for k in range(1000):
        busy.add([(100 * k, 100 * k + 60), (100 * k + 30, 100 * k + 70)])
    assert len(busy._stretches) == busy_time.MAX_STRETCHES
    busy.add([(10, 40), (99_900, 100_000)])
    assert round(busy.seconds * 1e9) == 1000 * 70 + 30

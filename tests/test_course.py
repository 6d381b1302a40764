"""The course of jobs, sampled every 0.2 s of a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clalign.jobs.course import Course

SAMPLE_SECONDS = 0.2

Capture = tuple[float, dict[str, Any]]
"""An event of progress, and when it comes (s)."""


def work(stage: str, began: float, seconds: float, cells: float, step: float = 0.1, **facts: Any) -> Iterator[Capture]:
    """Yield the events of cells that are computed at an even speed."""
    yield began, {"stage": stage, "done": 0.0, "total": cells, "unit": "cells", **facts}
    n = round(seconds / step)
    for place in range(1, n + 1):
        yield began + place * step, {"stage": stage, "done": cells * place / n, "total": cells, "unit": "cells"}


def building(began: float, seconds: float, n: int, n_later: int = 0) -> Iterator[Capture]:
    """Yield the events of a compiler, told twice a second; in the end it compiles more than was foreseen."""
    for place in range(1, round(2 * seconds) + 1):
        done = int(n * place / round(2 * seconds))
        total = n + (n_later if done == n else 0)
        yield began + place / 2, {"stage": "build", "done": done, "total": total, "unit": "programs", "waits": True}
    yield began + seconds, {"stage": "build", "done": n, "total": n + n_later, "unit": "programs", "waits": False}


def reading(seconds: float) -> Iterator[Capture]:
    for place in range(11):
        yield place * seconds / 10, {"stage": "read", "done": 10.0 * place, "total": 100.0, "unit": "bytes"}


def search() -> Iterator[Capture]:
    """A search that takes three times as long as foreseen."""
    yield from reading(1.0)
    forecast = {"rate": 6e9, "kernel_seconds": 0.9, "seconds": {}, "later": {}}
    yield 1.0, {"stage": "search", "done": 0.0, "total": 1e11, "unit": "cells", "forecast": forecast}
    yield from building(1.0, 6.0, 8, n_later=2)
    yield from work("search", 7.0, 50.0, 1e11)


def resumed() -> Iterator[Capture]:
    """A run of which three quarters are done, in large batches, on a device without a known speed."""
    for place in range(21):
        yield 3.0 * place, {"stage": "search", "done": 1e10 * (60 + place), "total": 8e11, "unit": "cells"}


def alignment() -> Iterator[Capture]:
    """An alignment: three stages of cells, and two of the host, the last without an end in sight."""
    seconds = {"annealing": 15.0, "refinement": 10.0}
    later = {"pairs": 6e9, "annealing": 0.0, "refinement": 0.0}
    forecast = {"rate": 4e8, "seconds": seconds, "later": {"training round 2": 2e9, **later}}
    yield from work("training round 1", 0.0, 10.0, 2e9, forecast=forecast)
    yield from work("training round 2", 10.0, 10.0, 2e9, forecast={**forecast, "later": later})
    yield from work("pairs", 20.0, 30.0, 6e9, forecast={**forecast, "later": {**later, "pairs": 0.0}})
    for place in range(1, 101):
        done = 100 * (1 - (1 - place / 100) ** 2)
        yield 50 + 0.2 * place, {"stage": "annealing", "done": done, "total": 100, "unit": "candidates"}
    for sweep in range(1, 13):
        yield 70.0 + sweep, {"stage": "refinement", "done": sweep, "total": None, "unit": "sweeps"}


def export() -> Iterator[Capture]:
    """A job that foresees nothing."""
    for place in range(101):
        yield 0.1 * place, {"stage": "export", "done": 10 * place, "total": 1000, "unit": "hits"}


def verification() -> Iterator[Capture]:
    """A job of which one expects only how long it takes in all, and too little."""
    yield 0.0, {"stage": "verify", "done": 0, "total": 90, "unit": "hits", "seconds": 30.0}
    for place in range(1, 91):
        yield place / 2, {"stage": "verify", "done": place, "total": 90, "unit": "hits"}


def sequence_search() -> Iterator[Capture]:
    """A search of which the profiles are made of sequences first, for a sixth of its time."""
    for made in range(101):
        yield made / 10, {"stage": "profiles", "done": made, "total": 100, "unit": "queries"}
    forecast = {"rate": 2e9, "kernel_seconds": 0.9, "seconds": {}, "later": {}}
    yield from work("search", 10.0, 50.0, 1e11, forecast=forecast)


@pytest.mark.parametrize("job", [search, resumed, alignment, export, verification, sequence_search])
def test_one_bar_over_all_stages(job: Any) -> None:
    messages = list(job())
    end, course = messages[-1][0], Course()
    bars, n_kernels, n_judged, last = [0.0], set[int](), 0, None
    for sample in range(int(end / SAMPLE_SECONDS)):
        now = sample * SAMPLE_SECONDS
        while messages and messages[0][0] <= now:
            last, value = messages.pop(0)
            course.take(value, last)
        bars.append(course.fraction)
        if course.kernels is not None:
            n_kernels.add(course.kernels[1])
            assert course.kernels[0] <= course.kernels[1]
            assert not course.rate
        if course.fraction >= 0.2 and course.seconds_left is not None and last is not None and end - last > 0.05 * end:
            n_judged += 1
            assert (end - last) / 2 <= course.seconds_left <= 2 * (end - last), (now, course.stage)
    for now, value in messages:
        course.take(value, now)
    assert bars == sorted(bars)
    assert len(n_kernels) <= 1
    assert n_judged > 0.5 * len(bars) or job is resumed
    if course.total:
        assert course.fraction == 1.0
        assert course.seconds_left is None


def test_a_bar_of_a_resumed_run_begins_where_it_was() -> None:
    course = Course()
    for now, value in list(resumed())[:3]:
        course.take(value, now)
    assert 0.7 <= course.fraction <= 0.85


def test_a_bar_moves_while_sequences_are_prepared() -> None:
    course, bars = Course(), list[float]()
    for stage in ("read", "encode", "rows"):
        for done in range(1, 5):
            value = {"stage": stage, "done": 1e9 * done, "total": 4e9, "unit": "bytes"}
            course.take(value, len(bars))
            bars.append(course.fraction)
            assert f"{done}.0 GB of 4.0 GB" in course.words
    assert bars == sorted(set(bars))
    assert bars[-1] < 0.05


def test_making_profiles_is_a_small_part_of_a_search() -> None:
    course, messages = Course(), list(sequence_search())
    for now, value in messages[:101]:
        course.take(value, now)
        assert course.fraction < 0.05
        assert course.seconds_left is None, "nothing is known of the search yet"
    assert course.words.endswith("100 of 100")
    for now, value in messages[101:]:
        course.take(value, now)
        assert course.fraction == pytest.approx(value["done"] / value["total"], abs=0.05)


def test_a_search_that_has_begun_is_not_called_compiling() -> None:
    course = Course()
    messages = [*building(0.0, 2.0, 8), *work("search", 2.0, 2.0, 1e9), *building(4.0, 2.0, 8)]
    shown = []
    for now, value in messages:
        course.take(value, now)
        shown.append(course.words)
    assert shown[0] == "Preparing the device (2 of 8)"
    assert shown[-2].startswith("Searching while the device is prepared")


def test_a_bar_goes_on_between_events_but_never_back() -> None:
    course = Course()
    messages = list(search())
    for now, value in messages[: len(messages) // 2]:
        course.take(value, now)
    before, bars = course.fraction, []
    for step in range(1, 400):
        course.wait(now + step * SAMPLE_SECONDS)
        bars.append(course.fraction)
    assert bars == sorted(bars)
    assert before < bars[4] < bars[40]
    assert bars[-1] <= before + 0.25 * (1 - before), "what is not told is not taken for done"
    for later, value in messages[len(messages) // 2 :]:
        course.take(value, later)
        bars.append(course.fraction)
    assert bars == sorted(bars)
    assert course.fraction == 1.0


def test_results_that_come_together_are_no_sign_of_speed() -> None:
    course, later = Course(), {"training round 2": 1e8, "pairs": 3e8}
    forecast = {"rate": 1e8, "kernel_seconds": 0.9, "seconds": {}}
    rounds = [
        ("training round 1", 0.0, 0.0),
        *((f"training round {n}", 6.0 * n, done) for n in (1, 2) for done in (6e7, 1e8)),
    ]
    for stage, now, done in rounds:
        told = {"stage": stage, "done": done, "total": 1e8, "unit": "cells"}
        course.take({**told, "forecast": {**forecast, "later": later}}, now)
    before = course.seconds_left
    assert before is not None
    assert 9 <= before <= 36, "the pairs take three times 6 s"
    course.wait(16.0)
    assert course.seconds_left is not None
    assert before - 5 <= course.seconds_left <= before - 3, "time passes where nothing is reported"


def test_a_kernel_that_takes_long_says_so_of_the_others() -> None:
    course, forecast = Course(), {"rate": 1e9, "kernel_seconds": 0.9, "seconds": {}, "later": {}}
    course.take({"stage": "search", "done": 0.0, "total": 1e9, "unit": "cells", "forecast": forecast}, 0.0)
    left = []
    for tick in range(1, 41):
        course.take({"stage": "build", "done": 0, "total": 10, "unit": "programs", "waits": True}, tick / 2)
        left.append(course.seconds_left)
    known = [one for one in left if one is not None]
    assert known == sorted(known)
    assert known[-1] >= 60


def test_a_job_that_has_reported_nothing_has_no_bar() -> None:
    course = Course()
    course.wait(5.0)
    assert course.fraction == 0.0
    course.take({"stage": "read", "done": 1.0, "total": 100.0, "unit": "bytes"}, 6.0)
    before = course.fraction
    course.wait(60.0)
    assert course.fraction == before, "how long it takes is not known"


def test_a_pause_is_no_time_of_work() -> None:
    course = Course()
    for now in range(11):
        course.take({"stage": "search", "done": 1e9 * now, "total": 2e10, "unit": "cells"}, float(now))
    course.hold()
    for now in range(11):
        course.take({"stage": "search", "done": 1e9 * (10 + now), "total": 2e10, "unit": "cells"}, 1000.0 + now)
        assert course.seconds_left is None or course.seconds_left < 15.0
    assert course.rate == pytest.approx(1e9)


def test_a_pause_within_a_stage_is_no_time() -> None:
    course = Course()
    for done, now in ((0.0, 0.0), (40.0, 1.0)):
        course.take({"stage": "search", "done": done, "total": 100.0, "unit": "cells", "forecast": {"rate": 40.0}}, now)
    course.hold()
    course.take({"stage": "search", "done": 50.0, "total": 100.0, "unit": "cells"}, 9.0)
    assert 0 < course.fraction < 1


def test_the_measured_rate_of_cells_is_known_beside_the_expected_one() -> None:
    course = Course()
    for now, value in search():
        course.take(value, now)
        if now < 7.0:
            assert course.rates is None, "no cells yet"
    assert course.rates == (6e9, pytest.approx(2e9, rel=0.05))

"""The course of a job by its events: one bar over all its stages, and the time left where that can be believed.

Bar and time left are the same number: what is done is the time that the work has taken so far, of that and the time
that is expected to be left. Events say what is expected before anything is measured; what is measured replaces it.
"""

from __future__ import annotations

import math

from clalign.common.amounts import size_text
from clalign.common.plain_data import Json
from clalign.jobs import BUILD, PREPARING, TEST

PREPARING_SHARE = 0.05
"""Part of the bar before the time of the work itself is known: each stage takes half of what the ones before left."""

MEMORY_SECONDS = 30.0
"""Time in which a measured rate loses most of its weight (s): a device may get more or less to do."""

RATE_SECONDS = 5.0
"""Time in which the rate that is shown loses most of its weight (s)."""

FIRST_SECONDS = 0.5
"""Time of work after which its rate is shown (s)."""

TRUSTED_SHARE, MAX_TRUSTED_SECONDS = 0.05, 2.0
"""What is expected counts like a measurement over this share of it, at most like one of this time (s)."""

TOGETHER = 0.1
"""Part of the wait for the first results within which others count as first ones."""

MEASURED_SECONDS = 2.0
"""Time of work on cells before what is left of them is shown (s), unless other things take longer."""

USUAL_KERNELS = 2
"""Kernels of the usual time that count beside those that were compiled."""

MAX_SLOWNESS = 4.0
"""Most by which what is measured changes the expected time of other stages."""

CALM_SECONDS = 3.0
"""Time in which the time left follows what it is expected to be (s)."""

BELIEVED_SHARE, BELIEVED_SECONDS = 0.05, 2.0
"""The time left is shown from this part of the bar on, and after this time (s)."""

STEPS = ((60.0, 1.0), (600.0, 10.0), (math.inf, 60.0))
"""The time left is rounded to such steps, if it is below a limit (s)."""

AHEAD = 0.25
"""Part of what is left over which the bar goes on without an event at most."""

AT_LEAST = 0.15
"""Part of the expected time of a stage that is left at least, while its end cannot be seen."""

_WORDS = {
    BUILD: "Preparing the device",
    TEST: "Testing the device, once",
    "read": "Reading",
    "encode": "Preparing sequences",
    "rows": "Ordering rows",
    "profiles": "Making profiles",
    "search": "Searching",
    "align": "Aligning",
    "training": "Learning from pairs",
    "pairs": "Comparing pairs",
    "annealing": "Merging columns",
    "refinement": "Refining columns",
    "tree": "Joining neighbors",
    "export": "Writing",
    "merge": "Merging parts",
    "verify": "Checking",
    "self-test": "Testing",
    "calibrate": "Scoring random sequences",
    "tune": "Trying kernels in different sizes",
    "bench": "Measuring devices",
    "lab": "Measuring",
}
"""What stages of jobs do, as the command line and the window show it."""


def stage_words(stage: str) -> str:
    """Return the words for a stage of a job; a name that is not listed is made of words already."""
    return _WORDS.get(stage) or f"{stage[:1].upper()}{stage[1:]}"


class _Rate:
    """Units a second, measured over the last seconds of work."""

    def __init__(self, memory: float) -> None:
        self._memory, self.units, self.seconds = memory, 0.0, 0.0

    def add(self, units: float, seconds: float) -> None:
        fading = math.exp(-seconds / self._memory)
        self.units, self.seconds = fading * self.units + units, fading * self.seconds + seconds


class Course:
    """How far a job is. The clock is that of the caller.

    Attributes
    ----------
    stage : str
        The present one; empty before the first event.
    detail : str
        What is done of it just now, in words.
    done, total : float
        Of the stage, in its unit; a total of 0 is not known.
    kernels : (int, int) or None
        How many kernels are compiled, of how many, while the job waits for them. The second number never changes.
    rates : (float, float) or None
        The expected rate of cells and the measured one, once kernels have worked for some time (cells / s).
    """

    def __init__(self) -> None:
        self.stage, self.unit, self.detail = "", "", ""
        self.done = self.total = 0.0
        self.kernels: tuple[int, int] | None = None
        self.rates: tuple[float, float] | None = None
        self._latest: float | None = None  # time of the last event
        self._silent = 0.0
        self._elapsed, self._spent = 0.0, 0.0  # the latter with what earlier jobs have done
        self._done_before: float | None = None
        self._is_believed, self._slowness = False, 1.0
        self._waited = self._first_units = 0.0
        self._work_seconds = 0.0
        self._stage_seconds = 0.0
        self._bar = self._reported_share = 0.0  # the latter as it was at the last event
        self._bar_before = 0.0  # at the beginning of the stage
        self._expected_total: float | None = None
        self._stage_rate, self._shown_rate = _Rate(MEMORY_SECONDS), _Rate(RATE_SECONDS)
        self._forecast: Json = {}
        self._seen: set[str] = set()
        self._build_seconds = 0.0
        self._n_built = self._n_first = 0
        self._n_kernels, self._is_compiling = 0, False

    def take(self, value: Json, now: float) -> None:
        """Take an event of progress that came at a time (s)."""
        passed = 0.0 if self._latest is None else max(0.0, now - self._latest)
        self._latest, self._silent = now, 0.0
        self._elapsed += passed
        if value["stage"] == BUILD:
            self._take_build(value, passed)
        else:
            self._take_work(value, passed)
        self._follow(passed)

    def wait(self, now: float) -> None:
        """Let time pass without an event (s): bar and time left go on as expected, but not far beyond what is known."""
        self._silent = 0.0 if self._latest is None else max(0.0, now - self._latest)
        if self._latest is None or self._expected_total is None or not self._work_seconds:
            return
        most = self._reported_share + AHEAD * (1.0 - self._reported_share)
        self._bar = max(self._bar, min((self._spent + self._silent) / max(self._expected_total, 1e-9), most))

    def hold(self) -> None:
        """Count no time until the next event: the job was paused."""
        self._latest = None

    def _take_build(self, value: Json, passed: float) -> None:
        done, total, is_now = int(value["done"]), int(value["total"]), bool(value.get("waits", True))
        if not self._n_kernels:
            self._n_kernels, self._n_first = total, done
            self._n_built = done
        elif self.kernels is not None:
            self._build_seconds += passed
        self._is_compiling = is_now
        self._n_built = max(done, self._n_built)
        # What was not foreseen is compiled as the last one.
        self.kernels = max(0, min(self._n_built, self._n_kernels - is_now)), self._n_kernels

    def _take_work(self, value: Json, passed: float) -> None:
        done, total = float(value["done"]), float(value["total"] or 0)
        self._forecast = value.get("forecast") or self._forecast
        self.detail = str(value.get("now") or "")
        if value.get("seconds"):
            self._forecast = {**self._forecast, "seconds": {value["stage"]: value["seconds"]}}
        if value["stage"] != self.stage:
            is_like = self.unit == (value.get("unit") or "") == "cells"
            if is_like and not self._is_compiling:  # the end of one and the beginning of the other, reported at once
                self._measure(max(0.0, self.total - self.done) + done, passed)
            self.stage, self._stage_seconds, self._bar_before = value["stage"], 0.0, self._bar
            self._seen.add(self.stage)
            if not is_like:
                self._stage_rate, self._shown_rate = _Rate(MEMORY_SECONDS), _Rate(RATE_SECONDS)
                self._waited = self._first_units = 0.0
            if self.is_working and self._done_before is None:
                self._done_before, self._elapsed = done, 0.0  # preparations are no part of the work
        elif not self._is_compiling:
            self._stage_seconds += passed
            self._measure(max(0.0, done - self.done), passed)
            rate = self._stage_rate
            if self.unit == "cells" and self._forecast.get("rate") and rate.units and rate.seconds:
                expected, measured = float(self._forecast["rate"]), rate.units / rate.seconds
                self._slowness = min(max(expected / measured, 1 / MAX_SLOWNESS), MAX_SLOWNESS)
                self.rates = (expected, measured) if rate.seconds >= FIRST_SECONDS else self.rates
        self._is_compiling = False
        if done > self.done or not self.is_working:
            self.kernels = None
        self.done, self.total, self.unit = done, total, str(value.get("unit") or "")

    def _measure(self, units: float, passed: float) -> None:
        """Measure the rate, from the first results on: until then more and more is at work, and nothing is reported.

        What comes together with the first ones was at work beside them.
        """
        if not self._first_units or (not self._stage_rate.seconds and passed < TOGETHER * self._waited):
            self._waited += passed
            self._first_units += units
            return
        for rate in (self._stage_rate, self._shown_rate):
            rate.add(units, passed)

    @property
    def is_working(self) -> bool:
        """Whether the job is past its preparations."""
        return bool(self.stage) and self.stage not in PREPARING

    @property
    def _rate(self) -> float:
        """Units a second of the stage, measured or expected; 0 while unknown."""
        measured, expected = self._stage_rate, float(self._forecast.get("rate") or 0)
        if self.unit != "cells" or not expected:
            if not measured.seconds:
                return self._first_units / self._waited if self._waited else 0.0
            return measured.units / measured.seconds
        weight = min(MAX_TRUSTED_SECONDS, max(0.1, TRUSTED_SHARE * self.total / expected))
        units, seconds = measured.units, measured.seconds
        if not seconds and self._first_units:
            units, seconds = self._first_units, self._waited
        return (units + weight * expected) / (seconds + weight)

    def _expected(self, stage: str) -> float | None:
        """Return the time that was expected of a stage that is not measured in cells (s); None if there is none.

        Where cells take longer than expected, other devices or programs are at work, and this takes longer, too.
        """
        seconds = (self._forecast.get("seconds") or {}).get(stage)
        return None if seconds is None else float(seconds) * math.sqrt(self._slowness)

    def _left_of_stage(self) -> float | None:
        """Return the time that is left of the present stage (s); None while unknown."""
        expected = self._expected(self.stage)
        if not self.total:
            spent = self._stage_seconds
            return None if expected is None else max(expected - spent, AT_LEAST * max(expected, spent))
        if expected is not None:  # what it takes is not even: it is measured the more, the more is done
            share = min(1.0, self.done / self.total)
            measured = self._stage_seconds / share if share else 0.0
            return (1 - share) * ((1 - share) * expected + share * measured)
        rate = self._rate
        if self.done >= self.total:
            return 0.0
        if not rate:
            return None
        left = (self.total - self.done) / rate
        at_work = max(0.0, self._waited - self._first_units / rate)  # of this nothing is reported yet
        return max(left - at_work, left / 4)

    def _left_of_later(self) -> float:
        """Return the time of the stages that follow (s)."""
        left = 0.0
        for stage, cells in (self._forecast.get("later") or {}).items():
            if stage in self._seen:
                continue
            seconds = self._expected(stage)
            left += seconds if seconds is not None else cells / self._rate if self._rate else 0.0
        return left

    def _left_of_build(self) -> float:
        """Return the time of the kernels that are not compiled (s), as far as the job will wait for it."""
        n_left = self._n_kernels - self._n_built
        if n_left <= 0:
            return 0.0
        n_new, usual = self._n_built - self._n_first, float(self._forecast.get("kernel_seconds") or 1.0)
        # The time since the last one counts: the longer the next one takes, the longer will those after it.
        left = n_left * (self._build_seconds + USUAL_KERNELS * usual) / (n_new + USUAL_KERNELS)
        share = min(1.0, self.done / self.total) if self.total and self.is_working else 0.0
        return left if self.kernels else left * (1 - share)

    def _left(self) -> float | None:
        """Return the time that is expected to be left (s); None while unknown."""
        if not self.is_working:
            return None
        left = self._left_of_stage()
        if left is None:
            return None
        later, build = self._left_of_later(), self._left_of_build()
        is_measured = self._stage_rate.seconds >= MEASURED_SECONDS or self.unit != "cells"
        self._is_believed = is_measured or left + later <= build
        return left + later + build

    def _follow(self, passed: float) -> None:
        """Move the bar, never back, and let the expected time follow calmly."""
        left = self._left()
        if left is None:
            if not self.is_working and self.stage and self.total:
                share = (PREPARING_SHARE - self._bar_before) / 2 * min(1.0, self.done / self.total)
                self._bar = max(self._bar, self._bar_before + share)
            self._expected_total = None if not self.is_working else self._expected_total
            return
        self._spent = done = self._elapsed + (self._done_before or 0.0) / (self._rate or math.inf)
        total = done + left
        is_begun = bool(self.kernels) or self.done > 0  # before that, what is to come is not known
        if self._expected_total is None or self._work_seconds < BELIEVED_SECONDS or not self._is_believed:
            self._expected_total = total
        self._work_seconds += passed if is_begun else 0.0
        self._expected_total += (total - self._expected_total) * (1 - math.exp(-passed / CALM_SECONDS))
        if is_begun and total:
            self._reported_share = done / max(self._expected_total, total)
            self._bar = max(self._bar, self._reported_share)
        if left == 0.0:
            self._bar = 1.0

    @property
    def words(self) -> str:
        """What the job does now, with the kernels that it waits for or how much is prepared; empty before the first
        event.
        """
        if self.kernels is None:
            count = size_text if self.unit == "bytes" else "{:,.0f}".format
            amount = f", {count(self.done)} of {count(self.total)}" if self.total and not self.is_working else ""
            return f"{stage_words(self.stage)}{amount}" if self.stage else ""
        has_begun = self.is_working and self.done > (self._done_before or 0.0)
        words = f"{stage_words(self.stage)} while the device is prepared" if has_begun else stage_words(BUILD)
        return f"{words} ({self.kernels[0]} of {self.kernels[1]})"

    @property
    def fraction(self) -> float:
        """Part of the job that is done, from 0 to 1; it never goes back."""
        return self._bar

    @property
    def seconds_left(self) -> float | None:
        """The time left (s); None while it cannot be believed, and at the end."""
        if self._expected_total is None or self._bar >= 1 or self._bar < BELIEVED_SHARE:
            return None
        if self._work_seconds < BELIEVED_SECONDS or not self._is_believed:
            return None
        left = max(self._expected_total - self._spent, 0.0)
        left = left if self.kernels else max(left - self._silent, left / 4)
        step = next((step for most, step in STEPS if left < most), STEPS[-1][1])
        return step * math.ceil(left / step) or None

    @property
    def rate(self) -> float:
        """Cells a second of kernels at work; 0 while there are none, or while the rate is unknown."""
        if self.unit != "cells" or self.kernels is not None or self._shown_rate.seconds < FIRST_SECONDS:
            return 0.0
        return self._shown_rate.units / self._shown_rate.seconds

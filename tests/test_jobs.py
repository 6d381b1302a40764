"""The job protocol: events, their rate, cancelling and pausing."""

from __future__ import annotations

import threading
import time

import pytest

from clalign.errors import Cancelled
from clalign.jobs import PROGRESS_SECONDS, Event, Job


def test_events_survive_the_wire() -> None:
    event = Event("partial", {"n_hits": 3, "text": 'Grüße\n\t"', "none": None})
    assert "\n" not in event.to_json()
    assert Event.from_json(event.to_json()) == event


def test_progress_is_rare_but_complete() -> None:
    events: list[Event] = []
    job = Job(events.append)
    began = time.monotonic()
    for done in range(1, 2001):
        job.progress("search", done, 2000, "cells")
    allowed = 2 + (time.monotonic() - began) / PROGRESS_SECONDS
    assert len(events) <= allowed
    assert events[0].value["done"] == 1
    assert events[-1].value["done"] == 2000
    job.progress("other", 1, 10, "cells")
    assert events[-1].value["stage"] == "other", "the first message of a stage always passes"


def test_nothing_is_reported_after_the_last_event() -> None:
    events: list[Event] = []
    job = Job(events.append)
    assert job.send("finished")
    assert not job.send("cancelled")
    job.progress("build", 1, None, "s")
    assert [event.kind for event in events] == ["finished"]


def test_cancel_is_answered_at_the_next_check() -> None:
    job = Job(lambda event: None)
    job.check()
    job.cancel()
    with pytest.raises(Cancelled):
        job.check()


def test_pause_holds_the_job_and_cancel_ends_the_pause() -> None:
    job = Job(lambda event: None)
    passed, ended = threading.Event(), threading.Event()

    steps: list[int] = []

    def work() -> None:
        try:
            while True:
                job.check()
                passed.set()
                steps.append(1)
                time.sleep(0.002)
        except Cancelled:
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert passed.wait(120)
    job.pause()
    before = len(steps)
    time.sleep(0.1)
    assert len(steps) <= before + 1, "a paused job must not go on"
    passed.clear()
    job.resume()
    assert passed.wait(120)
    job.pause()
    job.cancel()
    assert ended.wait(120), "a paused job must hear of a cancel"
    thread.join()

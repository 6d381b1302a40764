"""The standard input of a worker: jobs, engines to prepare for, and commands for the latest job."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from clalign.errors import ClalignError, ExitCode
from clalign.jobs import Event, Job
from clalign.system.processes import GRACE_SECONDS
from clalign.values.documents import JobRequest

BUILD_SECONDS = 0.7
"""Interval at which a job that is to stop is asked whether it still compiles a kernel (s)."""

LOOK_SECONDS = 5.0
"""Interval at which a worker without a job asks itself whether to wait longer (s)."""


class Order(NamedTuple):
    """A line of standard input.

    Attributes
    ----------
    request : dict
        A job (``job``), or an engine that may be needed next (``prepare``).
    job : Job or None
        Context of the job; None if it is not a job.
    """

    request: JobRequest
    job: Job | None


class Orders:
    """Reads standard input in a thread of its own.

    A command is for the job before it: whoever sends the next job knows that the last one has ended.

    Parameters
    ----------
    send : callable
        Called with each event of each job.
    """

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._waiting: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._job: Job | None = None
        self._run: str | None = None
        self._listener = threading.Thread(target=self._listen, name="listens", daemon=True)
        self._listener.start()

    def next(self, may_wait: Callable[[], bool] = lambda: True) -> Order | None:
        """Wait for the next order; return None if the input has ended, or if `may_wait` returns False meanwhile."""
        with contextlib.suppress(queue.Empty):
            return self._waiting.get_nowait()
        while may_wait():
            with contextlib.suppress(queue.Empty):
                return self._waiting.get(timeout=LOOK_SECONDS)
        return None

    def _listen(self) -> None:
        for line in sys.stdin:
            try:
                order = json.loads(line)
                self._take(order)
            except (ValueError, KeyError, TypeError, AttributeError):
                if self._job is None:  # started by hand
                    break
        self._waiting.put(None)
        if self._job is not None:
            self._job.cancel()  # nobody listens any more
            time.sleep(GRACE_SECONDS)
            os._exit(ExitCode.STOPPED)  # it hangs in a driver

    def _take(self, order: JobRequest) -> None:
        if "job" in order:
            self._job, self._run = Job(self._send), order.get("run")
            self._waiting.put(Order(order, self._job))
        elif "prepare" in order:
            self._waiting.put(Order(order, None))
        elif self._job is not None:
            command = order["command"]
            if command == "cancel":
                self._job.cancel()
                threading.Thread(target=end_while_building, args=(self._job, self._run), daemon=True).start()
            elif command == "pause":
                self._job.pause()
            elif command == "continue":
                self._job.resume()
        else:
            raise KeyError("job")


def end_while_building(job: Job, run: str | None) -> None:
    """End the process if the job cannot stop because a driver compiles a kernel; its results are in the run file."""
    import sqlite3

    from clalign.runs.run_file import open_run

    while not job.is_over:
        time.sleep(BUILD_SECONDS)
        if not job.is_building():
            continue
        if run:
            with contextlib.suppress(ClalignError, sqlite3.Error), open_run(Path(run), writable=True) as file:
                if not job.is_building():
                    continue
                if file.state in ("new", "running"):  # not of one that is complete and only verified
                    file.set_facts(state="stopped")
        if job.is_building() and job.send("cancelled", run=run):
            os._exit(ExitCode.STOPPED)

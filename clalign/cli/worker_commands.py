"""What a worker is told on its standard input: jobs, what may come next, and commands for the job that came last."""

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

BUILD_PATIENCE = 0.7
"""So many seconds a job that is to stop is left to its compiler."""

LOOK_SECONDS = 5.0
"""While it waits for a job a worker asks itself this often whether it should."""


class Order(NamedTuple):
    """A line of standard input.

    Attributes
    ----------
    request : dict
        What is to be done (``job``), or what may be asked for next (``prepare``, the name of an engine).
    job : Job or None
        What it becomes; None if it is no job.
    """

    request: JobRequest
    job: Job | None


class Orders:
    """Reads standard input in a thread of its own.

    A command means the job of the line before it: whoever sends the next job knows that the last one has ended, so
    that none can be taken for another's.

    Parameters
    ----------
    send : callable
        Told each event of each job.
    """

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._waiting: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._job: Job | None = None
        self._run: str | None = None
        self._listener = threading.Thread(target=self._listen, name="listens", daemon=True)
        self._listener.start()

    def next(self, may_wait: Callable[[], bool] = lambda: True) -> Order | None:
        """Wait for the next order; None if there will be none that can be understood, or if it may not wait longer.

        One that is there already is taken without waiting.
        """
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
                if self._job is None:  # no worker was meant
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
            self._obey(self._job, order["command"])
        else:
            raise KeyError("job")

    def _obey(self, job: Job, command: str) -> None:
        if command == "cancel":
            job.cancel()
            threading.Thread(target=end_while_building, args=(job, self._run), daemon=True).start()
        elif command == "pause":
            job.pause()
        elif command == "continue":
            job.resume()


def end_while_building(job: Job, run: str | None) -> None:
    """End the process if the job that was asked to stop does not hear it, since a driver compiles a kernel.

    What is finished is in the run file.
    """
    import sqlite3

    from clalign.runs.run_file import open_run

    while not job.is_over:
        time.sleep(BUILD_PATIENCE)
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

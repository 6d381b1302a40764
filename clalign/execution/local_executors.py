"""The executors of a job with several devices, which compute in threads of their own."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from clalign.compute.opening import CHECK_SECONDS, Opened, Opening
from clalign.errors import Cancelled, DeviceError
from clalign.execution.writer import Post
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile, open_connection

log = logging.getLogger(__name__)

LEAVE_SECONDS = 0.5
"""Timeout for executors when a job fails (s); one that hangs in a driver is left alone."""

KEEP_SECONDS = 10.0
"""Timeout for executors when a job is stopped and they may keep the state of unfinished units (s)."""

DONE_SECONDS = 0.05
"""Timeout for executors when everything is stored (s): they compute what others have done sooner."""

REPORT_SECONDS = 5.0
"""Timeout for the times of executors that have none of that left to compute (s)."""

Serve = Callable[[Opened, RunFile, Post], None]
"""Computes with an opened device until everything is stored; gets a run to read, and how to call the writer."""


class LocalExecutors:
    """Runs executors until everything is stored, and continues without those that fail.

    Parameters
    ----------
    run : RunFile
        Written by the thread that calls `work`, and only by it.
    context : JobContext
    warn : callable
        Called with the warning of a device that failed.
    """

    def __init__(self, run: RunFile, context: JobContext, warn: Callable[[str], None]) -> None:
        self._run = run
        self._context = context
        self._warn = warn
        self._calls: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._is_over = threading.Event()
        self._n_working = 0
        self._readers: list[RunFile] = []
        self._is_complete = False

    def check(self) -> None:
        """Raise `Cancelled` if the job is to stop or has ended; for all of its threads."""
        if self._is_over.is_set():
            raise Cancelled
        self._context.check()

    def rest(self, seconds: float) -> None:
        """Wait for some seconds; raise `Cancelled` as soon as the job has ended."""
        self._is_over.wait(seconds)
        self.check()

    def work(
        self,
        served: Sequence[tuple[Opening[Any], Serve[Any]]],
        has_begun_units: Callable[[], bool] = lambda: False,
        is_reporting: Callable[[], bool] = lambda: False,
    ) -> None:
        """Compute with several devices, or processes of a device, at a time.

        Parameters
        ----------
        served : sequence of (Opening, callable)
            Each with what computes once it is open.
        has_begun_units : callable
            Whether executors may keep the state of unfinished units when the job is stopped, which takes them a while.
        is_reporting : callable
            Whether executors are about to report their times when everything is stored.

        Raises
        ------
        DeviceError
            If the last device failed before everything was stored; units of others that failed are computed again.
        """
        self._n_working = len(served)
        threads = [
            threading.Thread(target=self._run_one, args=(opening, serve), name=f"executor {number}", daemon=True)
            for number, (opening, serve) in enumerate(served, 1)
        ]
        for thread in threads:
            thread.start()
        try:
            while self._n_working and not self._is_complete:
                self._context.check()
                self._make_next_call()
            until = time.monotonic() + REPORT_SECONDS
            with suppress(Cancelled):  # everything is stored
                while is_reporting() and time.monotonic() < until:
                    self._context.check()
                    self._make_next_call()
        except Cancelled:
            self._leave(threads, KEEP_SECONDS if has_begun_units() else LEAVE_SECONDS)
            self._make_last_calls()  # results, and the state of unfinished units
            raise
        except BaseException:
            self._leave(threads, LEAVE_SECONDS)
            raise
        self._leave(threads, DONE_SECONDS)
        self._make_last_calls()

    def _leave(self, threads: Sequence[threading.Thread], seconds: float) -> None:
        """Wait for executors, and close the runs that they read if some take longer."""
        self._is_over.set()
        until = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            for run in self._readers:
                run.close()
            # Drivers should not be at work while the process ends.
            for thread in threads:
                atexit.register(thread.join, LEAVE_SECONDS)

    def _make_next_call(self) -> None:
        with suppress(Empty):
            self._calls.get(timeout=CHECK_SECONDS)()

    def _make_last_calls(self) -> None:
        """Make calls of executors that ended after everything was stored, or after the job was stopped."""
        with suppress(Empty):
            while True:
                self._calls.get(timeout=0)()

    def _run_one(self, opening: Opening[Opened], serve: Serve[Opened]) -> None:
        """Compute with one device, in a thread of its own."""
        error: BaseException | None = None
        try:
            with RunFile(self._run.path, open_connection(self._run.path)) as run:
                self._readers.append(run)
                opening.work(
                    lambda session: serve(session, run, self._calls.put), self.check,
                    lambda text: self._calls.put(partial(self._warn, text)),
                )  # fmt: skip
        except BaseException as caught:
            error = caught
        self._calls.put(partial(self._ended, error))

    def _ended(self, error: BaseException | None) -> None:
        self._n_working -= 1
        if error is None:
            self._is_complete = True  # an executor returns when everything is stored
        elif self._is_complete and isinstance(error, DeviceError):
            self._warn(f"{error.message} The others have done without it.")
        elif self._is_complete or self._is_over.is_set():  # its run may have been closed while it read it
            log.debug("an executor ended after the job", exc_info=error)
        elif isinstance(error, DeviceError) and self._n_working:
            self._warn(f"{error.message} The others go on with what it had.")
        else:
            raise error

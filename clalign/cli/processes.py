"""The worker process of a job, as its parent sees it."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO

from clalign.cli import starting
from clalign.cli.environment import LOG_VARIABLE
from clalign.cli.streams import write_stderr
from clalign.errors import ClalignError, ExitCode, WorkerLost
from clalign.jobs import Event
from clalign.system.processes import ProcessNotStarted
from clalign.values.documents import JobRequest, JobResult

LAST_KINDS = ("finished", "cancelled", "failed")
"""Kinds of a worker's last event; a worker that ends without one was lost."""

_WARNING = re.compile(r"(?:WARNING|ERROR):clalign[\w.]*:(.*)")

MAX_LOG_LINES = 60
"""Lines of a worker's log that are kept, the last ones."""

WAIT_SECONDS = 0.1
"""Interval at which `WorkerProcess.events` yields None while there are none (s)."""

END_SECONDS = 10.0
"""Timeout for the end of a worker and of its output (s)."""


class ReportedError(ClalignError):
    """An error that a worker reported.

    Parameters
    ----------
    value : dict
        The value of its ``failed`` event.

    Attributes
    ----------
    run_exists : bool
        Whether the run that it was to make already exists.
    """

    def __init__(self, value: JobResult) -> None:
        super().__init__(value["message"], value.get("hint") or "")
        self.exit_code = ExitCode(value["exit_code"])
        self.traceback: str | None = value.get("traceback")
        self.run_exists = bool(value.get("run_exists"))


class WorkerProcess:
    """A running worker; a context manager that leaves no process behind.

    Parameters
    ----------
    job : dict
        What to do, plain data as ``clalign.cli.worker`` describes it.
    worker_ahead : WorkerAhead, optional
        A worker that was started already.
    """

    def __init__(self, job: JobRequest, worker_ahead: starting.WorkerAhead | None = None) -> None:
        self._process = (worker_ahead.take() if worker_ahead is not None else None) or _start_worker()
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._log: collections.deque[str] = collections.deque(maxlen=MAX_LOG_LINES)
        self._readers = [
            threading.Thread(target=self._read_events, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_log, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._write(job)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def send(self, command: str) -> None:
        """Send ``cancel``, ``pause`` or ``continue``."""
        self._write({"command": command})

    def _write(self, data: JobRequest) -> None:
        with contextlib.suppress(OSError, ValueError):  # `events` notices that it has ended
            assert self._process.stdin
            self._process.stdin.write(json.dumps(data) + "\n")
            self._process.stdin.flush()

    def _read_events(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _read_log(self, stream: IO[str]) -> None:
        shown = bool(os.environ.get(LOG_VARIABLE))
        for line in stream:
            if line.strip():
                self._log.append(line.rstrip())
            if shown:
                write_stderr(line, end="")

    def events(self) -> Iterator[Event | None]:
        """Yield events until the worker's last one, and None now and then while there are none.

        Raises
        ------
        WorkerLost
            If the process ends without a last event.
        """
        while True:
            try:
                line = self._lines.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                yield None
                continue
            if line is None:
                raise self._lost()
            try:
                event = Event.from_json(line)
            except (ValueError, KeyError):  # a line cut off by a crash
                continue
            yield event
            if event.kind in LAST_KINDS:
                return

    def _lost(self) -> WorkerLost:
        code = self._process.wait()
        self._readers[1].join(END_SECONDS)
        reason = f"with exit code {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                reason = f"on signal {signal.Signals(-code).name}"
        return WorkerLost(
            f"The worker process stopped unexpectedly {reason}.{self._last_words()}",
            "Try again, or choose another device.",
        )

    def _last_words(self) -> str:
        frames = [line.strip() for line in self._log if line.startswith('  File "')]  # see faulthandler
        if frames:
            return f" It was at {frames[0]}."
        return f" Its last words: {self._log[-1][:300]}" if self._log else ""

    def warnings(self) -> list[str]:
        """Return the warnings and errors in the engine's log, once the worker has ended."""
        found = [_WARNING.match(line) for line in self._log]
        return [match[1] for match in found if match]

    def stop(self) -> None:
        """Kill the worker; its run file is whole at every moment."""
        self._process.kill()

    def leave(self) -> None:
        """Let a finished worker end in the background: everything is stored, and its driver may take a while."""
        if os.environ.get(LOG_VARIABLE) or sys.platform == "win32":
            self.end()  # with the rest of its log; Windows removes no run file that a process has open
        else:
            threading.Thread(target=self.end, daemon=True).start()

    def end(self) -> None:
        """Wait for the end of the worker, and kill it if it does not end."""
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(END_SECONDS)
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()


def _start_worker() -> subprocess.Popen[str]:
    try:
        return starting.started(starting.worker_command())
    except OSError as error:
        raise ProcessNotStarted("a worker process", error) from error


def run_job(job: JobRequest) -> JobResult:
    """Run a short job in a worker and return its result.

    Raises
    ------
    ReportedError
        If it failed.
    WorkerLost
        If the worker ended without a last event.
    """
    last = None
    with WorkerProcess(job) as worker:
        for event in worker.events():
            if event is not None and event.kind == "warning":
                write_stderr(f"clalign: {event.value['text']}")
            last = event or last
    for text in worker.warnings():
        write_stderr(f"clalign: {text}")
    assert last is not None
    if last.kind == "failed":
        raise ReportedError(last.value)
    return last.value

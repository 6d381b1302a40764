"""The only place that talks to worker processes: a job goes out, events come back as signals."""

from __future__ import annotations

import json
import os
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from clalign.children import own_command
from clalign.errors import ExitCode
from clalign.jobs import Event

END_SECONDS = 5
"""A worker that was told that nobody listens any more has this long to end by itself."""


def default_worker() -> list[str]:
    """Return the words that start a worker."""
    return own_command("worker")


def started_process(command: list[str], parent: QObject | None = None) -> QProcess:
    """Start a worker that waits for its job."""
    process = QProcess(parent)
    process.start(command[0], command[1:])
    return process


class WorkerProcess(QObject):
    """One worker process and its one job.

    Exactly one of the four ending signals is sent, and it is the last. A worker that ends without a
    word (a driver that crashed) is lost; the window lives on.

    Parameters
    ----------
    command : list of str
        Starts a worker.
    job : dict
        What it shall do: plain data with the entry ``job``.
    ahead : QProcess, optional
        A worker that was started before, and waits for its job.
    """

    event_received = Signal(object)
    job_finished = Signal(dict)
    job_stopped = Signal(dict)
    job_failed = Signal(dict)
    worker_lost = Signal(str)

    def __init__(
        self, command: list[str], job: dict[str, Any], parent: QObject | None = None, ahead: QProcess | None = None
    ) -> None:
        super().__init__(parent)
        self.job = job
        self._command = command
        self._rest = b""
        self._notes = b""
        self._last: Event | None = None
        self._is_started = ahead is not None
        self._process = ahead or QProcess(self)
        self._process.setParent(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_notes)
        self._process.finished.connect(self._end)
        self._process.errorOccurred.connect(self._miss)

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""
        return int(self._process.processId())

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    def start(self) -> None:
        """Start the process, unless it was, and hand it the job."""
        if not self._is_started:
            self._process.start(self._command[0], self._command[1:])
        self._write(self.job)

    def cancel(self) -> None:
        """Ask the job to stop at the end of its batch."""
        self._write({"command": "cancel"})

    def pause(self) -> None:
        """Ask the job to wait at the end of its batch."""
        self._write({"command": "pause"})

    def proceed(self) -> None:
        """Let a paused job go on."""
        self._write({"command": "continue"})

    def leave(self) -> None:
        """Say that nobody listens any more; a worker that does not end is ended."""
        self.blockSignals(True)
        if not self.is_running:
            return
        self._process.closeWriteChannel()
        if not self._process.waitForFinished(END_SECONDS * 1000):
            self._process.kill()
            self._process.waitForFinished(1000)

    def stop_hard(self) -> None:
        """End a worker that does not answer; its results up to the last batch are in the run file."""
        self._process.kill()

    def _write(self, message: dict[str, Any]) -> None:
        if self.is_running:
            self._process.write(json.dumps(message).encode() + b"\n")

    def _read(self) -> None:
        data = self._rest + bytes(self._process.readAllStandardOutput().data())
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            self._tell(line)

    def _read_notes(self) -> None:
        self._notes = (self._notes + bytes(self._process.readAllStandardError().data()))[-4000:]

    def _tell(self, line: bytes) -> None:
        try:
            event = Event.from_json(line.decode())
        except (ValueError, KeyError, TypeError):
            # A driver may print to standard output; what is no event is kept as a note.
            self._notes = (self._notes + line + b"\n")[-4000:]
            return
        if event.kind in ("finished", "cancelled", "failed"):
            self._last = event
        self.event_received.emit(event)

    def _end(self) -> None:
        self._read()
        self._read_notes()
        if self._last is None:
            self.worker_lost.emit(self._notes.decode(errors="replace").strip())
        elif self._last.kind == "finished":
            self.job_finished.emit(self._last.value)
        elif self._last.kind == "cancelled":
            self.job_stopped.emit(self._last.value)
        else:
            self.job_failed.emit(self._last.value)

    def _miss(self, error: QProcess.ProcessError) -> None:
        if error != QProcess.ProcessError.FailedToStart:
            return
        value = {
            "message": f"The worker could not be started ({self._process.errorString()}).",
            "hint": f"Check that {os.path.basename(self._command[0])} is still where it was, and start clalign again.",
            "exit_code": int(ExitCode.ENGINE),
            "traceback": None,
        }
        QTimer.singleShot(0, self, lambda: self.job_failed.emit(value))

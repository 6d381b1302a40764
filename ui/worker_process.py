"""The only place that talks to worker processes: jobs are sent, events are received as signals."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from PySide6.QtCore import QMetaObject, QObject, QProcess, QTimer, Signal

from clalign.errors import ExitCode
from clalign.jobs import LAST, Event
from clalign.system.processes import own_command
from clalign.values.documents import JobRequest

END_SECONDS = 5
"""Timeout for a worker to end by itself once nobody listens."""

ANSWER_MS = 10_000
"""Timeout for a waiting worker to take up its job; then it is replaced."""

END_MS = 1000
"""Timeout for the end of a worker without a job."""


def default_worker() -> list[str]:
    """Return the command of a worker."""
    return own_command("worker")


def _end_at_once(process: QProcess) -> None:
    """Kill a worker without a job, or one whose results are not needed."""
    process.kill()
    process.waitForFinished(END_MS)
    process.deleteLater()


def _disconnect(connections: Iterable[QMetaObject.Connection]) -> None:
    """Disconnect signals; PySide's `QObject.disconnect` of their receiver only prints a warning."""
    for connection in connections:
        QObject.disconnect(connection)


class WorkerProcess(QObject):
    """A job and its worker process.

    `ended` is sent once, as the last signal. A worker that ends without a word (a driver that crashed) is lost; the
    window lives on. One that had waited for this job and is not there any more when it comes is replaced.

    Parameters
    ----------
    command : list of str
        Starts a worker.
    job : dict
        What it shall do: plain data with the entry ``job``.
    waiting : QProcess, optional
        A worker that waits for a job.
    stays : bool
        Whether it waits for another job after it has finished this one (see `released`); else it ends.
    """

    event_received = Signal(object)
    ended = Signal(str, dict)
    """Kind and value of the last event; ``lost`` without one, with what the worker printed as the `hint`."""

    def __init__(
        self,
        command: list[str],
        job: JobRequest,
        parent: QObject | None = None,
        waiting: QProcess | None = None,
        stays: bool = False,
    ) -> None:
        super().__init__(parent)
        self.job = job
        self._command = command
        self._rest = self._notes = b""
        self._last: Event | None = None
        self._is_cancelled = self._is_over = False
        self._stays = stays
        self._may_be_replaced = waiting is not None
        self._process = waiting or QProcess(self)
        self._adopt()

    def _adopt(self) -> None:
        process = self._process
        process.setParent(self)
        if process.isOpen():
            process.readAllStandardError()  # of its last job
        self._connections = (
            process.readyReadStandardOutput.connect(self._read),
            process.readyReadStandardError.connect(self._read_notes),
            process.finished.connect(self._end),
            process.errorOccurred.connect(self._miss),
        )

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""
        return int(self._process.processId())

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    def start(self) -> None:
        """Start the process, unless it waits already, and send the job."""
        if not self._may_be_replaced:
            self._process.start(self._command[0], self._command[1:])
        elif not self.is_running:
            QTimer.singleShot(0, self, self._end)
            return
        self._write(self.job)

    def demand_answer(self) -> None:
        """Replace the worker if it does not take up the job soon; for workers that have nothing to load."""
        QTimer.singleShot(ANSWER_MS, self, self._end_unless_it_answers)

    def _end_unless_it_answers(self) -> None:
        if self._may_be_replaced:
            self._process.waitForReadyRead(0)  # the window may have been held up, and its answer be there
        if self._may_be_replaced:
            self._process.kill()

    def _replace(self) -> None:
        """Give the job to another worker."""
        _disconnect(self._connections)
        self._process.deleteLater()
        self._may_be_replaced = self._is_over = False
        self._rest = self._notes = b""
        self._process = QProcess(self)
        self._adopt()
        self.start()
        if self._is_cancelled:
            self.cancel()

    def released(self) -> QProcess | None:
        """Return the process if it waits for another job, after the signal that this one is finished.

        A worker that was stopped or whose job failed is not used again.
        """
        if not self._stays or not self.is_running:
            return None
        process = self._process
        _disconnect(self._connections)
        if self._last is None or self._last.kind != "finished" or self._is_cancelled:
            _end_at_once(process)
            return None
        return process

    def cancel(self) -> None:
        """Stop the job after its batch."""
        self._is_cancelled = True
        self._write({"command": "cancel"})

    def pause(self) -> None:
        """Pause the job after its batch."""
        self._write({"command": "pause"})

    def proceed(self) -> None:
        """Continue a paused job."""
        self._write({"command": "continue"})

    def leave(self) -> None:
        """Announce that nobody listens any more; kill a worker that does not end."""
        self.blockSignals(True)
        if not self.is_running:
            return
        self._process.closeWriteChannel()
        if not self._process.waitForFinished(END_SECONDS * 1000):
            self._process.kill()
            self._process.waitForFinished(1000)

    def end_at_once(self) -> None:
        """Kill a job whose results are not needed, without a signal."""
        self.blockSignals(True)
        _disconnect(self._connections)
        _end_at_once(self._process)
        self.deleteLater()

    def stop_hard(self) -> None:
        """Kill a worker that does not answer; its results up to the last batch are in the run file."""
        self._process.kill()

    def _write(self, message: JobRequest) -> None:
        if self.is_running:
            self._process.write(json.dumps(message).encode() + b"\n")

    def _read(self) -> None:
        data = self._rest + bytes(self._process.readAllStandardOutput().data())
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            self._handle_line(line)
        if self._stays and self._last is not None and self._last.kind == "finished":
            self._end()

    def _read_notes(self) -> None:
        self._notes = (self._notes + bytes(self._process.readAllStandardError().data()))[-4000:]

    def _handle_line(self, line: bytes) -> None:
        try:
            event = Event.from_json(line.decode())
        except (ValueError, KeyError, TypeError):
            # A driver may print to standard output; what is no event is kept as a note.
            self._notes = (self._notes + line + b"\n")[-4000:]
            return
        self._may_be_replaced = False
        if event.kind in LAST:
            self._last = event
        self.event_received.emit(event)

    def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._read()
        self._read_notes()
        if self._last is None and self._may_be_replaced:
            self._replace()
        elif self._last is None:
            self.ended.emit("lost", {"hint": self._notes.decode(errors="replace").strip()})
        else:
            self.ended.emit(*self._last)

    def _miss(self, error: QProcess.ProcessError) -> None:
        if error != QProcess.ProcessError.FailedToStart:
            return
        value = {
            "message": f"The worker could not be started ({self._process.errorString()}).",
            "hint": f"Check that {os.path.basename(self._command[0])} is still where it was, and start clalign again.",
            "exit_code": int(ExitCode.ENGINE),
            "traceback": None,
        }
        QTimer.singleShot(0, self, lambda: self.ended.emit("failed", value))


class Standby(QObject):
    """At most one waiting worker: it was started ahead, or has finished a job.

    Parameters
    ----------
    command : list of str
        Starts a worker.
    """

    def __init__(self, command: list[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = command
        self._process: QProcess | None = None
        self._has_nothing_to_load = False

    def command_for(self, engine: str, device: str) -> list[str]:
        """Return the command of a worker that stays and loads an engine while it waits."""
        words = [*([engine] if engine else []), *(["--device", device] if device else [])]
        return [*self._command, *words, "--stay"]

    def prepare(self, engine: str, device: str) -> None:
        """Let the waiting worker load an engine; start one if there is none."""
        if self._process is None:
            program, *words = self.command_for(engine, device)
            process = QProcess(self)
            process.start(program, words)
            self._hold(process, has_nothing_to_load=False)
        else:
            self._has_nothing_to_load = False
            self._process.write(json.dumps({"prepare": engine, "device": device}).encode() + b"\n")

    def keep(self, process: QProcess) -> None:
        """Keep a worker that has finished a job."""
        self.leave()
        self._hold(process, has_nothing_to_load=True)

    def _hold(self, process: QProcess, has_nothing_to_load: bool) -> None:
        process.setParent(self)
        self._connections = process.finished.connect(self._release), process.errorOccurred.connect(self._miss)
        self._process, self._has_nothing_to_load = process, has_nothing_to_load

    def _miss(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._release()

    def _release(self) -> None:
        """Forget a worker that has ended."""
        if self._process is not None:
            self._process.deleteLater()
            self._process = None

    def take(self) -> tuple[QProcess | None, bool]:
        """Return the waiting worker, if there is one, and whether it takes up a job at once.

        A worker does so if it has finished a job and was not asked to prepare another.
        """
        process, self._process = self._process, None
        if process is not None:
            _disconnect(self._connections)
        return process, self._has_nothing_to_load

    def leave(self) -> None:
        """End the waiting worker."""
        process, _ = self.take()
        if process is not None:
            _end_at_once(process)

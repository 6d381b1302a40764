"""The jobs of the window: a queue of jobs with their progress and results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from clalign.common.plain_data import Json
from clalign.engines.engine import engine_for
from clalign.errors import ExitCode
from clalign.jobs import Event
from clalign.jobs.course import Course
from clalign.values.documents import DeviceFields, JobRequest, JobResult

from .. import formatting
from ..worker_process import Standby, WorkerProcess

JobState = Literal["waiting", "running", "paused", "stopping", "stopped", "failed", "lost", "done"]

PROGRESS_MS = 50
"""Interval of progress; a worker may report two hundred times a second."""

TICK_MS = 200
"""Interval at which the bar of a job without events goes on (ms)."""

DEVICE_LINES = 4
"""Largest number of lines for the devices of a job."""

ENDS: dict[str, JobState] = {"finished": "done", "cancelled": "stopped", "failed": "failed", "lost": "lost"}
"""States of a job by the end of its worker."""

ACTIVE = ("waiting", "running", "paused", "stopping")

BESIDE = ("export", "locate", "tree", "verify")
"""Kinds of jobs that compute on no device, so that one runs beside any other job."""

DEVICE_CODES = (ExitCode.ENGINE, ExitCode.MEMORY, ExitCode.NO_DEVICE)
"""Errors after which another device may succeed."""


@dataclass
class JobItem:
    """A job and its state.

    Attributes
    ----------
    title : str
        What it does, in words.
    spec : dict
        What the worker gets.
    state : str
        ``waiting``, ``running``, ``paused``, ``stopping``, ``stopped``, ``failed``, ``lost`` or ``done``.
    course : Course
        How far it is.
    devices : list of dict
        Name, rate and share of each of several.
    message, hint : str
        What ended it.
    traceback : str
        Of a fault of the program.
    result : dict
        What it answered.
    files : tuple of str
        The whole paths of what the title names.
    answer, problem : callable
        Called with the result once it is done, or with this job if it ends otherwise or is removed while it waits.
    """

    title: str
    spec: JobRequest
    state: JobState = "waiting"
    course: Course = field(default_factory=Course)
    devices: list[DeviceFields] = field(default_factory=list)
    message: str = ""
    hint: str = ""
    traceback: str = ""
    exit_code: int = 0
    result: JobResult = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    files: tuple[str, ...] = ()
    answer: Callable[[JobResult], object] = lambda result: None
    problem: Callable[[JobItem], object] = lambda item: None

    @property
    def kind(self) -> str:
        """The sort of job, as the worker calls it."""
        return str(self.spec["job"])

    @property
    def is_search(self) -> bool:
        """Whether it writes hits, so that it can be paused and continued."""
        return self.kind == "resume" or engine_for(self.kind) is not None

    @property
    def is_lab(self) -> bool:
        """Whether it belongs to the laboratory."""
        kind = self.kind.partition("_")[0] if self.kind.startswith("publication_") else self.kind
        return kind in ("bench", "compare_searches", "synchronization", "publication") or kind.endswith("ladder")

    @property
    def is_beside(self) -> bool:
        """Whether it runs beside a job that computes on devices."""
        return self.kind in BESIDE

    @property
    def is_measured(self) -> bool:
        """Whether its measurements need a fresh process."""
        return self.is_lab or self.kind in ("tune", "calibrate", "devices", "selftest")

    @property
    def device(self) -> str:
        """The devices of the job as text; empty if it names none."""
        return str(self.spec.get("device") or self.spec.get("spec", {}).get("device") or "")

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.state in ACTIVE

    @property
    def state_words(self) -> str:
        """The state of the run that it works on, in a word."""
        return self.state if self.state in ("paused", "waiting") else "running"

    @property
    def run(self) -> str:
        """The run file it works on."""
        return str(self.spec.get("run", ""))

    def take_progress(self, value: Json, now: float) -> None:
        """Record a progress event at the time `now` (seconds)."""
        self.course.take(value, now)
        self.devices = value.get("devices") or self.devices

    def line(self) -> str:
        """Return the line of the job strip."""
        return _LINES[self.state](self)

    def device_lines(self) -> list[tuple[str, ...]]:
        """Return name, share, speed and finished work of each of several devices.

        Of more than `DEVICE_LINES` the last line sums up the rest. Empty for a job of one device, and after its end.
        """
        if not self.is_active:
            return []
        shown, rest = self.devices, []
        if len(shown) > DEVICE_LINES:
            shown, rest = shown[: DEVICE_LINES - 1], shown[DEVICE_LINES - 1 :]
        lines = [_device_line(one["name"], [one]) for one in shown]
        return [*lines, _device_line(f"{len(rest)} more", rest)] if rest else lines

    def offers(self) -> list[tuple[str, str]]:
        """Return id and text of the available actions."""
        if self.state == "running":
            return [("pause", "Pause"), ("stop", "Stop")] if self.is_search else [("stop", "Stop")]
        if self.state == "paused":
            return [("proceed", "Continue"), ("stop", "Stop")]
        if self.state == "waiting":
            return [("first", "Run first"), ("stop", "Remove")]
        if self.state == "stopping":
            return []
        return [*self._ways_on(), ("dismiss", "Dismiss")]

    def _ways_on(self) -> list[tuple[str, str]]:
        if self.state == "done":
            return [("show", "Show")] if self.is_search else []
        if not self.is_search:
            return []
        if self.state == "stopped":
            return [("resume", "Continue"), ("show", "Show")]
        other = [("resume_elsewhere", "Continue on another device")]
        if self.state == "lost":
            return [("resume", "Continue"), *other, ("show", "Show")]
        return other if self.exit_code in DEVICE_CODES else []


def _device_line(name: str, devices: list[DeviceFields]) -> tuple[str, ...]:
    share, gcups, cells = (sum(one[key] for one in devices) for key in ("share", "gcups", "cells"))
    if not cells:
        return name, "nothing yet", "", ""
    part = f"{formatting.share(100 * share)}{formatting.THIN}% of the finished work"
    return name, part, formatting.rate(gcups), formatting.cells(cells)


def _running(item: JobItem) -> str:
    course = item.course
    space = "\N{NO-BREAK SPACE}" if course.kernels else " "
    parts = [(course.words or "Starting").replace(" of ", f"{space}of{space}")]
    if course.fraction and not course.kernels:
        parts.append(formatting.percent(course.fraction))
    if course.detail:
        parts.append(course.detail)
    if course.rate:
        parts.append(formatting.rate(course.rate / 1e9))
    if course.seconds_left is not None:
        parts.append(f"{formatting.about(course.seconds_left)} left")
    return " · ".join(parts)


def _stopping(item: JobItem) -> str:
    if not item.is_search:
        return "Stopping"
    return "Stopping after this batch; the results so far are kept and marked as partial."


def _stopped(item: JobItem) -> str:
    if item.is_lab:
        return "Stopped; the measurements so far are kept"
    if item.kind == "locate":
        return "Stopped; files of the run are missing"
    if item.kind == "tune":
        return "Stopped; the settings are unchanged"
    if not item.is_search:
        return "Stopped; nothing was written"
    return "Stopped; the results so far are kept and marked as partial."


def _lost(item: JobItem) -> str:
    if not item.is_search:
        return "The worker ended without an answer."
    return (
        "The worker ended without an answer; a driver that stopped is the usual cause. "
        "Your results so far are safe; what was not stored yet is computed again when you continue."
    )


_LINES: dict[JobState, Callable[[JobItem], str]] = {
    "waiting": lambda item: "Waiting for the previous job",
    "running": _running,
    "paused": lambda item: f"Paused at {formatting.percent(item.course.fraction)}; the results so far can be used",
    "stopping": _stopping, "stopped": _stopped, "failed": lambda item: f"{item.message} {item.hint}".strip(),
    "lost": _lost, "done": lambda item: item.message or "Done",
}  # fmt: skip


class JobQueue(QObject):
    """Runs jobs one after the other in a worker process, which lives as long as its jobs succeed.

    Jobs of the host have a queue of their own beside the others. A worker is not used again after a job that was
    stopped, failed or was lost.

    Parameters
    ----------
    command : list of str
        Starts a worker.
    """

    job_added = Signal(object)
    job_begun = Signal(object)
    job_changed = Signal(object)
    job_ticked = Signal(object)
    """Time has passed for a job without an event."""

    job_ended = Signal(object)
    job_removed = Signal(object)
    results_added = Signal(object)
    partial_received = Signal(object, dict)
    warning_received = Signal(object, str)

    def __init__(self, command: list[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.command = command
        self.items: list[JobItem] = []
        self._at_work: dict[bool, tuple[JobItem, WorkerProcess]] = {}
        """What runs, by whether it runs beside the others."""
        self._standby = Standby(command, self)
        self._progress = QTimer(self, singleShot=True, interval=PROGRESS_MS)
        self._progress.timeout.connect(self._emit_progress)
        self._clock = QTimer(self, interval=TICK_MS)
        self._clock.timeout.connect(self._tick)

    @property
    def running(self) -> list[tuple[JobItem, WorkerProcess]]:
        """The running jobs with their workers, one beside the others last."""
        return [self._at_work[is_beside] for is_beside in sorted(self._at_work)]

    @property
    def current(self) -> JobItem | None:
        """The running job, the one that computes on devices if there are two."""
        return self.running[0][0] if self._at_work else None

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker of the running job."""
        return self.running[0][1] if self._at_work else None

    def _worker_of(self, item: JobItem) -> WorkerProcess | None:
        return next((worker for job, worker in self.running if job is item), None)

    def prepare(self, engine: str, device: str = "") -> None:
        """Let a worker load an engine and open the device before a run."""
        if False not in self._at_work:  # else that worker will do it
            self._standby.prepare(engine, device)

    def submit(self, title: str, spec: JobRequest, **more: Any) -> JobItem:
        """Add a job at the end of the queue, perhaps with the files of its title, and what takes its result."""
        item = JobItem(title, spec, **more)
        self.items.append(item)
        self.job_added.emit(item)
        self._start_next()
        return item

    def of_run(self, run: str) -> JobItem | None:
        """Return the job that works on a run file."""
        return next((item for item in self.items if item.run == run and item.is_search and item.is_active), None)

    def put_first(self, item: JobItem) -> None:
        """Have a waiting job begin before the others that wait."""
        place = next(place for place, other in enumerate(self.items) if other.state == "waiting")
        self.items.remove(item)
        self.items.insert(place, item)

    def stop(self, item: JobItem) -> None:
        """Stop a job after its batch, or remove a waiting one."""
        if item.state == "waiting":
            self.dismiss(item)
        elif (worker := self._worker_of(item)) is not None:
            item.state = "stopping"
            worker.cancel()
            self.job_changed.emit(item)

    def toggle_pause(self, item: JobItem) -> None:
        """Pause or continue a running job."""
        worker = self._worker_of(item)
        if worker is None:
            return
        if item.state == "running":
            item.state = "paused"
            worker.pause()
        elif item.state == "paused":
            item.state = "running"
            item.course.hold()
            worker.proceed()
        self.job_changed.emit(item)

    def dismiss(self, item: JobItem) -> None:
        """Remove an ended or waiting job."""
        if item in self.items and self._worker_of(item) is None:
            self.items.remove(item)
            self.job_removed.emit(item)
            if item.state == "waiting":
                item.problem(item)

    def leave(self) -> None:
        """End the running workers when the window closes; the run can be continued."""
        self._standby.leave()
        for _, worker in self.running:
            worker.leave()
        self._at_work.clear()

    def _start_next(self) -> None:
        for item in [*self.items]:
            if item.state == "waiting" and item.is_beside not in self._at_work:
                self._start(item)

    def _start(self, item: JobItem) -> None:
        worker = self._worker_for(item)
        worker.event_received.connect(lambda event: self._take_event(item, event))
        worker.ended.connect(lambda kind, value: self._end(item, ENDS[kind], value))
        item.state = "running"
        self._at_work[item.is_beside] = item, worker
        worker.start()
        self._clock.start()
        self.job_changed.emit(item)
        self.job_begun.emit(item)

    def _worker_for(self, item: JobItem) -> WorkerProcess:
        if item.is_measured:
            return WorkerProcess(self.command, item.spec, self)
        process, is_ready = self._standby.take()
        engine = engine_for(item.kind)
        command = self._standby.command_for(engine.name if engine else "", item.device)
        worker = WorkerProcess(command, item.spec, self, process, stays=True)
        if process is not None and is_ready:
            worker.demand_answer()
        return worker

    def _take_event(self, item: JobItem, event: Event) -> None:
        if event.kind == "progress":
            item.take_progress(event.value, time.monotonic())
            if not self._progress.isActive():
                self._progress.start()
        elif event.kind in ("partial", "started"):
            self.results_added.emit(item)
            if event.kind == "partial":
                self.partial_received.emit(item, event.value)
        elif event.kind == "warning":
            text = formatting.in_window(event.value["text"], engine_for(item.kind))
            item.warnings.append(text)
            self.warning_received.emit(item, text)

    def _emit_progress(self) -> None:
        for item, _ in self.running:
            self.job_changed.emit(item)

    def _tick(self) -> None:
        for item, _ in self.running:
            if item.state == "running":
                item.course.wait(time.monotonic())
                self.job_ticked.emit(item)

    def _end(self, item: JobItem, state: JobState, value: JobResult) -> None:
        if self._worker_of(item) is None:  # the window is being closed
            return
        _, worker = self._at_work.pop(item.is_beside)
        # A worker that was ended because it did not stop by itself is not lost.
        item.state = "stopped" if (item.state, state) == ("stopping", "lost") else state
        if state in ("done", "stopped"):
            item.result = value
        else:
            said = (formatting.in_window(value.get(name) or "", engine_for(item.kind)) for name in ("message", "hint"))
            item.message, item.hint = said
            item.traceback, item.exit_code = value.get("traceback") or "", int(value.get("exit_code") or 0)
        if not self._at_work:
            self._clock.stop()
        if (process := worker.released()) is not None:
            self._standby.keep(process)
        worker.deleteLater()
        self.job_ended.emit(item)
        self.job_changed.emit(item)
        try:
            if state == "done":
                item.answer(value)
            else:
                item.problem(item)
        finally:
            self._start_next()

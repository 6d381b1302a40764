"""Quick jobs beside the queue: inspection of files, devices and their self-test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from clalign.jobs import Event
from clalign.values.devices import Device
from clalign.values.documents import JobRequest, JobResult, SpecFields

from ..models.workspace import Source, Workspace, stamp_of
from ..worker_process import WorkerProcess

MAX_WORKERS = 2
"""Quick jobs that run at once."""

WITHOUT_ANSWER = {
    "cancelled": ("It was stopped.", ""), "lost": ("The worker ended without an answer.", "Try again."),
}  # fmt: skip
"""What happened, and what to do, by the end of a worker that does not say so itself."""

Answer = Callable[[JobResult], None]
Problem = Callable[[str, str], None]
PartialHandler = Callable[[Event], None]


class Inspector(QObject):
    """Inspects files and devices in workers, and updates the workspace.

    Parameters
    ----------
    command : list of str
        Starts a worker.
    """

    file_read = Signal(str)
    file_refused = Signal(str)
    run_found = Signal(str)
    devices_found = Signal()
    device_tested = Signal(str, list, str)
    remark_made = Signal(str)
    """Words on devices while they are looked for: a test that takes long, or a driver that does not answer."""

    problem_found = Signal(str)
    fault_found = Signal(str, str, str)

    def __init__(self, command: list[str], workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = command
        self._workspace = workspace
        self._waiting: deque[tuple[JobRequest, Answer, Problem, PartialHandler]] = deque()
        self._workers: list[WorkerProcess] = []
        self.dry_run_worker: WorkerProcess | None = None
        self.remarks: list[str] = []

    @property
    def is_idle(self) -> bool:
        """Whether no quick job runs."""
        return not self._workers and self.dry_run_worker is None

    def read_file(self, path: str, alphabet: str = "auto") -> None:
        """Inspect a file; the result is an input report, or profiles."""
        known = self._workspace.sources.get(path)
        asked = Source(path, known.kind if known else "unknown", alphabet=alphabet, stamp=stamp_of(path))
        self._workspace.put(asked)
        job = {"job": "inspect", "path": path, "alphabet": alphabet, "format": "auto"}
        self.ask(job, lambda value: self._take_file(asked, value), lambda *why: self._refuse(asked, *why))

    def find_devices(self, refresh: bool) -> None:
        """Search for devices in the background."""
        self.ask({"job": "devices", "refresh": refresh}, self._take_devices, self._miss_devices, self._pass_warning_on)

    def dry_run(self, job: str, spec: SpecFields, answer: Answer) -> None:
        """Estimate the time to build kernels for a run, in place of an earlier estimate; failures are ignored.

        The user has not requested it: nothing else waits for it, and no failure is shown.
        """
        request = {"job": "dry_run", "of": job, "spec": spec}
        if self.dry_run_worker is not None and self.dry_run_worker.job == request:
            return
        self.stop_dry_run()
        worker = self.dry_run_worker = WorkerProcess(self._command, request, self)

        def end(value: JobResult) -> None:
            if self.dry_run_worker is worker:
                self.dry_run_worker = None
                worker.deleteLater()
                answer(value)

        worker.ended.connect(lambda kind, value: end(value if kind == "finished" else {}))
        worker.start()

    def stop_dry_run(self) -> None:
        """Cancel the estimate."""
        worker, self.dry_run_worker = self.dry_run_worker, None
        if worker is not None:
            worker.end_at_once()

    def test_device(self, device: str) -> None:
        """Test a device against the bundled examples."""
        self.ask(
            {"job": "selftest", "of": "search", "device": device},
            lambda value: self._take_test(device, value),
            lambda message, hint: self.device_tested.emit(device, [], f"{message} {hint}".strip()),
        )

    def leave(self) -> None:
        """End all quick jobs, when the window closes."""
        self.stop_dry_run()
        self._waiting.clear()
        for worker in self._workers:
            worker.leave()
        self._workers.clear()

    def ask(self, job: JobRequest, answer: Answer, problem: Problem, on_partial: PartialHandler | None = None) -> None:
        """Run a quick job; call `answer` or `problem` at its end, and `on_partial` with its partial results."""
        on_partial = on_partial or (lambda event: None)
        self._waiting.append((job, answer, problem, on_partial))
        self._start_next()

    def _start_next(self) -> None:
        if not self._waiting or len(self._workers) >= MAX_WORKERS:
            return
        job, answer, problem, on_partial = self._waiting.popleft()
        worker = WorkerProcess(self._command, job, self)
        self._workers.append(worker)

        def end(kind: str, value: JobResult) -> None:
            if worker in self._workers:
                self._workers.remove(worker)
                worker.deleteLater()
            if kind == "finished":
                answer(value)
            else:
                self._fail(kind, value, problem)
            self._start_next()

        worker.event_received.connect(on_partial)
        worker.ended.connect(end)
        worker.start()

    def _fail(self, kind: str, value: JobResult, problem: Problem) -> None:
        message, hint = WITHOUT_ANSWER.get(kind) or (value["message"], value["hint"] or "")
        problem(message, hint)
        if value.get("traceback"):
            self.fault_found.emit(message, hint, value["traceback"])

    def _is_awaited(self, asked: Source) -> bool:
        """Return whether a file was neither removed nor asked for again while it was read."""
        return self._workspace.sources.get(asked.path) is asked

    def _take_file(self, asked: Source, value: JobResult) -> None:
        if not self._is_awaited(asked):
            return
        if value["kind"] == "run":
            self._workspace.remove(asked.path)
            self.run_found.emit(asked.path)
            return
        facts = {"report": value["report"]} if value["kind"] == "sequences" else {"cards": value["profiles"]}
        self._workspace.put(replace(asked, kind=value["kind"], state="ready", **facts))
        self.file_read.emit(asked.path)

    def _refuse(self, asked: Source, message: str, hint: str) -> None:
        if self._is_awaited(asked):
            self._workspace.put(replace(asked, state="refused", problem=message, hint=hint))
            self.file_refused.emit(asked.path)

    def _take_devices(self, value: JobResult) -> None:
        self._workspace.set_devices([Device.from_dict(entry) for entry in value["devices"]])
        self.devices_found.emit()

    def _pass_warning_on(self, event: Event) -> None:
        if event.kind == "warning":
            self.remarks.append(str(event.value["text"]))
            self.remark_made.emit(self.remarks[-1])

    def _miss_devices(self, message: str, hint: str) -> None:
        self._workspace.set_devices([])
        self.problem_found.emit(f"Looking for devices failed. {message} {hint}".strip())

    def _take_test(self, device: str, value: JobResult) -> None:
        checks, problem = value["checks"], value.get("problem") or ""
        known = next((d for d in self._workspace.devices if d.id == device), None)
        if known is not None and known.kind != "reference":
            gcups = float(value.get("gcups") or known.gcups)
            self._workspace.set_device(known.judged(value["health"], problem, gcups))
        self.device_tested.emit(device, checks, problem)

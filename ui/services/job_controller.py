"""Starts, stops and continues jobs, and reports their end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer, Signal

from clalign.engines.engine import engine_for, engine_for_spec
from clalign.tools.library import stem_of
from clalign.values.devices import REFERENCE, SLOW_TEXT, cluster_of
from clalign.values.documents import JobRequest, JobResult
from clalign.values.specs import Spec

from .. import formatting
from ..event_loop import defer
from ..models.jobs import JobItem
from ..settings import free_path
from ..worker_process import END_SECONDS
from .app_context import AppContext, Controller
from .locate_controller import LocateController

SEEN_MS = 10_000
"""Milliseconds after which the line of a search that is done goes, if its results are in view."""

STALLED_SECONDS = 20

STALLED = f"No progress for {STALLED_SECONDS} s. The device may be busy with another program."

TRACE = ".trace.json"
"""Ending of the name of a run's trace."""


def run_name(spec: Spec, now: float) -> str:
    """Return the file name of a new run: the names of its inputs, and the time."""
    stems = [formatting.file_words(Path(path).name.split(".")[0]) for path in spec.paths]
    return f"{'-x-'.join(stems)}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"


def verify_words(value: JobResult) -> str:
    """Return the result of a verification as text."""
    checked, differing = value["checked"], value["differing"]
    if not checked and not differing:
        return "Nothing was checked: the run has no results yet."
    head = f"Checked {formatting.count(checked)} of {formatting.plural(checked, 'score')} on the reference"
    if value.get("things"):
        head = f"Checked {formatting.plural(checked, *value['things'])} on the reference"
    if not differing:
        return f"{head}: all equal." if value.get("complete", True) else f"{head}, then stopped: all equal so far."
    verb = "differs" if differing == 1 else "differ"
    details = " ".join(value.get("details", [])[:3])
    return f"{formatting.count(differing)} of {formatting.count(checked)} {verb}. Please report this. {details}".strip()


Adviser = Callable[[JobItem, str], list[tuple[str, Callable[[], object]]]]
"""Returns actions for a warning: titles and functions."""


class JobController(Controller):
    """Connects the queue of jobs with the window."""

    begun = Signal()
    """A job began; messages about earlier ones are obsolete."""

    run_begun = Signal(str)
    run_chosen = Signal(str)
    lab_chosen = Signal(object)
    """A job of the laboratory whose page is wanted."""

    def __init__(self, app: AppContext, locating: LocateController) -> None:
        super().__init__(app)
        self._locating = locating
        self.advisers: list[Adviser] = []
        self.queue = queue = app.queue
        self._last_event = time.monotonic()
        self._stalls_shown = self._records_next = False
        self._watch = QTimer(self, interval=2000)
        self._watch.timeout.connect(self._check_stall)
        queue.job_added.connect(self._start_stall_watch)
        queue.results_added.connect(self._refresh_page)
        queue.job_changed.connect(self._show_progress)
        queue.job_ended.connect(self._end)
        queue.warning_received.connect(self._warn)
        queue.partial_received.connect(self._show_trace)

    def search(self, spec: Spec) -> str:
        """Start a run; return the path of its file, empty if its folder cannot be made."""
        self._begin()
        path = self.new_run(run_name(spec, time.time()))
        if not path:
            return ""
        engine = engine_for_spec(spec)
        title = engine.title.format(*map(stem_of, spec.paths))
        opened = self._app.workspace.sources.get(spec.paths[-1])
        seen = opened.report.get("digest") if opened else None
        job: JobRequest = {"job": engine.job, "run": path, "spec": spec.to_dict(), "seen_digest": seen}
        self._submit(title, job, files=spec.paths)
        return path

    def new_run(self, name: str) -> str:
        """Return a path that neither a file nor a waiting run has; empty if its folder cannot be made."""
        return self._app.output_of_job("runs", name, ".clalign")

    def resume_elsewhere(self, run: str) -> None:
        """Continue a run on another device; ask first if only the reference is left."""
        device = self._other_device(run)
        if device != REFERENCE.id:
            self.resume(run, device)
            return
        text = "Only the reference is ready: what other devices do in seconds may take it an hour."
        self._app.notify("caution", text, ("Continue on the reference", partial(self.resume, run, device)))

    def resume(self, run: str, device: str = "", title: str = "", **more: object) -> None:
        """Continue a run from its last finished batch, by default on the device that it began on.

        One that began on a cluster continues on the cluster that is chosen in the window. `more` goes to the worker.
        """
        job: JobRequest = {"job": "resume", "run": run, **more}
        if not self._app.workspace.devices_sought:
            device = REFERENCE.id  # safe mode: drivers are not touched
        page, space = self._app.pages.get(run), self._app.workspace
        before = str(((page.run.facts.get("spec") if page else None) or {}).get("device", ""))
        if device := device or (space.device_id if space.cluster and cluster_of(before) else ""):
            job["device"] = device
        self._begin()
        for item in [entry for entry in self.queue.items if entry.run == run and not entry.is_active]:
            self.queue.dismiss(item)
        self._locating.withdraw(run)
        self._submit(title or f"Continue {self._name(run)}", job)

    def _name(self, run: str) -> str:
        """Return the name of a run, by default its inputs; of one that is not open the name of its file."""
        opened = self._app.workspace.sources.get(run)
        return Path(run).stem if opened is None else opened.name.removesuffix(".clalign")

    def merge_parts(self) -> None:
        """Ask for the runs of all parts of a search, and merge them."""
        names = self._app.ask_files("Open all parts", "Runs (*.clalign)")
        if not names:
            return
        stem = re.sub(r"[-_. ]*[0-9]+(-of-[0-9]+)?$", "", Path(names[0]).stem)
        path = self.new_run(f"{stem or 'parts'}-merged")
        if not path:
            return
        self._begin()
        job = {"job": "merge", "runs": names, "run": path, "device": self._app.workspace.device_id}
        self._submit(f"Merge {formatting.plural(len(names), 'part')}", job)

    def verify(self, run: str, hits: list[int] | None, what: str = "") -> None:
        """Compute hits again on the reference."""
        what = what or ("the selected hit" if hits else "a sample of the hits")
        job = {"job": "verify", "run": run, "hits": hits, "device": REFERENCE.id}
        self._submit(f"Verify {what} of {self._name(run)}", job)

    def export(
        self, run: str, what: str, path: str, hits: list[int] | None,
        answer: Callable[[JobResult], object] = lambda result: None, **how: object,
    ) -> None:  # fmt: skip
        """Write hits to a file; `how` has other fields of `clalign.engines.export.Choice`."""
        job = {"job": "export", "run": run, "what": what, "path": path, "hits": hits, "how": how}
        self._submit(f"Export to {Path(path).name}", job, answer=answer)

    def act(self, item: JobItem, name: str) -> None:
        """Do the action of a button of the job strip."""
        ways: dict[str, Callable[[JobItem], object]] = {
            "pause": self.queue.toggle_pause, "proceed": self.queue.toggle_pause, "stop": self.queue.stop,
            "dismiss": self._dismiss, "show": self._show, "resume": lambda item: self.resume(item.run),
            "resume_elsewhere": lambda item: self.resume_elsewhere(item.run), "first": self._run_first,
        }  # fmt: skip
        ways[name](item)

    def _run_first(self, item: JobItem) -> None:
        """Have a waiting job begin next; a search at work is stopped for it, and continues after it."""
        self.queue.put_first(item)
        for before in [job for job, _ in self.queue.running if job.is_beside == item.is_beside]:
            if before.is_search and before.state != "stopping":
                before.problem = partial(self._go_on, item)
                self.queue.stop(before)
            elif not before.is_search:
                self._app.notify("note", f"It runs next. {before.title}: nothing of it can be continued.")

    def _go_on(self, first: JobItem, stopped: JobItem) -> None:
        """Continue a search after the job that it was stopped for, which stays in view."""
        if stopped.state == "stopped":
            self.resume(stopped.run, str(stopped.spec.get("device", "")))
            again = self.queue.of_run(stopped.run)
            if again is not None and again.state == "waiting":  # the other may have been removed
                self.queue.put_first(again)
                defer(self, lambda: self._show(first))

    def _show(self, item: JobItem) -> None:
        """Show the page of a job, if it has one."""
        if item.run:
            self.run_chosen.emit(item.run)
        elif item.is_lab:
            self.lab_chosen.emit(item)

    def record_next_run(self) -> None:
        """Turn the recording of a trace of the next run on or off."""
        self._records_next = not self._records_next
        if self._records_next:
            text = "A trace of the next run will be recorded beside its file."
            self._app.notify("good", text, ("Do not record", self.record_next_run))
        else:
            self._app.notify("good", "No trace of the next run will be recorded.")

    def _submit(self, title: str, job: JobRequest, **more: Any) -> None:
        is_run = job["job"] == "resume" or engine_for(job["job"]) is not None
        if is_run and self._records_next:
            self._records_next = False
            job["trace"] = {"path": free_path(Path(job["run"]).with_suffix(""), TRACE)}
        item = self.queue.submit(title, job, **more)
        if item.is_search:
            # In a turn of its own: starting a process and making a page together would stall the window.
            defer(self, lambda: self.run_begun.emit(item.run))

    def _start_stall_watch(self, item: JobItem) -> None:
        self._last_event = time.monotonic()
        self._watch.start()

    def _other_device(self, run: str) -> str:
        """Return the fastest usable device other than the run's; the reference if there is none."""
        page = self._app.pages.get(run)
        before = ((page.run.facts.get("device") if page else None) or {}).get("id") or ""
        space = self._app.workspace
        usable = [d for d in space.devices if d.is_usable and d.id not in (*before.split(","), REFERENCE.id)]
        return max(usable, key=lambda d: d.gcups, default=REFERENCE).id

    def _begin(self) -> None:
        """Remove messages about earlier jobs."""
        self._app.window.messages.clear_passed()
        self.begun.emit()
        self.clear_done()

    def clear_done(self, but: str = "") -> None:
        """Remove the lines of finished jobs except those of runs in view."""
        for item in [entry for entry in self.queue.items if entry.state == "done" and entry.run != but]:
            self.queue.dismiss(item)

    def _refresh_page(self, item: JobItem) -> None:
        page = self._app.pages.get(item.run)
        if page is not None:
            page.run.note_change()

    def _show_progress(self, item: JobItem) -> None:
        self._last_event = time.monotonic()
        self._clear_stall()
        page = self._app.pages.get(item.run)
        if page is not None and item.is_search and item.is_active:
            page.show_progress(item.line(), item.course.kernels is not None)

    def _warn(self, item: JobItem, text: str) -> None:
        if text == SLOW_TEXT and item.device == REFERENCE.id:
            return  # it was chosen, and the form has said it
        self._app.notify("caution", text, *(action for adviser in self.advisers for action in adviser(item, text)))

    def _dismiss(self, item: JobItem) -> None:
        """Remove a job that the user is done with, and its warnings unless another job has given the same."""
        self.queue.dismiss(item)
        for text in set(item.warnings).difference(*(other.warnings for other in self.queue.items)):
            self._app.window.messages.withdraw(text)

    def _check_stall(self) -> None:
        item = self.queue.current
        if item is None:
            self._watch.stop()
            return
        quiet = time.monotonic() - self._last_event
        # A search speaks after each batch; what a laboratory measures may take longer.
        if item.state == "running" and item.is_search and quiet > STALLED_SECONDS and not self._stalls_shown:
            self._stalls_shown = True
            self._app.notify("caution", STALLED, ("Wait", lambda: None), ("Stop", lambda: self.queue.stop(item)))
        # A laboratory looks for an order between two measurements, and what it has measured is here already.
        patience = END_SECONDS if item.is_lab else STALLED_SECONDS
        if item.state == "stopping" and quiet > patience and self.queue.worker is not None:
            # A driver that hangs cannot answer; run files are whole at every moment, others appear at once.
            self.queue.worker.stop_hard()

    def _clear_stall(self) -> None:
        """Remove the message about a stalled job."""
        if self._stalls_shown:
            self._stalls_shown = False
            self._app.window.messages.withdraw(STALLED)

    def _end(self, item: JobItem) -> None:
        self._clear_stall()
        if item.is_search and not Path(item.run).exists() and item.state != "failed":
            item.state, item.exit_code, item.hint = "failed", 0, "Search again."
            item.message = f"The run file {item.run} was moved or deleted during the search."
        page = self._app.pages.get(item.run)
        if page is not None:
            if item.is_search:
                page.run.is_live = False
            page.run.note_change()
        if item.state == "done" and not item.is_lab:
            self._end_well(item)
        elif item.state in ("failed", "lost"):
            self._end_badly(item)
        elif not item.is_search:
            QTimer.singleShot(0, self, lambda: self.queue.dismiss(item))

    def _show_trace(self, item: JobItem, value: JobResult) -> None:
        if "trace" not in value:
            return
        text = f"Where the time went: {formatting.short_path(value['trace'])}. Open it at ui.perfetto.dev."
        self._app.notify_file(text, value["trace"])

    def _end_well(self, item: JobItem) -> None:
        value = item.result
        if item.is_search:
            item.message = self._search_words(item, value)
            self._learn(item)
            QTimer.singleShot(SEEN_MS, self, lambda: self._leave_seen(item))
            return
        if item.kind == "export":
            count = formatting.plural(value["written"], value["counts"])
            self._app.notify_file(f"{count} written to {formatting.short_path(value['path'])}.", value["path"])
        elif item.kind == "merge":
            found = formatting.plural(value["n_hits"], "hit")
            searched = formatting.plural(value["n_sequences"], "sequence")
            self._app.notify("good", f"{formatting.plural(value['n_parts'], 'part')} merged: {found} in {searched}.")
            self.run_chosen.emit(item.run)
        elif item.kind == "verify":
            self._app.notify("good" if value["checked"] and not value["differing"] else "stop", verify_words(value))
        QTimer.singleShot(0, self, lambda: self.queue.dismiss(item))

    def _learn(self, item: JobItem) -> None:
        """Remember how fast a run was on one device, for the estimates of later ones."""
        engine, space = engine_for(item.kind), self._app.workspace
        device = space.auto_device().id if item.device == "auto" else item.device
        if engine is not None and item.course.rates is not None and len(item.result.get("devices", ())) < 2:
            expected, measured = (item.result["new_cells"] / rate for rate in item.course.rates)
            space.learn(engine.name, device, expected, measured)

    def _search_words(self, item: JobItem, value: JobResult) -> str:
        found = f"{formatting.plural(value['n_hits'], 'hit')} in {formatting.plural(value['n_sequences'], 'sequence')}"
        if value.get("n_in_32_bits"):
            found += f", {formatting.plural(value['n_in_32_bits'], 'sequence')} recomputed in 32 bits"
        page = self._app.pages.get(item.run)
        engine = engine_for(item.kind) or (page.run.engine if page is not None else None)
        head = f"Search finished: {found}"
        if engine is not None and not engine.writes_partial_results:  # it has no hits
            head = f"{engine.past_verb} {formatting.plural(value['n_sequences'], 'sequence')}"
        return f"{head} in {formatting.run_time(value)} on {value['device']}"

    def _leave_seen(self, item: JobItem) -> None:
        """Remove the line of a search whose results are in view: they say it all."""
        if self._app.page is not None and self._app.page is self._app.pages.get(item.run):
            self.queue.dismiss(item)

    def _end_badly(self, item: JobItem) -> None:
        actions = [
            (text, lambda name=name: self.act(item, name)) for name, text in item.offers() if name.startswith("resume")
        ]
        self._locating.notify_failure(item.run, item.line(), *actions, details=item.traceback)
        QTimer.singleShot(0, self, lambda: self.queue.dismiss(item))

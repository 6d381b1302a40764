"""The same job on several devices: choice of devices, and of the job, a random one or a search of the user."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit

from clalign.engines.engine import engine_for, engine_for_spec
from clalign.execution.speed import START_SECONDS
from clalign.labs.device_comparison import MAX_NODES, MAX_RESIDUES, BenchSpec
from clalign.tools.library import default_name
from clalign.values.documents import JobRequest, JobResult
from clalign.values.specs import Spec

from ... import formatting
from ...models import device_words
from ...models.results.scripts import as_command
from ..widgets import spec_sheet
from ..widgets.flow import Flow
from ..widgets.parts import ElidedLabel, clear_layout, label, stacked
from .lab_page import NUMBER_WIDTH, LabPage, whole_number


class DevicesPage(LabPage):
    """Shows measurements of the devices that are ticked."""

    run_text = "Compare devices"
    import_tip = "Open a comparison; one of another machine is added to this"
    icon = "scale-balance"
    empty_text = "Tick devices and measure them, or open a comparison that was saved on another machine."

    def _add_setup(self) -> None:
        self.ticks: dict[str, QCheckBox] = {}
        self._devices = Flow(spacing=24)
        self._devices.setContentsMargins(12, 4, 12, 4)
        self.box.insertLayout(1, self._devices)
        self._add_job()

    def _add_job(self) -> None:
        """Add the fields of the job to the setup."""
        raise NotImplementedError

    def show_workspace(self) -> None:
        """List the devices; ready ones are ticked."""
        before = {name: tick.isChecked() for name, tick in self.ticks.items()}
        clear_layout(self._devices)
        self.ticks = {}
        for device in self.workspace.devices:
            tick = QCheckBox(device_words.title(device))
            usable = device.is_usable
            ready = usable and device.kind != "reference"
            tick.setChecked(usable and before.get(device.id, ready))
            tick.setEnabled(usable)
            tick.setToolTip(device_words.line(device) if usable else device.problem)
            tick.toggled.connect(lambda: self.show_running())
            self.ticks[device.id] = tick
            self._devices.addWidget(tick)
        if not self.ticks:
            self._devices.addWidget(label("Looking for devices…", "muted"))
        self.show_running()

    @property
    def ticked(self) -> JobRequest:
        """The ids of the chosen devices, as a field of the job."""
        return {"devices": [name for name, tick in self.ticks.items() if tick.isChecked()]}


class ComparisonPage(DevicesPage):
    """Shows the view of a comparison by a random job."""

    def _add_job(self) -> None:
        usual = BenchSpec()
        self.nodes, self.residues = (QLineEdit(formatting.count(size)) for size in (usual.nodes, usual.residues))
        self.add_field("Nodes of the profile", self.nodes, NUMBER_WIDTH)
        self.add_field("Residues", self.residues, NUMBER_WIDTH)
        for field in (self.nodes, self.residues):
            field.textChanged.connect(lambda: self.show_running())

    def job_request(self) -> tuple[JobRequest, str]:
        limits = (("nodes", self.nodes, MAX_NODES), ("residues", self.residues, MAX_RESIDUES))
        job = self.ticked
        job |= {noun: whole_number(field, most) for noun, field, most in limits}
        for noun, _, most in limits:
            if not job[noun]:
                return job, f"Give a number of {noun} from 1 to {formatting.count(most)}."
        return job, "" if job["devices"] else "Tick at least one device first."


class SearchesPage(DevicesPage):
    """Shows the view of a comparison by a search of the user."""

    forecast_requested = Signal(object)
    """A job whose time is needed; answered by `show_forecast`."""

    spec: Spec | None = None

    def _add_job(self) -> None:
        self._search, self.measured = ElidedLabel("", middle=True), ElidedLabel("", "muted", middle=True)
        self._command = ""  # of the rows in view while their document is not whole
        self.forecast, self._forecasts = ElidedLabel("", "muted"), dict[str, str]()
        self._calm = QTimer(self, singleShot=True, interval=spec_sheet.DRY_RUN_MS)
        self._calm.timeout.connect(self.request_forecast)
        self.box.insertLayout(1, stacked(self._search, self.measured, margins=(12, 0, 12, 2)))
        self.box.insertLayout(3, stacked(self.forecast, margins=(12, 0, 12, 2)))

    def show_search(self, spec: Spec | None) -> None:
        """Compare by another search."""
        self.spec = spec or self.spec
        self._search.setText(default_name(self.spec) if self.spec is not None else "")
        self._search.setToolTip(as_command(self.spec) if self.spec is not None else "")
        self.show_running()

    def run(self) -> None:
        self._command = self.job_request()[0].get("command", "")
        self._forecasts.clear()  # afterwards kernels are compiled, and the devices better known
        super().run()

    def show_running(self) -> None:
        super().show_running()
        measured = (self.view.document.get("job") or {}).get("command", self._command if self.view.rows else "")
        self.measured.setText(f"Below: {measured}")
        self.measured.setVisible(measured not in ("", self.job_request()[0].get("command")))
        job, problem = self.job_request()
        if not self.view.is_live:
            self.forecast.setText(problem or self._forecasts.get(str(job), ""))
            if not problem and str(job) not in self._forecasts:
                self._calm.start()

    def request_forecast(self) -> None:
        """Request the time of the job, which depends on the programs in the cache."""
        job, problem = self.job_request()
        if not problem and self.isVisible():
            self.forecast_requested.emit(job)

    def show_forecast(self, job: JobRequest, found: JobResult) -> None:
        """Show how long the searches of a job will take, one after the other; nothing if that was not `found`."""
        engine, times = engine_for(job["of"]), list[tuple[str, float | None]]()
        assert engine is not None
        for one in found.get("devices", ()):
            time = None
            if one["seconds"] is not None:
                beside = one["later_seconds"] + START_SECONDS
                at_cells = self.workspace.likely_seconds(engine.name, one["id"], one["seconds"] - beside)
                time = one["build_seconds"] + beside + at_cells
            times.append((one["name"], time))
        self._forecasts[str(job)] = _forecast_words(times)
        self.show_running()

    def job_request(self) -> tuple[JobRequest, str]:
        if self.spec is None:
            return {}, "Show the results of a search, or fill in its form, and come back."
        spec = {**self.spec.to_dict(), "device": "auto"}
        engine = engine_for_spec(self.spec)
        job = {**self.ticked, "of": engine.job, "spec": spec, "command": as_command(type(self.spec).from_dict(spec))}
        return job, "" if len(job["devices"]) > 1 else "Tick at least two devices first."


def _forecast_words(times: list[tuple[str, float | None]]) -> str:
    """Return the times of a search on each of some devices, and of all together unless one was never measured."""
    parts = [f"{name} {'unknown, never tested' if time is None else formatting.about(time)}" for name, time in times]
    known = [time for _, time in times if time is not None]
    if 1 < len(known) == len(parts):
        parts.insert(0, f"Takes {formatting.about(sum(known))}")
    return " · ".join(parts)

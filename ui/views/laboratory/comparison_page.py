"""The same job on several devices: choice of devices, and size of the job."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QLineEdit

from clalign.labs.device_comparison import MAX_NODES, MAX_RESIDUES, BenchSpec
from clalign.values.documents import JobRequest

from ... import formatting
from ...models import device_words
from ...models.laboratory.lab_view import LabView
from ...models.workspace import Workspace
from ..widgets.flow import Flow
from ..widgets.parts import clear_layout, label
from .lab_page import NUMBER_WIDTH, LabPage, whole_number


class ComparisonPage(LabPage):
    """Shows the view of a comparison."""

    def __init__(self, view: LabView, workspace: Workspace) -> None:
        super().__init__(
            view, workspace, "Compare devices", "Open a comparison; one of another machine is added to this",
            "scale-balance",
            "Tick devices and measure them, or open a comparison that was saved on another machine.",
        )  # fmt: skip
        workspace.devices_changed.connect(self.show_devices)
        self.show_devices()

    def _add_setup(self) -> None:
        usual = BenchSpec()
        self.nodes, self.residues = (QLineEdit(formatting.count(size)) for size in (usual.nodes, usual.residues))
        self.ticks: dict[str, QCheckBox] = {}
        self._devices = Flow(spacing=24)
        self._devices.setContentsMargins(12, 4, 12, 4)
        self.box.insertLayout(1, self._devices)
        self.add_field("Nodes of the profile", self.nodes, NUMBER_WIDTH)
        self.add_field("Residues", self.residues, NUMBER_WIDTH)
        for field in (self.nodes, self.residues):
            field.textChanged.connect(lambda: self.show_running())
        self.add_together(self.stop_button, self.run_button)

    def show_devices(self) -> None:
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

    def job_request(self) -> tuple[JobRequest, str]:
        asked = (("nodes", self.nodes, MAX_NODES), ("residues", self.residues, MAX_RESIDUES))
        job: JobRequest = {"devices": [name for name, tick in self.ticks.items() if tick.isChecked()]}
        job |= {noun: whole_number(field, most) for noun, field, most in asked}
        for noun, _, most in asked:
            if not job[noun]:
                return job, f"Give a number of {noun} from 1 to {formatting.count(most)}."
        return job, "" if job["devices"] else "Tick at least one device first."

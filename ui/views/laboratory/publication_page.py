"""The page of a source: its tables and figures, of which any are repeated on a device."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox

from clalign.labs.register import PUBLICATIONS
from clalign.values.documents import JobRequest

from ...models.laboratory.lab_view import LabView
from ...models.workspace import Workspace
from ..widgets.parts import button
from .lab_page import BOX_WIDTH, LabPage, fill_devices


class PublicationPage(LabPage):
    """Shows the view of a source."""

    source_requested = Signal(str)

    def __init__(self, view: LabView, workspace: Workspace) -> None:
        super().__init__(
            view, workspace, "Run", "Open a repetition that was saved as JSON", "book-open-page-variant-outline",
            "Nothing was repeated yet. Tick tables and figures and run.",
        )  # fmt: skip
        self.experiments[0].table.model().dataChanged.connect(lambda: self.show_running())
        workspace.devices_changed.connect(self.show_devices)
        self.show_devices()

    def _add_setup(self) -> None:
        self.sources, self.devices, self.is_small = QComboBox(), QComboBox(), QCheckBox("Smallest size")
        for one in PUBLICATIONS.values():
            self.sources.addItem(one.source.title, one.kind)
        self.sources.setCurrentIndex(self.sources.findData(self.view.of.kind))
        self.sources.activated.connect(self._request_source)
        self.is_small.setToolTip("Everything as small as can be, to try it out: the figures mean nothing")
        self.add_field("Source", self.sources)
        self.add_field("Device", self.devices, BOX_WIDTH)
        every = button("Tick all", lambda: self.view.tick_all(True), "flat", "Repeat every table and figure")
        none = button("Tick none", lambda: self.view.tick_all(False), "flat", "Then tick those to be repeated")
        self.add_together(every, none, self.is_small)
        self.add_together(self.stop_button, self.run_button)

    def _request_source(self) -> None:
        """Request the page of another source, and keep the choice of this one."""
        asked, kind = str(self.sources.currentData()), self.view.of.kind
        self.sources.setCurrentIndex(self.sources.findData(kind))
        if asked != kind:
            self.source_requested.emit(asked)

    def show_devices(self) -> None:
        """List the devices."""
        fill_devices(self.devices, self.workspace, str(self.devices.currentData() or self.workspace.device.id))
        self.show_running()

    def job_request(self) -> tuple[JobRequest, str]:
        wanted = self.view.chosen_names()
        job = {"device": self.devices.currentData(), "variants": wanted, "is_small": self.is_small.isChecked()}
        return job, "Tick at least one table or figure first." if wanted == [] else ""

"""The page of a source: its tables and figures, of which any are repeated on a device."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QComboBox

from clalign.labs.publication_lab import files_of
from clalign.labs.register import PUBLICATIONS
from clalign.values.documents import JobRequest

from ..widgets.parts import shrinking
from .lab_page import BOX_WIDTH, LabPage, fill_devices, fill_files


class PublicationPage(LabPage):
    """Shows the view of a source."""

    import_tip = "Open a repetition that was saved as JSON"
    icon = "book-open-page-variant-outline"
    empty_text = "Nothing was repeated yet. Tick tables and figures and run."

    def _add_setup(self) -> None:
        self.devices = QComboBox()
        self.is_small, self.is_full = QCheckBox("Smallest size"), QCheckBox("Published size")
        self.files = {field.key: shrinking(QComboBox()) for field in files_of(self.view.of)}
        self.is_small.setToolTip("Everything as small as can be, to try it out: the figures mean nothing")
        self.is_full.setToolTip("Whole runs as large as published, if it takes hours")
        self.is_small.toggled.connect(lambda on: self.is_full.setChecked(self.is_full.isChecked() and not on))
        self.is_full.toggled.connect(lambda on: self.is_small.setChecked(self.is_small.isChecked() and not on))
        self.sources = self.add_others("Source", {one.source.title: one.kind for one in PUBLICATIONS.values()})
        self.add_field("Device", self.devices, BOX_WIDTH)
        for field in files_of(self.view.of):
            self.files[field.key].setToolTip("Of whole runs")
            self.add_field(field.name, self.files[field.key], BOX_WIDTH)
        tips = "Repeat every table and figure", "Then tick those to be repeated"
        self.add_ticks(*tips, self.is_small, self.is_full)

    def show_workspace(self) -> None:
        for field in files_of(self.view.of):
            fill_files(self.files[field.key], self.workspace, field, "Bundled (default)")
        fill_devices(self.devices, self.workspace)
        self.show_running()

    def job_request(self) -> tuple[JobRequest, str]:
        wanted = self.view.chosen_names()
        job = {
            "device": self.devices.currentData(), "variants": wanted, "is_small": self.is_small.isChecked(),
            "is_full": self.is_full.isChecked(), **{key: box.currentData() or None for key, box in self.files.items()},
        }  # fmt: skip
        return job, "Tick at least one table or figure first." if wanted == [] else ""

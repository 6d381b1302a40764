"""What the pages of the ladders share: the chooser of the ladder, the device, the rungs and their chart."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from ..models.rung_view import RungView
from ..models.workspace import Workspace
from .figure_view import FigureView, scrolled
from .lab_page import LabPage, LabTable, TurningSplitter, fill_devices
from .parts import button, clear_layout, notice_row, row, shrinking

LADDERS = {"ladder": "Plan7 Viterbi", "smith_waterman_ladder": "Smith-Waterman"}
"""The ladders by the document that they make."""


class RungPage(LabPage):
    """Shows a `RungView`.

    Parameters
    ----------
    kind : str
        Of `LADDERS`.
    ladder : RungView
    workspace : Workspace
    """

    row_chosen = Signal(dict)
    ladder_asked = Signal(str)

    def __init__(self, kind: str, ladder: RungView, workspace: Workspace) -> None:
        super().__init__(f"Ladder of {LADDERS[kind]}", "Run", "Open a ladder that was saved as JSON")
        self.kind, self.ladder, self.workspace = kind, ladder, workspace
        self.ladders, self.devices = QComboBox(), shrinking(QComboBox())
        for name, text in LADDERS.items():
            self.ladders.addItem(text, name)
        self.ladders.setCurrentIndex(self.ladders.findData(kind))
        self.ladders.activated.connect(self._ask_ladder)
        self.add_field("Ladder", self.ladders, 0)
        self.add_field("Device", self.devices, 0, 1)
        for column in (1, 3):
            self.setup.setColumnStretch(column, 1)
        self.setup.addLayout(self._ticks(), 0, 4)
        self.table = LabTable(ladder.rungs, "Rungs")
        self.figure = FigureView("Speed-up of each rung")
        self.setFocusProxy(self.run_button)
        self.table.row_chosen.connect(self.row_chosen)
        self.devices.activated.connect(lambda: self._show_running())
        ladder.changed.connect(self.show_ladder)
        ladder.rungs.dataChanged.connect(lambda: self._show_running())
        for signal in (workspace.sources_changed, workspace.devices_changed, workspace.choice_changed):
            signal.connect(self.show_workspace)

    def rungs_and_chart(self) -> QWidget:
        """Return the table and the chart beside it, to be put somewhere."""
        return TurningSplitter(self.table, scrolled(self.figure))

    def _ticks(self) -> QHBoxLayout:
        every = button("Tick all", lambda: self.ladder.want_all(True), "flat", "Run every rung")
        none = button("Tick none", lambda: self.ladder.want_all(False), "flat", "Then tick those to be run")
        return row(every, none, spacing=2)

    def _ask_ladder(self) -> None:
        """Ask for the page of the other ladder; this one stays what it is."""
        asked = str(self.ladders.currentData())
        self.ladders.setCurrentIndex(self.ladders.findData(self.kind))
        if asked != self.kind:
            self.ladder_asked.emit(asked)

    def show_workspace(self) -> None:
        """Show the devices there are."""
        space = self.workspace
        fill_devices(self.devices, space, str(self.devices.currentData() or space.device.id))
        self._show_running()

    def show_ladder(self) -> None:
        """Show what is known now."""
        ladder = self.ladder
        self.summary.setText(ladder.summary())
        self.figure.show_chart(ladder.chart())
        clear_layout(self.notices)
        wrong = ladder.wrong()
        if wrong:
            self.notices.addWidget(notice_row("stop", f"{', '.join(wrong)}: {self.wrong_text} Please report this."))
        self._show_running()

    wrong_text = ""
    """What is wrong with rungs that do not pass their check."""

    def _show_running(self) -> None:
        self.show_running(self.ladder.is_live, self._reason())
        done = bool(self.ladder.n_done)
        for name in ("save", "copy", "picture"):
            self.tools[name].setEnabled(done and (name != "save" or bool(self.ladder.document)))
        why = "Run the ladder first, or open one."
        self.tools["save"].setToolTip("Save the result as JSON" if self.ladder.document else why)
        self.tools["copy"].setToolTip("Copy the table for a spreadsheet" if done else why)
        self.tools["picture"].setToolTip("Save the chart in view as SVG or PNG" if done else why)

    def _reason(self) -> str:
        """Return why it cannot be run now; empty if it can."""
        if not self.workspace.devices_known:
            return "Devices are still being looked for."
        wanted = self.ladder.wanted()
        if wanted is not None and not wanted:
            return "Tick at least one rung first."
        return ""

    def run(self) -> None:
        """Ask for the job that the setup describes."""
        self.run_asked.emit({"device": self.devices.currentData(), **self.request()})

    def request(self) -> dict[str, Any]:
        """Return what the job is told beside the device."""
        raise NotImplementedError

    def table_in_view(self) -> LabTable:
        """Return the table in view."""
        return self.table

    def chart_in_view(self):  # type: ignore[no-untyped-def]
        """Return the chart in view."""
        return self.figure.chart

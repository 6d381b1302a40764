"""Groups that wait for each other: on what device, how many, in which ways; times, published tables, sets."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QTabWidget

from clalign.errors import OptionError
from clalign.labs.meeting_programs import PROGRAMS
from clalign.labs.published_synchronization import SETS, SIZE
from clalign.labs.synchronization import MOST_GROUPS, USUAL_WAYS, numbers_of_groups

from .. import formatting
from ..models.figures import Chart
from ..models.synchronization import TIPS, SynchronizationView, way_name
from ..models.workspace import Workspace
from .figure_view import FigureView
from .lab_page import BOX_WIDTH, NUMBER_WIDTH, LabPage, LabTable, TurningSplitter, fill_devices, whole_number
from .parts import EmptyPanel, clear_layout, notice_row, scrolled, set_role

MOST_RUNS, MOST_SIZE = 1000, 1024


class SynchronizationPage(LabPage):
    """Shows a `SynchronizationView`.

    Parameters
    ----------
    view : SynchronizationView
    workspace : Workspace
    """

    def __init__(self, view: SynchronizationView, workspace: Workspace) -> None:
        super().__init__("Waiting groups", "Run", "Open a measurement that was saved as JSON")
        self.view, self.workspace = view, workspace
        self.devices, self.programs = QComboBox(), QComboBox()
        for name, program in PROGRAMS.items():
            self.programs.addItem(program.title[:1].upper() + program.title[1:], name)
        self.groups, self.group_size = QLineEdit(), QLineEdit(formatting.count(SIZE))
        self.sets, self.runs, self.work = QLineEdit(str(SETS)), QLineEdit("5"), QLineEdit()
        self.ways = {way: QCheckBox(way_name(way)) for way in USUAL_WAYS}
        self.charts: list[tuple[LabTable, FigureView]] = []
        self.tabs = QTabWidget()
        self._add_setup()
        self._add_tab("Times", LabTable(view.table, "Times by number of groups"), "Time against groups")
        self._add_tab("Published tables", LabTable(view.bands, "LBS and ILBS beside the published"), "Ratios")
        self._add_tab("Sets of ILBS", LabTable(view.sets, "Best numbers of sets"), "Time against sets")
        self.tabs.setDocumentMode(True)
        text = "Choose a device and a program and run it, or open a measurement that was saved on another machine."
        self.empty = EmptyPanel("timer-sand", "Nothing measured yet", text)
        self.box.addWidget(self.tabs, 1)
        self.box.addWidget(self.empty, 1)
        self.setFocusProxy(self.run_button)
        self.charts[0][0].row_chosen.connect(self.row_chosen)
        view.changed.connect(self.show_view)
        workspace.devices_changed.connect(self.show_devices)
        self.show_devices()
        self.show_view()

    def _add_setup(self) -> None:
        self.groups.setPlaceholderText("7-60; of a processor 1 to twice its cores")
        self.groups.setToolTip("Numbers of groups, as in 7-60 or 1,2,8-12")
        self.work.setPlaceholderText("as suits the device")
        self.work.setToolTip("Keys that are sorted, or rounds of numbers passed on")
        fields: tuple[tuple[str, QComboBox | QLineEdit, int], ...] = (
            ("Device", self.devices, BOX_WIDTH), ("Program", self.programs, 0), ("Groups", self.groups, BOX_WIDTH),
            ("Keys or rounds", self.work, BOX_WIDTH - 70), ("Work-items of a group", self.group_size, NUMBER_WIDTH),
            ("Sets of ILBS", self.sets, NUMBER_WIDTH), ("Repeats", self.runs, NUMBER_WIDTH),
        )  # fmt: skip
        for name, field, width in fields:
            self.add_field(name, field, width)
            if isinstance(field, QLineEdit):
                field.textChanged.connect(lambda: self._show_running())
        for way, tick in self.ways.items():
            tick.setChecked(True)
            tick.setToolTip(TIPS[way])
            tick.toggled.connect(lambda: self._show_running())
            self.setup.addWidget(tick)
        self.add_together(self.stop_button, self.run_button)

    def _add_tab(self, title: str, table: LabTable, name: str) -> None:
        figure = FigureView(name)
        self.charts.append((table, figure))
        self.tabs.addTab(TurningSplitter(table, scrolled(figure), 220), title)

    def show_devices(self) -> None:
        """Show the devices there are."""
        fill_devices(self.devices, self.workspace, str(self.devices.currentData() or self.workspace.device.id))
        self._show_running()

    def show_view(self) -> None:
        """Show what is known now."""
        view = self.view
        self.summary.setText(view.summary())
        self.tabs.setVisible(bool(view.rows) or view.is_live)
        self.empty.setVisible(self.tabs.isHidden())
        times, ratios, sets = (figure for _, figure in self.charts)
        times.show_chart(view.times() if view.rows else None)
        ratios.show_chart(view.ratios() if view.bands.rows else None)
        sets.show_chart(view.sets_chart() if view.sets.rows else None)
        clear_layout(self.notices)
        for severity, text in view.verdicts():
            self.notices.addWidget(notice_row(severity, text))
        self._show_running()

    def _show_running(self) -> None:
        self.show_running(self.view.is_live, self._asked()[1])
        self.show_tools(bool(self.view.rows), bool(self.view.document), "Measure first, or open a measurement.")

    def _asked(self) -> tuple[dict[str, Any], str]:
        """Return the job that the setup describes, and why it cannot be run now; empty if it can."""
        asked: list[tuple[str, QLineEdit, int, str]] = [
            ("group_size", self.group_size, MOST_SIZE, "work-items"), ("sets", self.sets, MOST_GROUPS, "sets"),
            ("runs", self.runs, MOST_RUNS, "repeats"),
        ]  # fmt: skip
        if self.work.text().strip():
            most = PROGRAMS[self.programs.currentData()].most
            asked.append(("size", self.work, most, PROGRAMS[self.programs.currentData()].unit))
        else:
            set_role(self.work, "state", "")
        found = {name: whole_number(field, most) for name, field, most, _ in asked}
        problems = [
            f"Give a number of {noun} from 1 to {formatting.count(most)}."
            for name, _, most, noun in asked
            if not found[name]
        ]
        groups = self.groups.text().strip()
        told = _problem_of(groups)
        set_role(self.groups, "state", "wrong" if told else "")
        ways = [way for way, tick in self.ways.items() if tick.isChecked()]
        problems += [told] * bool(told) + ["Tick at least one way to wait first."] * (not ways)
        if not self.workspace.devices_known:
            problems = ["Devices are still being looked for."]
        chosen = {"device": self.devices.currentData(), "program": self.programs.currentData()}
        return {**chosen, "groups": groups, "methods": ways, **found}, next(iter(problems), "")

    def run(self) -> None:
        """Ask for the job that the setup describes."""
        job, problem = self._asked()
        if not problem:
            self.run_asked.emit(job)

    def table_in_view(self) -> LabTable:
        """Return the table of the tab in view."""
        return self.charts[self.tabs.currentIndex()][0]

    def chart_in_view(self) -> Chart | None:
        """Return the chart of the tab in view."""
        return self.charts[self.tabs.currentIndex()][1].chart


def _problem_of(groups: str) -> str:
    """Return what is wrong with numbers of groups; nothing if they are left to the device."""
    try:
        numbers_of_groups(groups or "1")
    except OptionError as error:
        return str(error)
    return ""

"""The base of the pages of the laboratory: head, tabs of experiments, fields."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QTabWidget, QVBoxLayout, QWidget

from clalign.labs.laboratory import Experiment
from clalign.labs.ladder import FileField
from clalign.values.charts import Chart
from clalign.values.documents import JobRequest

from ... import formatting
from ...models import device_words
from ...models.laboratory.lab_view import LabView
from ...models.widgets.text_table import TextTable
from ...models.workspace import Workspace
from ..charts.figure_view import FigureView
from ..widgets.flow import Flow
from ..widgets.parts import (
    BETWEEN_WORDS,
    EmptyPanel,
    FactsParagraph,
    IconButton,
    allow_entry,
    back_button,
    button,
    clear_layout,
    fill_box,
    held,
    label,
    notice_row,
    row,
    scrolled,
    set_role,
    stacked,
    title_label,
)
from ..widgets.text_table_view import TextTableView, TurningSplitter

BOX_WIDTH, NUMBER_WIDTH = 230, 110
"""Pixels of a box of choices, which may be twice as wide, and of a number."""


class LabPage(QWidget):
    """Shows a `LabView`: head, setup, verdicts, and a tab with table and chart for each experiment.

    Requests are emitted as signals. A page of a laboratory adds its fields to the setup.

    Attributes
    ----------
    run_text : str
        Text of the primary button.
    import_tip : str
        Of the button that opens a document.
    icon, empty_text : str
        Icon and text before the first measurement.
    """

    run_text: ClassVar[str] = "Run"
    import_tip: ClassVar[str]
    icon: ClassVar[str]
    empty_text: ClassVar[str]

    back_requested = Signal()
    run_requested = Signal(dict)
    stop_requested = Signal()
    action_requested = Signal(str)
    row_chosen = Signal(dict)
    other_requested = Signal(str)
    """The kind of a laboratory whose page is wanted in place of this one."""

    def __init__(self, view: LabView, workspace: Workspace) -> None:
        super().__init__()
        self.view, self.workspace, self.title = view, workspace, view.of.title
        self.run_button = button(self.run_text, self.run, "primary")
        self.stop_button = button("Stop", self.stop_requested.emit, tip="Stop; the measurements so far are kept")
        self.stop_button.hide()
        self.summary = FactsParagraph(BETWEEN_WORDS)
        self.setup = Flow(spacing=18)
        self.setup.setContentsMargins(12, 4, 12, 8)
        self.notices = stacked(spacing=2, margins=(12, 0, 12, 6))
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setTabBarAutoHide(True)
        self.experiments = [self._experiment(one) for one in view.of.experiments]
        self.box = stacked(self._head(), self.setup, self.notices, (self.tabs, 1), spacing=0)
        self.setLayout(self.box)
        self.setFocusProxy(self.run_button)
        self._add_setup()
        self.add_together(self.stop_button, self.run_button)
        if view.of.known:
            self.experiments[0].table.model().dataChanged.connect(lambda: self.show_running())
        view.changed.connect(self.show_view)
        self.show_view()
        for signal in (workspace.sources_changed, workspace.devices_changed, workspace.choice_changed):
            signal.connect(self.show_workspace)
        self.show_workspace()

    def _add_setup(self) -> None:
        """Add the fields of the job to the setup."""
        raise NotImplementedError

    def show_workspace(self) -> None:
        """List the devices and files that can be chosen."""
        raise NotImplementedError

    def _experiment(self, of: Experiment) -> ExperimentTab:
        made = ExperimentTab(of, self.view.tables[of.key], self.icon, self.empty_text)
        if of.columns is self.view.main.columns:  # only of these rows more is known
            made.table.row_chosen.connect(self.row_chosen)
        self.tabs.addTab(made, of.title)
        return made

    def show_view(self) -> None:
        """Show the present state."""
        self.summary.setText(self.view.summary())
        for tab in self.experiments:
            tab.show_chart(self.view.chart(tab.key), self.view.is_live)
        clear_layout(self.notices)
        for severity, text in self.view.verdicts():
            self.notices.addWidget(notice_row(severity, text))
        self.show_running()

    def _head(self) -> QVBoxLayout:
        ask = self.action_requested.emit
        tips = self._tips = {
            "save": "Save the result",
            "copy": "Copy the table for a spreadsheet",
            "picture": "Save the chart in view as SVG or PNG",
        }
        self.tools = {
            "open": IconButton("folder-open-outline", self.import_tip, lambda: ask("open"), "Open…"),
            "save": IconButton("content-save-outline", tips["save"], lambda: ask("save"), "Save…"),
            "copy": IconButton("content-copy", tips["copy"], lambda: ask("copy"), "Copy table"),
            "picture": IconButton("image-outline", tips["picture"], lambda: ask("picture"), "Picture…"),
        }
        top = row(back_button(self.back_requested.emit), (title_label(self.title), 1), *self.tools.values())
        return stacked(top, self.summary, margins=(12, 8, 8, 6), spacing=2)

    def add_field(self, name: str, field: QWidget, width: int = 0) -> None:
        """Add a field with its label to the setup, of a width in pixels if one is given."""
        shown = label(name, "muted")
        shown.setBuddy(field)
        field.setAccessibleName(name)
        if width == BOX_WIDTH:
            field.setMinimumWidth(width)
            field.setMaximumWidth(2 * width)
        elif width:
            field.setFixedWidth(width)
        self.setup.addWidget(held(row(shown, field)))

    def add_others(self, name: str, kinds: dict[str, str]) -> QComboBox:
        """Add a box that leads to pages of other laboratories, by their titles."""
        box = QComboBox()
        fill_box(box, ((kind, title) for title, kind in kinds.items()), self.view.of.kind)
        own = box.currentIndex()

        def ask(place: int) -> None:
            box.setCurrentIndex(own)
            if place != own:
                self.other_requested.emit(box.itemData(place))

        box.activated.connect(ask)
        self.add_field(name, box)
        return box

    def add_ticks(self, all_tip: str, none_tip: str, *more: QWidget) -> None:
        """Add buttons that tick all rows or none, and more beside them."""
        every = button("Tick all", lambda: self.view.tick_all(True), "flat", all_tip)
        none = button("Tick none", lambda: self.view.tick_all(False), "flat", none_tip)
        self.add_together(every, none, *more)

    def add_together(self, *widgets: QWidget) -> None:
        """Add widgets that belong together to the setup."""
        self.setup.addWidget(held(row(*widgets, spacing=4)))

    def show_running(self) -> None:
        """Enable the buttons that apply."""
        _, problem = self.job_request()  # it marks the fields that are wrong, too
        reason = problem if self.workspace.devices_known else "Still looking for devices."
        had_focus = self.run_button.hasFocus() or self.stop_button.hasFocus()
        self.run_button.setEnabled(not reason)
        self.run_button.setVisible(not self.view.is_live)
        self.stop_button.setVisible(self.view.is_live)
        if had_focus:
            (self.stop_button if self.view.is_live else self.run_button).setFocus()
        self.run_button.setToolTip(reason)
        for name, tip in self._tips.items():
            usable = self.view.n_done > 0 and (bool(self.view.document) or name != "save")
            self.tools[name].setEnabled(usable)
            self.tools[name].setToolTip(tip if usable else "Measure first, or open a result.")

    def job_request(self) -> tuple[JobRequest, str]:
        """Return the job of the setup, and why it cannot run now; empty if it can."""
        raise NotImplementedError

    def run(self) -> None:
        """Request the job of the setup."""
        job, problem = self.job_request()
        if not problem:
            self.run_requested.emit(job)

    @property
    def in_view(self) -> ExperimentTab:
        """The tab in view."""
        return self.experiments[self.tabs.currentIndex()]


class ExperimentTab(QWidget):
    """The table and the chart of an experiment, or a text if there are no results."""

    def __init__(self, of: Experiment, model: TextTable, icon: str, empty_text: str) -> None:
        super().__init__()
        self.key, self.table, self.figure = of.key, TextTableView(model, of.title), FigureView(of.title)
        self.empty, self.empty_text = EmptyPanel(icon, of.title, empty_text), empty_text
        self._full = TurningSplitter(self.table, scrolled(self.figure), 300 if len(model.rows) > 4 else 190)
        self.setLayout(row(self._full, self.empty, spacing=0))

    def show_chart(self, chart: Chart | None, is_live: bool) -> None:
        """Show another chart, or a text if it is None."""
        self.figure.show_chart(chart)
        self._full.setVisible(chart is not None)
        self.empty.setVisible(chart is None)
        self.empty.show_text("Measuring…" if is_live else "Nothing measured yet", "" if is_live else self.empty_text)


def fill_devices(box: QComboBox, space: Workspace) -> None:
    """List the devices that a laboratory can use."""
    chosen = box.currentData()
    box.blockSignals(True)
    box.clear()
    for device in space.devices:
        box.addItem(f"{device_words.title(device)} · {device_words.line(device)}", device.id)
        if not device.is_usable:
            allow_entry(box, box.count() - 1, device.problem or "It cannot be used.")
    place = box.findData(chosen)
    box.setCurrentIndex(place if place >= 0 else box.findData(space.device.id))
    box.blockSignals(False)


def fill_files(box: QComboBox, space: Workspace, field: FileField, usual: str) -> None:
    """List the files that a laboratory may be measured on, after what it takes without one."""
    usable = (one for one in space.of_kind(field.kind) if one.state == "ready" and field.takes(one.cards))
    fill_box(box, [("", usual), *((one.path, one.name) for one in usable)], box.currentData() or "")


def whole_number(field: QLineEdit, most: int, least: int = 1) -> int:
    """Return the number from `least` to `most` in a field; 0 if there is none, and mark the field."""
    digits = "".join(field.text().replace(formatting.THIN, "").replace(",", "").split())
    value = int(digits) if digits.isdigit() else 0
    found = value if least <= value <= most else 0
    set_role(field, "state", "" if found else "wrong")
    return found

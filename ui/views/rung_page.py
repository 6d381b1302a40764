"""The page of a ladder: which one, on what, its rungs and experiments, and their charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QTabWidget, QWidget

from .. import formatting
from ..models.figures import Chart
from ..models.ladder import FileField, NumberField, RungView
from ..models.workspace import Workspace
from .figure_view import FigureView
from .lab_page import BOX_WIDTH, NUMBER_WIDTH, LabPage, LabTable, TurningSplitter, fill_devices, whole_number
from .parts import EmptyPanel, button, clear_layout, notice_row, row, scrolled, shrinking

NOT_RUN = "This experiment was not run yet. Tick Experiments above and run."


class RungPage(LabPage):
    """Shows a `RungView`.

    Parameters
    ----------
    ladder : RungView
    names : dict
        Of all ladders, by their documents.
    workspace : Workspace
    """

    ladder_asked = Signal(str)

    def __init__(self, ladder: RungView, names: Mapping[str, str], workspace: Workspace) -> None:
        super().__init__(f"Ladder of {ladder.of.name}", "Run", "Open a ladder that was saved as JSON")
        self.ladder, self.workspace = ladder, workspace
        self.ladders, self.devices = QComboBox(), QComboBox()
        for kind, text in names.items():
            self.ladders.addItem(text, kind)
        self.ladders.setCurrentIndex(self.ladders.findData(ladder.of.kind))
        self.ladders.activated.connect(self._ask_ladder)
        self.fields: dict[str, QComboBox | QLineEdit] = {}
        self.with_experiments = QCheckBox("Experiments")
        self.table = LabTable(ladder.rungs, "Rungs")
        self.figure = FigureView("Speed-up of each rung")
        self.tabs = QTabWidget()
        self.experiments: dict[str, tuple[LabTable, FigureView]] = {}
        self._empty: dict[str, tuple[QWidget, QWidget]] = {}
        self._add_setup()
        self._add_middle()
        self.setFocusProxy(self.run_button)
        self.table.row_chosen.connect(self.row_chosen)
        self.devices.activated.connect(lambda: self._show_running())
        ladder.changed.connect(self.show_ladder)
        ladder.rungs.dataChanged.connect(lambda: self._show_running())
        for signal in (workspace.sources_changed, workspace.devices_changed, workspace.choice_changed):
            signal.connect(self.show_workspace)
        self.show_workspace()
        self.show_ladder()

    def _add_setup(self) -> None:
        self.add_field("Ladder", self.ladders)
        self.add_field("Device", self.devices, BOX_WIDTH)
        every = button("Tick all", lambda: self.ladder.want_all(True), "flat", "Run every rung")
        none = button("Tick none", lambda: self.ladder.want_all(False), "flat", "Then tick those to be run")
        for asked in self.ladder.of.fields:
            field = self.fields[asked.key] = self._field(asked)
            self.add_field(asked.name, field, BOX_WIDTH if isinstance(field, QComboBox) else NUMBER_WIDTH)
        has_experiments = bool(self.ladder.of.experiments)
        self.with_experiments.setChecked(has_experiments)
        self.with_experiments.setToolTip(self.ladder.of.experiments_tip)
        self.add_together(every, none, *[self.with_experiments] * has_experiments)
        self.add_together(self.stop_button, self.run_button)

    def _field(self, asked: FileField | NumberField) -> QComboBox | QLineEdit:
        if isinstance(asked, FileField):
            return shrinking(QComboBox())
        made = QLineEdit(formatting.count(asked.usual))
        made.textChanged.connect(lambda: self._show_running())
        made.setToolTip(asked.tip)
        return made

    def _add_middle(self) -> None:
        """Add the table and the chart beside it; the experiments, where there are any, are behind tabs."""
        rungs = TurningSplitter(self.table, scrolled(self.figure))
        if not self.ladder.of.experiments:
            self.box.addWidget(rungs, 1)
            return
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(rungs, "Rungs")
        for name, entry in self.ladder.of.experiments.items():
            self.tabs.addTab(self._experiment(name, entry.title), entry.title)
        self.box.addWidget(self.tabs, 1)

    def _experiment(self, name: str, title: str) -> QWidget:
        table, figure = LabTable(self.ladder.experiments[name], title), FigureView(title)
        self.experiments[name] = (table, figure)
        full, empty = TurningSplitter(table, scrolled(figure), 190), EmptyPanel("stairs", title, NOT_RUN)
        self._empty[name] = (full, empty)
        holder = QWidget()
        holder.setLayout(row(full, empty, spacing=0))
        return holder

    def _ask_ladder(self) -> None:
        """Ask for the page of another ladder; this one stays what it is."""
        asked, kind = str(self.ladders.currentData()), self.ladder.of.kind
        self.ladders.setCurrentIndex(self.ladders.findData(kind))
        if asked != kind:
            self.ladder_asked.emit(asked)

    def show_workspace(self) -> None:
        """Show the devices and files there are."""
        space = self.workspace
        for asked in self.ladder.of.fields:
            box = self.fields[asked.key]
            if isinstance(asked, FileField) and isinstance(box, QComboBox):
                chosen = box.currentData()
                box.clear()
                box.addItem("Synthetic (default)", "")
                for source in space.of_kind(asked.kind):
                    if source.state == "ready" and asked.is_usable(source):
                        box.addItem(source.name, source.path)
                box.setCurrentIndex(max(0, box.findData(chosen)))
        fill_devices(self.devices, space, str(self.devices.currentData() or space.device.id))
        self._show_running()

    def show_ladder(self) -> None:
        """Show what is known now."""
        ladder = self.ladder
        for name, (_, figure) in self.experiments.items():
            filled = bool(ladder.experiments[name].rows)
            full, empty = self._empty[name]
            full.setVisible(filled)
            empty.setVisible(not filled)
            figure.show_chart(ladder.experiment_chart(name) if filled else None)
        self.summary.setText(ladder.summary())
        self.figure.show_chart(ladder.chart())
        clear_layout(self.notices)
        wrong = ladder.wrong()
        if wrong:
            text = f"{', '.join(wrong)}: {ladder.of.wrong_text} Please report this."
            self.notices.addWidget(notice_row("stop", text))
        self._show_running()

    def _show_running(self) -> None:
        self.show_running(self.ladder.is_live, self._reason())
        self.show_tools(bool(self.ladder.n_done), bool(self.ladder.document), "Run the ladder first, or open one.")

    def _reason(self) -> str:
        """Return why it cannot be run now; empty if it can."""
        for asked in self.ladder.of.fields:
            if isinstance(asked, NumberField) and not self._value(asked):
                return f"Give a number of {asked.name.lower()} from 1 to {formatting.count(asked.most)}."
        if not self.workspace.devices_known:
            return "Devices are still being looked for."
        wanted = self.ladder.wanted()
        if wanted is not None and not wanted:
            return "Tick at least one rung first."
        return ""

    def _value(self, asked: FileField | NumberField) -> str | int | None:
        """Return what is chosen; of a number 0 for what makes no sense, of a file None for none."""
        field = self.fields[asked.key]
        if isinstance(asked, NumberField) and isinstance(field, QLineEdit):
            return whole_number(field, asked.most)
        return field.currentData() or None if isinstance(field, QComboBox) else None

    def values(self) -> dict[str, str | int | None]:
        """Return what it runs with."""
        return {asked.key: self._value(asked) for asked in self.ladder.of.fields}

    def run(self) -> None:
        """Ask for the job that the setup describes."""
        device: dict[str, Any] = {"device": self.devices.currentData()}
        self.run_asked.emit({**device, **self.values(), "variants": self._wanted()})

    def _wanted(self) -> list[str] | None:
        """Return what is ticked, the experiments among it; None if everything is."""
        rungs, experiments = self.ladder.wanted(), self.ladder.of.experiment_names
        also = self.with_experiments.isChecked()
        if rungs is None and (also or not experiments):
            return None
        names = [row["name"] for row in self.ladder.rows] if rungs is None else rungs
        return [*names, *(experiments if also else [])]

    def table_in_view(self) -> LabTable:
        """Return the table of the tab in view."""
        tables = [self.table, *(table for table, _ in self.experiments.values())]
        return tables[max(0, self.tabs.currentIndex())]

    def chart_in_view(self) -> Chart | None:
        """Return the chart of the tab in view."""
        figures = [self.figure, *(figure for _, figure in self.experiments.values())]
        return figures[max(0, self.tabs.currentIndex())].chart

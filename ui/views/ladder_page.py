"""The ladder of Plan7 Viterbi: every published rung, run on the user's device."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QTabWidget, QWidget

from ..models.ladder import EXPERIMENTS, LadderView
from ..models.rungs import known_experiments
from ..models.workspace import Source, Workspace
from .figure_view import FigureView, scrolled
from .lab_page import LabPage, LabTable, TurningSplitter, fill_devices, shrinking
from .parts import EmptyPanel, button, clear_layout, notice_row, row

NOT_RUN = "This experiment was not run yet. Tick Experiments above and run."


class LadderPage(LabPage):
    """Shows a `LadderView`.

    Parameters
    ----------
    ladder : LadderView
    workspace : Workspace
    """

    row_chosen = Signal(dict)

    def __init__(self, ladder: LadderView, workspace: Workspace) -> None:
        super().__init__("Ladder of Plan7 Viterbi", "Run", "Open a ladder that was saved as JSON")
        self.ladder, self.workspace = ladder, workspace
        self.devices, self.profiles, self.databases = (shrinking(QComboBox()) for _ in range(3))
        self.table = LabTable(ladder.rungs, "Rungs")
        self.figure = FigureView("Speed-up of each rung")
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(TurningSplitter(self.table, scrolled(self.figure)), "Rungs")
        self.experiments: dict[str, tuple[LabTable, FigureView]] = {}
        self._empty: dict[str, tuple[QWidget, QWidget]] = {}
        for name, (title, _, _) in EXPERIMENTS.items():
            self.tabs.addTab(self._experiment(name, title), title)
        self._add_setup()
        self.box.addWidget(self.tabs, 1)
        self.setFocusProxy(self.run_button)
        self.table.row_chosen.connect(self.row_chosen)
        ladder.changed.connect(self.show_ladder)
        ladder.rungs.dataChanged.connect(lambda: self._show_running())
        for signal in (workspace.sources_changed, workspace.devices_changed, workspace.choice_changed):
            signal.connect(self.show_workspace)
        self.show_workspace()
        self.show_ladder()

    def _experiment(self, name: str, title: str) -> QWidget:
        table, figure = LabTable(self.ladder.experiments[name], title), FigureView(title)
        self.experiments[name] = (table, figure)
        full, empty = TurningSplitter(table, scrolled(figure), 190), EmptyPanel("stairs", title, NOT_RUN)
        self._empty[name] = (full, empty)
        holder = QWidget()
        box = row(full, empty, spacing=0)
        holder.setLayout(box)
        return holder

    def _add_setup(self) -> None:
        self.add_field("Device", self.devices, 0, span=3)
        self.add_field("Profile", self.profiles, 1)
        self.add_field("Sequences", self.databases, 1, 1)
        self.setup.setColumnStretch(1, 1)
        self.setup.setColumnStretch(3, 1)
        every = button("Tick all", lambda: self.ladder.want_all(True), "flat", "Run every rung")
        none = button("Tick none", lambda: self.ladder.want_all(False), "flat", "Then tick those to be run")
        self.with_experiments = QCheckBox("Experiments")
        self.with_experiments.setChecked(True)
        self.with_experiments.setToolTip("Run granularity, divergence and work-group size too")
        self.setup.addLayout(row(every, none, spacing=2), 0, 4)
        self.setup.addLayout(row(self.with_experiments, None, self.stop_button, self.run_button), 1, 4)
        self.devices.activated.connect(lambda: self._show_running())

    def show_workspace(self) -> None:
        """Show the devices and files there are."""
        space = self.workspace
        fill_devices(self.devices, space, str(self.devices.currentData() or space.device.id))
        profiles = [s for s in space.of_kind("profiles") if _is_hmmer2(s)]
        _fill(self.profiles, "Synthetic (default)", profiles)
        ready = [s for s in space.of_kind("sequences") if s.state == "ready"]
        _fill(self.databases, "Synthetic (default)", ready)
        self._show_running()

    def show_ladder(self) -> None:
        """Show what is known now."""
        ladder = self.ladder
        self.summary.setText(ladder.summary())
        self.figure.show_chart(ladder.chart())
        for name, (_, figure) in self.experiments.items():
            filled = bool(ladder.experiments[name].rows)
            full, empty = self._empty[name]
            full.setVisible(filled)
            empty.setVisible(not filled)
            figure.show_chart(ladder.experiment_chart(name) if filled else None)
        clear_layout(self.notices)
        wrong = ladder.wrong()
        if wrong:
            text = f"{', '.join(wrong)}: not every score equals the reference. Please report this."
            self.notices.addWidget(notice_row("stop", text))
        self._show_running()

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
        if not self.workspace.devices_known:
            return "Devices are still being looked for."
        wanted = self.ladder.wanted()
        if wanted is not None and not wanted:
            return "Tick at least one rung first."
        return ""

    def run(self) -> None:
        """Ask for the job that the setup describes."""
        job = {
            "device": self.devices.currentData(),
            "hmm": self.profiles.currentData() or None,
            "db": self.databases.currentData() or None,
            "variants": self._wanted(),
        }
        self.run_asked.emit(job)

    def _wanted(self) -> list[str] | None:
        """Return what is ticked, the experiments among it; None if everything is."""
        rungs, also = self.ladder.wanted(), self.with_experiments.isChecked()
        if rungs is None and also:
            return None
        names = [row["name"] for row in self.ladder.rows] if rungs is None else rungs
        return [*names, *(known_experiments() if also else [])]

    def table_in_view(self) -> LabTable:
        """Return the table of the tab in view."""
        tables = [self.table, *(table for table, _ in self.experiments.values())]
        return tables[self.tabs.currentIndex()]

    def chart_in_view(self):  # type: ignore[no-untyped-def]
        """Return the chart of the tab in view."""
        figures = [self.figure, *(figure for _, figure in self.experiments.values())]
        return figures[self.tabs.currentIndex()].chart


def _is_hmmer2(source: Source) -> bool:
    return source.state == "ready" and all(card["origin"] == "hmmer2" for card in source.cards)


def _fill(box: QComboBox, default: str, sources: list[Source]) -> None:
    chosen = box.currentData()
    box.clear()
    box.addItem(default, "")
    for source in sources:
        box.addItem(source.name, source.path)
    box.setCurrentIndex(max(0, box.findData(chosen)))

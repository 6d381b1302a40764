"""The ladder of Plan7 Viterbi: every published rung, run on the user's device."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QCheckBox, QComboBox, QTabWidget, QWidget

from ...models.rungs import known_experiments
from ...models.workspace import Source, Workspace
from ...views.figure_view import FigureView, scrolled
from ...views.lab_page import LabTable, TurningSplitter
from ...views.parts import EmptyPanel, row, shrinking
from ...views.rung_page import RungPage
from .ladder import EXPERIMENTS, LadderView

NOT_RUN = "This experiment was not run yet. Tick Experiments above and run."


class LadderPage(RungPage):
    """Shows a `LadderView`.

    Parameters
    ----------
    ladder : LadderView
    workspace : Workspace
    """

    ladder: LadderView
    wrong_text = "not every score equals the reference."

    def __init__(self, ladder: LadderView, workspace: Workspace) -> None:
        super().__init__("ladder", ladder, workspace)
        self.profiles, self.databases = (shrinking(QComboBox()) for _ in range(2))
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.rungs_and_chart(), "Rungs")
        self.experiments: dict[str, tuple[LabTable, FigureView]] = {}
        self._empty: dict[str, tuple[QWidget, QWidget]] = {}
        for name, (title, _, _) in EXPERIMENTS.items():
            self.tabs.addTab(self._experiment(name, title), title)
        self._add_setup()
        self.box.addWidget(self.tabs, 1)
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
        self.add_field("Profile", self.profiles, 1)
        self.add_field("Sequences", self.databases, 1, 1)
        self.with_experiments = QCheckBox("Experiments")
        self.with_experiments.setChecked(True)
        self.with_experiments.setToolTip("Run granularity, divergence and work-group size too")
        self.setup.addLayout(row(self.with_experiments, None, self.stop_button, self.run_button), 1, 4)

    def show_workspace(self) -> None:
        """Show the devices and files there are."""
        space = self.workspace
        profiles = [s for s in space.of_kind("profiles") if _is_hmmer2(s)]
        _fill(self.profiles, "Synthetic (default)", profiles)
        ready = [s for s in space.of_kind("sequences") if s.state == "ready"]
        _fill(self.databases, "Synthetic (default)", ready)
        super().show_workspace()

    def show_ladder(self) -> None:
        """Show what is known now."""
        for name, (_, figure) in self.experiments.items():
            filled = bool(self.ladder.experiments[name].rows)
            full, empty = self._empty[name]
            full.setVisible(filled)
            empty.setVisible(not filled)
            figure.show_chart(self.ladder.experiment_chart(name) if filled else None)
        super().show_ladder()

    def request(self) -> dict[str, Any]:
        """Return what the job is told beside the device."""
        return {
            "hmm": self.profiles.currentData() or None,
            "db": self.databases.currentData() or None,
            "variants": self._wanted(),
        }

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

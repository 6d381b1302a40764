"""The same job on several devices: equal scores, speed, start-up, and the break-even."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QLineEdit, QTabWidget

from .. import formatting
from ..models import device_words
from ..models.comparison import ComparisonView
from ..models.figures import Chart
from ..models.workspace import Workspace
from .figure_view import FigureView
from .flow import Flow
from .lab_page import NUMBER_WIDTH, LabPage, LabTable, whole_number
from .parts import EmptyPanel, clear_layout, label, notice_row, scrolled, split

NODES, RESIDUES = 200, 20_000_000

MOST_NODES, MOST_RESIDUES = 5000, 2_000_000_000


class ComparisonPage(LabPage):
    """Shows a `ComparisonView`.

    Parameters
    ----------
    comparison : ComparisonView
    workspace : Workspace
    """

    def __init__(self, comparison: ComparisonView, workspace: Workspace) -> None:
        super().__init__(
            "Device comparison", "Compare devices", "Open a comparison; one of another machine is added to this"
        )
        self.comparison, self.workspace = comparison, workspace
        self.nodes, self.residues = QLineEdit(str(NODES)), QLineEdit(formatting.count(RESIDUES))
        self.ticks: dict[str, QCheckBox] = {}
        self._devices = Flow(spacing=24)
        self.table = LabTable(comparison.table, "Devices")
        self.table.setMinimumHeight(110)
        self.speeds, self.curves = FigureView("Speed of each device"), FigureView("Time against database size")
        self.charts = QTabWidget()
        self.charts.setDocumentMode(True)
        self.charts.addTab(scrolled(self.curves), "Break-even")
        self.charts.addTab(scrolled(self.speeds), "Speed")
        self.split = split(self.table, self.charts, sizes=(150, 400))
        self.empty = EmptyPanel("scale-balance", "Nothing compared yet", self.empty_text)
        self._add_setup()
        self.box.addWidget(self.split, 1)
        self.box.addWidget(self.empty, 1)
        self.setFocusProxy(self.run_button)
        self.table.row_chosen.connect(self.row_chosen)
        comparison.changed.connect(self.show_comparison)
        workspace.devices_changed.connect(self.show_devices)
        self.show_devices()
        self.show_comparison()

    def _add_setup(self) -> None:
        self._devices.setContentsMargins(12, 4, 12, 4)
        self.box.insertLayout(1, self._devices)
        self.add_field("Nodes of the profile", self.nodes, NUMBER_WIDTH)
        self.add_field("Residues", self.residues, NUMBER_WIDTH)
        for field in (self.nodes, self.residues):
            field.textChanged.connect(lambda: self._show_running())
        self.add_together(self.stop_button, self.run_button)

    def show_devices(self) -> None:
        """Offer the devices there are; those that are ready are ticked."""
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
            tick.toggled.connect(lambda: self._show_running())
            self.ticks[device.id] = tick
            self._devices.addWidget(tick)
        if not self.ticks:
            self._devices.addWidget(label("Looking for devices…", "muted"))
        self._show_running()

    def show_comparison(self) -> None:
        """Show what is known now."""
        view = self.comparison
        self.summary.setText(view.summary())
        filled = bool(view.rows)
        self.split.setVisible(filled)
        self.empty.setVisible(not filled)
        heading = "Measuring the first device" if view.is_live else "Nothing compared yet"
        self.empty.say(heading, "" if view.is_live else self.empty_text)
        self.speeds.show_chart(view.speeds() if filled else None)
        self.curves.show_chart(view.curves() if filled else None)
        clear_layout(self.notices)
        for severity, text in view.verdicts():
            self.notices.addWidget(notice_row(severity, text))
        self._show_running()

    empty_text = "Tick two or more devices and compare them, or open a comparison that was saved on another machine."

    def sizes(self) -> tuple[int, int, str]:
        """Return nodes and residues, and what is wrong with them; empty if nothing is."""
        found, problem = [], ""
        for field, most, noun in ((self.nodes, MOST_NODES, "nodes"), (self.residues, MOST_RESIDUES, "residues")):
            found.append(whole_number(field, most))
            problem = problem or ("" if found[-1] else f"Give a number of {noun} from 1 to {formatting.count(most)}.")
        return found[0], found[1], problem

    def chosen(self) -> list[str]:
        """Return the ids of the ticked devices."""
        return [name for name, tick in self.ticks.items() if tick.isChecked()]

    def _reason(self) -> str:
        if not self.workspace.devices_known:
            return "Devices are still being looked for."
        *_, problem = self.sizes()
        return problem or ("" if len(self.chosen()) > 1 else "Tick at least two devices first.")

    def _show_running(self) -> None:
        self.show_running(self.comparison.is_live, self._reason())
        why = "Compare devices first, or open a comparison."
        self.show_tools(bool(self.comparison.rows), bool(self.comparison.document), why)

    def run(self) -> None:
        """Ask for the job that the setup describes."""
        nodes, residues, problem = self.sizes()
        if not problem:
            self.run_asked.emit({"devices": self.chosen(), "nodes": nodes, "residues": residues})

    def table_in_view(self) -> LabTable:
        """Return the table."""
        return self.table

    def chart_in_view(self) -> Chart | None:
        """Return the chart of the tab in view."""
        return (self.curves, self.speeds)[self.charts.currentIndex()].chart

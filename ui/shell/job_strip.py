"""The strip at the bottom: a line for each job, and below it one for each of several devices."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QWidget

from clalign.common.escapes import escaped

from ..models.jobs import JobItem, JobQueue
from ..views.widgets.parts import ElidedLabel, FactsLabel, IconLabel, clear_layout, grid, label, row, set_role, stacked

ICONS = {
    "waiting": ("clock-outline", "muted"),
    "running": ("play-circle", "accent"),
    "paused": ("pause-circle", "caution"),
    "stopping": ("stop-circle-outline", "caution"),
    "stopped": ("stop-circle-outline", "caution"),
    "failed": ("alert-octagon", "stop"),
    "lost": ("alert-octagon", "stop"),
    "done": ("check-circle", "good"),
}

TIPS = {
    "pause": "Pause the job; its results can be used",
    "proceed": "Continue the job",
    "first": "Run it now: a search at work is stopped for it and continues after it",
    "stop": "Stop after this batch; the results so far are kept",
    "resume": "Continue from the last finished batch, with the same final result",
    "resume_elsewhere": "Continue from the last finished batch on the next device that is ready",
    "show": "Show the results",
    "dismiss": "Remove this line",
}

MAX_LINES = 4
"""Visible lines."""


class DeviceLines(QWidget):
    """The finished work of each device of a job: a table that grows with their number."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[list[ElidedLabel | QLabel]] = []
        self._grid = grid(18, 1, wide=0, margins=(38, 0, 8, 4))
        self._grid.setColumnStretch(4, 1)
        self.setLayout(self._grid)
        self.hide()

    def show_lines(self, lines: list[tuple[str, ...]]) -> None:
        """Show lines of a device, each with a name and three facts."""
        while len(self._lines) < len(lines):
            self._add()
        for place, widgets in enumerate(self._lines):
            is_shown = place < len(lines)
            for widget, text in zip(widgets, lines[place] if is_shown else [""] * 4, strict=True):
                widget.setText(text)
                widget.setVisible(is_shown)
        self.setVisible(bool(lines))

    def _add(self) -> None:
        place, name = len(self._lines), ElidedLabel(role="muted", middle=True)
        facts = [label(role="muted") for _ in range(3)]
        self._grid.addWidget(name, place, 0)
        for column, fact in enumerate(facts, start=1):
            self._grid.addWidget(fact, place, column, Qt.AlignmentFlag.AlignRight)
        self._lines.append([name, *facts])


class JobRow(QWidget):
    """A job: title, bar, state, buttons, and its devices if there are several."""

    pressed = Signal(str)

    def __init__(self, item: JobItem) -> None:
        super().__init__()
        self._icon = IconLabel(*ICONS[item.state])
        self._title = ElidedLabel(item.title)
        self._title.setToolTip("\n".join(map(escaped, (item.title, *item.files))))
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(180)
        self._bar.setAccessibleName(item.title)
        self.words = FactsLabel("", "muted")
        self._buttons = row(spacing=6)
        self._offers: list[tuple[str, str]] = []
        self._devices = DeviceLines()
        # What is beside the title has its share whatever is in it: the bars of all rows start below each other.
        beside = row(self._bar, (self.words, 1), self._buttons, spacing=10)
        job = row(self._icon, (self._title, 2), (beside, 6), spacing=10, margins=(10, 1, 8, 1))
        self.setLayout(stacked(job, self._devices, spacing=0))
        usual = QPushButton("Stop")
        usual.ensurePolished()
        self._title.setMinimumHeight(usual.sizeHint().height())  # a row without buttons is as high
        if item.run or item.is_lab:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_item(item)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        # A click beside the buttons leads to what the job makes.
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.pressed.emit("show")

    def show_item(self, item: JobItem) -> None:
        """Show the state of the job."""
        self._icon.show_icon(*ICONS[item.state])
        self._title.setText(item.title)
        self.words.setText(item.line())
        self._devices.show_lines(item.device_lines())
        set_role(self._bar, "state", item.state)
        self._bar.setValue(1000 if item.state == "done" else round(1000 * item.course.fraction))
        self._bar.setVisible(item.is_active or item.state in ("stopped", "lost"))
        if item.offers() != self._offers:
            self._show_offers(item.offers())

    def has_focus(self) -> bool:
        """Return whether the focus of the window is in this line."""
        focused = self.window().focusWidget()
        return focused is not None and (focused is self or self.isAncestorOf(focused))

    def _show_offers(self, offers: list[tuple[str, str]]) -> None:
        has_focus = self.has_focus()
        clear_layout(self._buttons)
        for name, text in offers:
            made = QPushButton(text)
            made.setToolTip(TIPS[name])
            made.clicked.connect(lambda _=False, name=name: self.pressed.emit(name))
            self._buttons.addWidget(made)
        if has_focus:  # or it would go to what happens to come next in the window
            first = self._buttons.itemAt(0)
            taker = (first.widget() if first is not None else None) or self
            taker.show()  # what is hidden takes no focus
            taker.setFocus()
        self._offers = offers


class JobStrip(QWidget):
    """All jobs that were not dismissed, the newest at the bottom."""

    action_requested = Signal(object, str)

    focus_left = Signal()
    """The line with the focus is about to go."""

    def __init__(self, queue: JobQueue) -> None:
        super().__init__()
        self._rows: dict[int, JobRow] = {}
        self._box = stacked(spacing=0)
        self.setLayout(self._box)
        self.hide()
        queue.job_added.connect(self._add)
        queue.job_changed.connect(self._change)
        queue.job_ticked.connect(self._change)
        queue.job_removed.connect(self._remove)

    def row_of(self, item: JobItem) -> JobRow | None:
        """Return the line of a job."""
        return self._rows.get(id(item))

    def _add(self, item: JobItem) -> None:
        made = JobRow(item)
        made.pressed.connect(lambda name: self.action_requested.emit(item, name))
        self._rows[id(item)] = made
        self._box.addWidget(made)
        self._fold()

    def _change(self, item: JobItem) -> None:
        if id(item) in self._rows:
            self._rows[id(item)].show_item(item)

    def _remove(self, item: JobItem) -> None:
        gone = self._rows.pop(id(item), None)
        if gone is not None:
            if gone.has_focus():
                self.focus_left.emit()
            gone.hide()
            self._box.removeWidget(gone)
            gone.deleteLater()
        self._fold()

    def _fold(self) -> None:
        rows = list(self._rows.values())
        for place, shown in enumerate(rows):
            shown.setVisible(place >= len(rows) - MAX_LINES)
        self.setVisible(bool(rows))

"""The start page: your data, the examples, recent files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from clalign.databases.examples import Example, PairExample

from .. import formatting, theme
from ..models.workspace import Workspace
from ..settings import RecentFile
from .widgets.flow import Flow
from .widgets.parts import (
    ElidedButton,
    FactsLabel,
    IconButton,
    button,
    clear_layout,
    height_for,
    held,
    label,
    row,
    stacked,
)

COLUMN_WIDTH = 420

MIN_WIDE = 740
"""Pixels in which both columns fit side by side."""


@dataclass(frozen=True)
class Welcome:
    """The entries of the start page.

    Attributes
    ----------
    examples : list of tuple
        What commands call the controller of each, and the example.
    buttons : list of tuple
        Text, command and tooltip of buttons beside those that open files.
    input_words : str
        A sentence: the files that a run of each engine needs.
    """

    examples: list[tuple[str, Example | PairExample]]
    buttons: list[tuple[str, str, str]]
    input_words: str


class ExampleCard(QPushButton):
    """A button with a title and a sentence."""

    def __init__(self, name: str, example: Example | PairExample) -> None:
        super().__init__()
        self.name, self.example = name, example
        self.setProperty("role", "card")
        self.setAccessibleName(f"Example: {example.title}")
        self.setToolTip(example.text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        title = label(example.title, wrap=True)
        font = title.font()
        font.setBold(True)
        title.setFont(font)
        kind = label("" if example.targets else "view only", "muted")
        self._text = label(example.text, "muted", wrap=True)
        for part in (title, kind, self._text):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        head = row((title, 1))
        head.addWidget(kind, 0, Qt.AlignmentFlag.AlignTop)
        self.setLayout(stacked(head, self._text, spacing=3, margins=(14, 8, 14, 8)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(COLUMN_WIDTH, height_for(self.layout(), max(200, self.width() or COLUMN_WIDTH)))

    def minimumSizeHint(self) -> QSize:
        # Nothing may be cut off.
        return QSize(200, self.sizeHint().height())


class StartPage(QScrollArea):
    """Your data and recent files, and the examples, in two columns."""

    open_requested = Signal()
    paste_requested = Signal()
    command_requested = Signal(str, tuple)
    example_requested = Signal(str, object)
    recent_requested = Signal(str)
    lab_requested = Signal(str)
    tour_requested = Signal()
    pin_requested = Signal(str, bool)
    show_start_changed = Signal(bool)

    def __init__(self, workspace: Workspace, welcome: Welcome, show_start: bool) -> None:
        super().__init__()
        self.workspace = workspace
        self._welcome = welcome
        self.cards = [ExampleCard(*example) for example in welcome.examples]
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._recent = stacked(spacing=2)
        inside = QWidget()
        self.setWidget(inside)
        self._columns = columns = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        columns.setSpacing(48)
        columns.addLayout(self._own_data(), 1)
        columns.addLayout(self._examples(), 1)
        parts = self._head(), columns, self._laboratory(), self._foot(show_start)
        middle = stacked(*parts, spacing=16, margins=(9, 0, 9, 0))
        self._center(inside, middle)

    def _center(self, inside: QWidget, middle: QVBoxLayout) -> None:
        block = held(middle)
        block.setMaximumWidth(2 * COLUMN_WIDTH + 120)
        across = row(None, (block, 100), None, spacing=-1)
        inside.setLayout(stacked(None, across, (None, 2), margins=(24, 14, 24, 10), spacing=-1))

    def _head(self) -> QHBoxLayout:
        mark = QLabel()
        mark.setPixmap(theme.app_icon().pixmap(40, 40))
        self.tour = button("New here? Take the five-minute tour", self.tour_requested.emit, "link")
        return row(mark, label("clalign", "title"), None, self.tour, spacing=10)

    def resizeEvent(self, event: QResizeEvent) -> None:
        directions = QBoxLayout.Direction
        columns = [item for place in range(2) if (item := self._columns.itemAt(place)) is not None]
        needed = self._columns.spacing() + sum(item.minimumSize().width() for item in columns)
        wide = self.viewport().width() >= max(MIN_WIDE, needed + 48)  # with what is left and right of them
        self._columns.setDirection(directions.LeftToRight if wide else directions.TopToBottom)
        super().resizeEvent(event)

    def _own_data(self) -> QVBoxLayout:
        self.open_button = button("Open files…", self.open_requested.emit, "primary", "Of any kind (Ctrl+O)")
        opening = row(self.open_button, label("or drop them here", "muted"), None)
        buttons = [
            button(text, partial(self.command_requested.emit, command, ()), tip=tip)
            for text, command, tip in self._welcome.buttons
        ]
        grid = QGridLayout()
        grid.setSpacing(8)
        grid.setColumnStretch(2, 1)
        for place, each in enumerate([button("Paste sequences…", self.paste_requested.emit), *buttons]):
            grid.addWidget(each, place // 2, place % 2)
        heading, words = label("Start with your data", "heading"), label(self._welcome.input_words, "muted", wrap=True)
        box = stacked(heading, opening, grid, words, spacing=10)
        box.addSpacing(12)
        box.addWidget(label("Recent", "heading"))
        box.addLayout(self._recent)
        box.addStretch(1)
        return box

    def _laboratory(self) -> Flow:
        compare = button("Compare devices", lambda: self.lab_requested.emit("comparison"))
        compare.setToolTip("The same job on each device: equal scores, speed, break-even")
        ladder = button("Run the ladder", lambda: self.lab_requested.emit("ladder"))
        ladder.setToolTip("Every step of a published optimization, run and checked on your device")
        published = button("Repeat published tables", lambda: self.lab_requested.emit("publication_004"))
        published.setToolTip("Every numbered table and figure of the published systems, on your device")
        return Flow(label("What can my device do?", "heading"), compare, ladder, published)

    def _examples(self) -> QVBoxLayout:
        box = stacked(label("Try an example", "heading"))
        for card in self.cards:
            card.clicked.connect(lambda _=False, card=card: self.example_requested.emit(card.name, card.example))
            box.addWidget(card)
        if not self.cards:
            box.addWidget(label("The examples are not installed with this copy of clalign.", "muted", wrap=True))
        box.addStretch(1)
        return box

    def _foot(self, show_start: bool) -> Flow:
        self.show_start = QCheckBox("Show at start")
        self.show_start.setProperty("role", "muted")
        self.show_start.setChecked(show_start)
        self.show_start.toggled.connect(self.show_start_changed)
        keys = label("Ctrl+K finds commands, files and families · F1 opens the help", "muted")
        return Flow(keys, self.show_start, spacing=16)

    def show_recent(
        self, entries: list[RecentFile], names: dict[str, str], run_words: dict[str, tuple[str, str, str]]
    ) -> None:
        """Show the recent files; missing ones are gray and give the reason, runs that are not complete their state."""
        clear_layout(self._recent)
        for entry in entries:
            state = run_words.get(entry.path, ("", "", ""))[1]
            made = self._recent_row(entry, names[entry.path], state)
            self._recent.addWidget(made)
            made.show()  # the layout would show it in the next turn only: the list would be empty until then
        if not entries:
            self._recent.addWidget(label("Files and runs that you open are listed here.", "muted"))

    def _recent_row(self, entry: RecentFile, words: str, state: str) -> QWidget:
        problem = entry.problem
        name = ElidedButton(words, lambda: self.recent_requested.emit(entry.path))
        name.setEnabled(not problem)
        name.setToolTip(f"{entry.path}\n{problem}".strip())
        opened = formatting.moment(entry.opened)
        note = FactsLabel(problem or (f"{state} · {opened}" if state else opened), "muted")
        tip = "Unpin from this list" if entry.pinned else "Pin to this list"
        pin = IconButton(
            "pin" if entry.pinned else "pin-outline", tip, lambda: self.pin_requested.emit(entry.path, not entry.pinned)
        )
        return held(row((name, 1), (note, 1), pin, spacing=4))

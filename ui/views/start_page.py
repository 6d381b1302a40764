"""The start page: your data, the examples, recent files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
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
    grid,
    height_for,
    held,
    label,
    row,
    scrolled,
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

    command_requested = Signal(str, tuple)

    def __init__(self, workspace: Workspace, welcome: Welcome, show_start: bool) -> None:
        super().__init__()
        self.workspace = workspace
        self._welcome = welcome
        self.cards = [ExampleCard(*example) for example in welcome.examples]
        self._recent = stacked(spacing=2)
        inside = QWidget()
        scrolled(inside, self)
        self._columns = row((self._own_data(), 1), (self._examples(), 1), spacing=48)
        parts = self._head(), self._columns, self._laboratory(), self._foot(show_start)
        middle = held(stacked(*parts, spacing=16, margins=(9, 0, 9, 0)))
        middle.setMaximumWidth(2 * COLUMN_WIDTH + 120)
        across = row(None, (middle, 100), None, spacing=-1)
        inside.setLayout(stacked(None, across, (None, 2), margins=(24, 14, 24, 10), spacing=-1))

    def _asking(self, command: str, *arguments: object) -> Callable[[], object]:
        """Return a function that requests a command."""
        return lambda: self.command_requested.emit(command, arguments)

    def _head(self) -> QHBoxLayout:
        mark = QLabel()
        mark.setPixmap(theme.app_icon().pixmap(40, 40))
        self.tour = button("New here? Take the five-minute tour", self._asking("window.start_tour"), "link")
        return row(mark, label("clalign", "title"), None, self.tour, spacing=10)

    def resizeEvent(self, event: QResizeEvent) -> None:
        directions = QBoxLayout.Direction
        columns = [item for place in range(2) if (item := self._columns.itemAt(place)) is not None]
        needed = self._columns.spacing() + sum(item.minimumSize().width() for item in columns)
        wide = self.viewport().width() >= max(MIN_WIDE, needed + 48)  # with what is left and right of them
        self._columns.setDirection(directions.LeftToRight if wide else directions.TopToBottom)
        super().resizeEvent(event)

    def _own_data(self) -> QVBoxLayout:
        opens = self._asking("sources.open_files")
        self.open_button = button("Open files…", opens, "primary", "Of any kind (Ctrl+O)")
        opening = row(self.open_button, label("or drop them here", "muted"), None)
        paste = button("Paste sequences…", self._asking("sources.paste_sequences"))
        buttons = [paste, *(button(text, self._asking(to), tip=tip) for text, to, tip in self._welcome.buttons)]
        table = grid(8, 8, wide=2)
        for place, each in enumerate(buttons):
            table.addWidget(each, place // 2, place % 2)
        heading, words = label("Start with your data", "heading"), label(self._welcome.input_words, "muted", wrap=True)
        box = stacked(heading, opening, table, words, spacing=10)
        box.addSpacing(12)
        box.addWidget(label("Recent", "heading"))
        box.addLayout(self._recent)
        box.addStretch(1)
        return box

    def _laboratory(self) -> Flow:
        labs = (
            ("comparison", "Compare devices", "The same job on each device: equal scores, speed, break-even"),
            ("ladder", "Run the ladder", "Every step of a published optimization, run and checked on your device"),
            ("publication_004", "Repeat published tables",
             "Every numbered table and figure of the published systems, on your device"),
        )  # fmt: skip
        buttons = (button(text, self._asking("labs.open", kind), tip=tip) for kind, text, tip in labs)
        return Flow(label("What can my device do?", "heading"), *buttons)

    def _examples(self) -> QVBoxLayout:
        box = stacked(label("Try an example", "heading"))
        for card in self.cards:
            card.clicked.connect(self._asking("open_example", card.name, card.example))
            box.addWidget(card)
        if not self.cards:
            box.addWidget(label("The examples are not installed with this copy of clalign.", "muted", wrap=True))
        box.addStretch(1)
        return box

    def _foot(self, show_start: bool) -> Flow:
        self.show_start = QCheckBox("Show at start")
        self.show_start.setProperty("role", "muted")
        self.show_start.setChecked(show_start)
        ask = self.command_requested.emit
        self.show_start.toggled.connect(lambda on: ask("change_preferences", ({"show_start": on},)))
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
        name = ElidedButton(words, self._asking("window.open_recent", entry.path))
        name.setEnabled(not problem)
        name.setToolTip(f"{entry.path}\n{problem}".strip())
        opened = formatting.moment(entry.opened)
        note = FactsLabel(problem or (f"{state} · {opened}" if state else opened), "muted")
        tip = "Unpin from this list" if entry.pinned else "Pin to this list"
        turn = self._asking("window.pin", entry.path, not entry.pinned)
        pin = IconButton("pin" if entry.pinned else "pin-outline", tip, turn)
        return held(row((name, 1), (note, 1), pin, spacing=4))

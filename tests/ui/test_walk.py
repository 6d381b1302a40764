"""Every page of the window at three sizes, with texts as they are, as long as in German, and as short as in Chinese."""

from __future__ import annotations

import itertools
import math
import shutil
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QScrollArea,
    QSplitterHandle,
    QTabBar,
    QTableView,
    QToolButton,
    QWidget,
)

import clalign
from clalign.labs.register import LABORATORIES
from clalign.ui.models.results import hits_model
from clalign.ui.models.widgets import text_table
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.widgets.option_form import TICK_LETTERS, OptionForm
from clalign.ui.views.widgets.parts import (
    ElidedButton,
    ElidedLabel,
    FactsLabel,
)
from tests.conftest import is_asked

SIZES = ((900, 600), (1280, 800), (1920, 1080))
"""The smallest window, the usual one, and one in which everything has room."""

Looks = dict[str, tuple[float, tuple[tuple[int, int], ...]]]

LOOKS: Looks = {"as it is": (1.0, SIZES), "as German": (1.35, SIZES[:2]), "as Chinese": (0.7, SIZES[1:2])}
"""How long texts are, as a share, and in which sizes they are looked at: long ones want for room in small windows."""
FEW_LOOKS: Looks = {"as it is": (1.0, SIZES[2:]), "as German": (1.35, SIZES[:1]), "as Chinese": (0.7, SIZES[1:2])}
"""Each length and each size once, for plain runs."""
LARGE = 12
"""Points of a large font, in which texts are looked at as they are."""
LONGEST_WORD = 30
MARGIN = 20
"""Pixels between widgets, or at the edge of what they are in, that count for no room."""
SLACK = 2
"""Pixels that rounding may take."""


def of_length(text: str, share: float) -> str:
    """Return a text of about so many letters; numbers, the names of options (`--max`), and sequences stay."""
    is_data = text.startswith("-") or (" " not in text and len(text) > LONGEST_WORD)
    if share == 1 or is_data or not any(letter.isalpha() for letter in text):
        return text
    wanted = max(1, round(len(text) * share))
    again = text + " " * (" " in text)
    return (again * math.ceil(share))[:wanted]


# ---- what is wrong with what is seen


def seen_part(widget: QWidget, window: QWidget) -> QRect:
    """Return what of a widget is not hidden by the edges of what it is in, in the window's coordinates."""
    found = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
    above = widget.parentWidget()
    while above is not None and above is not window:
        found &= QRect(above.mapTo(window, QPoint(0, 0)), above.size())
        above = above.parentWidget()
    return found & window.rect()


def scroller(widget: QWidget) -> QAbstractScrollArea | None:
    """Return the area in which a widget is scrolled."""
    above = widget.parentWidget()
    while above is not None and not above.isWindow():
        if isinstance(above, QAbstractScrollArea) and widget is not above.viewport():
            return above
        above = above.parentWidget()
    return None


def name_of(widget: QWidget) -> str:
    """Return words by which a widget is found in the source."""
    text = ""
    for attribute in ("text", "accessibleName", "objectName"):
        text = text or str(getattr(widget, attribute, str)())
    above: Any = widget.parentWidget()
    while above is not None and type(above).__module__.startswith("PySide6"):
        above = above.parentWidget()
    return f"{type(widget).__name__} {text[:60]!r} in {type(above).__name__}"


def needed_width(widget: QWidget) -> int | None:
    """Return the width in pixels that the text of a widget in one line needs; None if it has no such text."""
    if isinstance(widget, ElidedLabel):
        return widget.sizeHint().width() if widget.text() else None
    if isinstance(widget, ElidedButton):
        return widget.fontMetrics().horizontalAdvance(widget._whole) + 12
    if isinstance(widget, QLabel):
        return widget.sizeHint().width() if widget.text() and not widget.wordWrap() else None
    if isinstance(widget, QAbstractButton) and widget.text():
        is_icon = isinstance(widget, QToolButton) and widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
        return None if is_icon else widget.sizeHint().width()
    return None


def is_cut(widget: QWidget, needed: int) -> bool:
    """Return whether letters are missing."""
    if isinstance(widget, ElidedLabel):
        return widget.shown() != widget.text()
    return widget.width() + SLACK < needed


def can_shorten(widget: QWidget) -> bool:
    """Return whether a widget shows that letters are missing."""
    return isinstance(widget, ElidedLabel | ElidedButton)


def room_beside(widget: QWidget, siblings: list[QWidget]) -> int:
    """Return how many pixels right of a widget nobody needs."""
    parent = widget.parentWidget()
    assert parent is not None
    end = widget.x() + widget.width()
    right = [w for w in siblings if w is not widget and overlaps_in_height(w, widget) and w.x() >= end]
    free = min((w.x() for w in right), default=parent.width()) - end - MARGIN
    for other in right:
        if not can_shorten(other):
            least = max(other.minimumWidth(), other.sizeHint().width(), needed_width(other) or 0)
            free += max(0, other.width() - least)
    return free


def overlaps_in_height(one: QWidget, other: QWidget) -> bool:
    """Return whether two widgets of one parent are in one row."""
    return one.y() < other.y() + other.height() and other.y() < one.y() + one.height()


def text_faults(widget: QWidget, siblings: list[QWidget]) -> Iterator[str]:
    """Yield what is wrong with the text of a widget."""
    needed = needed_width(widget)
    if needed is not None and is_cut(widget, needed):
        if not can_shorten(widget):
            yield f"cut: {name_of(widget)} has {widget.width()} of {needed} pixels"
        elif (room := room_beside(widget, siblings)) > SLACK and not isinstance(widget, FactsLabel):
            yield f"shortened beside {room} free pixels: {name_of(widget)} has {widget.width()} of {needed}"
        elif room_beside(widget, siblings) >= needed - widget.width():
            yield f"shortened where there is room: {name_of(widget)} has {widget.width()} of {needed}"
    if isinstance(widget, ElidedLabel) and widget.text() and widget.height() < widget.sizeHint().height() - SLACK:
        yield f"cut: {name_of(widget)} has {widget.height()} of {widget.sizeHint().height()} pixels of height"
    if isinstance(widget, QLabel) and widget.wordWrap() and widget.text():
        high = widget.heightForWidth(widget.width())
        if high > widget.height() + SLACK:
            yield f"cut: {name_of(widget)} has {widget.height()} of {high} pixels of height"


def header_faults(header: QHeaderView, table: QTableView) -> Iterator[str]:
    """Yield titles of columns that are shortened where other columns, or what is right of them, could give room."""
    model = header.model()
    if header.orientation() != Qt.Orientation.Horizontal or model is None:
        return
    metrics = header.fontMetrics()
    margin = 2 * 6  # of the style sheet
    spare = max(0, table.viewport().width() - header.length())
    rows = range(min(model.rowCount(), 20))
    wants = []
    for place in range(header.count()):
        if header.isSectionHidden(place):
            continue
        title = str(model.headerData(place, Qt.Orientation.Horizontal) or "")
        lack = metrics.horizontalAdvance(title) + margin - header.sectionSize(place)
        if lack > SLACK and title:
            wants.append((title, lack))
        else:
            hints = (table.sizeHintForIndex(model.index(row, place)).width() for row in rows)
            spare += max(0, min(-lack, header.sectionSize(place) - max(hints, default=0)))
    for title, lack in wants:
        if spare >= lack:
            yield f"shortened where there is room: column {title!r} of {name_of(table)} lacks {lack} of {spare} pixels"


def tab_faults(bar: QTabBar) -> Iterator[str]:
    """Yield tabs whose words are shortened, and those that must be scrolled to."""
    for place in range(bar.count()):
        rect = bar.tabRect(place)
        if bar.isTabVisible(place) and not bar.rect().contains(rect, False) and not bar.usesScrollButtons():
            yield f"outside: tab {bar.tabText(place)!r}"


def place_faults(widget: QWidget, window: QWidget) -> Iterator[str]:
    """Yield what is wrong with where a widget is."""
    area = scroller(widget)
    if area is None:
        place = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
        parent = widget.parentWidget()
        if not window.rect().contains(place):
            yield f"outside the window: {name_of(widget)} at {place.getRect()}"
        elif not parent.rect().adjusted(-1, -1, 1, 1).contains(widget.geometry()):
            yield f"outside of what it is in: {name_of(widget)} at {widget.geometry().getRect()} of {parent.size()}"
    elif isinstance(area, QScrollArea) and area.widget() is widget:
        never = area.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if never and widget.width() > area.viewport().width() + SLACK:
            end = area.viewport().width()
            inner = [w for w in widget.findChildren(QWidget) if w.isVisible() and type(w) is not QWidget]
            widest = sorted(((w.minimumSizeHint().width(), name_of(w)) for w in inner), reverse=True)[:4]
            yield f"cannot be scrolled to: {name_of(widget)} is {widget.width()} wide in {end}, as {widest} are"


def laid_out(parent: QWidget) -> set[int]:
    """Return the widgets that a layout has placed: others lie over them on purpose."""
    found: set[int] = set()

    def look(layout: Any) -> None:
        for place in range(layout.count()):
            item = layout.itemAt(place)
            if item.widget() is not None:
                found.add(id(item.widget()))
            elif item.layout() is not None:
                look(item.layout())

    if parent.layout() is not None:
        look(parent.layout())
    return found


def overlap_faults(parent: QWidget, children: list[QWidget]) -> Iterator[str]:
    """Yield widgets that lie over others."""
    placed = laid_out(parent)
    for one, other in itertools.combinations([w for w in children if id(w) in placed], 2):
        common = one.geometry() & other.geometry()
        if common.width() > 1 and common.height() > 1:
            yield f"overlap of {common.width()} x {common.height()}: {name_of(one)} and {name_of(other)}"


def faults(window: QWidget) -> list[str]:
    """Return everything that is wrong with what the window shows now."""
    found: list[str] = []
    hint = window.minimumSizeHint()
    if hint.width() > window.width() or hint.height() > window.height():
        found.append(f"the window would need {hint.width()} x {hint.height()}")
    children: dict[int, tuple[QWidget, list[QWidget]]] = {}
    for widget in window.findChildren(QWidget):
        parent = widget.parentWidget()
        is_edge = widget.objectName() == "qt_qmainwindow_extended_splitter"  # Qt's own, wider than it is seen
        if widget.isVisible() and widget.window() is window and parent is not None and not is_edge:
            children.setdefault(id(parent), (parent, []))[1].append(widget)
    for parent, siblings in children.values():
        if isinstance(parent, QTableView | QTabBar) or type(parent).__module__.startswith("pyqtgraph"):
            continue
        found += overlap_faults(parent, siblings)
        for widget in siblings:
            if isinstance(widget, QSplitterHandle) or (seen_part(widget, window).isEmpty() and scroller(widget)):
                continue
            found += place_faults(widget, window)
            found += text_faults(widget, siblings)
            if isinstance(widget, QTableView):
                found += header_faults(widget.horizontalHeader(), widget)
            elif isinstance(widget, QTabBar):
                found += tab_faults(widget)
    return found


class Language:
    """Lengthens or shortens what the window says.

    Attributes
    ----------
    share : float
        Of the length of each text.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.share = 1.0
        for kind in (hits_model.HitsModel, text_table.TextTable):
            monkeypatch.setattr(kind, "headerData", self._translated(kind.headerData))

    def _translated(self, usual: Callable[..., Any]) -> Callable[..., Any]:
        def header_data(model: Any, section: int, side: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
            text = usual(model, section, side, role)
            is_title = role == Qt.ItemDataRole.DisplayRole and isinstance(text, str)
            return of_length(text, self.share) if is_title else text

        return header_data

    @contextmanager
    def spoken(self, window: QWidget, share: float) -> Iterator[None]:
        """Let the window say everything in texts of another length."""
        self.share = share
        before: list[tuple[Callable[[str], None], Callable[[], str], str]] = []
        for widget in window.findChildren(QWidget) if share != 1 else ():
            if isinstance(widget, ElidedButton):  # the name of a file, which nobody translates
                continue
            if isinstance(widget, ElidedLabel | QAbstractButton | QLabel):
                show_text = filled(widget) if isinstance(widget, QCheckBox) else widget.setText
                before.append((show_text, widget.text, widget.text()))
            elif isinstance(widget, QTabBar):
                for place in range(widget.count()):
                    show_text, words = partial(widget.setTabText, place), partial(widget.tabText, place)
                    before.append((show_text, words, words()))
            elif isinstance(widget, QHeaderView) and widget.model() is not None and widget.count():
                widget.headerDataChanged(widget.orientation(), 0, widget.count() - 1)
        before = [(show_text, words, text, of_length(text, share)) for show_text, words, text in before if text]
        for show_text, _, _, other in before:
            show_text(other)
        yield
        self.share = 1.0
        for show_text, words, text, other in before:
            if words() == other:
                show_text(text)


def filled(box: QCheckBox) -> Callable[[str], None]:
    """Return what shows another text in the lines that a form fills."""
    above: Any = box.parentWidget()
    in_form = above is not None and isinstance(above.parentWidget(), OptionForm)
    return (lambda text: box.setText(textwrap.fill(text, TICK_LETTERS))) if in_form else box.setText


def turn(n_times: int = 2) -> None:
    """Let layouts settle."""
    for _ in range(n_times):
        QCoreApplication.sendPostedEvents()
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


class Walk:
    """Looks at pages in every size and language and remembers what was wrong."""

    def __init__(self, window: MainWindow, language: Language, looks: Looks) -> None:
        self.window, self.language, self.looks = window, language, looks
        self.found: dict[str, str] = {}

    def look(self, name: str) -> None:
        """Look at what is in view now."""
        turn()
        self.window.setUpdatesEnabled(False)  # nothing that is looked for depends on what is drawn
        for length, (share, sizes) in self.looks.items():
            with self.language.spoken(self.window, share):
                for size in sizes:
                    self.window.resize(*size)
                    turn()
                    where = f"{name}, {size[0]}x{size[1]}, {length}"
                    for fault in faults(self.window):
                        self.found.setdefault(fault, where)
                    if (self.window.width(), self.window.height()) != size:
                        self.found.setdefault(f"{name}: the window became {self.window.size()}", where)
        self.window.resize(1280, 800)
        self.window.setUpdatesEnabled(True)
        turn()

    def look_at_sheet(self, name: str, open_it: Callable[[], object]) -> None:
        """Look at a sheet, and close it."""
        open_it()
        assert self.window.sheets.sheet is not None, name
        self.look(name)
        self.window.sheets.close_sheet()

    def error_text(self) -> str:
        """Return everything that was wrong, a line each."""
        return "\n".join(f"{where}: {fault}" for fault, where in self.found.items())


FONTS = [("Subset DejaVu Sans", 10), ("Subset Noto Sans", LARGE)]
pytestmark = [
    pytest.mark.thorough(text_font=FONTS[:1]),
    pytest.mark.parametrize("text_font", FONTS, indirect=True, ids=["10", "12"]),
]


@pytest.fixture
def walk(
    unwatched_window: MainWindow, monkeypatch: pytest.MonkeyPatch, text_font: QFont, pytestconfig: pytest.Config
) -> Walk:
    looks = LOOKS if is_asked(pytestconfig, "thorough") else FEW_LOOKS
    n_looks = len(looks) if text_font.pointSize() < LARGE else 1
    return Walk(unwatched_window, Language(monkeypatch), dict([*looks.items()][:n_looks]))


# ---- the walks


def test_faults_are_found(qtbot: Any) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(400, 300)
    box = QHBoxLayout(window)
    cut, short, free = QLabel("a text that needs more room than it has"), ElidedLabel("a long text " * 3), QWidget()
    cut.setFixedWidth(20)
    short.setFixedWidth(50)
    for widget in (cut, short, free):
        box.addWidget(widget)
    window.show()
    assert {line.split()[0] for line in faults(window)} == {"cut:", "shortened"}
    free.setGeometry(short.geometry().translated(10, 0))
    cut.move(-30, 0)
    assert {line.split()[0] for line in faults(window)} >= {"outside", "overlap"}


def test_start_and_sheets(qtbot: Any, walk: Walk, files: dict[str, str], drop: Any) -> None:
    window, controller = walk.window, walk.window.controller
    walk.look("start page")
    for name, open_it in (
        ("pasted sequences", controller.sources.paste_sequences), ("preferences", controller.preferences),
        ("keys", window.show_keys), ("about", window.about), ("messages", controller.help.messages),
        ("device", controller.devices.device_details),
    ):  # fmt: skip
        walk.look_at_sheet(name, open_it)
    drop(window, [files["made.fasta"], files["made.hmm"]])
    qtbot.waitUntil(lambda: controller.search.sheet is not None)
    for name in ("made.hmm", "made.fasta"):  # which of them is read first, and shown last, is chance
        window.details.show_source(controller.workspace.sources[files[name]])
        walk.look(f"search sheet beside {name}")
    controller.search.sheet.form.toggle_more()
    walk.look("search sheet with all options")
    for form in (controller.pairs, controller.align):
        form.open_sheet()
        walk.look(f"sheet of {form.sheet.heading}")
        form.sheet.form.toggle_more()
        walk.look(f"sheet of {form.sheet.heading} with all options")
    window.sheets.close_sheet()
    window.start_tour()
    walk.look("tour")
    assert not walk.found, walk.error_text()


@pytest.mark.thorough
def test_laboratory_help_and_library(qtbot: Any, walk: Walk, made_run: Callable[..., Path]) -> None:
    controller = walk.window.controller
    for kind in LABORATORIES:
        controller.labs.open(kind)
        walk.look(f"laboratory: {kind}")
    controller.help.show()
    walk.look("help")
    folder = walk.window.settings.runs
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        shutil.move(made_run(name=name), folder / f"{name}.clalign")
    controller.library.show()
    page: Any = walk.window.center.currentWidget()
    qtbot.waitUntil(lambda: len(page.model.rows) == 2)
    walk.look("library")
    page.table.selectAll()
    walk.look("library with two runs selected")
    paths = page.chosen()
    walk.look_at_sheet("name of a run", lambda: controller.library.rename(paths[:1]))
    walk.look_at_sheet("question before runs are deleted", lambda: controller.library.delete(paths))
    controller.library.compare(paths)
    qtbot.waitUntil(lambda: walk.window.sheets.sheet is not None)
    walk.look("comparison of runs")
    assert not walk.found, walk.error_text()


def look_at_results(qtbot: Any, walk: Walk, path: Path) -> Any:
    """Look at every tab of a run and at what its buttons open."""
    controller = walk.window.controller
    controller.open_run_page(str(path))
    page: Any = controller.page
    qtbot.waitUntil(lambda: bool(page.run.cards) and not page.run.is_due and not page.run.hits.is_busy)
    for name in page.shown_parts:
        page.show_tab(name)
        for _ in range(2):  # what is read may ask for more
            qtbot.waitUntil(lambda: controller.reader.is_idle and controller.files.is_idle)
            turn()
        walk.look(f"{page.run.engine.name}: {name}")
    walk.look_at_sheet("report", controller.show_report)
    return page


def test_results_of_profiles(qtbot: Any, walk: Walk, families: Path) -> None:
    page = look_at_results(qtbot, walk, families)
    controller = walk.window.controller
    walk.look_at_sheet("export of hits", controller.hits.export_hits)
    walk.look_at_sheet("name of a sequence", controller.explanations.explain_named)
    walk.window.messages.notify(
        "stop", "The run could not be read, and this is why, in a sentence that is rather long."
    )
    walk.window.messages.notify("good", "Written to a file.", ("Show", lambda: None))
    page.show_tab("hits")
    walk.look("messages over hits")
    assert not walk.found, walk.error_text()


@pytest.mark.thorough
def test_results_of_pairs(qtbot: Any, walk: Walk, pair_runs: dict[str, Path]) -> None:
    look_at_results(qtbot, walk, pair_runs["proteins"])
    assert not walk.found, walk.error_text()


@pytest.mark.thorough
def test_alignments(qtbot: Any, walk: Walk, tmp_path: Path) -> None:
    sequences = tmp_path / "family.fasta"
    texts = ("MKVLAAGIVLLAWKDPNQSTRYCHE", "MKVLAGIVLLAWKDPNSTRYCHE", "MKVAAGIVLAWKDPPNQSTRYCE")
    sequences.write_text("".join(f">row{number}\n{text}\n" for number, text in enumerate(texts)))
    run = tmp_path / "family.clalign"
    clalign.align_many(sequences, run=run, device="reference").close()
    look_at_results(qtbot, walk, run)
    controller = walk.window.controller
    aligned = tmp_path / "family.afa"
    aligned.write_text("".join(f">row{number}\n{text:-<25}\n" for number, text in enumerate(texts)))
    controller.alignments.open(str(aligned))
    qtbot.waitUntil(lambda: controller.alignments.panel is not None and controller.alignments.panel.view.is_measured)
    walk.look("alignment of a file")
    controller.alignments.panel.start_finding()
    walk.look("alignment with the field to find in it")
    walk.look_at_sheet("picture of an alignment", controller.alignments.export_picture)
    assert not walk.found, walk.error_text()

"""A sheet over the center of the window: not modal, closed by Esc, one at a time or one to read above a form."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QPushButton, QWidget
from shiboken6 import isValid

from ... import theme
from .parts import IconButton, height_for, held, label, line, row, scrolled, stacked

ROW_PIXELS = 8
"""Widgets whose tops are closer are in one row for the Tab key."""


class Sheet(QWidget):
    """A heading, a body that scrolls if necessary, and a foot.

    Parameters
    ----------
    heading : str
    width : int
        Pixels, if the window is that wide; more where widgets in a large font need it.
    """

    closed = Signal()
    resized = Signal()
    """Its content has grown or shrunk."""

    is_aside: ClassVar[bool] = False
    """Whether it is read above another one, which is there again after it."""

    def __init__(self, heading: str, width: int = 640) -> None:
        super().__init__()
        self.preferred_width = width
        self.heading = heading
        self.body, self.foot = stacked(margins=(20, 12, 20, 12)), stacked(margins=(20, 10, 20, 14))
        close = IconButton("close", "Close (Esc)", self.close_sheet)
        self._top = row(label(heading, "heading"), None, close, margins=(20, 12, 12, 4))
        self._inside = held(self.body)
        self._scroll = scrolled(self._inside)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setMinimumHeight(1)  # its own would squeeze the foot below a single line
        self.setLayout(stacked(self._top, (self._scroll, 1), line(), self.foot, spacing=0))

    @property
    def min_width(self) -> int:
        """The pixels of its widgets with the present font."""
        return max(part.minimumSize().width() for part in (self._inside.layout(), self.foot, self._top) if part)

    def preferred_height(self, width: int) -> int:
        """Return the height that shows everything."""
        return (
            height_for(self._inside.layout(), width) + height_for(self.foot, width) + self._top.sizeHint().height() + 3
        )

    def focusNextPrevChild(self, forward: bool) -> bool:
        # The Tab key stays inside the sheet, in reading order.
        stops = [w for w in self.findChildren(QWidget) if w.isVisible() and w.isEnabled()]
        stops = [w for w in stops if w.focusPolicy() & Qt.FocusPolicy.TabFocus and w.focusProxy() is None]
        if not stops:
            return False
        places = {w: w.mapTo(self, QPoint(0, 0)) for w in stops}
        stops.sort(key=lambda w: (places[w].y() // ROW_PIXELS, places[w].x()))
        here = self.window().focusWidget()
        step = 1 if forward else -1
        place = stops.index(here) + step if here in stops else 0
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        stops[place % len(stops)].setFocus(reason)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Enter presses the focused button, or from a field the main button.
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
            return
        here = self.window().focusWidget()
        primary = (b for b in self.findChildren(QPushButton) if b.property("role") == "primary" and b.isVisible())
        pressed = here if isinstance(here, QAbstractButton) and not here.isCheckable() else next(primary, None)
        if pressed is not None:
            pressed.click()

    def close_sheet(self) -> None:
        """Request to be closed."""
        self.closed.emit()


class SheetHost(QWidget):
    """Covers the center while a sheet is open, and dims what is behind.

    Parameters
    ----------
    parent : QWidget
        What it covers.
    """

    sheet_closed = Signal()
    focus_left = Signal()
    """The sheet that had the focus was closed, and what had it before is gone."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._frame = QFrame(self)
        self._frame.setProperty("role", "surface")
        self._box = stacked()
        self._frame.setLayout(self._box)
        self._open: list[tuple[Sheet, QWidget | None]] = []
        """Sheets, each above the one before, with what had the focus."""
        parent.installEventFilter(self)
        self.hide()

    @property
    def sheet(self) -> Sheet | None:
        """The sheet in view."""
        return self._open[-1][0] if self._open else None

    def open_sheet(self, sheet: Sheet) -> None:
        """Show a sheet, in place of others unless it is only read."""
        if not sheet.is_aside:
            self.close_sheet()
        elif self.sheet is not None and self.sheet.is_aside:
            self.leave_sheet()
        below = self.sheet
        self._open.append((sheet, (below or self.window()).focusWidget()))
        if below is not None:
            below.hide()
        self._box.addWidget(sheet)
        sheet.closed.connect(self.leave_sheet)
        sheet.resized.connect(self.fit)
        self._place()
        self.show()
        self.raise_()
        sheet.show()
        sheet.setFocus()
        first = sheet.focusProxy() or sheet.nextInFocusChain()
        if first is not None:
            first.setFocus(Qt.FocusReason.OtherFocusReason)
        self._place()

    def close_sheet(self) -> None:
        """Close all sheets, if there are any, and give the focus back."""
        while self._open:
            self.leave_sheet()

    def leave_sheet(self) -> None:
        """Close the sheet in view, if there is one; that below it is there again, and the focus where it was."""
        if not self._open:
            return
        sheet, before = self._open.pop()
        had_focus = sheet.isAncestorOf(self.window().focusWidget())
        if self.sheet is not None:
            self.sheet.show()
        is_there = before is not None and isValid(before) and before.isVisible()
        if had_focus and is_there and before is not None:
            before.setFocus()
        elif had_focus:
            self.focus_left.emit()
        self._box.removeWidget(sheet)
        sheet.hide()
        sheet.deleteLater()
        self._place()
        if self.sheet is None:
            self.hide()
            self.sheet_closed.emit()

    def fit(self) -> None:
        """Fit the size of the sheet to its content."""
        # In the next turn: widgets that were just added have no size yet.
        QTimer.singleShot(0, self, lambda: self._place(is_open=True))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.parent() and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self, is_open: bool = False) -> None:
        """Center the sheet; one that was open keeps its top and does not shrink: no button moves away from a click."""
        parent = self.parent()
        if not isinstance(parent, QWidget):
            return
        self.setGeometry(parent.rect())
        if self.sheet is None:
            return
        # Text wraps within the border; a pixel more would seem to need a line less.
        border = self._frame.width() - self._frame.contentsRect().width()
        width = min(max(self.sheet.preferred_width, self.sheet.min_width + border), self.width() - 32)
        # A third of what is left is above it: below its foot there is room for the line of a message.
        margin, foot = 8, 3 * self.fontMetrics().lineSpacing()
        room = self.height() - margin - foot
        height = min(self.sheet.preferred_height(width - border) + border, room)
        top, before = max(margin, (self.height() - height) // 3), self._frame.geometry()
        if is_open:
            height = max(height, min(before.height(), room))
            top = max(margin, min(before.top(), self.height() - foot - height))
        self._frame.setGeometry((self.width() - width) // 2, top, width, height)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave_sheet()
            return
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # A click beside the sheet must not reach what is behind it.
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        shade = QColor(theme.current().window)
        shade.setAlpha(200)
        painter.fillRect(self.rect(), shade)

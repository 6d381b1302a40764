"""An alignment of many rows with cursor, selection and zoom by keys and pointer."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent, QResizeEvent, QWheelEvent

from ... import formatting
from ...models.alignment.rows_view import RowsView, Selection
from ..widgets.place_tips import PlaceTips
from .rows_area import MAX_NAMES, MIN_NAMES, Place, RowsArea
from .rows_tracks import track_words


class RowsCanvas(RowsArea):
    """Shows a `RowsView`.

    Keys: arrows move the cursor, with Shift they select; Page keys, Home and End go further, with Ctrl to the ends of
    the alignment; Ctrl with the wheel makes columns wider or narrower, with Shift rows higher or lower.
    """

    find_requested = Signal()
    copy_requested = Signal()
    menu_requested = Signal(object, object)

    def __init__(self, view: RowsView) -> None:
        super().__init__(view)
        PlaceTips(self.viewport(), self.tip_at)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.arrange()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta()
        held = event.modifiers()
        steps = 1 if (turn.y() or turn.x()) > 0 else -1
        if held & Qt.KeyboardModifier.ControlModifier:
            if held & Qt.KeyboardModifier.ShiftModifier:
                self.zoom_rows(steps, event.position())
            else:
                self.zoom(steps, event.position())
        elif held & Qt.KeyboardModifier.ShiftModifier or abs(turn.x()) > abs(turn.y()):
            bar = self.horizontalScrollBar()
            bar.setValue(bar.value() - (turn.x() or turn.y()))
        else:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() - turn.y())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        place = self.place_at(event.position())
        self._dragged = place.part
        extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if place.part == "cells":
            self.view.move_to(place.row, place.column, extend)
        elif place.part in ("names", "ruler"):
            self._select_line(place, extend)

    def _select_line(self, place: Place, extend: bool) -> None:
        """Select a row or a column, or extend the selected lines to it."""
        view, old = self.view, self.view.selection
        if place.part == "names":
            begin = self._first if self._first >= 0 else place.row
            begin = old.rows.start if extend and old is not None else begin
            low, high = sorted((begin, place.row))
            chosen = Selection(range(low, high + 1), range(view.n_columns))
        else:
            begin = old.columns.start if extend and old else self._first if self._first >= 0 else place.column
            low, high = sorted((begin, place.column))
            chosen = Selection(range(view.n_rows), range(low, high + 1))
        self._first = begin
        row, column = view.cursor
        view.cursor = (place.row, column) if place.part == "names" else (row, place.column)
        view.select(chosen)

    _first = -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position())
        if not event.buttons() & Qt.MouseButton.LeftButton:
            shape = Qt.CursorShape.SplitHCursor if place.part == "edge" else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            if place.part == "cells":
                self.described.emit(" · ".join(self.view.describe(place.row, place.column)))
            return
        if self._dragged == "edge":
            self.names = min(MAX_NAMES, max(MIN_NAMES, event.position().x()))
            self.arrange()
        elif self._dragged == "cells" and place.part == "cells":
            self.view.move_to(place.row, place.column, True)
        elif self._dragged in ("names", "ruler") and place.part == self._dragged:
            self._select_line(place, False)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged, self._first = "", -1

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.place_at(event.position()).part == "edge":
            self.fit_names()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event.globalPos(), self.place_at(event.pos().toPointF()))

    def event(self, event: QEvent) -> bool:
        # Commands of other pages have some of these keys, too.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self._own_key(event, False)
        ):
            event.accept()
            return True
        return super().event(event)

    def _own_key(self, event: QKeyEvent, act: bool) -> bool:
        """Handle a key with Ctrl; return whether it belongs to this view."""
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            return False
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        calls: dict[Qt.Key, Callable[[], object]] = {
            Qt.Key.Key_F: self.find_requested.emit, Qt.Key.Key_C: self.copy_requested.emit,
            Qt.Key.Key_A: self.view.select_all,
            Qt.Key.Key_Plus: lambda: self.zoom(1), Qt.Key.Key_Equal: lambda: self.zoom(1),
            Qt.Key.Key_Minus: lambda: self.zoom(-1), Qt.Key.Key_0: lambda: self.zoom(0),
            Qt.Key.Key_Up: lambda: self.zoom_rows(1), Qt.Key.Key_Down: lambda: self.zoom_rows(-1),
        }  # fmt: skip
        call = calls.get(Qt.Key(event.key()))
        if call is None or (shift and event.key() not in (Qt.Key.Key_Plus, Qt.Key.Key_Equal)):
            return False
        if act:
            call()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._own_key(event, True):
            return
        row, column = self.view.cursor
        to_ends = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        page_rows, page_columns = max(1, len(self.shown_rows()) - 2), max(1, len(self.shown_columns()) - 5)
        last_row, last_column = self.view.n_rows - 1, self.view.n_columns - 1
        across = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        moves = {
            Qt.Key.Key_Left: (row, column - 1),
            Qt.Key.Key_Right: (row, column + 1),
            Qt.Key.Key_Up: (row - 1, column),
            Qt.Key.Key_Down: (row + 1, column),
            Qt.Key.Key_PageUp: (row, column - page_columns) if across else (row - page_rows, column),
            Qt.Key.Key_PageDown: (row, column + page_columns) if across else (row + page_rows, column),
            Qt.Key.Key_Home: (0 if to_ends else row, 0),
            Qt.Key.Key_End: (last_row if to_ends else row, last_column),
        }
        move = moves.get(Qt.Key(event.key()))
        if move is not None:
            self.view.move_to(*move, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif event.key() in (Qt.Key.Key_F3, Qt.Key.Key_Return):
            self.view.step_found(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape and self.view.selection is not None:
            self.view.select(None)
        else:
            super().keyPressEvent(event)

    def tip_at(self, at: QPointF) -> str:
        """Return the tooltip for a place."""
        place, view = self.place_at(at), self.view
        if place.part == "cells":
            return "\n".join(view.describe(place.row, place.column))
        if place.part == "names":
            row = view.row_at(place.row)
            description = view.alignment.descriptions[row]
            length = formatting.plural(int(view.measures.lengths[row]), "residue") if view.is_measured else ""
            return "\n".join(part for part in (view.shown_name(row), description, length) if part)
        if place.part == "ruler":
            return view.column_words(place.column)
        return track_words(view, place.track, place.column) if place.track is not None else ""

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.viewport().update()

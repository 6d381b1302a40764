"""A guide tree beside its alignment: scrolled, zoomed, with clades chosen by clicks and keys."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QComboBox, QWidget

from ... import theme
from ...models.alignment.tree_layout import KINDS, TreeLayout
from ..widgets.parts import ElidedLabel, IconButton, button, fill_box, row, shrinking, stacked
from ..widgets.place_tips import PlaceTips
from .rows_area import RowsArea, stepped
from .tree_painter import EDGE, SCALE, TreeStyle, names_width, paint_scale, paint_tree

LINE = 16.0
LINES = (0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 22, 26, 32)
"""Steps of the zoom; the smallest ones fit a whole tree in."""

GRIP = 5.0
"""Pixels beside a branch where it can be clicked."""

MIN_BRANCHES = 80.0


class TreeCanvas(QAbstractScrollArea):
    """The tree.

    Keys: left goes to the parent, right to the first of the children, up and down to the next branch of the same fork
    or beyond; + and - zoom, 0 shows all of it. Beside rows in its order each leaf is at the height of its row.
    """

    chosen = Signal(int)
    """A node; -1 for none."""

    described = Signal(str)

    def __init__(self, layout: TreeLayout) -> None:
        super().__init__()
        PlaceTips(self.viewport(), self.words_at)
        self.tree, self.line, self.stretch = layout, LINE, 1.0
        self.node = -1
        self.rows: RowsArea | None = None
        self.marked = range(0)
        self._names = 0.0
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Guide tree")
        self.setAccessibleDescription(layout.summary())
        self.setMinimumSize(120, 120)
        self.viewport().setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(360, 500)

    # --- layout ---

    @property
    def style_(self) -> TreeStyle:
        """The present style."""
        room = self.viewport().width() - 2 * EDGE - self._names
        return TreeStyle(theme.current(), max(MIN_BRANCHES, room * self.stretch), self.line, self.node, self.marked)

    @property
    def corner(self) -> QPointF:
        """The place of the root's column at the top of the first line."""
        across, down = self.horizontalScrollBar().value(), self.scrolled.verticalScrollBar().value()
        return QPointF(EDGE - across, (EDGE / 2 if self.rows is None else self.area.top()) - down)

    @property
    def scrolled(self) -> QAbstractScrollArea:
        """What scrolls the lines: the rows, or the tree itself."""
        return self if self.rows is None else self.rows

    @property
    def area(self) -> QRectF:
        """The part of the viewport with the lines: that beside the rows, or all above the scale."""
        width, height = self.viewport().width(), self.viewport().height() - SCALE
        if self.rows is None:
            return QRectF(0, 0, width, height)
        room, place = self.rows.room, QPointF(self.rows.viewport().mapToGlobal(QPoint()))
        return QRectF(0, self.viewport().mapFromGlobal(place).y() + room.top(), width, room.height())

    def stand_beside(self, rows: RowsArea | None) -> None:
        """Show each leaf at the height of its row, of rows in the order of the leaves; or by itself again."""
        line = self.line if rows is None else rows.height_
        if (rows, line) == (self.rows, self.line):
            self.viewport().update()
            return
        self.rows, self.line = rows, line
        self.arrange()  # which measures all names

    def arrange(self) -> None:
        """Fit the scroll bars to what is shown."""
        self._names = min(names_width(self.font(), self.tree, self.line), 0.6 * self.viewport().width())
        across, down, room = self.horizontalScrollBar(), self.verticalScrollBar(), self.viewport().size()
        width = 2 * EDGE + self.style_.branches + names_width(self.font(), self.tree, self.line)
        height = EDGE + self.tree.n_leaves * self.line + SCALE if self.rows is None else 0
        across.setRange(0, max(0, math.ceil(width - room.width())))
        down.setRange(0, max(0, math.ceil(height - room.height())))
        across.setPageStep(max(1, room.width()))
        down.setPageStep(max(1, room.height()))
        down.setSingleStep(max(1, round(self.line)))
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.arrange()

    def shown_lines(self) -> range:
        """Return the visible lines."""
        top = -self.corner.y()
        first = max(0, int(top // self.line))
        return range(first, min(self.tree.n_leaves, math.ceil((top + self.viewport().height()) / self.line)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colors = QPainter(self.viewport()), theme.current()
        painter.setFont(self.font())
        painter.fillRect(self.viewport().rect(), QColor(colors.surface))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        style, below = self.style_, self.viewport().height() - SCALE
        painter.save()
        painter.setClipRect(self.area)
        paint_tree(painter, self.corner, self.tree, style, self.shown_lines())
        painter.restore()
        paint_scale(painter, QPointF(EDGE, below + SCALE / 2), self.tree, style)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setPen(QColor(colors.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    # --- choosing ---

    def words_at(self, at: QPointF) -> str:
        """Return the tooltip for a place."""
        node = self.node_at(at)
        return self.tree.words(node).replace(" · ", "\n") if node >= 0 else ""

    def node_at(self, at: QPointF) -> int:
        """Return the node at a place of the viewport, by branch, fork or name; -1 for none."""
        if not self.area.contains(at):
            return -1
        style, place = self.style_, at - self.corner
        across = style.across(self.tree)
        x, y = place.x() / across, place.y() / self.line - 0.5
        line = round(y)
        if 0 <= line < self.tree.n_leaves:
            leaf = int(self.tree.order[line])
            if place.x() > self.tree.x[leaf] * across + GRIP:
                return leaf
        return self.tree.node_at(x, y, GRIP / across, max(GRIP / self.line, 0.5))

    def choose(self, node: int) -> None:
        """Mark the clade of a node, and scroll to it."""
        if node == self.node:
            return
        self.node = node
        if node >= 0:
            y, bar, height = self.tree.y[node] * self.line, self.scrolled.verticalScrollBar(), self.area.height()
            if not bar.value() <= y <= bar.value() + height - self.line:
                bar.setValue(int(y - height / 2))
            self.described.emit(self.tree.words(node))
        self.viewport().update()

    def mark(self, lines: range) -> None:
        """Mark the names of some lines."""
        if lines != self.marked:
            self.marked = lines
            self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._take(self.node_at(event.position()))

    def _take(self, node: int) -> None:
        self.choose(node)
        self.chosen.emit(node)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        node = self.node_at(event.position())
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor if node < 0 else Qt.CursorShape.PointingHandCursor)
        if node >= 0:
            self.described.emit(self.tree.words(node))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, tree = Qt.Key(event.key()), self.tree
        node = self.node if self.node >= 0 else tree.tree.root
        if key == Qt.Key.Key_Left:
            self._take(tree.parent(node))
        elif key == Qt.Key.Key_Right:
            self._take(tree.children[node][0] if tree.children[node] else node)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._take(self._beside(node, -1 if key == Qt.Key.Key_Up else 1))
        elif key == Qt.Key.Key_Escape and self.node >= 0:
            self._take(-1)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(-1 if key == Qt.Key.Key_Minus else 1)
        elif key == Qt.Key.Key_0:
            self.fit()
        else:
            super().keyPressEvent(event)

    def _beside(self, node: int, step: int) -> int:
        """Return the next branch up or down: a sibling, else one of an ancestor."""
        while self.tree.tree.parents[node] >= 0:
            parent = self.tree.parent(node)
            others = self.tree.children[parent]
            place = others.index(node) + step
            if 0 <= place < len(others):
                return others[place]
            node = parent
        return self.node if self.node >= 0 else node

    # --- zoom ---

    def zoom(self, steps: int, at: QPointF | None = None) -> None:
        """Raise or lower the height of lines around a place, by default the center."""
        if self.rows is not None:
            self.rows.zoom_rows(steps)
            return
        y = at.y() if at is not None else self.viewport().height() / 2
        line = (y - self.corner.y()) / self.line
        self.line = stepped(LINES, self.line, steps)
        self.arrange()
        self.verticalScrollBar().setValue(round(line * self.line - y + EDGE / 2))

    def widen(self, factor: float) -> None:
        """Lengthen or shorten branches."""
        self.stretch = min(20.0, max(0.25, self.stretch * factor))
        self.arrange()

    def fit(self) -> None:
        """Show the whole tree."""
        self.stretch = 1.0
        if self.rows is not None:
            self.rows.fit()
            return
        self.line = min(LINE, max(0.02, (self.viewport().height() - SCALE - EDGE) / self.tree.n_leaves))
        self.arrange()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn, held = event.angleDelta(), event.modifiers()
        up = (turn.y() or turn.x()) > 0
        if held & Qt.KeyboardModifier.ControlModifier:
            if held & Qt.KeyboardModifier.ShiftModifier:
                self.widen(1.25 if up else 0.8)
            else:
                self.zoom(1 if up else -1, event.position())
        else:
            across = bool(held & Qt.KeyboardModifier.ShiftModifier) or abs(turn.x()) > abs(turn.y())
            bar = self.horizontalScrollBar() if across else self.scrolled.verticalScrollBar()
            bar.setValue(bar.value() - (turn.y() or turn.x()))
        event.accept()


class TreePane(QWidget):
    """The tree with its tools."""

    rows_chosen = Signal(object)
    """The rows of the chosen clade in the order of the tree (int64[n]); empty for none."""

    kind_requested = Signal(str)
    sort_requested = Signal()
    export_requested = Signal()
    picture_requested = Signal()
    close_requested = Signal()

    def __init__(self, layout: TreeLayout, kinds: tuple[str, ...]) -> None:
        super().__init__()
        self.canvas = canvas = TreeCanvas(layout)
        self.kinds = shrinking(QComboBox())
        self.kinds.setAccessibleName("Distances")
        self.kinds.setMinimumContentsLength(3)
        fill_box(self.kinds, ((kind, *KINDS[kind]) for kind in kinds))
        self.choose_kind()
        self.kinds.setToolTip("Distances for joining neighbors")
        self.kinds.activated.connect(lambda: self.kind_requested.emit(self.kinds.currentData()))
        self.words = ElidedLabel(layout.summary(), "muted")
        self.sort = button("Sort the rows as the tree", self.sort_requested.emit, "link", "They stand in another order")
        self.sort.hide()
        tools = row(
            (self.kinds, 1),
            None,
            IconButton("magnify-minus-outline", "Lower lines (Ctrl+wheel, key -)", lambda: canvas.zoom(-1)),
            IconButton("magnify-plus-outline", "Higher lines (Ctrl+wheel, key +)", lambda: canvas.zoom(1)),
            IconButton("fit-to-page-outline", "Show the whole tree (key 0)", canvas.fit),
            IconButton("image-outline", "Save or copy a picture of the tree", self.picture_requested.emit),
            IconButton("export-variant", "Export as Newick or as a table of distances", self.export_requested.emit),
            IconButton("close", "Close the tree", self.close_requested.emit),
            spacing=0,
            margins=(6, 4, 2, 2),
        )
        self.setLayout(stacked(tools, (canvas, 1), row((self.words, 1), self.sort, margins=(8, 2, 8, 4)), spacing=0))
        canvas.chosen.connect(self._show_chosen)
        canvas.described.connect(self.words.setText)
        self.setFocusProxy(canvas)

    def choose_kind(self) -> None:
        """Show the distances of the tree."""
        self.kinds.setCurrentIndex(self.kinds.findData(self.canvas.tree.kind))

    def _show_chosen(self, node: int) -> None:
        tree = self.canvas.tree
        self.rows_chosen.emit(tree.leaves(node) if node >= 0 else np.empty(0, np.int64))
        if node < 0:
            self.words.setText(tree.summary())

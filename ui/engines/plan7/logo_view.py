"""A logo on the screen: scrolls through thousands of nodes, one of which is chosen."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from ... import theme
from ...views.widgets.place_tips import PlaceTips
from .logo_figure import LogoFigure
from .logo_painter import MARGIN, ROW, LogoStyle, extra_height, paint_block

CELL, MIN_CELL, GREATEST_CELL = 22.0, 4.5, 64.0
ZOOM = 1.25
EDGE = 8


class LogoView(QAbstractScrollArea):
    """Paints the nodes in view; a click or an arrow key chooses one.

    Keys: left and right step over the nodes, page keys go further, Home and End to the ends; Ctrl with
    the wheel zooms.
    """

    node_chosen = Signal(int)
    view_moved = Signal()

    def __init__(self, name: str = "Logo of the profile") -> None:
        super().__init__()
        PlaceTips(self.viewport(), self.tip_at)
        self.figure: LogoFigure | None = None
        self.node = 0
        self.cell = CELL
        self.scheme = "clustal"
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.setMinimumHeight(220)
        self.horizontalScrollBar().valueChanged.connect(lambda _: self.view_moved.emit())

    def show_figure(self, figure: LogoFigure | None) -> None:
        """Show another figure; the chosen node stays if it exists."""
        self.figure = figure
        self.node = min(self.node, figure.length) if figure is not None else 0
        self.setAccessibleDescription("" if figure is None else figure.title)
        self._arrange()

    def set_scheme(self, scheme: str) -> None:
        """Color residues by another scheme."""
        self.scheme = scheme
        self.viewport().update()

    def choose(self, node: int) -> None:
        """Choose a node, counted from 1, and scroll to it."""
        if self.figure is None or not 1 <= node <= self.figure.length:
            return
        changed, self.node = node != self.node, node
        bar, x = self.horizontalScrollBar(), (node - 1) * self.cell
        if not bar.value() <= x <= bar.value() + self._room() - self.cell:
            bar.setValue(int(x - self._room() / 2))
        self.viewport().update()
        self.view_moved.emit()
        if changed:
            self.node_chosen.emit(node)

    def follow(self, other: LogoView) -> None:
        """Show the same nodes as another view, and mark the same one."""
        if (self.cell, self.node) != (other.cell, other.node):
            self.cell, self.node = other.cell, other.node
            self._arrange()
        self.horizontalScrollBar().setValue(other.horizontalScrollBar().value())

    def zoom(self, steps: int) -> None:
        """Widen or narrow the nodes; 0 restores their width."""
        bar = self.horizontalScrollBar()
        middle = (bar.value() + self._room() / 2) / self.cell
        if self.node and bar.value() <= (self.node - 0.5) * self.cell <= bar.value() + self._room():
            middle = self.node - 0.5
        wanted = self.cell * ZOOM**steps if steps else CELL
        self.cell = min(GREATEST_CELL, max(MIN_CELL, wanted))
        self._arrange()
        bar.setValue(int(middle * self.cell - self._room() / 2))

    def shown_nodes(self) -> range:
        """Return the nodes in view, counted from 0."""
        if self.figure is None:
            return range(0)
        first = int(self.horizontalScrollBar().value() / self.cell)
        return range(first, min(self.figure.length, int(first + self._room() / self.cell) + 2))

    def show_from(self, share: float) -> None:
        """Scroll to a share of the length of the profile."""
        if self.figure is not None:
            total = self.figure.length * self.cell
            self.horizontalScrollBar().setValue(int(share * total - self._room() / 2))

    def _room(self) -> float:
        return max(1.0, self.viewport().width() - MARGIN - EDGE)

    def _arrange(self) -> None:
        bar = self.horizontalScrollBar()
        total = self.figure.length * self.cell if self.figure is not None else 0
        bar.setRange(0, max(0, int(total - self._room())))
        bar.setPageStep(int(self._room()))
        bar.setSingleStep(int(self.cell))
        self.viewport().update()
        self.view_moved.emit()

    def _area(self) -> QRectF:
        return QRectF(self.viewport().rect()).adjusted(0, EDGE, 0, -EDGE)

    def _node_at(self, place: QPointF) -> int:
        """Return the node at a place, counted from 1; 0 if there is none."""
        if self.figure is None or place.x() < MARGIN:
            return 0
        node = int((place.x() - MARGIN + self.horizontalScrollBar().value()) / self.cell) + 1
        return node if node <= self.figure.length else 0

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        colors = theme.current()
        painter.fillRect(self.viewport().rect(), QColor(colors.surface))
        if self.figure is None:
            return
        nodes = self.shown_nodes()
        shift = self.horizontalScrollBar().value() - nodes.start * self.cell
        style = LogoStyle(colors, self.scheme, self.cell)
        paint_block(painter, self._area(), self.figure, nodes, style, shift, self.node - 1 if self.node else None)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colors.accent), 1))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        node = self._node_at(event.position())
        if node:
            self.choose(node)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta().y() or event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1 if turn > 0 else -1)
        else:
            bar = self.horizontalScrollBar()
            bar.setValue(bar.value() - turn)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.figure is None:
            super().keyPressEvent(event)
            return
        page, last = max(1, len(self.shown_nodes()) - 2), self.figure.length
        steps = {
            Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page,
            Qt.Key.Key_Home: -last, Qt.Key.Key_End: last,
        }  # fmt: skip
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        start = self.node or self.shown_nodes().start + (step < 0)
        self.choose(min(last, max(1, start + step)))

    def tip_at(self, place: QPointF) -> str:
        """Return the tooltip for a place."""
        node, figure = self._node_at(place), self.figure
        if not node or figure is None:
            return ""
        top = self._area().bottom() - ROW * len(figure.rows)
        row = int((place.y() - top) // ROW)
        if 0 <= row < len(figure.rows):
            shown = figure.rows[row]
            return f"Node {node}: {shown.name.lower()} {shown.text(node - 1)}. {shown.tip}."
        above, _ = figure.stack(node - 1)
        letters = ", ".join(f"{letter} {bits:.2f}" for letter, bits in reversed(above[-4:]))
        return f"Node {node}, consensus {figure.consensus[node - 1]}" + (f": {letters} bits" if letters else "")

    def sizeHint(self) -> QSize:
        return QSize(700, int(extra_height(self.figure, True)) + 180 if self.figure else 300)


class LogoOverview(QWidget):
    """The whole profile as a skyline with the visible part marked; a click or a drag moves it."""

    def __init__(self, view: LogoView) -> None:
        super().__init__()
        self._view = view
        self.setFixedHeight(34)
        self.setAccessibleName("Overview of the whole profile")
        self.setToolTip("The whole profile; click to go to a place")
        view.view_moved.connect(self.update)
        view.node_chosen.connect(lambda _: self.update())

    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(MARGIN, 4, -EDGE, -2)

    def paintEvent(self, event: QPaintEvent) -> None:
        figure, colors, area = self._view.figure, theme.current(), self._area()
        if figure is None or area.width() < 4:
            return
        painter = QPainter(self)
        nodes = self._view.shown_nodes()
        unit = area.width() / figure.length
        shown = QRectF(area.left() + nodes.start * unit, area.top(), len(nodes) * unit, area.height())
        painter.fillRect(shown.intersected(area), QColor(colors.selected))
        line = figure.skyline(max(1, int(area.width())))
        points = [QPointF(area.left() + x, area.bottom() - share * area.height()) for x, share in enumerate(line)]
        ends = [QPointF(area.left(), area.bottom()), QPointF(area.left() + len(points), area.bottom())]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.bar))
        painter.drawPolygon(QPolygonF([ends[0], *points, ends[1]]))
        if self._view.node:
            painter.fillRect(
                QRectF(area.left() + (self._view.node - 0.5) * unit - 1, area.top(), 2, area.height()),
                QColor(colors.accent),
            )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        area = self._area()
        self._view.show_from((event.position().x() - area.left()) / max(1.0, area.width()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.mousePressEvent(event)

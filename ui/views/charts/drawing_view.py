"""A picture of hits on the screen: scrolled, with tooltips, hits selected by a click or a rubber band."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QRubberBand

from clalign.engines.pictures import HitPicture
from clalign.values.drawings import Drawing

from ... import theme
from ..widgets.place_tips import PlaceTips
from .drawing_painter import paint_shapes

MAX_MARKED = 500
"""Selected parts that get an outline."""

MIN_DRAG = 4
"""Pixels that the pointer moves for a rubber band."""


class DrawingView(QAbstractScrollArea):
    """Lays a picture out for its size, and draws the visible part."""

    hits_picked = Signal(object)
    """The ids of hits (int64[n])."""

    described = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        PlaceTips(self.viewport(), self.words_at)
        self.picture: HitPicture | None = None
        self.drawing: Drawing | None = None
        self._laid_out = QSize()
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._fit)
        self._kept: tuple[object, QPixmap] | None = None
        self._marked: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._pressed: QPointF | None = None
        self._band = QRubberBand(QRubberBand.Shape.Rectangle, self.viewport())
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Picture of hits")
        self.viewport().setMouseTracking(True)
        self.verticalScrollBar().setSingleStep(20)

    def sizeHint(self) -> QSize:
        return QSize(640, 360)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 120)

    def show_picture(self, picture: HitPicture | None) -> None:
        """Show another picture, or none."""
        same = self.picture is not None and picture is not None and self.picture.title == picture.title
        self.picture = picture
        self._marked = np.empty(0, np.int64)
        self.setAccessibleDescription(f"{picture.title}. {picture.sentence}" if picture is not None else "")
        self._lay_out()
        if not same:
            self.verticalScrollBar().setValue(0)

    def _lay_out(self) -> None:
        size = self._laid_out = self.viewport().size()
        self._kept = None
        self.drawing = self.picture.draw(size.width(), size.height()) if self.picture is not None else None
        high = int(self.drawing.height) if self.drawing is not None else 0
        self.verticalScrollBar().setRange(0, max(0, high - size.height()))
        self.verticalScrollBar().setPageStep(size.height())
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        # A change of colors makes the view larger and smaller again in one turn.
        super().resizeEvent(event)
        self._later.start()

    def _fit(self) -> None:
        if self._laid_out != self.viewport().size():
            self._lay_out()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    @property
    def _offset(self) -> float:
        return float(self.verticalScrollBar().value())

    def paintEvent(self, event: QPaintEvent) -> None:
        # The last drawing is kept, so that a rubber band costs nothing.
        painter = QPainter(self.viewport())
        tokens = theme.current()
        key = tokens.name, self._offset, self.viewport().size(), self.devicePixelRatioF()
        is_fit = self._laid_out == self.viewport().size()  # else it is laid out and drawn again in a moment
        if self._kept is None or (is_fit and self._kept[0] != key):
            self._kept = key, self._drawn(tokens)
        painter.drawPixmap(0, 0, self._kept[1])
        if self.drawing is not None and len(self._marked):
            self._paint_marks(painter, self.drawing, tokens)

    def _drawn(self, tokens: theme.Tokens) -> QPixmap:
        ratio, size = self.devicePixelRatioF(), self.viewport().size()
        made = QPixmap(size * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(QColor(tokens.surface))
        if self.drawing is not None and not made.isNull():  # as it is without room
            painter = QPainter(made)
            painter.setFont(self.font())
            seen = QRectF(0, self._offset, size.width(), size.height())
            painter.translate(0, -self._offset)
            paint_shapes(painter, self.drawing.shapes, tokens, seen)
            painter.resetTransform()
            paint_shapes(painter, self.drawing.head, tokens)
            painter.end()
        return made

    def _paint_marks(self, painter: QPainter, drawing: Drawing, tokens: theme.Tokens) -> None:
        painter.setPen(QPen(QColor(tokens.text), 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setClipRect(QRectF(0, drawing.head_height, drawing.width, self.viewport().height()))
        for left, top, right, bottom in drawing.picks.places[self._marked[:MAX_MARKED]].tolist():
            painter.drawRoundedRect(QRectF(left - 1, top - self._offset, right - left + 2, bottom - top), 2, 2)

    def _inside(self, place: QPointF) -> QPointF | None:
        """Return the place in the drawing of a place in the view; None on the head, which has no hits."""
        if self.drawing is None or place.y() < self.drawing.head_height:
            return None
        return place + QPointF(0, self._offset)

    def part_at(self, place: QPointF) -> int | None:
        """Return the part of the picture at a place of the view."""
        inside = self._inside(place)
        if inside is None or self.drawing is None:
            return None
        return self.drawing.picks.at(inside.x(), inside.y())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        if self._pressed is None:
            part = self.part_at(QPointF(place))
            self.viewport().setCursor(Qt.CursorShape.ArrowCursor if part is None else Qt.CursorShape.PointingHandCursor)
            self.described.emit("" if part is None or self.drawing is None else self.drawing.picks.tip(part))
        elif (place - self._pressed).manhattanLength() > MIN_DRAG:
            self._band.setGeometry(QRect(self._pressed.toPoint(), place.toPoint()).normalized())
            self._band.show()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is None or self.drawing is None:
            return
        if not self._band.isVisible():
            part = self.part_at(pressed)
            if part is not None:
                self._pick(np.array([part]), self.drawing.picks.of(part))
            return
        self._band.hide()
        self.pick_within(QRectF(pressed, event.position()).normalized())

    def pick_within(self, area: QRectF) -> None:
        """Select all hits whose parts a rectangle of the view touches."""
        if self.drawing is None:
            return
        # Below the head only: what is scrolled beneath it is not touched.
        top = (max(area.top(), self.drawing.head_height) if area.top() >= 0 else area.top()) + self._offset
        picks = self.drawing.picks
        touched = picks.touched(area.left(), top, area.right(), area.bottom() + self._offset)
        has_hits = np.bincount(picks.parts, minlength=len(touched)) > 0
        self._pick(np.flatnonzero(touched & has_hits), picks.behind(touched))

    def _pick(self, parts: npt.NDArray[np.int64], hits: npt.NDArray[np.int64]) -> None:
        self._marked = parts if len(hits) else np.empty(0, np.int64)
        self.viewport().update()
        if len(hits):
            self.hits_picked.emit(hits)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.SelectAll) and self.drawing is not None:
            self.pick_within(QRectF(0, -self._offset, self.drawing.width, self.drawing.height))
        else:
            super().keyPressEvent(event)

    def words_at(self, place: QPointF) -> str:
        """Return the tooltip for a place."""
        part = self.part_at(QPointF(place))
        return "" if part is None or self.drawing is None else self.drawing.picks.tip(part)

"""Paints dot plots, on the screen and in files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QMarginsF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QImage, QPainter, QPen, QPolygonF

from clalign.common.escapes import escaped
from clalign.values.axes import linear_ticks

from ... import formatting, theme
from .dot_plot import LEVELS, DotPlot, seen_of

LARGEST_NUMBER = "000,000"
"""A number as wide as those at an axis can be."""

MIN_SIDE = 220.0
"""Pixels of a side at least if one sequence is more than twice as long as the other: not at the same scale then."""

MIN_RATIO = 0.25
"""Least ratio of the sides; the plot of longer and narrower sequences is drawn with it."""

DEFAULT_LEVEL = 60
"""Paler dots are hidden at first: chance makes too many of them."""

FEW_DOTS = 0.003
"""Share of an image; fewer dots, as of long sequences, are drawn larger to be visible."""

COARSE_PIXELS = 1.5
"""Pixels of a dot from which on the view is computed again with smaller dots."""

SHORT_PATH = 7.0
"""A path of fewer pixels gets a ring of this radius."""


@dataclass(frozen=True, slots=True)
class DotStyle:
    """Colors and threshold of a plot.

    Attributes
    ----------
    least : int
        Paler dots are left out.
    mark : tuple or None
        Residues passed of query and target where a cross is drawn.
    """

    colors: theme.Tokens
    least: int = DEFAULT_LEVEL
    mark: tuple[float, float] | None = None


def whole(plot: DotPlot) -> QRectF:
    """Return the extent of a plot: residues of the target to the right, of the query downwards."""
    return QRectF(0, 0, max(1, plot.target_length), max(1, plot.query_length))


def axes_room() -> QMarginsF:
    """Return the pixels that names and numbers need around the dots in the window's font."""
    metrics = QFontMetricsF(QGuiApplication.font())
    line = metrics.height()
    return QMarginsF(line + metrics.horizontalAdvance(LARGEST_NUMBER) + 16, 8, 14, 2 * line + 10)


def frame_of(area: QRectF, shown: QRectF) -> QRectF:
    """Return the area of the dots: at the same scale along both sides if there is room."""
    room = area.marginsRemoved(axes_room())
    natural = min(max(shown.height() / shown.width(), MIN_RATIO), 1 / MIN_RATIO)
    least = MIN_SIDE if abs(math.log2(natural)) > 1 else 0.0
    width = max(min(room.width(), room.height() / natural), min(room.width(), least))
    height = max(min(room.height(), room.width() * natural), min(room.height(), least))
    return QRectF(room.left(), room.top(), max(10.0, width), max(10.0, height))


@dataclass(frozen=True, slots=True)
class DotImage:
    """The dots as pixels.

    Attributes
    ----------
    per_row, per_column : float
        Residues in a pixel.
    place : QRectF
        Residues that have dots: of the target to the right, of the query downwards.
    """

    image: QImage
    per_row: float
    per_column: float
    place: QRectF


def shrinking(plot: DotPlot, frame: QRectF, shown: QRectF) -> tuple[int, int]:
    """Return how many rows and columns of dots share a pixel of the screen."""
    down = shown.height() / plot.per_row / max(1.0, frame.height())
    across = shown.width() / plot.per_column / max(1.0, frame.width())
    return max(1, int(down)), max(1, int(across))


def dot_image(plot: DotPlot, style: DotStyle, shrink: tuple[int, int] = (1, 1)) -> DotImage | None:
    """Return the dots with a color for each level; the strongest of a pixel is visible."""
    if plot.dots is None or not plot.dots.size:
        return None
    down, across = shrink
    rows, columns = (-(-n // step) for n, step in zip(plot.dots.shape, shrink, strict=True))
    # Qt wants lines that begin at multiples of four bytes.
    room = np.zeros((rows * down, -(-columns // 4) * 4 * across), np.uint8)
    room[: plot.dots.shape[0], : plot.dots.shape[1]] = plot.dots
    pooled = np.ascontiguousarray(room.reshape(rows, down, -1, across).max(axis=(1, 3)))
    if (pooled >= style.least).mean() < FEW_DOTS:
        pooled = _grown(pooled)
    image = QImage(pooled.data, columns, rows, pooled.shape[1], QImage.Format.Format_Indexed8).copy()
    table = []
    for level in range(LEVELS + 1):
        share = 0.0 if level < style.least else 0.3 + 0.7 * (level - style.least) / max(1, LEVELS - style.least)
        table.append(theme.blend(style.colors.accent, style.colors.surface, share).rgb())
    image.setColorTable(table)
    height, width = plot.dots.shape[0] * plot.per_row, plot.dots.shape[1] * plot.per_column
    place = QRectF(plot.first_column, plot.first_row, width, height)
    return DotImage(image, plot.per_row * down, plot.per_column * across, place)


def _grown(dots: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return dots that cover their neighbors, too."""
    grown = dots.copy()
    for ours, theirs in ((np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:])):
        np.maximum(grown[ours], dots[theirs], out=grown[ours])
        np.maximum(grown[:, ours], dots[:, theirs], out=grown[:, ours])
    return grown


def is_coarse(plot: DotPlot, frame: QRectF, shown: QRectF) -> bool:
    """Return whether a dot takes several pixels of the screen and the sequences allow smaller ones."""
    if plot.dots is None or plot.closer is None or max(plot.per_row, plot.per_column) <= 1:
        return False
    pixels = frame.width() * plot.per_column / shown.width(), frame.height() * plot.per_row / shown.height()
    return max(pixels) > COARSE_PIXELS


def part_around(plot: DotPlot, shown: QRectF) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return first and last residues of query and target for a view and its surroundings."""
    around = shown.adjusted(*(sign * side / 4 for sign in (-1, 1) for side in (shown.width(), shown.height())))
    around = around & whole(plot)
    return (int(around.top()), math.ceil(around.bottom())), (int(around.left()), math.ceil(around.right()))


def paint_dots(
    painter: QPainter, area: QRectF, plot: DotPlot, images: Sequence[DotImage | None], shown: QRectF, style: DotStyle
) -> QRectF:
    """Draw the visible part of a plot, later images over earlier ones; return the area of its dots."""
    colors, frame = style.colors, frame_of(area, shown)
    painter.save()
    painter.fillRect(frame, QColor(colors.surface))
    painter.setClipRect(frame)
    for image in images:
        if image is not None:
            _paint_image(painter, image, frame, shown)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    half_a_pixel = min(shown.width() / frame.width(), shown.height() / frame.height()) / 2
    for path in plot.paths:
        seen = seen_of(path, (shown.top(), shown.bottom()), (shown.left(), shown.right()), half_a_pixel)
        _paint_path(painter, [_point(query, target, frame, shown) for query, target in seen.tolist()], colors)
    if style.mark is not None:
        place = _point(*style.mark, frame, shown)
        painter.setPen(QPen(QColor(colors.text), 1))
        painter.drawLine(QPointF(frame.left(), place.y()), QPointF(frame.right(), place.y()))
        painter.drawLine(QPointF(place.x(), frame.top()), QPointF(place.x(), frame.bottom()))
    painter.restore()
    _paint_axes(painter, frame, plot, shown, colors)
    return frame


def _paint_image(painter: QPainter, image: DotImage, frame: QRectF, shown: QRectF) -> None:
    """Draw the dots of an image."""
    place = image.place & shown
    if place.isEmpty():
        return
    source = QRectF(
        (place.left() - image.place.left()) / image.per_column,
        (place.top() - image.place.top()) / image.per_row,
        place.width() / image.per_column,
        place.height() / image.per_row,
    )
    corners = (_point(place.top(), place.left(), frame, shown), _point(place.bottom(), place.right(), frame, shown))
    painter.drawImage(QRectF(*corners), image.image, source)


def _paint_path(painter: QPainter, line: list[QPointF], colors: theme.Tokens) -> None:
    """Draw a path, a short one with a ring around it."""
    if not line:
        return
    bounds = QRectF(line[0], line[-1]).normalized()
    if max(bounds.width(), bounds.height()) < SHORT_PATH:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for color, width in ((colors.surface, 4), (colors.caution, 2)):
            painter.setPen(QPen(QColor(color), width))
            painter.drawEllipse(bounds.center(), SHORT_PATH, SHORT_PATH)
    for color, width in ((colors.surface, 4), (colors.caution, 2)):
        painter.setPen(QPen(QColor(color), width))
        painter.drawPolyline(QPolygonF(line))


def _point(query: float, target: float, frame: QRectF, shown: QRectF) -> QPointF:
    return QPointF(
        frame.left() + (target - shown.left()) * frame.width() / shown.width(),
        frame.top() + (query - shown.top()) * frame.height() / shown.height(),
    )


def _paint_axes(painter: QPainter, frame: QRectF, plot: DotPlot, shown: QRectF, colors: theme.Tokens) -> None:
    painter.setPen(QPen(QColor(colors.border), 1))
    painter.drawRect(frame)
    metrics = painter.fontMetrics()
    line, wide = metrics.height(), metrics.horizontalAdvance(LARGEST_NUMBER) + 4
    middle, right = Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    ticks = (int(frame.width() / 70) + 1, int(frame.height() / 45) + 1)
    painter.setPen(QColor(colors.muted))
    for value in linear_ticks(max(1.0, shown.left()), shown.right(), ticks[0]):
        x = _point(0, value, frame, shown).x()
        painter.drawLine(QPointF(x, frame.bottom()), QPointF(x, frame.bottom() + 3))
        painter.drawText(QRectF(x - 40, frame.bottom() + 4, 80, line), middle, formatting.count(value))
    for value in linear_ticks(max(1.0, shown.top()), shown.bottom(), ticks[1]):
        y = _point(value, 0, frame, shown).y()
        painter.drawLine(QPointF(frame.left() - 3, y), QPointF(frame.left(), y))
        painter.drawText(QRectF(frame.left() - 6 - wide, y - line / 2, wide, line), right, formatting.count(value))
    below = QRectF(frame.left(), frame.bottom() + 6 + line, frame.width(), line)
    name = metrics.elidedText(escaped(plot.target_name), Qt.TextElideMode.ElideMiddle, int(frame.width()))
    painter.drawText(below, middle, name)
    painter.save()
    painter.translate(frame.left() - wide - line - 8, frame.bottom())
    painter.rotate(-90)
    name = metrics.elidedText(escaped(plot.query_name), Qt.TextElideMode.ElideMiddle, int(frame.height()))
    painter.drawText(QRectF(0, 0, frame.height(), line), middle, name)
    painter.restore()

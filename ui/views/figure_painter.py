"""Draws charts: the same code for the screen, for PNG and for SVG."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from clalign.values.axes import Scale, tick_text
from clalign.values.charts import BarChart, Chart, FitChart, LineChart

from .. import theme

ROW = 24.0
"""Height of a bar with the space around it."""

SERIES = {
    "light": ("#0072B2", "#B85C00", "#00714F", "#9A4D7C", "#1A1E23", "#5A6470"),
    "dark": ("#56B4E9", "#F0B93A", "#2BC79A", "#E6A3C6", "#E7EAED", "#9AA4AE"),
}
"""Colors of lines after Okabe and Ito, dark enough to be read as text too; dashes and names tell them apart as well."""

DASHES = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)

SWATCH = 26.0
"""Width of the piece of a line, or of a bar, that stands before its name in a legend."""

Entry = tuple[str, str]
"""Of a legend: what is drawn, see `paint_swatch`, and its words."""

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
MIDDLE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop


def chart_height(chart: Chart) -> int:
    """Return the least height of a chart in pixels."""
    return int(len(chart.bars) * ROW) + 76 if isinstance(chart, BarChart) else 220


def paint_chart(painter: QPainter, area: QRectF, chart: Chart, colors: theme.Tokens) -> list[tuple[QRectF, str]]:
    """Draw a chart; returns the places that have a tip."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(area, QColor(colors.surface))
    inner = area.adjusted(12, 8, -16, -8)
    if isinstance(chart, BarChart):
        tips = _paint_bars(painter, inner, chart, colors)
    elif isinstance(chart, LineChart):
        tips = _paint_lines(painter, inner, chart, colors)
    else:
        tips = _paint_fit(painter, inner, chart, colors)
    painter.restore()
    return tips


def _metrics(painter: QPainter) -> QFontMetricsF:
    return QFontMetricsF(painter.font(), painter.device())


def _words(painter: QPainter, area: QRectF, side: Qt.AlignmentFlag, text: str, color: str) -> None:
    painter.setPen(QColor(color))
    painter.drawText(area, int(side), text)


def _head(painter: QPainter, area: QRectF, title: str, colors: theme.Tokens) -> QRectF:
    """Draw the title; returns what is left below it."""
    height = _metrics(painter).height()
    font = painter.font()
    font.setBold(True)
    painter.save()
    painter.setFont(font)
    shown = _metrics(painter).elidedText(title, Qt.TextElideMode.ElideRight, area.width())
    _words(painter, QRectF(area.left(), area.top(), area.width(), height), LEFT, shown, colors.text)
    painter.restore()
    return area.adjusted(0, height + 4, 0, 0)


def _across_axis(
    painter: QPainter, area: QRectF, scale: Scale, title: str, colors: theme.Tokens, above: bool = False
) -> None:
    """Draw the axis below or above `area`, with a quiet line at each number."""
    height = _metrics(painter).height()
    numbers, words = (area.top() - height - 3, area.top() - 2 * height - 4) if above else (
        area.bottom() + 3, area.bottom() + 4 + height
    )  # fmt: skip
    for tick in scale.ticks(70):
        x = scale(tick)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        _words(painter, QRectF(x - 40, numbers, 80, height), MIDDLE, tick_text(tick), colors.muted)
    _words(painter, QRectF(area.left() - 60, words, area.width() + 60, height), RIGHT, title, colors.muted)


def _left_axis(painter: QPainter, area: QRectF, scale: Scale, colors: theme.Tokens) -> None:
    height = _metrics(painter).height()
    for tick in scale.ticks(44):
        y = scale(tick)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        where = QRectF(area.left() - 66, y - height / 2, 60, height)
        _words(painter, where, RIGHT, tick_text(tick), colors.muted)


def _paint_bars(painter: QPainter, area: QRectF, chart: BarChart, colors: theme.Tokens) -> list[tuple[QRectF, str]]:
    metrics = _metrics(painter)
    area = _head(painter, area, chart.title, colors)
    area = _legend(painter, area, chart, colors)
    names = max((metrics.horizontalAdvance(bar.name) for bar in chart.bars), default=0.0)
    names = min(names, 0.42 * area.width()) + 10
    # The axis stands above the bars, where it is seen however many there are.
    notes = max((metrics.horizontalAdvance(bar.note) + 14 for bar in chart.bars if bar.value is None), default=0.0)
    after = max(metrics.horizontalAdvance("0000.00×"), min(notes, 0.2 * area.width()))
    plot = area.adjusted(names, metrics.height() + 4, -after, 0)
    row = min(ROW + 6, plot.height() / max(1, len(chart.bars)))
    plot.setHeight(row * max(1, len(chart.bars)))
    scale = Scale(*_bar_span(chart, plot.width(), metrics), plot.left(), plot.right(), chart.log)
    _across_axis(painter, plot, scale, chart.axis, colors, above=True)
    tips = []
    for place, bar in enumerate(chart.bars):
        line = QRectF(area.left(), plot.top() + place * row, area.width(), row)
        name = metrics.elidedText(bar.name, Qt.TextElideMode.ElideRight, names - 10)
        _words(painter, QRectF(line.left(), line.top(), names - 8, row), LEFT, name, colors.text)
        if bar.value is None:
            left = scale(bar.beside) + 12 if bar.beside else scale(1.0 if chart.log else 0.0) + 6
            room = QRectF(left, line.top(), area.right() - left, row)
            shown = metrics.elidedText(bar.note, Qt.TextElideMode.ElideRight, room.width())
            _words(painter, room, LEFT, shown, colors.muted)
        _paint_bar(painter, line, bar.value, bar.beside, bar.text, scale, colors)
        tips.append((line, bar.tip or bar.note))
    return tips


def _bar_span(chart: BarChart, width: float, metrics: QFontMetricsF) -> tuple[float, float]:
    """Return the ends of the axis; left of bars to the left there is room for their numbers."""
    low, high = chart.span()
    left = [(bar.value, bar.text) for bar in chart.bars if chart.log and bar.value is not None and 0 < bar.value < 1]
    if not left:
        return low, high
    share = min(0.4, (max(metrics.horizontalAdvance(text) for _, text in left) + 10) / max(1.0, width))
    least = min(value for value, _ in left)
    return min(low, high * (least / high) ** (1 / (1 - share))), high


def paint_swatch(painter: QPainter, area: QRectF, kind: str, colors: theme.Tokens) -> None:
    """Draw what stands before a name: ``bars``, ``beside``, ``calibration``, ``fit`` or ``cutoff``; else nothing."""
    middle = area.center()
    if kind == "bars":
        painter.setPen(QPen(QColor(colors.accent), 1))
        painter.setBrush(QColor(colors.bar))
        painter.drawRect(QRectF(area.left() + 4, middle.y() - 5, 16, 10))
    elif kind == "beside":
        diamond(painter, middle, colors)
    pens = {
        "calibration": (colors.caution, 2, Qt.PenStyle.SolidLine),
        "fit": (colors.caution, 2, Qt.PenStyle.DashLine),
        "cutoff": (colors.good, 1, Qt.PenStyle.DotLine),
    }
    if kind in pens:
        color, width, style = pens[kind]
        painter.setPen(QPen(QColor(color), width, style))
        painter.drawLine(QPointF(area.left(), middle.y()), QPointF(area.right(), middle.y()))


def paint_legend(painter: QPainter, area: QRectF, entries: tuple[Entry, ...], colors: theme.Tokens) -> QRectF:
    """Name what is drawn, in as many lines as that needs; returns what is left below it."""
    metrics = _metrics(painter)
    height, x, y = metrics.height(), area.left(), area.top()
    for kind, text in entries:
        wide = SWATCH + 6 + metrics.horizontalAdvance(text) + 20
        if x + wide - 20 > area.right() and x > area.left():
            x, y = area.left(), y + height + 2
        paint_swatch(painter, QRectF(x, y, SWATCH, height), kind, colors)
        _words(painter, QRectF(x + SWATCH + 6, y, wide, height), LEFT, text, colors.muted)
        x += wide
    return area.adjusted(0, y + height + 8 - area.top(), 0, 0)


def _legend(painter: QPainter, area: QRectF, chart: BarChart, colors: theme.Tokens) -> QRectF:
    """Say what bars and marks are; returns what is left below it."""
    height = _metrics(painter).height()
    if not chart.beside_name:
        return area.adjusted(0, height + 4, 0, 0)
    return paint_legend(painter, area, (("bars", chart.value_name), ("beside", chart.beside_name)), colors).adjusted(
        0, height, 0, 0
    )


def diamond(painter: QPainter, at: QPointF, colors: theme.Tokens) -> None:
    """Draw the mark of what stands beside a bar."""
    painter.setPen(QPen(QColor(colors.surface), 1))
    painter.setBrush(QColor(colors.caution_text))
    sides = (QPointF(0, -6), QPointF(5, 0), QPointF(0, 6), QPointF(-5, 0))
    painter.drawPolygon(QPolygonF([at + side for side in sides]))


def _paint_bar(
    painter: QPainter,
    line: QRectF,
    value: float | None,
    beside: float | None,
    text: str,
    scale: Scale,
    colors: theme.Tokens,
) -> None:
    middle, thick = line.center().y(), min(14.0, line.height() - 6)
    start = scale(1.0 if scale.log else 0.0)
    end = start
    if value is not None:
        end = scale(max(value, scale.low) if scale.log else value)
        painter.setPen(QPen(QColor(colors.accent), 1))
        painter.setBrush(QColor(colors.bar))
        painter.drawRect(QRectF(min(start, end), middle - thick / 2, max(1.0, abs(end - start)), thick))
    reach = max(start, end)
    if beside is not None and beside > 0:
        diamond(painter, QPointF(scale(beside), middle), colors)
        if 0 <= scale(beside) - reach < 70:
            reach = scale(beside) + 6
    if value is not None and end < start - 1:
        # A bar to the left has its number at its own end, before it or in it: beyond the other it would be the mark's.
        wide = _metrics(painter).horizontalAdvance(text)
        left = end - 6 - wide if end - 6 - wide >= scale(scale.low) else end + 6
        _words(painter, QRectF(left, line.top(), wide + 2, line.height()), LEFT, text, colors.text)
    elif value is not None:
        # The number keeps clear of the mark, whichever is further right.
        _words(painter, QRectF(reach + 6, line.top(), 120, line.height()), LEFT, text, colors.text)


def _paint_lines(painter: QPainter, area: QRectF, chart: LineChart, colors: theme.Tokens) -> list[tuple[QRectF, str]]:
    metrics = _metrics(painter)
    area = _head(painter, area, chart.title, colors)
    area = _line_legend(painter, area, chart, colors)
    _words(painter, QRectF(area.left(), area.top(), 200, metrics.height()), LEFT, chart.y_axis, colors.muted)
    plot = area.adjusted(66, metrics.height() + 6, -8, -2 * metrics.height() - 8)
    (low_x, high_x), (low_y, high_y) = chart.span()
    across = Scale(low_x, high_x, plot.left(), plot.right(), True)
    up = Scale(low_y, high_y, plot.bottom(), plot.top(), True)
    _across_axis(painter, plot, across, chart.x_axis, colors)
    _left_axis(painter, plot, up, colors)
    tips = []
    place = -1
    for line in chart.lines:
        place += not line.is_fit
        color = QColor(SERIES[colors.name][place % len(SERIES["light"])])
        points = [QPointF(across(x), up(y)) for x, y in line.points if x > 0 and y > 0]
        painter.setPen(QPen(color, 1 if line.is_fit else 2, DASHES[place % len(DASHES)]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(points))
        if line.is_fit:
            continue
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        for at, (x, y) in zip(points, line.points, strict=False):
            painter.drawEllipse(at, 3, 3)
            told = f"{line.name}\n{tick_text(x)} {chart.unit}: {y:.3g} s"
            tips.append((QRectF(at.x() - 6, at.y() - 6, 12, 12), told))
    _paint_marks(painter, plot, chart, across, up, colors)
    return tips


def _line_legend(painter: QPainter, area: QRectF, chart: LineChart, colors: theme.Tokens) -> QRectF:
    """Name the lines, in as many rows as they need; returns what is left below."""
    metrics = _metrics(painter)
    height, x, y = metrics.height(), area.left(), area.top()
    for place, line in enumerate(line for line in chart.lines if not line.is_fit):
        wide = 34 + metrics.horizontalAdvance(line.name) + 16
        if x + wide > area.right() and x > area.left():
            x, y = area.left(), y + height + 2
        painter.setPen(QPen(QColor(SERIES[colors.name][place % 6]), 2, DASHES[place % len(DASHES)]))
        painter.drawLine(QPointF(x, y + height / 2), QPointF(x + 26, y + height / 2))
        _words(painter, QRectF(x + 32, y, wide, height), LEFT, line.name, colors.text)
        x += wide
    return area.adjusted(0, y + height + 6 - area.top(), 0, 0)


def _paint_marks(
    painter: QPainter, plot: QRectF, chart: LineChart, across: Scale, up: Scale, colors: theme.Tokens
) -> None:
    """Draw the crossing points with their words, each beside its point and inside the plot."""
    metrics = _metrics(painter)
    taken: list[QRectF] = []
    for mark in chart.marks:
        at = QPointF(across(mark.x), up(mark.y))
        painter.setPen(QPen(QColor(colors.text), 2))
        painter.setBrush(QColor(colors.surface))
        painter.drawEllipse(at, 5, 5)
        wide, high = metrics.horizontalAdvance(mark.text) + 12, metrics.height() + 4
        # Lines rise to the right: there is room below on the right, and above on the left.
        fits = at.x() + 10 + wide < plot.right()
        left, top = (at.x() + 10, at.y() + 8) if fits else (at.x() - 10 - wide, at.y() - 8 - high)
        box = QRectF(max(plot.left(), left), min(top, plot.bottom() - high), wide, high)
        while any(box.intersects(other) for other in taken) and box.top() > plot.top():
            box.translate(0, -high - 2)
        taken.append(box)
        painter.fillRect(box.adjusted(3, 1, -3, -1), QColor(colors.surface))
        _words(painter, box.adjusted(6, 0, -6, 0), LEFT, mark.text, colors.text)


def _paint_fit(painter: QPainter, area: QRectF, chart: FitChart, colors: theme.Tokens) -> list[tuple[QRectF, str]]:
    metrics = _metrics(painter)
    area = paint_legend(painter, _head(painter, area, chart.title, colors), chart.legend, colors)
    _words(painter, QRectF(area.left(), area.top(), 200, metrics.height()), LEFT, chart.y_axis, colors.muted)
    plot = area.adjusted(54, metrics.height() + 6, -8, -2 * metrics.height() - 8)
    right = chart.left + chart.width * len(chart.counts)
    across = Scale(chart.left, right, plot.left(), plot.right())
    most = max([*chart.counts, *(y for _, y in chart.curve), 1])
    up = Scale(0.0, most * 1.08, plot.bottom(), plot.top())
    _left_axis(painter, plot, up, colors)
    _across_axis(painter, plot, across, chart.axis, colors)
    tips = []
    narrow = across(chart.left + chart.width) - plot.left() < 4
    painter.setPen(QPen(QColor(colors.bar if narrow else colors.accent), 1))
    painter.setBrush(QColor(colors.bar))
    for place, number in enumerate(chart.counts):
        low = chart.left + place * chart.width
        bar = QRectF(QPointF(across(low), up(number)), QPointF(across(low + chart.width), plot.bottom()))
        if number:
            painter.drawRect(bar)
        tips.append((bar, f"{number} from {low:.1f} to {low + chart.width:.1f} bits"))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for dash, points in (
        (Qt.PenStyle.DotLine, [p for p in chart.curve if p[0] <= chart.edge]),
        (Qt.PenStyle.SolidLine, [p for p in chart.curve if p[0] >= chart.edge]),
    ):
        painter.setPen(QPen(QColor(colors.caution), 2, dash))
        painter.drawPolyline(QPolygonF([QPointF(across(x), up(y)) for x, y in points]))
    if chart.center is None:
        return tips
    x = across(chart.center)
    painter.setPen(QPen(QColor(colors.text), 1, Qt.PenStyle.DashLine))
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
    wide = metrics.horizontalAdvance(chart.center_text) + 4
    left = x + 6 if x + 6 + wide < plot.right() else x - 6 - wide
    _words(painter, QRectF(left, plot.top(), wide, metrics.height()), LEFT, chart.center_text, colors.text)
    return tips

"""Charts as drawings: bars, lines, and histograms with the curve that was fitted to them."""

from __future__ import annotations

import numpy as np

from clalign.engines.pictures.axes import EDGE, LINE, Area, axes, heading, outline, plot_area
from clalign.values.axes import Scale, tick_text
from clalign.values.charts import Bar, BarChart, CellChart, Chart, FitChart, LineChart
from clalign.values.drawings import Box, Dot, Drawing, Line, Picks, Shape, Words, shortened, text_width

ROW = 24.0
"""Pixels of a bar with the space around it."""

CELL, CLASSES = 64.0, 5
"""Pixels across of the widest cell, and colors of cells."""

LINK_INSET = 6.0
"""Pixels that a link reaches into a cell."""

SERIES = 6
"""Colors of lines; every other line is dashed."""

BAR_THICKNESS = 14.0

Tips = list[tuple[tuple[float, float, float, float], str]]
"""Left, top, right and bottom of what has a tip, and the tip."""

Parts = tuple[list[Shape], Tips]


def chart_height(chart: Chart) -> float:
    """Return the least height of a chart in pixels."""
    if isinstance(chart, CellChart):
        return chart.span()[1] * ROW + 2 * LINE + EDGE
    return len(chart.bars) * ROW + 90 if isinstance(chart, BarChart) else 220.0


def chart_drawing(chart: Chart, width: float, height: float) -> Drawing:
    """Return a chart for some pixels; it may be higher, never wider. Its picks have tips, and no hits."""
    height = max(height, chart_height(chart))
    if isinstance(chart, BarChart):
        shapes, tips = _bars(chart, width)
    elif isinstance(chart, LineChart):
        shapes, tips = _lines(chart, width, height)
    elif isinstance(chart, CellChart):
        shapes, tips = _cells(chart, width)
    else:
        shapes, tips = _fit(chart, width, height)
    places = np.array([place for place, _ in tips], np.float64).reshape(-1, 4)
    picks = Picks(places, tip=lambda part: tips[part][1])
    return Drawing(chart.title, width, height, [*heading(chart.title, width), *shapes], picks=picks)


def framed(left: float, top: float, right: float, bottom: float) -> Line:
    """Return a bar with its outline."""
    corners = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    return Line(corners, "accent", 1.0, fill="bar")


def diamond(x: float, y: float) -> Line:
    """Return the mark of what stands beside a bar."""
    return Line(((x, y - 6), (x + 5, y), (x, y + 6), (x - 5, y), (x, y - 6)), "surface", 1.0, fill="mark")


def swatch(kind: str, left: float, middle: float) -> list[Shape]:
    """Return the mark before a name in a legend: ``bars``, ``beside``, ``calibration``, ``fit``, ``cutoff``."""
    if not kind:  # a remark
        return []
    if kind == "bars":
        return [framed(left + 4, middle - 5, left + 20, middle + 5)]
    if kind == "beside":
        return [diamond(left + 13, middle)]
    color, width = ("good", 1.0) if kind == "cutoff" else ("caution", 2.0)
    return [Line(((left, middle), (left + 26, middle)), color, width, kind != "calibration")]


def _legend(entries: list[tuple[list[Shape], str]], width: float, top: float) -> tuple[list[Shape], float]:
    """Return samples drawn at 0, 0 with their words, in as many lines as they need, and what is below them."""
    shapes: list[Shape] = []
    x, y = EDGE, top
    for sample, words in entries:
        wide = 32 + text_width(words) + 20
        if x + wide - 20 > width - EDGE and x > EDGE:
            x, y = EDGE, y + LINE
        shapes += [_moved(shape, x, y + LINE / 2) for shape in sample]
        shapes.append(Words(x + 32, y + LINE / 2, words, color="muted"))
        x += wide
    return shapes, y + (LINE + 4 if entries else 0)


def _moved(shape: Shape, x: float, y: float) -> Shape:
    assert isinstance(shape, Line)
    return shape._replace(points=tuple((a + x, b + y) for a, b in shape.points))


def _bars(chart: BarChart, width: float) -> Parts:
    shapes: list[Shape] = []
    top = EDGE + LINE + 6
    if chart.beside_name:
        entries = [(swatch("bars", 0, 0), chart.value_name), (swatch("beside", 0, 0), chart.beside_name)]
        shapes, top = _legend(entries, width, top)
    names = min(max((text_width(bar.name) for bar in chart.bars), default=0.0), 0.42 * width) + 10
    notes = max((text_width(bar.note) + 14 for bar in chart.bars if bar.value is None), default=0.0)
    right = width - EDGE - max(text_width("0000.00×"), min(notes, 0.2 * width))
    # The axis stands above the bars, where it is seen however many there are.
    area = Area(EDGE + names, top + 2 * LINE, right, top + 2 * LINE + ROW * max(1, len(chart.bars)))
    scale = Scale(*_span(chart, area.width), area.left, area.right, chart.log)
    for tick in scale.ticks(70):
        shapes.append(Line(((scale(tick), area.top), (scale(tick), area.bottom)), "border"))
        shapes.append(Words(scale(tick), area.top - LINE / 2, tick_text(tick), "middle", "muted"))
    shapes.append(Words(area.right, area.top - 1.5 * LINE, chart.axis, "end", "muted"))
    tips: Tips = []
    for place, bar in enumerate(chart.bars):
        line = area.top + place * ROW
        shapes.append(Words(EDGE, line + ROW / 2, bar.name, room=names - 8))
        shapes += _bar(bar, line + ROW / 2, scale, width)
        tips.append(((0.0, line, width, line + ROW), bar.tip or bar.note or f"{bar.name}: {bar.text}"))
    return shapes, tips


def _span(chart: BarChart, width: float) -> tuple[float, float]:
    """Return the ends of the axis; left of bars to the left there is room for their numbers."""
    low, high = chart.span()
    left = [(bar.value, bar.text) for bar in chart.bars if chart.log and bar.value is not None and 0 < bar.value < 1]
    if not left:
        return low, high
    share = min(0.4, (max(text_width(text) for _, text in left) + 10) / max(1.0, width))
    least = min(value for value, _ in left)
    return min(low, high * (least / high) ** (1 / (1 - share))), high


def _bar(bar: Bar, middle: float, scale: Scale, width: float) -> list[Shape]:
    """Return a bar, what stands beside it and its number, which keeps clear of the mark; or why there is none."""
    shapes: list[Shape] = []
    start = scale(1.0 if scale.log else bar.begin)
    beside = scale(bar.beside) if bar.beside else None
    if bar.value is None:
        left = start + 6 if beside is None else beside + 12
        shapes.append(Words(left, middle, bar.note, color="muted", room=max(1.0, width - EDGE - left)))
        return shapes if beside is None else [*shapes, diamond(beside, middle)]
    end = scale(max(bar.value, scale.low) if scale.log else bar.value)
    half = BAR_THICKNESS / 2
    frame = framed(min(start, end), middle - half, max(start, end, min(start, end) + 1), middle + half)
    shapes.append(frame._replace(dashed=True, fill="") if bar.grows else frame)
    reach = max(start, end)
    if beside is not None:
        shapes.append(diamond(beside, middle))
        if 0 <= beside - reach < 70:
            reach = beside + 6
    if end < start - 1:
        # A bar to the left has its number at its own end, before it or in it: beyond the other it would be the mark's.
        fits = end - 6 - text_width(bar.text) >= scale(scale.low)
        return [*shapes, Words(end - 6, middle, bar.text, "end") if fits else Words(end + 6, middle, bar.text)]
    return [*shapes, Words(reach + 6, middle, bar.text)]


def _lines(chart: LineChart, width: float, height: float) -> Parts:
    named = [line for line in chart.lines if not line.is_fit]
    samples: list[tuple[list[Shape], str]] = [
        ([outline(((0, 0), (26, 0)), *_style(place))], line.name) for place, line in enumerate(named)
    ]
    shapes, top = _legend(samples, width, EDGE + LINE + 6)
    area = plot_area(width, height, top + LINE + 4)
    (low_x, high_x), (low_y, high_y) = chart.span()
    across, up = Scale(low_x, high_x, area.left, area.right, True), Scale(low_y, high_y, area.bottom, area.top, True)
    shapes += axes(area, across, up, (chart.x_axis, chart.y_axis))
    tips: Tips = []
    place = -1
    for line in chart.lines:
        place += not line.is_fit
        color, dashed = _style(place)
        points = [(across(x), up(y)) for x, y in line.points if x > 0 and y > 0]
        shapes.append(outline(points, color, dashed, 1.0 if line.is_fit else 2.0))
        if line.is_fit:
            continue
        for (x, y), (value, result) in zip(points, line.points, strict=False):
            shapes.append(Dot(x, y, 3.0, color))
            tip = f"{line.name}\n{tick_text(value)} {chart.unit}: {result:.3g} s"
            tips.append(((x - 6, y - 6, x + 6, y + 6), tip))
    return shapes + _marks(chart, area, across, up), tips


def _style(place: int) -> tuple[str, bool]:
    return f"series{place % SERIES}", place % 2 == 1


def _marks(chart: LineChart, area: Area, across: Scale, up: Scale) -> list[Shape]:
    """Return the crossing points with their words, each beside its point and inside the plot."""
    shapes: list[Shape] = []
    taken: list[tuple[float, float, float]] = []
    high = LINE + 2
    for mark in chart.marks:
        x, y = across(mark.x), up(mark.y)
        shapes += [Dot(x, y, 6.0, "text"), Dot(x, y, 4.0, "surface")]
        wide = text_width(mark.text) + 12
        # Lines rise to the right: there is room below on the right, and above on the left.
        left, top = (x + 10, y + 8) if x + 10 + wide < area.right else (x - 10 - wide, y - 8 - high)
        left, top = max(area.left, left), min(top, area.bottom - high)
        while top > area.top and any(a < left + wide and left < b and abs(top - c) < high for a, b, c in taken):
            top -= high + 2
        taken.append((left, left + wide, top))
        shapes.append(Box(left + 3, top + 1, wide - 6, high - 2, "surface"))
        shapes.append(Words(left + 6, top + high / 2, mark.text))
    return shapes


def _cells(chart: CellChart, width: float) -> Parts:
    wide, top = min(CELL, (width - 2 * EDGE) / chart.span()[0]), EDGE + 2 * LINE
    shapes: list[Shape] = []
    words: list[Shape] = []
    tips: Tips = []
    for cell in chart.cells:
        left, line = EDGE + cell.x * wide, top + cell.y * ROW
        right, bottom = left + cell.width * wide - 2, line + ROW - 3
        if cell.is_framed:
            if cell.color is not None:
                shapes.append(Box(left, line, right - left, bottom - line, f"class{cell.color % CLASSES}", 0.25))
            corners = ((left, line), (right, line), (right, bottom), (left, bottom), (left, line))
            shapes.append(Line(corners, "text" if cell.is_marked else "border", 2.0 if cell.is_marked else 1.0))
            tips.append(((left, line, right, bottom), cell.tip or cell.text))
        middle = (left + right) / 2 if cell.is_framed else left
        anchor = "middle" if cell.is_framed else "start"
        words.append(Words(middle, (line + bottom) / 2, cell.text, anchor, room=right - left - 2))
    for ends in chart.links:
        (x, y), (to_x, to_y) = ((EDGE + (x + 0.5) * wide - 1, top + (y + 0.5) * ROW - 2) for x, y in ends)
        # From within one cell to within the other, but not over their words; a dot is where it leads to.
        part = min(
            (wide / 2 - LINK_INSET) / max(abs(to_x - x), 0.1), (ROW / 2 - LINK_INSET) / max(abs(to_y - y), 0.1), 0.5
        )
        dx, dy = part * (to_x - x), part * (to_y - y)
        shapes += [Line(((x + dx, y + dy), (to_x - dx, to_y - dy)), "accent"), Dot(to_x - dx, to_y - dy, 2.5, "accent")]
    return shapes + words, tips


def _fit(chart: FitChart, width: float, height: float) -> Parts:
    shapes, top = _legend([(swatch(kind, 0, 0), words) for kind, words in chart.legend], width, EDGE + LINE + 6)
    area = plot_area(width, height, top + LINE + 4)
    across = Scale(chart.left, chart.left + chart.width * len(chart.counts), area.left, area.right)
    most = max([*chart.counts, *(y for _, y in chart.curve), 1])
    low, high = (0.6, 1.5 * most) if chart.log else (0.0, 1.08 * most)
    up = Scale(low, high, area.bottom, area.top, chart.log)
    shapes += axes(area, across, up, (chart.axis, chart.y_axis))
    is_narrow = across(chart.left + chart.width) - area.left < 4
    tips: Tips = []
    for place, number in enumerate(chart.counts):
        if not number:
            continue
        begin = chart.left + place * chart.width
        left, right, top = across(begin), across(begin + chart.width), up(number)
        if is_narrow:
            shapes.append(Box(left, top, max(0.8, right - left), area.bottom - top, "bar"))
        else:
            shapes.append(framed(left, top, right, area.bottom))
        tips.append(((left, area.top, right, area.bottom), f"{number:,} from {begin:.4g} to {begin + chart.width:.4g}"))
    for is_fitted in (False, True):
        points = [(across(x), up(y)) for x, y in chart.curve if (x >= chart.edge) == is_fitted]
        shapes += [outline(points, "caution", not is_fitted)] * bool(points)
    if chart.center is not None:
        x, words = across(chart.center), shortened(chart.center_text, area.width)
        shapes.append(Line(((x, area.top), (x, area.bottom)), "text", dashed=True))
        side = "start" if x + 6 + text_width(words) < area.right else "end"
        shapes.append(Words(x + 6 if side == "start" else x - 6, area.top + LINE / 2, words, side))
    return shapes, tips

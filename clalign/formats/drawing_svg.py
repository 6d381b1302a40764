"""Drawings as SVG text: letters stay letters, and no window is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from clalign.common.escapes import escaped
from clalign.values.drawings import PALETTES, Box, Dot, Drawing, Line, Picks, Shape, Words, shortened

LOWER = 0.35
"""Distance of the base line of a text below its middle, as a share of its size."""


def drawing_svg(drawing: Drawing, millimeters: float = 0.0, provenance: Iterable[str] = (), tips: bool = False) -> str:
    """Return a drawing as an SVG document in the colors for paper.

    Parameters
    ----------
    drawing : Drawing
    millimeters : float
        Width of the picture; by default that of its pixels on a screen.
    provenance : iterable of str
        Lines on the origin of the picture, stored as metadata.
    tips : bool
        Whether parts that can be picked have tool tips.
    """
    width, height = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    if millimeters:
        width, height = f"{millimeters:g}mm", f"{millimeters * drawing.height / drawing.width:.6g}mm"
    box = f"0 0 {drawing.width:.0f} {drawing.height:.0f}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="{box}"'
    lines = [f'{head} font-family="sans-serif"><title>{_plain(drawing.title)}</title>']
    if words := "\n".join(provenance):
        lines.append(f"<metadata>{_plain(words)}</metadata>")
    lines.append(f'<rect width="100%" height="100%" fill="{PALETTES["light"]["surface"]}"/>')
    lines += [part for shape in (*drawing.shapes, *drawing.head) for part in _elements(shape)]
    lines += _tips(drawing.picks) if tips else ()
    return "\n".join([*lines, "</svg>", ""])


def _tips(picks: Picks) -> Iterator[str]:
    for part, (left, top, right, bottom) in enumerate(picks.places.tolist()):
        at = f'x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}"'
        yield f'<rect {at} fill-opacity="0"><title>{_plain(picks.tip(part))}</title></rect>'


def _plain(text: str) -> str:
    return escape(escaped(text))


def _color(name: str) -> str:
    return PALETTES["light"].get(name, name)


def _opacity(opacity: float) -> str:
    return f' fill-opacity="{opacity:.3g}"' if opacity < 1 else ""


def _elements(shape: Shape) -> Iterator[str]:
    if isinstance(shape, Box):
        x, y, width, height, color, opacity, radius = shape
        rounded = f' rx="{radius:g}"' if radius else ""
        size = f'width="{width:.2f}" height="{height:.2f}"{rounded}'
        yield f'<rect x="{x:.2f}" y="{y:.2f}" {size} fill="{_color(color)}"{_opacity(opacity)}/>'
    elif isinstance(shape, Dot):
        at = f'cx="{shape.x:.2f}" cy="{shape.y:.2f}" r="{shape.radius:g}"'
        yield f'<circle {at} fill="{_color(shape.color)}"{_opacity(shape.opacity)}/>'
    elif isinstance(shape, Words):
        text = shortened(shape.text, shape.room, shape.size)
        bold = ' font-weight="bold"' if shape.bold else ""
        at = f'x="{shape.x:.1f}" y="{shape.y + LOWER * shape.size:.1f}" text-anchor="{shape.anchor}"'
        yield f'<text {at} font-size="{shape.size:g}"{bold} fill="{_color(shape.color)}">{_plain(text)}</text>'
    else:
        yield _line(shape)


def _line(shape: Line) -> str:
    places = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
    dashes = ' stroke-dasharray="5 4"' if shape.dashed else ""
    fill = _color(shape.fill) if shape.fill else "none"
    stroke = f'stroke="{_color(shape.color)}" stroke-width="{shape.width:g}"' if shape.width else 'stroke="none"'
    return f'<polyline points="{places}" fill="{fill}" {stroke}{dashes}/>'

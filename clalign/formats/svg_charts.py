"""Small pictures as SVG text, for reports that need no window: bars, histograms, domains on sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from clalign.values.architectures import JOIN, Architecture

WIDTH = 960
ROW = 26
NAMES = 190
BLUE, PALE, GREY, INK = "#0072B2", "#A9CDE3", "#5A6470", "#1A1E23"

FAMILY_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800", "#6F4E9B", "#7A5230", "#4B5563",
)  # fmt: skip


def _svg(height: float, parts: Sequence[str], title: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}"'
    style = 'role="img" font-family="sans-serif" font-size="12"'
    return f"{head} {style}><title>{escape(title)}</title>{''.join(parts)}</svg>"


def _text(x: float, y: float, text: str, anchor: str = "start", color: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, color: str, title: str = "", radius: float = 0.0) -> str:
    inner = f"<title>{escape(title)}</title>" if title else ""
    box = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" rx="{radius:g}"'
    return f'<rect {box} fill="{color}">{inner}</rect>'


def _short(text: str, most: int = 28) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def bars_svg(bars: Sequence[tuple[str, float]], title: str) -> str:
    """Return horizontal bars with names and numbers."""
    most = max((value for _, value in bars), default=1.0) or 1.0
    room = WIDTH - NAMES - 70
    parts = []
    for place, (name, value) in enumerate(bars):
        y = place * ROW
        parts.append(_text(NAMES - 8, y + 17, _short(name), "end"))
        parts.append(_rect(NAMES, y + 5, max(1.0, room * value / most), ROW - 10, BLUE, f"{name}: {value:,g}", 2))
        parts.append(_text(NAMES + room * value / most + 6, y + 17, f"{value:,g}", color=GREY))
    return _svg(len(bars) * ROW + 4, parts, title)


def histogram_svg(edges: Sequence[float], counts: Sequence[int], width: float, axis: str) -> str:
    """Return a histogram whose counts stand on a logarithmic axis, given left edges and the width of the bins."""
    low, high = min(edges), max(edges) + width
    top, left, bottom = 10.0, 56.0, 220.0
    most = math.log10(max(counts) + 1) or 1.0
    scale = (WIDTH - left - 16) / max(high - low, 1e-9)
    parts = []
    for power in range(math.floor(most) + 1):
        y = bottom - (bottom - top) * math.log10(10**power + 1) / most
        parts.append(f'<path d="M{left} {y:.1f}H{WIDTH - 16}" stroke="#E4E8EC"/>')
        parts.append(_text(left - 6, y + 4, f"{10**power:,}", "end", GREY))
    for edge, count in zip(edges, counts, strict=True):
        height = (bottom - top) * math.log10(count + 1) / most
        tip = f"{edge:g} to {edge + width:g}: {count:,}"
        parts.append(_rect(left + (edge - low) * scale, bottom - height, max(0.8, width * scale), height, PALE, tip))
    parts.append(f'<path d="M{left} {bottom}H{WIDTH - 16}" stroke="{GREY}"/>')
    for place in range(6):
        value = low + (high - low) * place / 5
        parts.append(_text(left + (value - low) * scale, bottom + 16, f"{value:.4g}", "middle", GREY))
    parts.append(_text(left + (high - low) * scale / 2, bottom + 36, axis, "middle", GREY))
    return _svg(bottom + 44, parts, axis)


def architecture_svg(examples: Sequence[tuple[int, Architecture]]) -> str:
    """Return architectures on a sequence each, with how many sequences have them."""
    longest = max((one.length for _, one in examples), default=1)
    left = 110.0
    scale = (WIDTH - left - 60) / longest
    families = list(dict.fromkeys(domain.family for _, one in examples for domain in one.domains))
    colors = {family: FAMILY_COLORS[place % len(FAMILY_COLORS)] for place, family in enumerate(families)}
    parts = []
    for place, (count, one) in enumerate(examples):
        middle = place * ROW + ROW / 2
        parts.append(_text(left - 10, middle + 4, f"{count:,} ×", "end"))
        parts.append(f'<path d="M{left} {middle}H{left + one.length * scale:.1f}" stroke="{GREY}" stroke-width="2"/>')
        for domain in one.domains:
            start, end = domain.target_range
            width = max(3.0, (end - start) * scale)
            tip = f"{domain.family}, {start + 1} to {end} of {one.name}"
            parts.append(_rect(left + start * scale, middle - 9, width, 18, colors[domain.family], tip, 4))
            fits = int((width - 6) / 6.6)
            if fits > 3:
                words = _short(domain.family, fits)
                parts.append(_text(left + start * scale + width / 2, middle + 4, words, "middle", "#FFFFFF"))
        parts.append(_text(left + one.length * scale + 6, middle + 4, f"{one.length:,}", color=GREY))
    title = "; ".join(f"{count} {one.words.replace(JOIN, ' – ')}" for count, one in examples)
    return _svg(len(examples) * ROW + 4, parts, title)

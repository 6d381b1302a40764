"""Colors of families: the most frequent ones get colors that everybody can distinguish."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Iterable

SAFE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800", "#6F4E9B", "#7A5230", "#4B5563")
"""Okabe and Ito's colors, and some that differ from them."""

TURN = 0.61803398875
"""Step on the color wheel between two of the other families."""

LIGHT_FROM = 0.45
"""Luminance from which on a color gets dark letters."""


def family_colors(families: Iterable[str]) -> dict[str, str]:
    """Return a color for each family; `families` names one for each of its domains."""
    counts = Counter(families)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: SAFE[place] if place < len(SAFE) else _turned(place) for place, name in enumerate(ranked)}


def _turned(place: int) -> str:
    hue = (place * TURN) % 1.0
    lightness, saturation = (0.42, 0.62, 0.52)[place % 3], (0.55, 0.45, 0.7)[place // 3 % 3]
    return "#" + "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


def letters_on(color: str) -> str:
    """Return a readable color of letters on a color."""
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return "#1A1E23" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT_FROM - 0.2 else "#FFFFFF"

"""Colors of families: the most frequent ones get colors that everybody can distinguish."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Iterable

from clalign.values.drawings import FAMILY_COLORS

from ...theme import luminance

TURN = 0.61803398875
"""Step on the color wheel between two of the other families."""

LIGHT_FROM = 0.25
"""Luminance above which a color gets dark letters."""


def family_colors(families: Iterable[str]) -> dict[str, str]:
    """Return a color for each family; `families` names one for each of its domains."""
    counts = Counter(families)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    return {
        name: FAMILY_COLORS[place] if place < len(FAMILY_COLORS) else _turned(place)
        for place, name in enumerate(ranked)
    }


def _turned(place: int) -> str:
    hue = (place * TURN) % 1.0
    lightness, saturation = (0.42, 0.62, 0.52)[place % 3], (0.55, 0.45, 0.7)[place // 3 % 3]
    return "#" + "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


def letters_on(color: str) -> str:
    """Return a readable color of letters on a color."""
    return "#1A1E23" if luminance(color) > LIGHT_FROM else "#FFFFFF"

"""Domain architectures as a drawing: each on a sequence of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clalign.engines.pictures.axes import EDGE
from clalign.values.architectures import JOIN, Architecture
from clalign.values.drawings import FAMILY_COLORS, Box, Drawing, Line, Picks, Shape, Words, text_width

ROW = 26.0
COUNTS, LENGTHS = 110.0, 60.0
"""Pixels left of the sequences for how many have an architecture, and right of them for their lengths."""


def architecture_drawing(examples: Sequence[tuple[int, Architecture]], width: float) -> Drawing:
    """Return architectures on a sequence each, with how many sequences have them, for some pixels."""
    scale = (width - COUNTS - LENGTHS) / max((one.length for _, one in examples), default=1)
    families = list(dict.fromkeys(domain.family for _, one in examples for domain in one.domains))
    shapes: list[Shape] = []
    places, tips = [], []
    for row, (count, one) in enumerate(examples):
        middle = (row + 0.5) * ROW
        shapes.append(Words(COUNTS - 10, middle, f"{count:,} ×", "end"))
        shapes.append(Line(((COUNTS, middle), (COUNTS + one.length * scale, middle)), "muted", 2.0))
        shapes.append(Words(COUNTS + one.length * scale + 6, middle, f"{one.length:,}", color="muted"))
        for domain in one.domains:
            start, end = domain.target_range
            left, wide = COUNTS + start * scale, max(3.0, (end - start) * scale)
            color = FAMILY_COLORS[families.index(domain.family) % len(FAMILY_COLORS)]
            shapes.append(Box(left, middle - 9, wide, 18, color, radius=4))
            if wide > text_width("1234") + 6:
                shapes.append(Words(left + wide / 2, middle, domain.family, "middle", "#FFFFFF", wide - 6))
            places.append((left, middle - 9, left + wide, middle + 9))
            tips.append(f"{domain.family}, {start + 1} to {end} of {one.name}")
    title = "; ".join(f"{count} {one.words.replace(JOIN, ' – ')}" for count, one in examples)
    picks = Picks(np.array(places, np.float64).reshape(-1, 4), tip=tips.__getitem__)
    return Drawing(title, width, len(examples) * ROW + EDGE / 2, shapes, picks=picks)

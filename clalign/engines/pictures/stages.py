"""How many targets pass each stage of a search, where its engine has stages."""

from __future__ import annotations

import math
from collections.abc import Iterator

from clalign.engines.engine import engine_of
from clalign.engines.pictures.axes import EDGE, LINE, heading, legend
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture
from clalign.errors import OptionError
from clalign.values.axes import Scale, tick_text
from clalign.values.drawings import Box, Drawing, Line, Shape, Words, text_width

ROW, NAMES, AFTER = 40.0, 130.0, 200.0


class Stages(HitPicture):
    """The filters of a search as bars.

    Parameters
    ----------
    numbers : HitNumbers
        Of one query.

    Raises
    ------
    OptionError
        If the engine has no filters.
    """

    heads = ("stage", "passed", "percent", "expected")

    def __init__(self, numbers: HitNumbers) -> None:
        engine = engine_of(numbers.run)
        if engine.parts.stages is None:
            raise OptionError("This search has no filters: every target is aligned.", "Choose another picture.")
        assert numbers.query is not None  # a kind of picture that is of one
        found = engine.parts.stages.get()(numbers.run, numbers.query)
        self.stages = [stage for stage in found if stage["ran"]]
        self.title = f"{numbers.whose}: what passes the filters"
        target = numbers.target
        self.sentence = (
            f"{target.capitalize()}s that passed each stage, on a logarithmic axis; the mark is the number that chance"
            " alone would let pass." if any(stage["expected"] is not None for stage in found) else
            f"HMMER2 profiles have no filters: every {target} gets its score."
        )  # fmt: skip

    def rows(self) -> Iterator[tuple[str, int, float, float | str]]:
        """Yield a line for each stage."""
        total = max(1, self.stages[0]["passed"])
        for stage in self.stages:
            expected = "" if stage["expected"] is None else float(f"{stage['expected']:.4g}")
            yield stage["label"], stage["passed"], round(100.0 * stage["passed"] / total, 4), expected

    def draw(self, width: float, height: float) -> Drawing:
        """Return a bar for each stage."""
        top = EDGE + 3 * LINE + 16
        total = max(1, self.stages[0]["passed"])
        scale = Scale(0.7, max(10.0, total), EDGE + NAMES, max(width - AFTER, EDGE + NAMES + 80), log=True)
        shapes: list[Shape] = heading(self.title, width)
        shapes += legend([("accent", "passed"), ("caution", "expected by chance")], EDGE, EDGE + LINE + 4)
        for tick in scale.ticks(90):
            shapes.append(Words(scale(tick), top - LINE / 2, tick_text(tick), "middle", "muted"))
            shapes.append(Line(((scale(tick), top), (scale(tick), top + len(self.stages) * ROW)), "border"))
        for place, (label, passed, percent, expected) in enumerate(self.rows()):
            y = top + (place + 0.5) * ROW
            shapes.append(Words(EDGE, y, label, room=NAMES - 8))
            end = scale(max(passed, 0.7))
            shapes.append(Box(scale.start, y - 9, max(1.0, end - scale.start), 18, "accent", 0.85, 2))
            words = f"{passed:,}" + (f" ({percent_text(percent)} %)" if place else "")
            shapes.append(Words(max(end, scale.start) + 8, y - 7 * (expected != ""), words, color="muted"))
            if isinstance(expected, float) and not math.isinf(expected):
                x = scale(max(expected, 0.7))
                shapes.append(Line(((x, y - 13), (x, y + 13)), "caution", 2.5))
                left = max(end, x) + 8
                caption = f"expected {number_text(expected)}"
                shapes.append(Words(min(left, width - text_width(caption) - EDGE), y + 8, caption, color="muted"))
        return Drawing(self.title, width, max(top + len(self.stages) * ROW + EDGE, 120.0), shapes)


def percent_text(percent: float) -> str:
    """Return a share with two digits that count, never as a power of ten."""
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.2g}"


def number_text(number: float) -> str:
    """Return a number of targets: a whole one from a hundred on, three digits that count below, of hardly any two."""
    if number >= 99.95:
        return f"{number:,.0f}"
    return (
        f"{number:.3g}" if number >= 0.001 or not number else f"{number:.1e}".replace("e-0", "e-").replace(".0e", "e")
    )

"""How many hits each round of a search has found, where its engine searches in rounds."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.common.amounts import counted
from clalign.engines.engine import engine_of
from clalign.engines.pictures.axes import EDGE, LINE, axes, heading, legend, outline, plot_area
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture
from clalign.errors import OptionError
from clalign.values.axes import Scale
from clalign.values.drawings import Dot, Drawing, Shape

COUNTS = {"reported": "muted", "significant": "accent", "new": "good", "lost": "caution"}
"""What is counted of each round, and its color."""


class ByRound(HitPicture):
    """Hits by round, of the query of a profile or of all queries together.

    Parameters
    ----------
    numbers : HitNumbers

    Raises
    ------
    OptionError
        If the search has no rounds.
    """

    heads = ("round", "queries", *COUNTS)

    def __init__(self, numbers: HitNumbers) -> None:
        run, engine = numbers.run, engine_of(numbers.run)
        cards = run.cards()
        if engine.parts.round is None or cards[0].get("round") is None:
            raise OptionError("This search has no rounds.", "Choose another picture.")
        first = numbers.card.get("first")
        self._found = dict[int, list[int]]()
        for number, card in enumerate(cards):
            if first in (None, card.get("first")) and (run.best(number) is not None or run.n_hits(number)):
                one = engine.round(run, number)
                counts = (1, len(one), one.n_significant, one.n_new, len(one.lost))
                before = self._found.setdefault(one.number, [0] * len(counts))
                self._found[one.number] = [a + b for a, b in zip(before, counts, strict=True)]
        n_queries = len({card.get("first") for card in cards})
        whose = cards[first]["name"] if first is not None else cards[0]["name"] if n_queries == 1 else "all queries"
        self.title = f"{whose}: hits by round"
        self.sentence = f"Hits of {counted(len(self._found), 'round')}. New: significant, but not in the round before."
        if first is None and n_queries > 1:
            self.sentence += f" Of {n_queries:,} queries, those that have the round are counted in it."

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Yield a line for each round."""
        yield from ((number, *counts) for number, counts in sorted(self._found.items()))

    def draw(self, width: float, height: float) -> Drawing:
        """Return a curve for each number."""
        area = plot_area(width, height, EDGE + 3 * LINE + 14)
        rows = list(self.rows())
        most = max((max(row[2:]) for row in rows), default=1)
        across = Scale(0.5, max(2, *(row[0] for row in rows), 1) + 0.5, area.left, area.right)
        up = Scale(0, max(5, most) * 1.08, area.bottom, area.top)
        shapes = [
            *heading(self.title, width),
            *legend(((c, name) for name, c in COUNTS.items()), EDGE, EDGE + LINE + 4),
        ]
        shapes += axes(area, across, up, ("round", "hits"), is_whole=True)
        for place, color in enumerate(COUNTS.values(), 2):
            points = [(across(row[0]), up(row[place])) for row in rows]
            dots: list[Shape] = [Dot(x, y, 3.5, color, 1.0) for x, y in points]
            shapes += [outline(points, color), *dots]
        return Drawing(self.title, width, height, shapes)

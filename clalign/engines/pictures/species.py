"""How the hits are shared among species."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from msgspec import Struct, field

from clalign.common.amounts import counted
from clalign.engines.pictures.axes import EDGE, LINE, heading
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture, Rows
from clalign.runs.hit_columns import target_words
from clalign.values.axes import Scale, tick_text
from clalign.values.drawings import Box, Drawing, Line, Picks, Shape, Words
from clalign.values.species import UNKNOWN, Taxonomy

MAX_BARS = 60
"""Species that have a bar of their own; the others share one."""

ROW, NAMES, AFTER = 22.0, 260.0, 90.0


class SpeciesCount(Struct):
    """What was found in a species.

    Attributes
    ----------
    name : str
    targets, significant : set of int
        Rows of the targets, and of those with a significant hit.
    hits : list of int
        Ids.
    best_evalue, best_score : float
    """

    name: str
    targets: set[int] = field(default_factory=set)
    significant: set[int] = field(default_factory=set)
    hits: list[int] = field(default_factory=list)
    best_evalue: float = math.nan
    best_score: float = -math.inf


class SpeciesSummary(HitPicture):
    """Counts by species, the most frequent first and those of which it is unknown last.

    Parameters
    ----------
    numbers : HitNumbers
    taxonomy : Taxonomy
    column : int
        Which of its cells are counted.
    """

    def __init__(self, numbers: HitNumbers, taxonomy: Taxonomy, column: int = 0) -> None:
        self.calls_significant = numbers.calls_significant
        self.heads = ("species", f"{numbers.target}s", "significant", "hits", "best_evalue", "best_score")
        self.counts = species_counts(numbers, taxonomy, column)
        named = [one for one in self.counts if one.name != UNKNOWN]
        what = taxonomy.heads[column] if column < len(taxonomy.heads) else "species"
        self.title = f"{numbers.whose}: hits by {what}"
        n_targets = sum(len(one.targets) for one in self.counts)
        unknown = sum(len(one.targets) for one in self.counts if one.name == UNKNOWN)
        source = "the table of taxonomy, else the descriptions" if taxonomy.of else "OS= or OX= in the descriptions"
        self.sentence = f"{counted(n_targets, 'sequence')} with hits, of {len(named):,} {what} by {source}."
        if unknown:
            self.sentence += f" Of {unknown:,} it is unknown."

    @property
    def has_species(self) -> bool:
        """Whether anything is known of species."""
        return any(one.name != UNKNOWN for one in self.counts)

    def rows(self) -> Rows:
        """Yield a line for each species."""
        for one in self.counts:
            evalue = "" if math.isnan(one.best_evalue) else float(f"{one.best_evalue:.3g}")
            n_significant = len(one.significant) if self.calls_significant else ""
            yield one.name, len(one.targets), n_significant, len(one.hits), evalue, round(one.best_score, 1)

    def draw(self, width: float, height: float) -> Drawing:
        """Return a bar for each species; its height is that of the bars."""
        bars = self._bars()
        most = max((len(one.targets) for one in bars), default=1)
        names = min(NAMES, width * 0.4)
        scale = Scale(0, most, EDGE + names, max(width - AFTER, EDGE + names + 60))
        top = EDGE + 2.4 * LINE + 8
        shapes: list[Shape] = heading(self.title, width)
        shapes.append(Words(scale.start, EDGE + 1.5 * LINE, "sequences with hits", color="muted"))
        for tick in (tick for tick in scale.ticks(80) if tick == int(tick)):
            shapes.append(Words(scale(tick), top - LINE / 2, tick_text(tick), "middle", "muted"))
            shapes.append(Line(((scale(tick), top), (scale(tick), top + len(bars) * ROW)), "border"))
        places, parts, ids = [], [], []
        for place, one in enumerate(bars):
            y = top + (place + 0.5) * ROW
            color = "muted" if one.name == UNKNOWN else "accent"
            shapes.append(Words(EDGE, y, one.name, color="muted" if color == "muted" else "text", room=names - 8))
            end = scale(len(one.targets))
            shapes.append(Box(scale.start, y - 6, max(1.5, end - scale.start), 12, color, 0.85, 2))
            shapes.append(Words(end + 6, y, f"{len(one.targets):,}", color="muted"))
            places.append((EDGE, y - ROW / 2, width - EDGE, y + ROW / 2))
            parts += [place] * len(one.hits)
            ids += one.hits
        picks = Picks(
            np.array(places, np.float64).reshape(-1, 4), np.array(parts, np.int64), np.array(ids, np.int64),
            lambda place: _words(bars[place], self.calls_significant),
        )  # fmt: skip
        return Drawing(self.title, width, top + len(bars) * ROW + EDGE, shapes, picks=picks)

    def _bars(self) -> list[SpeciesCount]:
        named = [one for one in self.counts if one.name != UNKNOWN]
        bars, rest = named[:MAX_BARS], named[MAX_BARS:]
        if rest:
            other = SpeciesCount(f"{len(rest):,} others")
            for one in rest:
                _join(other, one)
            bars = [*bars, other]
        return [*bars, *(one for one in self.counts if one.name == UNKNOWN)]


def _join(all_of: SpeciesCount, one: SpeciesCount) -> None:
    all_of.targets |= one.targets
    all_of.significant |= one.significant
    all_of.hits += one.hits
    all_of.best_score = max(all_of.best_score, one.best_score)
    all_of.best_evalue = min(all_of.best_evalue, one.best_evalue, key=lambda value: (math.isnan(value), value))


def _words(one: SpeciesCount, calls_significant: bool) -> str:
    text = f"{one.name}\n{counted(len(one.targets), 'sequence')}, {counted(len(one.hits), 'hit')}"
    return f"{text}; significant: {counted(len(one.significant), 'sequence')}" if calls_significant else text


def species_counts(numbers: HitNumbers, taxonomy: Taxonomy, column: int) -> list[SpeciesCount]:
    """Return the hits by species: those with most sequences first, the unknown last."""
    hits, scores = numbers.hits, numbers.scores
    rows = np.unique(hits.rows)
    words = target_words(numbers.run.connection, rows.tolist())
    group = {row: taxonomy.group(*words.get(row, ("", "", "")), column) for row in rows.tolist()}
    found: dict[str, SpeciesCount] = {}
    places: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(hits.rows.tolist()):
        places[group[row]].append(place)
    for name, own in places.items():
        at = np.array(own, np.int64)
        evalues = hits.evalues[at][~np.isnan(hits.evalues[at])]
        found[name] = SpeciesCount(
            name, set(hits.rows[at].tolist()), set(hits.rows[at][hits.significant[at]].tolist()),
            hits.ids[at].tolist(), float(evalues.min()) if len(evalues) else math.nan, float(scores[at].max()),
        )  # fmt: skip
    return sorted(found.values(), key=lambda one: (one.name == UNKNOWN, -len(one.targets), one.name))

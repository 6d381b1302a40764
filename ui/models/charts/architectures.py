"""The architectures of a run in view: all of them, one kind, or those that match a text."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clalign.engines.architectures import read_architectures
from clalign.jobs import JobContext
from clalign.values.architectures import JOIN, Architecture, Group, grouped
from clalign.values.drawings import FAMILY_COLORS

from ... import formatting
from ..widgets.long_list import LongList
from ..widgets.text_table import Row, TextColumn

TURN = 0.61803398875
"""Step on the color wheel between two of the other families."""


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


RULE_WORDS = {
    "auto": ("Overlaps: automatic", "By clans if there is a table of them, else by the best E-value"),
    "clans": ("Overlaps: by clans", "The best E-value of overlapping domains of a clan, as in Pfam"),
    "best": ("Overlaps: best E-value", "The best E-value of all that overlap"),
    "all": ("Overlaps: show all", "Everything, overlapping or not"),
}
"""Titles and meanings of the rules for overlapping domains."""

SETTLED_WORDS = {
    "clans": "the best of overlapping ones in a clan",
    "best": "the best of overlapping ones",
    "all": "with overlapping ones",
}

GROUP_COLUMNS = (
    TextColumn("Sequences", "How many sequences have this architecture", lambda r: formatting.count(r["n"]), True, 80),
    TextColumn("Architecture", "Parts of the sequence, from first to last residue", lambda r: r["text"], stretch=True),
)


MAX_QUICK = 5000
"""Sequences that are searched without a thread."""

FITTING_SHARE = 0.9
"""Share of the sequences that fit the width at first: one of ten thousand residues must not make all tiny."""


class Bars(NamedTuple):
    """Sequences to be drawn, the length of the longest, and a length that few exceed."""

    found: list[Architecture]
    longest: int
    usual: int


@dataclass(frozen=True, slots=True)
class ArchitectureRequest:
    """The rule for overlaps, the file of clans, and whether only significant domains count."""

    rule: str = "auto"
    clans: str = ""
    significant: bool = True


@dataclass(frozen=True)
class Architectures:
    """The architectures of a run.

    Attributes
    ----------
    found : list of Architecture
    rule, clans : str
        The rule that was followed, and the file of the clans.
    """

    found: list[Architecture]
    rule: str = "best"
    clans: str = ""
    groups: list[Group] = field(default_factory=list)
    colors: dict[str, str] = field(default_factory=dict)

    def prepared(self) -> Architectures:
        """Compute what takes long with many sequences, in the thread that reads them; return this."""
        assert self.rows
        assert self.sentence
        assert self.everything
        return self

    @cached_property
    def everything(self) -> Bars:
        """All sequences to be drawn."""
        return bars(self.found)

    @property
    def is_slow_to_search(self) -> bool:
        """Whether a search through all of them would block the window."""
        return len(self.found) > MAX_QUICK

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the table of architectures; all sequences together are first."""
        first = {"n": len(self.found), "text": "All sequences", "words": None}
        return [first, *({"n": len(g.members), "text": shown_words(g.words), "words": g.words} for g in self.groups)]

    @cached_property
    def sentence(self) -> str:
        """Their number, and the rule for overlaps."""
        n_left_out = sum(one.n_found - len(one.domains) for one in self.found)
        parts = [formatting.plural(len(self.found), "sequence"), formatting.plural(len(self.groups), "architecture")]
        parts.append(f"{SETTLED_WORDS[self.rule]}, {formatting.count(n_left_out)} left out")
        if self.rule == "clans":
            parts.append(f"clans: {Path(self.clans).name}")
        return " · ".join(parts)

    def bars(self, words: str | None, text: str) -> Bars:
        """Return the sequences of `chosen` to be drawn."""
        return self.everything if words is None and not text.split() else bars(self.chosen(words, text))

    def chosen(self, words: str | None, text: str) -> list[Architecture]:
        """Return the sequences of an architecture, or all if None, whose name or families contain a text."""
        wanted = text.casefold().split()
        some = self.found
        if words is not None:
            some = [self.found[place] for group in self.groups if group.words == words for place in group.members]
        return [one for one in some if all(part in _searched(one) for part in wanted)] if wanted else some


def bars(found: list[Architecture]) -> Bars:
    """Return sequences to be drawn."""
    found = found if isinstance(found, LongList) else LongList(found)  # it may be the last that has them
    lengths = np.sort(np.fromiter((one.length for one in found), np.int64, len(found)))
    if not len(lengths):
        return Bars(found, 1, 1)
    return Bars(found, int(lengths[-1]), int(lengths[int(FITTING_SHARE * (len(lengths) - 1))]))


def _searched(one: Architecture) -> str:
    families = " ".join(f"{domain.family} {domain.accession}" for domain in one.domains)
    return f"{one.name} {one.accession} {one.description} {families}".casefold()


def shown_words(words: str) -> str:
    """Return the title of an architecture; repeated families are counted."""
    parts: list[list[str]] = []
    for name in map(formatting.short_name, words.split(JOIN)):
        if parts and parts[-1][0] == name:
            parts[-1].append(name)
        else:
            parts.append([name])
    return " – ".join(names[0] if len(names) == 1 else f"{len(names)} × {names[0]}" for names in parts)


def question(path: Path, asked: ArchitectureRequest) -> Callable[[JobContext], Architectures]:
    """Return a function that reads the architectures of a run."""

    def read(context: JobContext) -> Architectures:
        found, rule, clans = read_architectures(path, asked.rule, asked.clans, asked.significant, context)
        names = (domain.family for one in found for domain in one.domains)
        colors = family_colors(names)
        return Architectures(LongList(found), rule, clans, LongList(grouped(found)), colors).prepared()

    return read

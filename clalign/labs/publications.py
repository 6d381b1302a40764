"""The published experiments: every table and figure of the four sources by its number, as `resources` lists them."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from clalign.errors import OptionError
from clalign.values.checked import check_as

Kind = Literal["kernel", "run", "counters", "memory", "drawing", "cited"]

Figures = dict[str, float]


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table, a figure or an experiment without a number.

    Attributes
    ----------
    name, title : str
        As the source calls it, as in ``table 8.6``, a letter where it has no number; and what it shows.
    kind : str
        What it is about.
    measured, table : str
        What repeats it, one of `clalign.labs.repetitions.REPETITIONS`, and the table of that which has its figures.
    quantity : str
        What the published figures are of, where they have no names of their own; else the only one that is compared.
    quantities : tuple of str
        What else is shown of each row.
    unit : str
    compare : str
        ``gain``: times over the first row, here and there; ``across``: times over the first quantity of the same row;
        ``value``: the figures themselves; empty: nothing, since they are not alike.
    machine : str
        Of the publication's machines.
    rows : tuple of str
        Those of the table that are shown; by default the published ones.
    published : dict
        By rows, a figure or figures by their quantity.
    curve : str
        Of the publication's charts, which has its figures as lines.
    lines : dict
        Rows of each line of that; without them each quantity is a line.
    drawing : str
        What draws it, one of `clalign.labs.drawings.PICTURES`.
    why : str
        Why it is neither measured nor drawn.
    remark : str
        What must be known before figures are compared.
    """

    name: str
    title: str
    kind: Kind
    measured: str = ""
    table: str = "rows"
    quantity: str = ""
    quantities: tuple[str, ...] = ()
    unit: str = ""
    compare: Literal["", "gain", "across", "value"] = ""
    machine: str = ""
    rows: tuple[str, ...] = ()
    published: dict[str, float | Figures] = {}
    curve: str = ""
    lines: dict[str, tuple[str, ...]] = {}
    drawing: str = ""
    why: str = ""
    remark: str = ""

    def published_figures(self, row: str) -> Figures:
        """Return the published figures of a row by their quantities."""
        found = self.published.get(row, {})
        return found if isinstance(found, dict) else {self.quantity: float(found)}

    @property
    def shown_rows(self) -> tuple[str, ...]:
        """The rows that are shown, if the table has them."""
        return self.rows or tuple(self.published)

    @property
    def shown_quantities(self) -> tuple[str, ...]:
        """What is shown of each row."""
        named = [name for row in self.published for name in self.published_figures(row)]
        return tuple(dict.fromkeys([*named, *([self.quantity] if self.quantity else []), *self.quantities]))


class Curves(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chart of lines, against the number in the names of rows.

    Attributes
    ----------
    name : str
        In a word or two.
    title, x, y : str
        Of the chart and its axes.
    """

    name: str
    title: str
    x: str
    y: str


class Publication(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source.

    Attributes
    ----------
    key : str
        Its number, as in ``004``.
    title, about : str
        What it is about, and on what its experiments were made.
    machines : dict
        Names of the machines by those that items use.
    curves : dict
        Charts of lines by the names that items have for them.
    items : tuple of Item
    """

    title: str
    about: str
    machines: dict[str, str]
    items: tuple[Item, ...]
    curves: dict[str, Curves] = {}
    key: str = ""

    def machine(self, item: Item) -> str:
        """Return what an item was measured on there, in words."""
        return re.sub(r"\w+", lambda word: self.machines.get(word[0], word[0]), item.machine)

    def item(self, name: str) -> Item:
        """Return the item of a name.

        Raises
        ------
        OptionError
            If there is none.
        """
        for item in self.items:
            if name in (item.name, *_numbers(item.name)):
                return item
        raise OptionError(f"Source {self.key} has no {name}.", f"List what it has: clalign lab list {self.key}")


def _numbers(name: str) -> list[str]:
    """Return the names of each of several figures, as in ``figures 6.1-6.5, 6.8``."""
    noun, _, numbers = name.partition(" ")
    if noun != "figures":
        return []
    found = []
    for part in numbers.split(", "):
        first, _, last = part.partition("-")
        chapter, _, low = first.rpartition(".")
        high = last.rpartition(".")[2] or low
        found += [f"figure {chapter}.{number}" for number in range(int(low), int(high) + 1)]
    return found


@cache
def publications() -> dict[str, Publication]:
    """Return the four sources by their numbers."""
    folder = files("clalign.resources") / "publications"
    found = {}
    for key in ("001", "002", "003", "004"):
        data = tomllib.loads((folder / f"{key}.toml").read_text("utf-8"))
        found[key] = check_as(Publication, {"key": key, **data})
    return found


def published_figures(key: str, *names: str) -> dict[str, Figures]:
    """Return the published figures of items of a source by their rows; those of later items replace others."""
    found: dict[str, Figures] = {}
    for item in map(publications()[key].item, names):
        for row in item.published:
            found.setdefault(row, {}).update(item.published_figures(row))
    return found


def found_item(text: str, noun: str = "") -> tuple[Publication, Item]:
    """Return the source and the item that a text such as ``004:8.6`` means.

    Parameters
    ----------
    text : str
        The number of a source and the name of an item, whose first word may be left out if `noun` gives it.
    noun : str
        ``table``, ``figure`` or empty.

    Raises
    ------
    OptionError
        If there is none.
    """
    key, _, name = text.partition(":")
    if key not in publications():
        raise OptionError(
            f'"{text[:40]}" names no source.', f"Give one of {', '.join(publications())} with a number: 004:8.6"
        )
    source, name = publications()[key], " ".join(name.split())
    if not name:
        raise OptionError(f'"{text}" names a source, but nothing of it.', f"List what it has: clalign lab list {key}")
    with suppress(OptionError):
        return source, source.item(name)
    return source, source.item(f"{noun} {name}" if noun else name)

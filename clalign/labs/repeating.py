"""What repetitions of published experiments share: what is asked, what is found, and how figures are compared."""

from __future__ import annotations

import math
import time
from typing import Any

from msgspec import Struct

from clalign.labs.laboratory import DONE
from clalign.labs.publications import Item
from clalign.values.text_columns import Row

Table = dict[str, Row]


class Request(Struct, frozen=True):
    """What is to be repeated, and how.

    Attributes
    ----------
    items : tuple of Item
        All are of the repetition.
    device : str
        In a user's words.
    runs : int
        How often each kernel is timed.
    seed : int
        Of what is random.
    is_small : bool
        Whether everything is as small as can be: figures then mean nothing.
    is_full : bool
        Whether whole runs are as large as published.
    hmm, db : str or None
        Files of the user in place of what is bundled or made up, for whole runs.
    reports : bool
        Whether to ask the driver for registers and memory, which compiles every kernel twice.
    ends : float
        On the clock `time.monotonic`: nothing is begun later.
    """

    items: tuple[Item, ...]
    device: str
    runs: int
    seed: int
    is_small: bool = False
    is_full: bool = False
    hmm: str | None = None
    db: str | None = None
    reports: bool = True
    ends: float = math.inf

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be begun."""
        return time.monotonic() > self.ends

    def part(self, place: int, n: int) -> float:
        """Return when the part of a place among n that are alike should be over, on the clock of `ends`."""
        now = time.monotonic()
        return now + (self.ends - now) / (n - place)

    def job_seconds(self, usual: float, n: int) -> float:
        """Return how long the first of n kernels may take, each run once before it is timed, to be over in time.

        A third, since first kernels are slower than a small job lets expect.
        """
        return min(usual, max(0.0, self.ends - time.monotonic()) / (3 * n * (self.runs + 1)))


class Found(Struct, frozen=True):
    """What a repetition found.

    Attributes
    ----------
    tables : dict
        By their names.
    text : str
        What was measured, in words.
    wrong : tuple of str
        What computed other results than expected.
    """

    tables: dict[str, Table]
    text: str = ""
    wrong: tuple[str, ...] = ()


def values_of(item: Item, table: Table) -> list[Row]:
    """Return the figures of an item, here and there, a row for each.

    Gains are times over the first row of the item, or over the first quantity of the same row; where that was not
    measured there is none. The ratio is of gains or of the figures themselves, as the item says; of the first row,
    whose gain is 1, there is none.
    """
    names = item.shown_rows if any(name in table for name in item.shown_rows) else tuple(table)
    quantities, units = item.shown_quantities, item.unit.split(", ")
    found: list[Row] = []
    for place, quantity in enumerate(quantities):
        unit = units[place] if len(units) == len(quantities) else item.unit
        is_known = any(
            quantity in item.published_figures(name) or row.get(quantity) is not None or row.get("reason")
            for name in names
            for row in [table.get(name, {})]
        )
        for name in names if is_known else ():
            row = table.get(name, {})
            here, there = _measured(row, quantity), item.published_figures(name).get(quantity)
            text = row.get("reason") or ""
            if isinstance(here, bool | str):
                here, text = None, here if isinstance(here, str) else "equal" if here else "differs"
            if here is None and there is None and not text:
                continue
            value: Row = {
                "item": item.name, "row": name, "quantity": quantity, "here": here, "there": there, "text": text,
                "unit": unit, "gain_here": None, "gain_there": None, "ratio": None,
            }  # fmt: skip
            if item.compare == "value" and quantity == (item.quantity or quantity):
                value["ratio"] = _quotient(here, there)
            elif item.compare in ("gain", "across"):
                base = (name, quantities[0]) if item.compare == "across" else (names[0], quantity)
                value["gain_here"] = _quotient(_measured(table.get(base[0], {}), base[1]), here)
                value["gain_there"] = _quotient(item.published_figures(base[0]).get(base[1]), there)
                if base != (name, quantity):
                    value["ratio"] = _quotient(value["gain_here"], value["gain_there"])
            found.append(value)
    return found


def _measured(row: Row, quantity: str) -> Any:
    return row.get(quantity) if row.get("status", DONE) == DONE else None


def _quotient(a: float | None, b: float | None) -> float | None:
    """Return a / b; None unless there are both, and alike in sign."""
    return a / b if a and b and a / b > 0 else None

"""How far queries are searched, in words: a query without hits need not have been looked for yet."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Protocol

from .. import formatting


class SearchedRun(Protocol):
    """What is asked of a `RunView`."""

    noun: str
    cards: list[dict[str, Any]]
    is_live: bool

    @property
    def state(self) -> str:
        """What became of the run."""
        ...

    def share_searched(self) -> float:
        """Return which share of the targets what is in view was compared with so far; not a number if unknown."""
        ...


def unsearched_words(run: SearchedRun) -> tuple[str, str] | None:
    """Return heading and text for what is in view and has no hits as it is not searched to its end; None if it is."""
    share, noun = run.share_searched(), run.noun.lower()
    if share >= 1.0:
        return None
    if run.is_live or run.state == "elsewhere":
        if share or len(run.cards) < 2:
            return "No hits yet", "Hits appear here while the search runs, best first."
        return "Not searched yet", f"This search comes to this {noun} later. Its hits appear here then, best first."
    if share == 0.0:
        return "Not searched yet", f"The search ended before it came to this {noun}. Continue it to find its hits."
    return "No hits so far", f"The search ended early{_how_far(share)}. Continue it to look at the rest."


def _how_far(share: float) -> str:
    return "" if math.isnan(share) else f", when {formatting.percent(share)} of the targets were compared"


def left_words(shares: Collection[float]) -> str:
    """Return how many queries are not searched to their end, to be added to a sentence; empty if all are."""
    none, part = sum(share == 0.0 for share in shares), sum(not (share >= 1.0 or share == 0.0) for share in shares)
    said = [f"{formatting.count(none)} not searched yet"] * bool(none)
    said += [f"{formatting.count(part)} only in part"] * bool(part)
    return f"; {', '.join(said)}" if said else ""

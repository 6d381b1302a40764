"""Lists of so many objects that freeing them would stall the window."""

from __future__ import annotations

import sys
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")

MAX_AT_ONCE = 20_000
"""Objects that are freed in one turn: some milliseconds."""

MAX_BETWEEN_TURNS = 500
"""Objects that are freed before another thread gets its turn."""


class LongList(list[Item]):
    """A list that frees its objects in pieces, in a thread of its own, when its last reference is gone.

    Python lets all that a list holds go in one step, in which no other thread runs: a million sequences with their
    domains take a fifth of a second. The objects must be plain values, which may end in any thread.
    """

    def __del__(self) -> None:
        """Hand the remaining objects to a thread."""
        if len(self) > MAX_AT_ONCE and not sys.is_finalizing():
            Thread(target=_empty, args=(self,), name="clalign-emptier", daemon=True).start()


def _empty(items: list[Item]) -> None:
    while items:
        del items[-MAX_BETWEEN_TURNS:]

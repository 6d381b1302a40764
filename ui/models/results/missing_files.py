"""Messages about files of a run that are not where they were."""

from __future__ import annotations

from clalign.runs.inputs import LOCATE

LOCATE_TITLE = "Locate file…"


def can_be_located(text: str) -> bool:
    """Return whether a message is about a file of a run whose new place a person can tell."""
    return LOCATE in text


def without_ways(text: str) -> str:
    """Return a message without the names of the ways to tell it, for a place with a button that does."""
    return text.replace(f": {LOCATE}", "").replace(f" ({LOCATE})", "")

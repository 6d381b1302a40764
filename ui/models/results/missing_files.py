"""Messages about missing files of a run."""

from __future__ import annotations

from clalign.runs.inputs import LOCATE

LOCATE_TITLE = "Locate file…"


def can_be_located(text: str) -> bool:
    """Return whether a message is about a missing file that the user can locate."""
    return LOCATE in text


def without_ways(text: str) -> str:
    """Return a message without its hints on locating files, beside a button for that."""
    return text.replace(f": {LOCATE}", "").replace(f" ({LOCATE})", "")

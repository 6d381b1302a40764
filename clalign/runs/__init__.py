"""Run files: what was asked, what was read, what is done and what was found."""

from collections.abc import Callable
from typing import Any


def _unknown(engine: str) -> Any:
    raise LookupError(engine)


find_declaration: Callable[[str], Any] = _unknown
"""Returns what an engine declares of its runs, by its name.

The package sets it. Raises LookupError if the engine is not installed.
"""

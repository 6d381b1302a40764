"""Run files: spec, inputs, progress and results of searches and alignments."""

from collections.abc import Callable
from typing import Any, NoReturn


def _unknown(engine: str) -> NoReturn:
    raise LookupError(engine)


find_declaration: Callable[[str], Any] = _unknown
"""Returns the declaration of an engine's runs by the name of the engine.

It is set when `clalign` is imported, and raises LookupError if the engine is not installed.
"""

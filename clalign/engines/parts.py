"""Parts of the program that are named as ``module:name``, and imported when they are needed."""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from typing import Any

from clalign import tracing


def part_at(place: str) -> Any:
    """Return what stands at a place, ``module:name``."""
    module, _, attribute = place.partition(":")
    if module in sys.modules:
        return attrgetter(attribute)(import_module(module))  # waits if another thread is importing it
    with tracing.span("load modules", "start"):
        return attrgetter(attribute)(import_module(module))

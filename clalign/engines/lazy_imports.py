"""Parts of the program that are named as ``module:name``, and imported when they are needed."""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from operator import attrgetter
from typing import Generic, TypeVar

from msgspec import Struct

from clalign import tracing

Part = TypeVar("Part", covariant=True)


class LazyImport(Struct, Generic[Part], frozen=True):
    """A part of the program by its place.

    Attributes
    ----------
    place : str
        ``module:name``; the name may have dots.
    """

    place: str

    def get(self) -> Part:
        """Return the part; its module is imported the first time."""
        module, _, attribute = self.place.partition(":")
        with contextlib.nullcontext() if module in sys.modules else tracing.span("load modules", "start"):
            found: Part = attrgetter(attribute)(import_module(module))  # waits if another thread is importing it
        return found

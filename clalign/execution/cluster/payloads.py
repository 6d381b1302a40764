"""What is sent to workers: pickled objects, without what only the main process has; databases are sent on their own."""

from __future__ import annotations

import io
import itertools
import pickle
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from clalign.jobs import Job, QuietContext
from clalign.runs.run_file import RunFile
from clalign.values.sequences import SequenceDatabase

_LOCK_KINDS = (type(threading.Lock()), type(threading.RLock()))

Reference = tuple[str, int]
"""Stands in a payload for an object that is sent on its own: ``database`` or ``shared``, and its number."""


class Register:
    """The objects that are sent on their own, once to each worker: databases, and classes with ``travels_once``."""

    def __init__(self) -> None:
        self.found: dict[Reference, Any] = {}
        self._numbers: dict[int, Reference] = {}
        self._count = itertools.count()

    def reference_of(self, thing: object) -> Reference | None:
        """Return the reference of an object; None if it is sent within others."""
        if isinstance(thing, SequenceDatabase):
            kind = "database"
        elif getattr(type(thing), "travels_once", False):
            kind = "shared"
        else:
            return None
        known = self._numbers.get(id(thing))
        if known is None:
            known = kind, next(self._count)
            self.found[known], self._numbers[id(thing)] = thing, known
        return known

    def forget(self, reference: Reference) -> None:
        """Forget an object; it gets another reference if it is sent again."""
        del self._numbers[id(self.found.pop(reference))]

    def packed(self, thing: object) -> tuple[bytes, list[Reference]]:
        """Return an object as a payload, and what it refers to."""
        import cloudpickle

        register, needed = self, dict[Reference, None]()

        class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
            def persistent_id(self, obj: object) -> Reference | None:
                reference = None if obj is thing else register.reference_of(obj)
                if reference is not None:
                    needed[reference] = None
                return reference

            def reducer_override(self, obj: object) -> object:
                if isinstance(obj, RunFile):
                    return _nothing, ()
                if isinstance(obj, Job):
                    return QuietContext, ()
                if isinstance(obj, _LOCK_KINDS):
                    return threading.Lock, ()
                if isinstance(obj, WeakKeyDictionary):  # of what was computed, and can be again
                    return WeakKeyDictionary, ()
                return super().reducer_override(obj)

        stream = io.BytesIO()
        Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(thing)
        return stream.getvalue(), list(needed)


def unpacked(data: bytes, find: Callable[[Reference], object]) -> Any:
    """Return the object in a payload; `find` returns objects that were sent on their own."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, reference: Reference) -> object:
            return find(reference)

    return Unpickler(io.BytesIO(data)).load()


def _nothing() -> None:
    return None

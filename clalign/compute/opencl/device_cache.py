"""A cache of values on a device between stages: tables of models, residues of batches."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import cast

from msgspec import Struct

from clalign.compute.sessions import Kept


class _Entry(Struct, frozen=True):
    key: Callable[[], object]
    """Returns the key object, so that no other object with its id is taken for it."""
    value: object
    n_bytes: int


class DeviceCache:
    """Values on a device by name and key object.

    An entry is dropped with its key; the least recently used ones are dropped when the budget is spent. A key
    that does not support weak references is held as long as its entry.

    Parameters
    ----------
    budget : int
        Limit of the bytes of all values; the newest is kept whatever its size.
    size_of : callable
        Returns the device bytes of one leaf (a buffer) of a value; 0 for anything else.
    """

    def __init__(self, budget: int, size_of: Callable[[object], int]) -> None:
        self.budget = budget
        self._size_of = size_of
        self._kept: OrderedDict[tuple[str, int], _Entry] = OrderedDict()
        self.n_bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, name: str, key: object, make: Callable[[], Kept]) -> Kept:
        """Return the value of this key object, made now if it is missing."""
        place = (name, id(key))
        kept = self._kept.get(place)
        if kept is not None and kept.key() is key:
            self._kept.move_to_end(place)
            return cast("Kept", kept.value)
        self._forget(place)
        value = make()
        self._kept[place] = new = _Entry(
            self._reference(place, key), value, sum(self._size_of(leaf) for leaf in _leaves(value))
        )
        self.n_bytes += new.n_bytes
        while self.n_bytes > self.budget and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return value

    def _reference(self, place: tuple[str, int], key: object) -> Callable[[], object]:
        try:
            return weakref.ref(key, lambda _: self._forget(place))
        except TypeError:
            return lambda: key

    def _forget(self, place: tuple[str, int]) -> None:
        kept = self._kept.pop(place, None)
        if kept is not None:
            self.n_bytes -= kept.n_bytes

    def shrink(self) -> None:
        """Drop everything because memory was short, and halve the budget."""
        self.budget = min(self.budget, self.n_bytes // 2)
        self.clear()

    def clear(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self.n_bytes = 0


def _leaves(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        value = list(value.values())
    elif isinstance(value, Struct):
        value = [getattr(value, name) for name in value.__struct_fields__]
    elif is_dataclass(value):  # an engine of another package may use these
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value

"""What stays on a device between stages: tables of models, residues of batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class _Kept:
    key: object
    """Held, so that no other object can get its id while this entry lives."""
    value: Any
    n_bytes: int


class Residents:
    """Things on a device by name and key object; the least recently used go when the budget is spent.

    Parameters
    ----------
    budget : int
        Bytes that all of them may take together; the newest is kept whatever its size.
    size_of : callable
        Returns the device bytes of one leaf (a buffer) of what is kept; 0 for anything else.
    """

    def __init__(self, budget: int, size_of: Callable[[Any], int]) -> None:
        self.budget = budget
        self._size_of = size_of
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()
        self.n_bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, name: str, key: object, make: Callable[[], Any]) -> Any:
        """Return what is kept for this very key object, made now if it is not there."""
        place = (name, id(key))
        kept = self._kept.get(place)
        if kept is not None:
            self._kept.move_to_end(place)
            return kept.value
        value = make()
        self._kept[place] = new = _Kept(key, value, sum(self._size_of(leaf) for leaf in _leaves(value)))
        self.n_bytes += new.n_bytes
        while self.n_bytes > self.budget and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self.n_bytes -= oldest.n_bytes
        return value

    def clear(self) -> None:
        """Let everything go."""
        self._kept.clear()
        self.n_bytes = 0


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value

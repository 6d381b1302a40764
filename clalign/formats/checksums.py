"""Checksums at the speed of reading, for what may be damaged or replaced but not forged."""

from __future__ import annotations

import importlib
import json
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

PIECE = 1 << 18
"""Size of the pieces of an array that have a checksum each, in bytes."""


def _fastest() -> Callable[..., int]:
    """Return CRC-32 from one of the libraries that xopen brings along: they are five times as fast as zlib."""
    for name in ("isal.isal_zlib", "zlib_ng.zlib_ng"):
        with suppress(ImportError, AttributeError):
            found: Callable[..., int] = importlib.import_module(name).crc32
            return found
    return zlib.crc32


_crc32 = _fastest()


def crc32(data: object, before: int = 0) -> int:
    """Return the CRC-32 (ISO 3309) of bytes that come after others whose CRC-32 is `before`."""
    return _crc32(data, before)


def checked_json(content: object) -> str:
    """Return plain data as JSON with its checksum."""
    return json.dumps({"crc32": crc32(json.dumps(content).encode()), "content": content}, indent=1)


def checked_content(text: str) -> Any:
    """Return the plain data that `checked_json` wrote.

    Raises
    ------
    ValueError
        If the text is damaged.
    """
    try:
        found = json.loads(text)
        content = found["content"]
        if found["crc32"] == crc32(json.dumps(content).encode()):
            return content
    except (KeyError, TypeError, RecursionError):
        pass
    raise ValueError("the text is damaged")


class PieceSums:
    """The checksums of the pieces of a file that is being written."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._open = 0
        self._filled = 0

    def add(self, data: bytes) -> None:
        """Add the bytes that are written next."""
        view = memoryview(data)
        while view:
            part = view[: PIECE - self._filled]
            self._open, self._filled = crc32(part, self._open), self._filled + len(part)
            view = view[len(part) :]
            if self._filled == PIECE:
                self._end()

    def _end(self) -> None:
        self._sums.append(self._open)
        self._open, self._filled = 0, 0

    def finish(self) -> list[int]:
        """Return the checksums of all pieces; the last one may be short."""
        if self._filled:
            self._end()
        return self._sums


class CheckedArray:
    """An array in a file that may be damaged: each piece is checked when it is first read.

    It is read like an array: by index, slice or places, or whole where an array is expected.

    Parameters
    ----------
    values : array[n]
        Mapped from the file.
    sums : list of int
        CRC-32 of each `PIECE` bytes of it.
    renew : callable
        Called when a piece is damaged; makes the array again and calls `replace` with it.
    """

    def __init__(self, values: npt.NDArray[np.generic], sums: list[int], renew: Callable[[], None]) -> None:
        self._renew = renew
        self._lock = threading.RLock()
        self.replace(values, sums)

    def replace(self, values: npt.NDArray[np.generic], sums: list[int]) -> None:
        """Replace the values by others, none of which is checked yet."""
        self._values, self._sums = values, sums
        self._bytes = values.view(np.uint8)
        self._checked = bytearray(len(sums))
        self._left = len(sums)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: Any, /) -> Any:
        if self._left:
            self._check(self._pieces(key))
        return self._values[key]

    def __array__(self, dtype: npt.DTypeLike | None = None, /, *, copy: bool | None = None) -> npt.NDArray[np.generic]:
        return np.array(self[:], dtype, copy=copy)

    def _pieces(self, key: object) -> range | list[int]:
        """Return the pieces that hold the values of a key."""
        n, size = len(self._values), self._values.itemsize
        if isinstance(key, slice):
            start, end, step = key.indices(n)
            if start >= end or step != 1:
                return range(0) if start == end else range(len(self._sums))
            return range(start * size // PIECE, (end * size - 1) // PIECE + 1)
        if isinstance(key, np.ndarray) and key.dtype.kind in "iu":
            pieces: list[int] = np.unique(np.where(key < 0, key + n, key) * size // PIECE).tolist()
            return pieces
        if isinstance(key, int | np.integer):
            place = int(key) + n if key < 0 else int(key)
            return range(place * size // PIECE, place * size // PIECE + 1) if 0 <= place < n else range(0)
        return range(len(self._sums))

    def _check(self, pieces: range | list[int]) -> None:
        if all(self._checked[piece] for piece in pieces):
            return
        with self._lock:
            while not all(self._is_right(piece) for piece in pieces):
                self._renew()

    def _is_right(self, piece: int) -> bool:
        if not self._checked[piece]:
            if crc32(self._bytes[piece * PIECE : (piece + 1) * PIECE]) != self._sums[piece]:
                return False
            self._checked[piece] = 1
            self._left -= 1
        return True

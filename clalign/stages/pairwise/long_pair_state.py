"""The state of the first pass through the matrix of a long pair, stored to continue it later."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession

Cells = npt.NDArray[np.int32]

State = Mapping[str, bytes]
"""Packed numbers by the names of the parts."""

FASTEST = 1
"""Level of zlib: higher ones take much longer for little gain."""

WIDTHS = (np.int8, np.int16, np.int32, np.int64)


class Keeper(Protocol):
    """Keeps the state of a pass, so that another worker can go on."""

    def is_due(self, n_bytes: int) -> bool:
        """Return whether it is time to keep the state, which takes this many bytes before it is packed."""

    def is_due_in_the_end(self, n_bytes: int) -> bool:
        """Return whether to keep the state of a pass that is stopped, though somebody waits for that."""

    def keep(self, state: State) -> None:
        """Keep a state in place of the last one."""

    def kept(self) -> State | None:
        """Return the last state, if there is one."""

    def refuse(self, why: str) -> None:
        """Take note that what was kept cannot be used."""


class NothingKept:
    """Keeps nothing."""

    def is_due(self, n_bytes: int) -> bool:
        """Return False."""
        return False

    def is_due_in_the_end(self, n_bytes: int) -> bool:
        """Return False."""
        return False

    def keep(self, state: State) -> None:
        """Keep nothing."""

    def kept(self) -> State | None:
        """Return nothing."""
        return None

    def refuse(self, why: str) -> None:
        """Do nothing."""


def packed(cells: Cells) -> bytes:
    """Return numbers in few bytes: neighbors differ little, and a gap little from its score.

    Parameters
    ----------
    cells : int32[n] or int32[n, 2]
        Scores; or edges, which have gaps beside them.
    """
    wide = cells.astype(np.int64)
    columns = [wide] if cells.ndim == 1 else [wide[:, 0], wide[:, 0] - wide[:, 1]]
    parts = []
    for column in columns:
        differences = np.diff(column)
        most = int(np.abs(differences).max()) if len(differences) else 0
        kind = next(kind for kind in WIDTHS if most <= np.iinfo(kind).max)
        parts += [np.array([np.dtype(kind).itemsize, *column[:1]], np.int64), differences.astype(kind)]
    return zlib.compress(b"".join(part.tobytes() for part in parts), FASTEST)


def unpacked(data: bytes, shape: tuple[int, ...]) -> Cells:
    """Return the numbers that `packed` has packed.

    Raises
    ------
    ValueError
        If these are not such numbers of this shape.
    """
    n = shape[0]
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(data, (16 + 8 * n) * len(shape) + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    columns, at = [], 0
    for _ in range(1 if len(shape) == 1 else shape[1]):
        width = int(np.frombuffer(plain, np.int64, 1, at)[0])
        first = np.frombuffer(plain, np.int64, min(n, 1), at + 8)
        at += 8 + first.nbytes
        kind = next((np.dtype(kind) for kind in WIDTHS if np.dtype(kind).itemsize == width), None)
        if kind is None:
            raise ValueError(f"numbers of {width} bytes")
        differences = np.frombuffer(plain, kind, max(0, n - 1), at)
        at += differences.nbytes
        columns.append(np.cumsum(np.concatenate([first, differences], dtype=np.int64)))
    if at != len(plain) or not unpacking.eof:
        raise ValueError("more than was expected")
    found = columns[0] if len(shape) == 1 else np.stack([columns[0], columns[0] - columns[1]], axis=1)
    if n and not (np.iinfo(np.int32).min <= found.min() and found.max() <= np.iinfo(np.int32).max):
        raise ValueError("numbers that are too large")
    return found.astype(np.int32)


class Part(Struct, frozen=True):
    """Numbers of a pass on a device, in rows of which only the first ones may be known yet.

    Attributes
    ----------
    name : str
    buffer : Buffer
    width : int
        Numbers in a row, or edges.
    known : sequence of int
        Of each row.
    is_edge : bool
        Whether there are two numbers each.
    """

    name: str
    buffer: Buffer
    width: int
    known: Sequence[int]
    is_edge: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        return (len(self.known), self.width, 2) if self.is_edge else (len(self.known), self.width)

    @property
    def n_bytes(self) -> int:
        """Bytes of what is known."""
        return (8 if self.is_edge else 4) * sum(self.known)

    def read(self, session: KernelSession) -> Iterator[tuple[str, bytes]]:
        """Yield names and packed numbers of what is known."""
        if any(self.known):
            cells = session.download(self.buffer, self.shape, np.int32)
            for number, n in enumerate(self.known):
                yield f"{self.name} {number}", packed(cells[number, :n])

    def written(self, session: KernelSession, state: State) -> Buffer:
        """Return a buffer with what a state says; this one, if there is nothing.

        Raises
        ------
        ValueError, KeyError
            If the state does not say it.
        """
        if not any(self.known):
            return self.buffer
        cells = np.zeros(self.shape, np.int32)
        for number, n in enumerate(self.known):
            cells[number, :n] = unpacked(state[f"{self.name} {number}"], (n, *self.shape[2:]))
        return session.loaded(cells)


def n_done(n_diagonals: int, before: int, n: int) -> int:
    """Return how many of n tiles in a row are done after this many diagonals, if the first is on diagonal `before`."""
    return min(max(n_diagonals - before, 0), n)


def known_of_edges(n_edges: int, between: int, n_diagonals: int, n_tiles: int, length: int, size: int) -> list[int]:
    """Return how much of each kept edge is known after this many diagonals, its first cell included.

    Parameters
    ----------
    between : int
        Strips or tiles from one kept edge to the next.
    n_tiles, length, size : int
        Tiles along an edge, their cells in all, and those of each but the last.
    """
    done = [n_done(n_diagonals, number * between - 1, n_tiles) for number in range(1, n_edges + 1)]
    return [1 + min(n * size, length) if n else 0 for n in done]

"""The lines of a file of profiles, one after the other, or as a block of bytes where many of them are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clalign.formats.sources import MAX_PROFILE_LINE_BYTES, TextReader, decoded


class ProfileLines(Iterator[tuple[int, str]]):
    """The numbered lines of a text without their ends, decoded.

    Parameters
    ----------
    reader : TextReader
    check : callable
        Called now and then; it may raise `Cancelled`.

    Attributes
    ----------
    number : int
        Number of the line that is read next.
    """

    def __init__(self, reader: TextReader, check: Callable[[], None] = lambda: None) -> None:
        self.number, self._check = reader.line, check
        self._chunks = reader.chunks(max_bytes=MAX_PROFILE_LINE_BYTES)
        self._text, self._place = b"", 0

    def __next__(self) -> tuple[int, str]:
        if self._place == len(self._text) and not self._read_on():
            raise StopIteration
        start, number = self._place, self.number
        end = self._text.index(b"\n", start)
        self._place, self.number = end + 1, number + 1
        return number, decoded(self._text[start:end])

    def _read_on(self, n_bytes: int = 1) -> bool:
        """Add pieces of this many bytes to the text that is not read; return False if there are none."""
        pieces, wanted = [self._text[self._place :]], n_bytes
        while wanted > 0 and (more := next(self._chunks, None)) is not None:
            self._check()
            pieces.append(more)
            wanted -= len(more)
        self._text, self._place = b"".join(pieces), 0
        return wanted < n_bytes

    def coming(self, n_bytes: int) -> bytes:
        """Return this many of the bytes that are read next, line ends included; fewer at the end of the text."""
        if (lacking := n_bytes - (len(self._text) - self._place)) > 0:
            self._read_on(lacking)
        return self._text[self._place : self._place + n_bytes]

    def skip(self, n_bytes: int, n_lines: int) -> None:
        """Leave out whole lines that have come."""
        self._place += n_bytes
        self.number += n_lines

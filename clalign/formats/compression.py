"""Compressed files: recognized by their first bytes, read as streams of decompressed bytes.

The libraries are loaded with the first compressed file, so that runs without one need not wait for them.
"""

from __future__ import annotations

import bz2
import importlib
import lzma
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

if TYPE_CHECKING:
    import zstandard

ZSTD_INPUT = 4 << 10
"""Compressed bytes that zstd gets at once; few, because the text may be thousands of times longer."""

SMALL_INPUT = 1 << 10
"""Compressed bytes that are read at once to find the damage of a file."""

Compression = Literal["none", "gzip", "bzip2", "xz", "zstd"]

_MAGIC: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    # A frame to skip, with which pzstd and others begin.
    **{bytes([0x50 + n, 0x2A, 0x4D, 0x18]): "zstd" for n in range(16)},
}
_XOPEN = {"gzip": "gz", "bzip2": "bz2", "xz": "xz"}


def compression_of(head: bytes) -> Compression:
    """Return how a file that begins with these bytes is compressed."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "none")


class _Stream(Protocol):
    """The part of a binary file that is used."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""

    def close(self) -> None:
        """Close it."""


class _ZstdStream:
    """Decompressed zstd frames; raises EOFError if the last one is not complete."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame = self._new_frame()
        self._begun = False
        self._compressed = b""
        self._text = b""

    @staticmethod
    def _new_frame() -> zstandard.ZstdDecompressionObj:
        import zstandard

        return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none only at the end."""
        while not self._text:
            data = self._compressed or self._raw.read(ZSTD_INPUT)
            if not data:
                if self._begun:
                    raise EOFError
                return b""
            self._begun, self._compressed = True, b""
            self._text = self._frame.decompress(data)
            if self._frame.eof:
                self._compressed = self._frame.unused_data
                self._frame, self._begun = self._new_frame(), False
        text, self._text = self._text[:size], self._text[size:]
        return text

    def close(self) -> None:
        """Nothing to close: the raw file belongs to the caller."""


def decompressed(raw: BinaryIO, compression: Compression) -> _Stream:
    """Return the decompressed stream of a file; damage is raised as one of `damages`."""
    if compression == "none":
        return raw
    if compression == "zstd":
        return _ZstdStream(raw)
    import xopen

    stream: _Stream = xopen.xopen(raw, "rb", format=_XOPEN[compression], threads=0)
    return stream


def readable(raw: BinaryIO, compression: Compression) -> tuple[int, int]:
    """Return the numbers of bytes of text and of line ends before the damage of a file.

    Parameters
    ----------
    raw : binary file
        At its beginning.
    compression : str
    """
    n_bytes = n_lines = 0
    with suppress(OSError, *damages()):  # at this the reading has ended before
        for text in _texts(raw, compression):
            n_bytes, n_lines = n_bytes + len(text), n_lines + text.count(b"\n")
    return n_bytes, n_lines


def _texts(raw: BinaryIO, compression: Compression) -> Iterator[bytes]:
    """Yield the text of small pieces of a file, so that little is lost before the damage."""
    if compression == "zstd":
        stream = _ZstdStream(raw)
        while text := stream.read(ZSTD_INPUT):
            yield text
        return
    make = {"gzip": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), "bzip2": bz2.BZ2Decompressor,
            "xz": lzma.LZMADecompressor}[compression]  # fmt: skip
    member: Any = make()
    while data := raw.read(SMALL_INPUT):
        while data:
            if member.eof:
                member = make()
            yield member.decompress(data)
            data = member.unused_data if member.eof else b""


def damages() -> tuple[type[Exception], ...]:
    """Return the errors that the libraries raise at damaged data, including the fast ones that xopen finds."""
    import zstandard

    errors: list[type[Exception]] = [EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError]
    for name in ("isal.isal_zlib", "zlib_ng.zlib_ng"):
        with suppress(ImportError):
            errors.append(importlib.import_module(name).error)
    return tuple(errors)

"""The files of the acceptance data as peers read them, which are slow.

Of large files they are given every so manieth sequence, and of many files each is met by some of the others; all of
them in an exhaustive run, which sets the environment variable ``CLALIGN_EVERY_SEQUENCE``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

EVERY_SEQUENCE = bool(os.environ.get("CLALIGN_EVERY_SEQUENCE"))


def share(items: Sequence[T], place: int, step: int) -> Sequence[T]:
    """Return every so manieth of some items, others for each place that follows."""
    return items if EVERY_SEQUENCE else items[place % step :: step]


def plain_copy(path: Path, folder: Path, most: int = 0) -> Path:
    """Return a file without compression, and with no more than about so many bytes of its sequences (0: all)."""
    most = 0 if EVERY_SEQUENCE else most
    if path.suffix != ".gz" and path.stat().st_size <= (most or path.stat().st_size):
        return path
    copy = folder / path.name.removesuffix(".gz")
    if not copy.exists():
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if 0 < most < len(content):
            records = (b"\n" + content).split(b"\n>")[1 :: -(-len(content) // most)]
            content = b"".join(b">%b\n" % record for record in records)
        copy.write_bytes(content)
    return copy

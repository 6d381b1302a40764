"""The files of the acceptance data as peers read them, which are slow.

Of large files they are given every so manieth sequence; all of them where the environment variable
``CLALIGN_EVERY_SEQUENCE`` is set.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

EVERY_SEQUENCE = bool(os.environ.get("CLALIGN_EVERY_SEQUENCE"))


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

"""Small files of the program, read safely where somebody else may have made or replaced them."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

MAX_BYTES = 1 << 20

MAX_DOCUMENT_BYTES = 1 << 25
"""Most bytes of a document in JSON that a user chooses."""


def read_small_file(path: Path, limit: int = MAX_BYTES, follows_links: bool = False) -> bytes:
    """Return the content of a small file, without waiting for a pipe that stands in its place.

    Parameters
    ----------
    path : Path
    limit : int
        Largest size of the file in bytes.
    follows_links : bool
        Whether symbolic links are followed.

    Raises
    ------
    OSError
        If it cannot be read, is larger, or is not a file: a pipe, a device, a folder, or a link that is not followed.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follows_links:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a file", str(path))
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content


def read_small_json(path: Path, limit: int = MAX_BYTES) -> Any:
    """Return the content of a small file of JSON; symbolic links are followed.

    Raises
    ------
    OSError
        As `read_small_file` does.
    ValueError
        If it is no JSON, or nested too deeply to be read.
    """
    try:
        return json.loads(read_small_file(path, limit, follows_links=True))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None

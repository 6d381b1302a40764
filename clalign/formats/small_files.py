"""Small files of the program's own, read where somebody else may have put another thing in their place."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 1 << 20


def read_small_file(path: Path, limit: int = MAX_BYTES, follows_links: bool = False) -> bytes:
    """Return the content of a small file; nothing is waited for, as a pipe without a writer would have it.

    Parameters
    ----------
    path : Path
    limit : int
        Bytes that it has at most.
    follows_links : bool
        Whether a link is taken for the file that it leads to.

    Raises
    ------
    OSError
        If it cannot be read, is larger, or is no file: a pipe, a device, a folder, or a link that is not followed.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follows_links:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content

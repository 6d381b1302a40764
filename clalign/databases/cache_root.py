"""The folder of the cache, which any process may ask for before it has loaded anything else."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import platformdirs

FOLDER_VARIABLE = "CLALIGN_CACHE_DIR"

OWN_FOLDER = "clalign-cache"
"""Below the folder that a user names, or below that of all programs' caches: what else is there is not ours."""

MARK = "CLALIGN-CACHE"
"""The file in a folder that says that clalign made it, and may remove what is in it."""

_MARK_TEXT = "Made by clalign, which removes old files here. Keep nothing of your own in this folder.\n"

_TAG = "CACHEDIR.TAG"
"""By it programs for backups know a folder that they may leave out (https://bford.info/cachedir/)."""

_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n"

WORKING = "new-"
"""How what is not whole yet is named at first."""


def cache_root() -> Path:
    """Return the folder of everything that can be made again."""
    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir()) / OWN_FOLDER


def make_folder(folder: Path) -> None:
    """Make a folder of the cache, and first the cache itself with its mark.

    Raises
    ------
    OSError
        If that cannot be written, or holds files already and has no mark, so that it is somebody else's.
    """
    root = cache_root()
    mark = root / MARK
    if not mark.is_file():
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()) and not mark.is_file():
            raise FileExistsError(errno.EEXIST, f"{root} holds files already and lacks the mark {MARK} of a cache")
        mark.write_text(_MARK_TEXT, "utf-8")  # first, for another process may look at this very moment
        (root / _TAG).write_text(_TAG_TEXT, "utf-8")
    folder.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a small file in a folder that is there, so that nobody ever reads a part of it."""
    data = content.encode() if isinstance(content, str) else content
    with tempfile.NamedTemporaryFile(prefix=WORKING, dir=path.parent, delete=False) as file:
        name = file.name
        try:
            file.write(data)
            file.close()  # Windows moves no open file
            os.replace(name, path)
        except OSError:
            file.close()
            os.unlink(name)
            raise

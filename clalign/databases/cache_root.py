"""The folder of the cache, which any process may ask for before it has loaded anything else."""

from __future__ import annotations

import atexit
import errno
import math
import os
import tempfile
from pathlib import Path

from clalign.errors import OptionError
from clalign.formats.scratch import Scratch

FOLDER_VARIABLE = "CLALIGN_CACHE_DIR"

LIMIT_VARIABLE = "CLALIGN_CACHE_LIMIT"

DEFAULT_LIMIT = 20 * 10**9

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
    import platformdirs

    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir()) / OWN_FOLDER


def can_write(folder: Path) -> bool:
    """Return whether files can be written in a folder, or in what would be its first that is there.

    It cannot where this user may not even look.
    """
    there = next((place for place in (folder, *folder.parents) if os.path.exists(place)), folder)
    return os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK)


def settle_cache() -> str:
    """Take a temporary folder for the cache, until this process ends, where that of the user cannot be written.

    To be called before anything else asks for the cache; children find the same folder. A folder that the user has
    named is left as it is.

    Returns
    -------
    str
        A warning; empty if all is well.
    """
    usual = cache_root()
    if os.environ.get(FOLDER_VARIABLE) or can_write(usual):
        return ""
    try:
        folder = Scratch()
    except OSError:  # whoever needs the cache tells what is wrong
        return ""
    atexit.register(folder.remove)
    os.environ[FOLDER_VARIABLE] = str(folder.path)
    return (
        f"The cache folder {usual} cannot be written, so that everything is prepared anew in {folder.path} and removed"
        f" at the end. Name a folder that stays with {FOLDER_VARIABLE}."
    )


def cache_limit() -> int:
    """Return how many bytes the cache may hold.

    Raises
    ------
    OptionError
        If the environment says something else than a number of bytes from 0 on.
    """
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return DEFAULT_LIMIT
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not 0 <= limit < math.inf:
        raise OptionError(f'{LIMIT_VARIABLE} is "{given}".', "Set it to a number of bytes, or to nothing.")
    return int(limit)


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

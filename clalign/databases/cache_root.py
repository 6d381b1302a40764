"""The folder of the cache; a module of its own, since processes need it before they load anything else."""

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
"""Name of the cache within the folder that the user names, or that of the caches of all programs."""

MARK = "CLALIGN-CACHE"
"""Name of the file that marks a folder as made by clalign, which may remove its content."""

_MARK_TEXT = "Made by clalign, which removes old files here. Keep nothing of your own in this folder.\n"

_TAG = "CACHEDIR.TAG"
"""Name of the file by which programs for backups recognize a cache (https://bford.info/cachedir/)."""

_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n"

WORKING = "new-"
"""Prefix of the names of unfinished files and folders."""


def cache_root() -> Path:
    """Return the folder of the cache."""
    import platformdirs

    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir()) / OWN_FOLDER


def can_write(folder: Path) -> bool:
    """Return whether files can be written in a folder, or in its nearest existing parent.

    The answer is False where this user may not look.
    """
    existing = next((place for place in (folder, *folder.parents) if os.path.exists(place)), folder)
    return os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK)


def use_temporary_cache() -> str:
    """Use a temporary folder for the cache until this process ends, if that of the user cannot be written.

    It must be called before the cache is used; child processes use the same folder. A folder that the user has
    named is not replaced.

    Returns
    -------
    str
        A warning; empty if no other folder is used.
    """
    usual = cache_root()
    if os.environ.get(FOLDER_VARIABLE) or can_write(usual):
        return ""
    try:
        folder = Scratch()
    except OSError:  # the error is reported where the cache is needed
        return ""
    atexit.register(folder.remove)
    os.environ[FOLDER_VARIABLE] = str(folder.path)
    return (
        f"The cache folder {usual} cannot be written, so a temporary one is used: {folder.path}. Its files are removed"
        f" at the end. Set {FOLDER_VARIABLE} to a folder that can be written."
    )


def cache_limit() -> int:
    """Return the limit of the size of the cache in bytes.

    Raises
    ------
    OptionError
        If the environment variable is not a number of bytes of at least 0.
    """
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return DEFAULT_LIMIT
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not 0 <= limit < math.inf:
        raise OptionError(f'{LIMIT_VARIABLE} is "{given}".', "Set it to a number of bytes, or unset it.")
    return int(limit)


def make_folder(folder: Path) -> None:
    """Make a folder of the cache, and first the cache itself with its mark.

    Raises
    ------
    OSError
        If it cannot be written, or has files but no mark, so that it belongs to somebody else.
    """
    root = cache_root()
    mark = root / MARK
    if not mark.is_file():
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()) and not mark.is_file():
            raise FileExistsError(errno.EEXIST, f"{root} holds files, but lacks the mark {MARK} of a cache")
        mark.write_text(_MARK_TEXT, "utf-8")  # first, since another process may look now
        (root / _TAG).write_text(_TAG_TEXT, "utf-8")
    folder.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a small file into an existing folder, so that nobody reads an incomplete one."""
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

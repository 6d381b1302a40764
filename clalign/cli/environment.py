"""What the environment decides for every command: the level of the log, how many files may be open, and threads."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from clalign.errors import OptionError

LOG_VARIABLE = "CLALIGN_LOG"

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

NEEDED_FILES = 64
"""Open files that a search with its drivers gets along with."""


def check_environment() -> None:
    """Refuse what no command could work with.

    Raises
    ------
    OptionError
        If the level of the log is none, the limit of the cache no number of bytes, or too few files may be open.
    """
    from clalign.databases.cache_root import cache_limit

    given = os.environ.get(LOG_VARIABLE, "")
    if given and given.upper() not in LEVELS:
        raise OptionError(f'{LOG_VARIABLE} is "{given}".', f"Set it to one of {', '.join(LEVELS)}, or to nothing.")
    cache_limit()
    _allow_files()


def leave_threads_out() -> None:
    """Let numpy, before it is loaded, start no threads for algebra, unless the user wants some.

    They take half of the time in which it is loaded, and an engine has nothing for them to do. The other variables are
    those that numpy sets itself while it is loaded, unless they are there: drivers that are being woken at the same
    time read the environment, and crash where the C library has just moved it to make room.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OPENBLAS_MAIN_FREE", "GOTOBLAS_MAIN_FREE"):
        os.environ.setdefault(name, "1")


def begin_loading() -> None:
    """Let nobody look for circles among objects, until `end_loading`, while modules are loaded, which leave none.

    It takes a tenth of the time in which they are loaded.
    """
    gc.disable()


def end_loading() -> None:
    """Have circles looked for again, but not among the objects that there are: modules stay until the end."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end_at_once() -> None:
    """Let the process end, once everything is written, without a look for circles among its objects.

    That look takes a tenth of the time of a small search, and the system takes all of the memory back anyway.
    """
    atexit.register(gc.freeze)


def log_level(usual: str = "WARNING") -> int:
    """Return the level of the log: that of the variable, else the usual one."""
    import logging

    given = os.environ.get(LOG_VARIABLE, "").upper()
    return int(getattr(logging, given if given in LEVELS else usual))


def _allow_files() -> None:
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= NEEDED_FILES:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (NEEDED_FILES, hard))
        return
    raise OptionError(
        f"Only {soft} files may be open at a time; clalign needs {NEEDED_FILES}.", "Allow more, with: ulimit -n 1024"
    )

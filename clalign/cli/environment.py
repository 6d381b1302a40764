"""Settings of every process: the level of the log, the number of open files, threads, and garbage collection."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from clalign.errors import OptionError

LOG_VARIABLE = "CLALIGN_LOG"

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

MIN_OPEN_FILES = 64
"""Open files that a search with its drivers needs."""


def check_environment() -> None:
    """Refuse settings with which no command could work.

    Raises
    ------
    OptionError
        If the level of the log is unknown, a limit of cache or memory not a size, or too few files may be open.
    """
    from clalign.databases.cache_root import cache_limit
    from clalign.system.bounds import card_bytes

    given = os.environ.get(LOG_VARIABLE, "")
    if given and given.upper() not in LEVELS:
        raise OptionError(f'{LOG_VARIABLE} is "{given}".', f"Set it to one of {', '.join(LEVELS)}, or unset it.")
    cache_limit()
    card_bytes(0)
    _allow_files()


def leave_threads_out() -> None:
    """Keep numpy, which is loaded later, from starting threads for algebra, unless the user has set their number.

    Starting them takes half of the time of loading it, and no engine uses them. The other variables are those that
    numpy would set while it is loaded: drivers that start at the same time read the environment, and crash if the C
    library moves it to make room.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OPENBLAS_MAIN_FREE", "GOTOBLAS_MAIN_FREE"):
        os.environ.setdefault(name, "1")


def begin_loading() -> None:
    """Switch garbage collection off until `end_loading`: it takes a tenth of the time of loading modules, in vain."""
    gc.disable()


def end_loading() -> None:
    """Switch garbage collection on again, except for the objects of modules, which stay until the end."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end_at_once() -> None:
    """Skip garbage collection at the end of the process, which takes a tenth of the time of a small search."""
    atexit.register(gc.freeze)


def log_level(usual: str = "WARNING") -> int:
    """Return the level of the log: that of the variable, else the given one."""
    import logging

    given = os.environ.get(LOG_VARIABLE, "").upper()
    return int(getattr(logging, given if given in LEVELS else usual))


def _allow_files() -> None:
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= MIN_OPEN_FILES:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (MIN_OPEN_FILES, hard))
        return
    raise OptionError(
        f"Only {soft} files may be open at a time; clalign needs {MIN_OPEN_FILES}.", "Allow more with: ulimit -n 1024"
    )

"""Marks of processes that list the devices: one that stays shows that a driver has crashed there, or hangs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

MAX_MARK_SECONDS = 20.0
"""Age up to which the drivers of a running process count as at work (s); beyond it, they hang."""

_PREFIX = "listing-"


def _mark(folder: Path, process: int) -> Path:
    return folder / f"{_PREFIX}{process}"


@contextlib.contextmanager
def marked(folder: Path) -> Iterator[None]:
    """Leave a mark in a folder while this process lists the devices."""
    mark = _mark(folder, os.getpid())
    mark.touch()
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def is_driver_lost(folder: Path) -> bool:
    """Return whether a process ended or hangs while it listed the devices, since `forget_all` was called last."""
    latest = time.time() - MAX_MARK_SECONDS
    for mark in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # its process was done in the meantime
            if mark.stat().st_mtime < latest or (_has_ended(mark.name.removeprefix(_PREFIX)) and mark.exists()):
                return True
    return False


def _has_ended(process: str) -> bool:
    """Return whether a process, by its number, runs no more; False where the system has no way to ask."""
    if os.name != "posix" or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        return False
    return False


def forget(folder: Path, process: int) -> None:
    """Remove the mark of a process that is ended on purpose, whatever its drivers are doing."""
    with contextlib.suppress(OSError):
        _mark(folder, process).unlink(missing_ok=True)


def forget_all(folder: Path) -> None:
    """Remove all marks, once a child process has listed the devices."""
    for mark in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            mark.unlink(missing_ok=True)

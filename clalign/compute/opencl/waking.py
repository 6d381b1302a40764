"""Waking the drivers before anything else is loaded, and marks that tell of a process which did not come back from it.

Drivers of graphics cards take a while to find their devices. Nothing of this needs pyopencl or numpy, so that a process
that has just begun can see to it while it loads these.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from filelock import FileLock, Timeout

LIST_SECONDS = 20
"""So long drivers may take to tell their devices."""

LISTED = threading.Lock()
"""Held while devices are listed to open one: drivers crash if another thread asks while they are being woken."""

_MARK, _LOST = "listing-", "lost-listing"
"""Marks of the processes that ask the drivers for their devices, and of one that did not come back."""


def wake(library: str) -> int:
    """Let the drivers find their devices while other threads of this process go on; return the number of platforms.

    pyopencl would hold the interpreter's lock meanwhile. Where its library does not show the functions of the loader
    nothing is lost: pyopencl finds the devices later.
    """
    count, every_type = ctypes.c_uint(0), ctypes.c_uint64(0xFFFFFFFF)
    try:
        loader = ctypes.CDLL(library)
        loader.clGetPlatformIDs(0, None, ctypes.byref(count))
        platforms = (ctypes.c_void_p * count.value)()
        loader.clGetPlatformIDs(count, platforms, None)
        for platform in platforms:
            loader.clGetDeviceIDs(ctypes.c_void_p(platform), every_type, 0, None, ctypes.byref(ctypes.c_uint()))
    except (OSError, AttributeError):
        return 0
    return count.value


def library_of_pyopencl() -> str:
    """Return the file of the library with which pyopencl calls the loader, without loading it; empty if unknown."""
    found = importlib.util.find_spec("pyopencl")
    for folder in (found.submodule_search_locations if found else None) or ():
        for ending in EXTENSION_SUFFIXES:
            if (path := Path(folder) / f"_cl{ending}").is_file():
                return str(path)
    return ""


def wake_ahead(verdicts: Path) -> None:
    """Wake the drivers in the background, unless there is one that nobody knows yet, or that may hang.

    Parameters
    ----------
    verdicts : Path
        Where those on the devices are kept; the marks are beside it.
    """
    library = library_of_pyopencl() if sys.platform == "linux" else ""
    if not library or not verdicts.exists() or is_distrusted(verdicts.parent):
        return
    os.environ["PYOPENCL_HOME"] = str(Path(library).parent)  # its loader needs that; pyopencl sets the same
    is_held = threading.Event()

    def wake_all() -> None:
        with contextlib.suppress(OSError), LISTED:
            is_held.set()
            with marked(verdicts.parent):
                wake(library)

    threading.Thread(target=wake_all, name="wakes drivers", daemon=True).start()
    is_held.wait()  # who lists the devices after this waits for them


@contextlib.contextmanager
def marked(folder: Path) -> Iterator[None]:
    """Leave a mark while this process asks the drivers; one that nobody holds tells later that it was lost."""
    with FileLock(folder / f"{_MARK}{os.getpid()}.lock") as lock:
        yield
    Path(lock.lock_file).unlink(missing_ok=True)


def is_distrusted(folder: Path) -> bool:
    """Return whether a process was lost, or is hanging, while it listed the devices itself."""
    for mark in folder.glob(f"{_MARK}*.lock"):
        try:
            with FileLock(mark, blocking=False):  # nobody has it: its process ended before it was done
                (folder / _LOST).touch()
            mark.unlink(missing_ok=True)
        except Timeout:
            with contextlib.suppress(FileNotFoundError):  # its process was done in the meantime
                if time.time() - mark.stat().st_mtime > LIST_SECONDS:
                    (folder / _LOST).touch()
        except OSError:
            continue
    return (folder / _LOST).exists()


def trust_again(folder: Path) -> None:
    """Forget that a process was lost: a child has listed all devices since."""
    (folder / _LOST).unlink(missing_ok=True)


def verdicts_path(root: Path) -> Path:
    """Return the file that keeps the verdicts of self-tests, in the folder of the cache."""
    return root / "devices.json"

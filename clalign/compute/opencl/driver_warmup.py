"""Waking the drivers before anything else is loaded, and marks that tell of a process which did not come back from it.

Drivers of graphics cards take a while to find their devices, and as long to make a context of one. Nothing of this
needs pyopencl or numpy, so that a process that has just begun can see to it while it loads these.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from filelock import FileLock, Timeout

from clalign import tracing
from clalign.databases.cache_root import write_whole

LIST_SECONDS = 20
"""So long drivers may take to tell their devices."""

LISTED = threading.Lock()
"""Held while devices are listed to open one: drivers crash if another thread asks while they are being woken."""

_MARK, _LOST = "listing-", "lost-listing"
"""Marks of the processes that ask the drivers for their devices, and of one that did not come back."""

_MEANT = "meant.json"
"""Words for a device, and which it was: its id and its name."""

MAX_MEANT = 64
"""So many of them are kept."""


_EVERY_TYPE = ctypes.c_uint64(0xFFFFFFFF)

_CL_DEVICE_NAME = 0x102B

_NAME_BYTES = 1024

_is_begun = False
"""Whether `wake_ahead` was called with success."""

_contexts: dict[str, Future[int | None]] = {}
"""Addresses of contexts that `wake_ahead` makes, by the ids of their devices."""


def wake(library: str) -> int:
    """Let the drivers find their devices while other threads of this process go on; return the number of platforms.

    pyopencl would hold the interpreter's lock meanwhile. Where its library does not show the functions of the loader
    nothing is lost: pyopencl finds the devices later.
    """
    try:
        loader = ctypes.CDLL(library)
        platforms = _platforms(loader)
        for platform in platforms:
            loader.clGetDeviceIDs(ctypes.c_void_p(platform), _EVERY_TYPE, 0, None, ctypes.byref(ctypes.c_uint()))
    except (OSError, AttributeError):
        return 0
    return len(platforms)


def _platforms(loader: ctypes.CDLL) -> list[int]:
    """Return the addresses of the platforms."""
    count = ctypes.c_uint(0)
    loader.clGetPlatformIDs(0, None, ctypes.byref(count))
    found = (ctypes.c_void_p * count.value)()
    loader.clGetPlatformIDs(count, found, None)
    return [address for address in found if address]


def made_context(library: str, device: int) -> int | None:
    """Return the address of a new context of a device, made without the interpreter's lock; None if that cannot be.

    Drivers of graphics cards take some tenths of a second for it, in which pyopencl would let no other thread go on.
    """
    try:
        create = ctypes.CDLL(library).clCreateContext
    except (OSError, AttributeError):
        return None
    create.restype = ctypes.c_void_p
    create.argtypes = (
        ctypes.c_void_p, ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_int),
    )  # fmt: skip
    code = ctypes.c_int(0)
    made: int | None = create(None, 1, ctypes.byref(ctypes.c_void_p(device)), None, None, ctypes.byref(code))
    return made if made and code.value == 0 else None


def _device_at(library: str, number: str, name: str) -> int | None:
    """Return the address of the device that has an id; None if there is none, or if it has another name by now."""
    try:
        loader = ctypes.CDLL(library)
        p, _, d = number.partition(":")
        platform, count = ctypes.c_void_p(_platforms(loader)[int(p)]), ctypes.c_uint(0)
        loader.clGetDeviceIDs(platform, _EVERY_TYPE, 0, None, ctypes.byref(count))
        devices = (ctypes.c_void_p * count.value)()
        loader.clGetDeviceIDs(platform, _EVERY_TYPE, count, devices, None)
        device, told = devices[int(d)], ctypes.create_string_buffer(_NAME_BYTES)
        if not device or not name:
            return None
        loader.clGetDeviceInfo(
            ctypes.c_void_p(device), ctypes.c_uint(_CL_DEVICE_NAME), ctypes.c_size_t(_NAME_BYTES), told, None
        )
        # PoCL puts words of its own before the name of a processor.
        is_it = told.value.decode("utf-8", "replace").strip().endswith(name)
        return device if is_it else None
    except (OSError, AttributeError, LookupError, ValueError):
        return None


def library_of_pyopencl() -> str:
    """Return the file of the library with which pyopencl calls the loader, without loading it; empty if unknown."""
    found = importlib.util.find_spec("pyopencl")
    for folder in (found.submodule_search_locations if found else None) or ():
        for ending in EXTENSION_SUFFIXES:
            if (path := Path(folder) / f"_cl{ending}").is_file():
                return str(path)
    return ""


def wake_ahead(verdicts: Path, wish: str = "") -> None:
    """Wake the drivers in the background, once, unless there is one that nobody knows yet, or that may hang.

    Parameters
    ----------
    verdicts : Path
        Where those on the devices are kept; the marks are beside it.
    wish : str
        The user's words for a device. Of the one that they meant last time a context is made as well, for
        `taken_context`.
    """
    global _is_begun
    library = library_of_pyopencl() if sys.platform == "linux" else ""
    if _is_begun or not library or not verdicts.exists() or is_distrusted(verdicts.parent):
        return
    _is_begun = True
    os.environ["PYOPENCL_HOME"] = str(Path(library).parent)  # its loader needs that; pyopencl sets the same
    is_held, promised = threading.Event(), Future[int | None]()
    number, name = meant_last(verdicts.parent, wish)
    if number:
        _contexts[number] = promised

    def wake_all() -> None:
        try:
            began = tracing.now()  # a worker records nothing yet
            with LISTED:
                is_held.set()
                with marked(verdicts.parent):
                    wake(library)
                    device = _device_at(library, number, name) if number else None
            woken = tracing.now()
            if device is not None:
                with marked(verdicts.parent, "context"):  # who lists the devices meanwhile has a mark of its own
                    made = made_context(library, device)
                promised.set_result(made)
                tracing.add("make a context ahead", "start", woken, tracing.now())
            tracing.add("wake the drivers", "start", began, woken)
        except OSError:
            pass
        finally:
            if not promised.done():
                promised.set_result(None)

    threading.Thread(target=wake_all, name="wakes drivers", daemon=True).start()
    is_held.wait()  # who lists the devices after this waits for them


def taken_context(number: str) -> int | None:
    """Return the address of the context that was made ahead of a device, given its id; it is the caller's from now on.

    It may be one of another device, if the drivers have changed since. The first call waits for what is under way;
    later ones, or where none was begun, return None.
    """
    promised = _contexts.pop(number, None)
    return None if promised is None else promised.result()


def untaken_contexts() -> list[str]:
    """Return the ids of devices of which contexts were made ahead that nobody has taken."""
    return list(_contexts)


def meant_last(folder: Path, wish: str) -> tuple[str, str]:
    """Return id and name of the device that the user's words meant when they were last used; empty if unknown."""
    return _meant(folder).get(wish, ("", ""))


def remember_meant(folder: Path, wish: str, number: str, name: str) -> None:
    """Remember what device the user's words mean, by its id and its name, for `meant_last`."""
    known = _meant(folder)
    if known.get(wish) != (number, name):
        latest = {wish: (number, name), **{other: meant for other, meant in known.items() if other != wish}}
        with contextlib.suppress(OSError):
            write_whole(folder / _MEANT, json.dumps(dict(list(latest.items())[:MAX_MEANT])))


def _meant(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the devices that words have meant; the file is no more than a hint, so that no error counts."""
    try:
        kept = json.loads((folder / _MEANT).read_text("utf-8")).items()
        return {wish: (str(number), str(name)) for wish, (number, name) in kept}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


@contextlib.contextmanager
def marked(folder: Path, what: str = "") -> Iterator[None]:
    """Leave a mark while this process asks the drivers; one that nobody holds tells later that it was lost.

    What two threads do at the same time has names of its own. The mark goes before its lock does: who finds the lock
    free and the mark there knows that it was lost.
    """
    mark = _mark(folder, os.getpid(), what)
    with FileLock(_lock_of(mark)):
        mark.touch()
        yield
        mark.unlink(missing_ok=True)
    _lock_of(mark).unlink(missing_ok=True)


def _mark(folder: Path, process: int, what: str = "") -> Path:
    return folder / f"{_MARK}{process}{what and f'-{what}'}.mark"


def _lock_of(mark: Path) -> Path:
    return mark.with_suffix(".lock")


def forget_marks(folder: Path, process: int) -> None:
    """Remove the marks of a process that is ended on purpose, whatever its drivers were at."""
    for what in ("", "context"):
        mark = _mark(folder, process, what)
        mark.unlink(missing_ok=True)
        _lock_of(mark).unlink(missing_ok=True)


def is_distrusted(folder: Path) -> bool:
    """Return whether a process was lost, or is hanging, while it listed or opened the devices itself."""
    for mark in folder.glob(f"{_MARK}*.mark"):
        try:
            with FileLock(_lock_of(mark), blocking=False):
                if mark.exists():  # nobody has it: its process ended before it was done
                    (folder / _LOST).touch()
                    mark.unlink()
                with contextlib.suppress(OSError):  # Windows keeps what is open; it does no harm
                    _lock_of(mark).unlink(missing_ok=True)
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

"""Being the only worker that writes a run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from clalign.databases.cache import lock_folder
from clalign.databases.cache_root import make_folder
from clalign.errors import OutputError, RunBusy


def taken(path: Path) -> RunBusy:
    """Return what is said of a run that another worker has."""
    return RunBusy(f"Another worker is writing the run file {path}.", "Wait until it is done, or stop it.")


def _lock_file(path: Path) -> Path:
    return lock_folder() / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.lock"


def is_owned(path: Path) -> bool:
    """Return whether a worker of this user is writing a run now."""
    file = _lock_file(path)
    if not file.exists():
        return False
    lock = FileLock(file, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


@contextlib.contextmanager
def owned(path: Path) -> Iterator[None]:
    """Be the only worker that writes a run; a worker that dies gives it free.

    Raises
    ------
    RunBusy
        If another worker has it.
    """
    folder = lock_folder()
    try:
        make_folder(folder)
        lock = FileLock(_lock_file(path), blocking=False)
        lock.acquire()
    except Timeout:
        raise taken(path) from None
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be written ({error}).", "Name another one with CLALIGN_CACHE_DIR."
        ) from error
    try:
        yield
    finally:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # who has opened it already finds that it is gone
                Path(lock.lock_file).unlink()
        lock.release()
        if sys.platform == "win32":  # where only what nobody has open can be removed
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink()

"""Open files, recorded while the window lives, so that the next start can open them again, also after a crash."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from clalign.formats.small_files import read_small_json

from ..settings import write_whole


@dataclass(frozen=True, slots=True)
class LastSession:
    """A session before this one.

    Attributes
    ----------
    files : list of str
        The files that still exist.
    in_view : str
        The run that was in view; empty if none was.
    has_crashed : bool
        Whether the window ended without being closed.
    """

    files: list[str] = field(default_factory=list)
    in_view: str = ""
    has_crashed: bool = False


def is_alive(pid: int) -> bool:
    """Return whether a process lives; always false on Windows, where this is hard to find out."""
    if pid <= 0 or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


class Session:
    """The file that lists what is open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.last = self._read()
        self._kept = ""

    def _read(self) -> LastSession:
        try:
            stored = read_small_json(self._path)
            files = [name for name in stored["files"] if isinstance(name, str) and Path(name).exists()]
            pid, is_closed, in_view = int(stored["pid"]), bool(stored["closed"]), str(stored["in_view"])
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return LastSession()
        if not is_closed and pid != os.getpid() and is_alive(pid):
            return LastSession()  # it is another window that is still open
        return LastSession(files, in_view if in_view in files else "", not is_closed)

    def keep(self, files: list[str], in_view: str, closed: bool = False) -> None:
        """Write what is open; `closed` when the window is closed regularly."""
        text = json.dumps({"pid": os.getpid(), "closed": closed, "files": files, "in_view": in_view}, indent=1)
        if text != self._kept:
            self._kept = text
            # A full disk costs the memory of what was open, never the work at hand.
            with contextlib.suppress(OSError):
                write_whole(self._path, text)

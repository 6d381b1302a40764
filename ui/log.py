"""The log of the window: messages, jobs and errors, for reports of problems."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import platform
from pathlib import Path

import platformdirs
from PySide6.QtCore import qVersion

import clalign

LOG = logging.getLogger("clalign.window")

MAX_BYTES = 1_000_000

OLD_FILES = 3

TAIL_LINES = 400


def log_folder() -> Path:
    """Return the folder of the log: that of the system, or the one beside ``CLALIGN_CONFIG``."""
    own = os.environ.get("CLALIGN_CONFIG")
    return Path(own) / "log" if own else Path(platformdirs.user_log_path("clalign"))


def versions() -> str:
    """Return program, Python, Qt and system in one line."""
    return (
        f"clalign {clalign.__version__}, Python {platform.python_version()}, Qt {qVersion()}, "
        f"{platform.system()} {platform.release()} ({platform.machine()})"
    )


def start_log(folder: Path) -> Path:
    """Start to log into a folder and return the file; without write access there is no log."""
    path = folder / "window.log"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(
            path, maxBytes=MAX_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True
        )
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(process)d %(message)s"))
        LOG.setLevel(logging.INFO)
        LOG.propagate = False
        for old in list(LOG.handlers):
            LOG.removeHandler(old)
            old.close()
        LOG.addHandler(handler)
        LOG.info("start: %s", versions())
    return path


def log_tail(path: Path) -> str:
    """Return the last lines of the log."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return f"(no log: {error.strerror})"
    return "\n".join(lines[-TAIL_LINES:])

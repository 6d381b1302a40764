"""The copies of standard input and pipes that are kept beside a run."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_KEPT = re.compile(r"\.(?:(stdin)|fd-(\d+)|pipe-(.+))")


def copy_beside(run: Path, path: str) -> Path:
    """Return where standard input (``-``) or a pipe is kept for a run, which needs it to continue."""
    if path == "-":
        ending = ".stdin"
    elif found := _DESCRIPTOR.fullmatch(path):
        ending = f".fd-{found[1]}"
    else:
        ending = f".pipe-{Path(path).name}"
    return run.absolute().with_suffix(ending)


def copies_beside(run: Path) -> list[Path]:
    """Return the copies that are kept beside a run."""
    stem = run.absolute().with_suffix("").name
    beside = run.absolute().parent.glob(f"{glob.escape(stem)}.*")
    return [path for path in beside if _KEPT.fullmatch(path.name[len(stem) :])]


def is_copy_of(run: Path, path: str) -> bool:
    """Return whether a file has the name of a copy that a run may keep of an input."""
    place, stem = os.path.realpath(path), os.path.join(os.path.realpath(run.parent), run.with_suffix("").name)
    return place.startswith(stem) and _KEPT.fullmatch(place[len(stem) :]) is not None


def as_given(run: Path, path: str) -> str:
    """Return an input of a run as the user named it: ``-`` for standard input, the pipe for the copy of one."""
    stem = str(run.absolute().with_suffix(""))
    found = _KEPT.fullmatch(path[len(stem) :]) if path.startswith(stem) else None
    if found is None:
        return path
    return "-" if found[1] else f"/dev/fd/{found[2]}" if found[2] else found[3]


def with_given_names(run: Path, text: str) -> str:
    """Return a message that calls inputs as the user does, not by the copies of them beside the run."""
    for copy in copies_beside(run):
        given = as_given(run, str(copy))
        text = text.replace(str(copy), "standard input" if given == "-" else given)
    return text

"""Titles of files in lists: files of the same name with the end of their folders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path


def distinct_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a title for each path: its name, with the end of its folder if others have the same name."""
    same: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        same[Path(path).name].add(path)
    found: dict[str, str] = {}
    for name, of in same.items():
        if len(of) == 1:
            found[min(of)] = name
        else:
            found |= {path: f"{name} – {folder}" for path, folder in _distinct_folders(of).items()}
    return found


def _distinct_folders(paths: set[str]) -> dict[str, str]:
    """Return the fewest last parts of the folder of each path by which all differ."""
    parts = {path: Path(path).parent.parts for path in paths}
    n, most = 1, max(map(len, parts.values()))
    while n < most and len({of[-n:] for of in parts.values()}) < len(paths):
        n += 1
    return {path: str(Path(*of[-n:])) if of else "." for path, of in parts.items()}

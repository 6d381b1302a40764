"""Settings of the window: preferences, recent files, layout."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import platformdirs
from PySide6.QtCore import QSettings

from clalign.formats.small_files import read_small_json
from clalign.formats.writers import replaced_file
from clalign.values.documents import SpecFields

from .formatting import file_words

MAX_RECENT = 10


@dataclass(frozen=True, slots=True)
class Preferences:
    """Choices that outlive a session.

    Attributes
    ----------
    theme : str
        ``system``, ``light`` or ``dark``.
    scheme : str
        Colors of residues: ``clustal``, ``safe`` or ``none``.
    contrast : bool
        Strong contrasts, whatever the system prefers.
    still : bool
        Nothing moves by itself, whatever the system prefers.
    device : str
        Id of the device to search on, or ``auto``.
    show_start : bool
        Open with the first-start page.
    run_examples : bool
        An example starts its search at once.
    log_counts : bool
        The histogram has a logarithmic scale.
    posterior : bool
        Alignments have a line with the confidence of each column.
    options : dict
        Files and kind of the last search, and its options that are not the usual ones.
    keys : dict
        Keys of commands, by their ids, that are not the usual ones.
    open_folder : str
        Where files were opened last; empty for the folder of the program.
    export_folder : str
        Where hits were written last; empty for the home folder.
    export_forms : dict
        The forms that they were written in, by the tab in view.
    """

    theme: str = "system"
    scheme: str = "safe"
    contrast: bool = False
    still: bool = False
    device: str = "auto"
    show_start: bool = True
    run_examples: bool = False
    log_counts: bool = True
    posterior: bool = True
    options: SpecFields = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    open_folder: str = ""
    export_folder: str = ""
    export_forms: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecentFile:
    """A file that was open; of a run its start, and from where its hits are shown: query, ``report``, score."""

    path: str
    kind: str
    opened: float
    pinned: bool = False
    thresholds: list[tuple[int, str, float]] = field(default_factory=list)
    created: float = 0.0

    @property
    def problem(self) -> str:
        """Why it cannot be opened; empty if it can."""
        path = Path(self.path)
        if path.exists():
            return ""
        if not path.parent.exists():
            return "missing: its folder does not exist (drive not connected?)"
        return "missing: moved or deleted"


def write_whole(path: Path, text: str) -> None:
    """Write a text file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(path) as file:
        file.write(text)


def free_path(stem: Path, ending: str, taken: Collection[str] = ()) -> str:
    """Return an unused path that is not `taken` either, with a number if necessary."""
    numbered = (stem.with_name(f"{stem.name}-{number}{ending}") for number in itertools.count(2))
    paths = map(str, itertools.chain([stem.with_name(stem.name + ending)], numbered))
    return next(path for path in paths if not os.path.lexists(path) and path not in taken)


def _read(path: Path, default: object) -> Any:
    try:
        return read_small_json(path)
    except (OSError, ValueError):
        return default


class Settings:
    """The folders of the window and the settings in them.

    Parameters
    ----------
    config, data : Path, optional
        Folders; by default those of the platform, or ``CLALIGN_CONFIG``.
    """

    def __init__(self, config: Path | None = None, data: Path | None = None) -> None:
        own = os.environ.get("CLALIGN_CONFIG")
        self.config = config or (Path(own) if own else platformdirs.user_config_path("clalign"))
        self.data = data or platformdirs.user_data_path("clalign")
        self.preferences = self._read_preferences()
        self.recent = self._read_recent()

    def _read_preferences(self) -> Preferences:
        stored = _read(self.config / "preferences.json", {})
        known = {f.name: type(getattr(Preferences(), f.name)) for f in fields(Preferences)}
        if not isinstance(stored, dict):
            return Preferences()
        return Preferences(**{k: v for k, v in stored.items() if k in known and isinstance(v, known[k])})

    def _read_recent(self) -> list[RecentFile]:
        try:
            return [RecentFile(**entry) for entry in _read(self.config / "recent.json", [])]
        except TypeError:
            return []

    def _store(self, name: str, value: object) -> None:
        # A full disk or a read-only folder costs the memory of a choice, never the work at hand.
        with contextlib.suppress(OSError):
            write_whole(self.config / name, json.dumps(value, indent=1))

    def change(self, **choices: Any) -> None:
        """Save new preferences."""
        self.preferences = replace(self.preferences, **choices)
        self._store("preferences.json", asdict(self.preferences))

    def add_recent(self, path: str, kind: str) -> None:
        """Move a file to the top of the recent ones; pinned ones are never dropped."""
        old = {entry.path: entry for entry in self.recent}
        new = replace(old.get(path, RecentFile(path, kind, 0.0)), kind=kind, opened=time.time())
        entries = [new, *(e for e in self.recent if e.path != path)]
        loose = [e for e in entries if not e.pinned][:MAX_RECENT]
        self._set_recent([e for e in entries if e.pinned or e in loose])

    def change_recent(self, path: str, **facts: Any) -> None:
        """Change facts about a recent file, such as whether it is pinned."""
        self._set_recent([replace(e, **facts) if e.path == path else e for e in self.recent])

    def forget(self, path: str) -> None:
        """Remove a file from the recent ones."""
        self._set_recent([e for e in self.recent if e.path != path])

    def _set_recent(self, entries: list[RecentFile]) -> None:
        self.recent = sorted(entries, key=lambda e: (not e.pinned, -e.opened))
        self._store("recent.json", [asdict(e) for e in self.recent])

    @property
    def runs(self) -> Path:
        """Folder of new runs."""
        return self.data / "runs"

    def new_file(self, folder: str, name: str, ending: str, taken: Collection[str] = ()) -> str:
        """Return an unused path in a folder of the data that is not taken either.

        Blanks and marks of the name become underscores.

        Raises
        ------
        OSError
            The folder cannot be made.
        """
        place = self.data / folder
        place.mkdir(parents=True, exist_ok=True)
        return free_path(place / (file_words(name).strip("._") or folder), ending, taken)

    @property
    def layout(self) -> QSettings:
        """Geometry of the window and its docks."""
        return QSettings(str(self.config / "window.ini"), QSettings.Format.IniFormat)

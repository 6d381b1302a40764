"""Files of a run that were moved: one place that asks where they lie now, and takes back what was said before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog

from .. import formatting
from ..models.jobs import JobItem
from ..models.results.missing_files import (
    LOCATE_TITLE,
    can_be_located,
    without_ways,
)
from .app_context import AppContext, Controller


class LocateController(Controller):
    """Asks where files of runs lie now; a worker knows them by their checksums."""

    located = Signal(str)
    """The run of which a file was found."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._missed: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}
        app.queue.job_ended.connect(self._end)

    def locate_for_page(self) -> None:
        """Ask where files of the run in view lie now."""
        if self._app.page is not None:
            self.ask(str(self._app.page.run.path))

    def ask(self, run: str) -> bool:
        """Ask where files of a run lie now; returns False, for what offers this holds until they are found."""
        names, _ = QFileDialog.getOpenFileNames(self._app.window, "Locate files of this run")
        if names:
            self._withdraw_failure(run)
            job = {"job": "locate", "run": run, "paths": names}
            self._app.queue.submit(f"Locate files of {Path(run).stem}", job)
        return False

    def notify_failure(self, run: str, text: str, *ways: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show what stopped a job of a run, with a button where a file of it is missed."""
        if can_be_located(text):
            text, ways = without_ways(text), (*ways, (LOCATE_TITLE, lambda: self.ask(run)))
            self._missed.setdefault(run, []).append(text)
        else:
            self._failed[run] = text
        self._app.notify("stop", text, *ways, details=details)

    def withdraw(self, run: str) -> None:
        """Close what was said of a run that goes on now."""
        self._withdraw_failure(run)
        self._withdraw_missing(run)

    def _withdraw_failure(self, run: str) -> None:
        self._app.window.messages.withdraw(self._failed.pop(run, ""))

    def _withdraw_missing(self, run: str) -> None:
        for text in self._missed.pop(run, ()):
            self._app.window.messages.withdraw(text)

    def _end(self, item: JobItem) -> None:
        """Say what a worker found, and let everything that missed it look again."""
        if (item.kind, item.state) != ("locate", "done"):
            return
        self._withdraw_missing(item.run)
        found = dict(item.result["found"])
        verb = "lies" if len(found) == 1 else "lie"
        names = ", ".join(Path(old).name for old in found)
        places = ", ".join(formatting.short_path(new) for new in found.values())
        self._app.notify("good", f"The run remembers where {names} {verb} now: {places}.")
        self.located.emit(item.run)

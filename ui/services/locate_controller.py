"""Files of a run that were moved: asks for their new places, and removes messages about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal

from clalign.values.documents import JobResult

from .. import formatting
from ..models.results.missing_files import LOCATE_TITLE, can_be_located, without_ways
from .app_context import AppContext, Controller


class LocateController(Controller):
    """Asks for the new places of files of runs; a worker identifies them by their checksums."""

    located = Signal(str)
    """A file of a run was found."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._missed: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}

    def locate_for_page(self) -> None:
        """Ask for the files of the run in view."""
        if self._app.page is not None:
            self.ask(str(self._app.page.run.path))

    def ask(self, run: str) -> bool:
        """Ask for the files of a run; return False, so that the message with this action stays open."""
        if names := self._app.ask_files("Locate files of this run"):
            self._withdraw_failure(run)
            job = {"job": "locate", "run": run, "paths": names}
            self._app.queue.submit(f"Locate files of {Path(run).stem}", job, answer=partial(self._take_found, run))
        return False

    def notify_failure(self, run: str, text: str, *ways: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show why a job of a run stopped, with a button to locate a missing file."""
        if can_be_located(text):
            text, ways = without_ways(text), (*ways, (LOCATE_TITLE, lambda: self.ask(run)))
            self._missed.setdefault(run, []).append(text)
        else:
            self._failed[run] = text
        self._app.notify("stop", text, *ways, details=details)

    def withdraw(self, run: str) -> None:
        """Close the messages about a run that continues."""
        self._withdraw_failure(run)
        self._withdraw_missing(run)

    def _withdraw_failure(self, run: str) -> None:
        self._app.window.messages.withdraw(self._failed.pop(run, ""))

    def _withdraw_missing(self, run: str) -> None:
        for text in self._missed.pop(run, ()):
            self._app.window.messages.withdraw(text)

    def _take_found(self, run: str, value: JobResult) -> None:
        """Show the found files, and let views read again."""
        self._withdraw_missing(run)
        found = dict(value["found"])
        names = ", ".join(Path(old).name for old in found)
        places = ", ".join(formatting.short_path(new) for new in found.values())
        self._app.notify("good", f"Located {names}: {places}.")
        self.located.emit(run)

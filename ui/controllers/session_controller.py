"""Restores the last session after a crash or on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QProcess

from clalign.runs.side_files import ENDING
from clalign.system.processes import own_command

from .. import formatting
from ..models.session import Session
from ..services.app_context import AppContext, Controller
from ..services.source_controller import SourceController
from .help_controller import HelpController

CRASHED = "clalign closed unexpectedly last time. Finished batches of its runs are safe."


class SessionController(Controller):
    """Records what is open, and opens it again."""

    def __init__(self, app: AppContext, sources: SourceController, help_: HelpController) -> None:
        super().__init__(app)
        self._sources, self._help = sources, help_
        self.session = Session(app.settings.config / "session.json")
        app.workspace.sources_changed.connect(self._keep)
        self._is_closed = False

    def _keep(self, closed: bool = False) -> None:
        if not self._is_closed:
            page, self._is_closed = self._app.page, closed
            in_view = str(page.run.path) if page is not None else ""
            self.session.keep(list(self._app.workspace.sources), in_view, closed)

    def begin(self) -> None:
        """Record that a window is open, and report a crash of the last one."""
        last = self.session.last
        self._keep()
        if last.has_crashed:
            ways: list[tuple[str, Callable[[], object]]] = [
                ("Start in safe mode", self._start_safely),
                ("Report…", self._report),
            ]
            if last.files:
                ways.insert(0, ("Restore", self.restore))
            self._app.notify("caution", f"{CRASHED} Nothing was sent.", *ways)

    def restore(self) -> None:
        """Open the files of the last session."""
        last = self.session.last
        if not last.files:
            self._app.notify("note", "There is nothing to restore: no files were open, or they no longer exist.")
            return
        self._sources.keep_times(last.files)
        # Runs are shown as they are opened: the one that was in view is the last.
        self._sources.open_quietly(sorted(last.files, key=lambda name: (name.endswith(ENDING), name == last.in_view)))
        self._app.notify("good", f"{formatting.plural(len(last.files), 'file')} opened again.")

    def _report(self) -> bool:
        self._help.report_problem()
        return False

    def _start_safely(self) -> None:
        command = own_command("gui", "--safe-mode", "--new-window")
        QProcess.startDetached(command[0], command[1:], str(Path.home()))
        self._app.window.close()

    def leave(self) -> None:
        """Record that the window was closed regularly."""
        self._keep(closed=True)

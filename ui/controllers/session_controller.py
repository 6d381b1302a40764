"""Restores the last session after a crash or on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QProcess, Signal

from clalign.system.processes import own_command

from .. import formatting
from ..models.session import Session
from ..services.app_context import AppContext, Controller

CRASHED = "clalign closed unexpectedly last time. Finished batches of its runs are safe."


class SessionController(Controller):
    """Records what is open, and opens it again."""

    restoring = Signal(list)
    """Files of the last session are about to be opened again."""

    open_requested = Signal(list)
    run_requested = Signal(str)
    report_requested = Signal()
    close_requested = Signal()

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.session = Session(app.settings.config / "session.json")
        app.workspace.sources_changed.connect(self._keep)
        self._is_closed = False

    def _keep(self) -> None:
        if self._is_closed:
            return
        page = self._app.page
        self.session.keep(list(self._app.workspace.sources), str(page.run.path) if page is not None else "")

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
        runs = [name for name in last.files if name.endswith(".clalign")]
        others = [name for name in last.files if name not in runs]
        self.restoring.emit(last.files)
        self.open_requested.emit(others)
        for name in [*(run for run in runs if run != last.in_view), *([last.in_view] if last.in_view else [])]:
            self.run_requested.emit(name)
        self._app.notify("good", f"{formatting.plural(len(last.files), 'file')} opened again.")

    def _report(self) -> bool:
        self.report_requested.emit()
        return False

    def _start_safely(self) -> None:
        command = own_command("gui", "--safe-mode", "--new-window")
        QProcess.startDetached(command[0], command[1:], str(Path.home()))
        self.close_requested.emit()

    def leave(self) -> None:
        """Record that the window was closed regularly."""
        self._keep()
        page = self._app.page
        self._is_closed = True
        in_view = str(page.run.path) if page is not None else ""
        self.session.keep(list(self._app.workspace.sources), in_view, closed=True)

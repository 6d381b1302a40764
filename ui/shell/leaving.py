"""Closing the window while jobs run: in the background, after stopping them, or not at all."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon

from .. import formatting, theme
from ..models.jobs import JobItem, JobQueue
from ..views.widgets.parts import button, label, row
from ..views.widgets.sheet import Sheet
from ..views.workbench import Workbench

UNSEEN = "without a window; start clalign again to see them"


class LeaveSheet(Sheet):
    """Asks what to do with running jobs when the window closes."""

    background_requested = Signal()
    stop_requested = Signal()

    def __init__(self, words: str, has_tray: bool) -> None:
        super().__init__("Jobs are running", 560)
        self.words = label(words, wrap=True)
        self.body.addWidget(self.words)
        way = "with an icon in the notification area, which notifies you at their end" if has_tray else UNSEEN
        text = (
            f"In the background they continue {way}. "
            "A stopped search keeps its results and can be continued; "
            "Run > Library of runs lists every run."
        )
        self.body.addWidget(label(text, "muted", wrap=True))
        self.stay = button("Cancel", self.close_sheet)
        self.stop = button("Stop and keep results", self.stop_requested.emit)
        self.go_on = button("Keep running in the background", self.background_requested.emit, "primary")
        self.foot.addLayout(row(None, self.stay, self.stop, self.go_on))
        self.setFocusProxy(self.go_on)

    def show_stopping(self) -> None:
        """Show that the end of a batch is awaited."""
        self.words.setText("Stopping after this batch; the results so far are kept. The window closes then.")
        for choice in (self.stop, self.go_on):
            choice.setEnabled(False)


def running_words(items: list[JobItem]) -> str:
    """Return the running and waiting jobs as text."""
    first = f"{items[0].title}: {items[0].line()}"
    more = len(items) - 1
    return first if not more else f"{first} · {formatting.plural(more, 'other job')} waiting"


class Leaving(QObject):
    """Decides about running jobs when the window closes.

    Parameters
    ----------
    window : Workbench
        The owner of the `sheets`.
    queue : JobQueue
    """

    def __init__(self, window: Workbench, queue: JobQueue) -> None:
        super().__init__(window)
        self._window, self._queue = window, queue
        self.confirms = True
        self._sheet: LeaveSheet | None = None
        self._closes_when_idle = False
        self.is_hidden = False
        self.tray: QSystemTrayIcon | None = None
        queue.job_ended.connect(self._look)
        queue.job_changed.connect(self._follow)
        queue.job_ticked.connect(self._follow)

    @property
    def _active(self) -> list[JobItem]:
        return [item for item in self._queue.items if item.is_active]

    def may_close(self) -> bool:
        """Return whether the window can close now; ask the user if jobs run."""
        application = QGuiApplication.instance()
        ends = isinstance(application, QGuiApplication) and application.isSavingSession()
        if ends or not self.confirms or not self._active:
            return True
        if self.is_hidden:
            self.come_back()
        self._ask()
        return False

    def _ask(self) -> None:
        self._closes_when_idle = False
        self._sheet = LeaveSheet(running_words(self._active), QSystemTrayIcon.isSystemTrayAvailable())
        self._sheet.background_requested.connect(self.hide)
        self._sheet.stop_requested.connect(self.stop)
        self._sheet.closed.connect(self._stay)
        self._window.sheets.open_sheet(self._sheet)

    def _follow(self) -> None:
        """Show how far the jobs are, while that is asked about or in the notification area."""
        if not self._active or self._closes_when_idle:
            return
        if self._sheet is not None and self._window.sheets.sheet is self._sheet:
            self._sheet.words.setText(running_words(self._active))
        if self.tray is not None:
            self.tray.setToolTip(running_words(self._active))

    def _stay(self) -> None:
        self._closes_when_idle = False

    def stop(self) -> None:
        """Stop all jobs, and close the window when they have ended."""
        if self._sheet is not None:
            self._sheet.show_stopping()
        self._closes_when_idle = True
        for item in self._active:
            self._queue.stop(item)
        self._look()

    def hide(self) -> None:
        """Continue the jobs without a window."""
        self._window.sheets.close_sheet()
        self.is_hidden = True
        self._set_quits(False)
        if QSystemTrayIcon.isSystemTrayAvailable():
            self._show_tray()
        self._window.hide()

    def _set_quits(self, quits: bool) -> None:
        application = QApplication.instance()
        if isinstance(application, QGuiApplication):
            application.setQuitOnLastWindowClosed(quits)

    def _show_tray(self) -> None:
        self.tray = tray = QSystemTrayIcon(theme.app_icon(), self._window)
        menu = QMenu(self._window)
        menu.addAction("Show clalign", self.come_back)
        menu.addAction("Stop and keep results", self.stop)
        tray.setContextMenu(menu)
        tray.setToolTip(running_words(self._active) if self._active else "clalign")
        tray.activated.connect(lambda _: self.come_back())
        tray.messageClicked.connect(self.come_back)
        tray.show()

    def come_back(self) -> None:
        """Show the window again."""
        self.is_hidden = False
        self._set_quits(True)
        if self.tray is not None:
            self.tray.hide()
            self.tray.deleteLater()
            self.tray = None
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()

    def _look(self, item: JobItem | None = None) -> None:
        """Continue once nothing runs any more."""
        if self._active:
            return
        if self._closes_when_idle:
            self._closes_when_idle = False
            QTimer.singleShot(0, self._window, self._end)
        elif self._sheet is not None and self._window.sheets.sheet is self._sheet:
            self._window.sheets.close_sheet()  # there is nothing left to be asked
        elif self.is_hidden:
            if self.tray is not None and item is not None:
                self.tray.showMessage("clalign", f"{item.title}: {item.line()}")
                self.tray.setToolTip(f"{item.title}: {item.line()}")
            else:  # nobody sees that it still lives; the run is in the library
                QTimer.singleShot(0, self._window, self._end)

    def _end(self) -> None:
        self._set_quits(True)
        was_hidden = self.is_hidden or self._window.isHidden()
        self._window.close()
        if was_hidden:
            QTimer.singleShot(0, QApplication.quit)

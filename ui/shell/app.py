"""Opening the window."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import (
    QCoreApplication,
    QMessageLogContext,
    QObject,
    QSocketNotifier,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from clalign.common.escapes import in_one_line
from clalign.databases.cache_root import use_temporary_cache
from clalign.tools.painting import NoWindow

from .. import log, theme
from ..settings import Settings
from ..worker_process import default_worker
from .main_window import MainWindow
from .single_instance import Instance, open_in_first, server_name

REPORT = "Please report it with the text below."

SAFE_MODE = (
    "Safe mode: default layout, and no drivers are loaded. Only the reference can be used until you "
    "choose Devices > Look for devices again."
)

WARM_MS = 400
"""Delay after which the plotting library is loaded, so that the first run does not wait for it."""


def end_without_display(reason: str) -> None:
    """Print why there is no window, and end this process."""
    error = NoWindow(
        f"No window could be opened: the display does not answer ({reason}).",
        "Check DISPLAY and WAYLAND_DISPLAY, or ask: clalign doctor",
    )
    sys.stderr.write(f"clalign: {error.message}\n{error.hint}\n")
    sys.stderr.flush()
    os._exit(error.exit_code)


def make_application(arguments: list[str], refuse: Callable[[str], None] = end_without_display) -> QApplication:
    """Create the application object.

    Parameters
    ----------
    arguments : list of str
    refuse : callable
        Called with Qt's reason if no display answers. It must end the process, or Qt aborts it.
    """
    warnings: list[str] = []

    def handle_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        if kind == QtMsgType.QtFatalMsg:
            refuse(in_one_line(warnings[0] if warnings else text))
        warnings.append(text)

    before = qInstallMessageHandler(handle_message)
    app = QApplication(arguments)
    qInstallMessageHandler(before)
    for text in warnings:
        sys.stderr.write(f"{text}\n")
    app.setApplicationName("clalign")
    app.setApplicationDisplayName("clalign")
    app.setDesktopFileName("clalign")
    return app


def open_window(settings: Settings, worker: list[str], files: list[str], safe_mode: bool = False) -> MainWindow:
    """Create and show the window, and only then search for devices, except in safe mode, and open files."""
    chosen = settings.preferences
    theme.apply("system" if safe_mode else chosen.theme, chosen.contrast, chosen.still)
    window = MainWindow(settings, worker, safe_mode)
    QGuiApplication.styleHints().colorSchemeChanged.connect(lambda _: _follow_system(settings, window))
    controller = window.controller

    def begin() -> None:
        if safe_mode:
            controller.workspace.set_devices([], sought=False)
            window.messages.notify("note", SAFE_MODE, ("Report a problem…", controller.help.report_problem))
            controller.session.begin()
            controller.sources.open_paths(files)
            return
        controller.session.begin()
        controller.inspector.find_devices(refresh=False)
        if files:
            controller.sources.open_paths(files)
        elif not settings.preferences.show_start and settings.recent:
            last = settings.recent[0]
            if not last.problem:
                controller.sources.keep_times([last.path])
                controller.sources.open_paths([last.path])
        QTimer.singleShot(WARM_MS, window, lambda: _warm_up(window))

    window.shown.connect(begin)
    window.show()
    return window


def _warm_up(window: MainWindow) -> None:
    from ..views.results import results_page

    assert results_page
    QTimer.singleShot(WARM_MS, window, lambda: _warm_laboratory(window))


def _warm_laboratory(window: MainWindow) -> None:
    from clalign.labs import register

    assert register
    window.collector.settle()


def _follow_system(settings: Settings, window: MainWindow) -> None:
    chosen = settings.preferences
    if chosen.theme == "system":
        theme.apply("system", chosen.contrast, chosen.still)
        window.dress()


class Endings(QObject):
    """Closes the window at Ctrl-C, termination, or when the terminal goes; a second signal ends the program at once.

    Qt's loop hides signals from Python, but sees what a signal writes to a socket. Made before the window: what Python
    does of itself at a signal would be lost in what Qt calls of it, and leave half a window.

    Attributes
    ----------
    window : MainWindow or None
        None while it is being made.
    """

    window: MainWindow | None = None

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and (name == "SIGINT" or signal.getsignal(number) is not signal.SIG_IGN):
                signal.signal(number, lambda number, frame: signal.signal(number, signal.SIG_DFL))
        notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(self._end)

    def _end(self) -> None:
        number = self._reader.recv(1)[0]
        if self.window is not None:
            self.window.leaving.confirms = False
            self.window.close()
        QCoreApplication.exit(128 + number)


def show_faults(window: MainWindow) -> None:
    """Show and print unhandled exceptions of the window, with a text to report."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        text = "".join(traceback.format_exception(kind, error, trace))
        log.LOG.error("fault of the window: %s", text)
        text_of_fault = f"An error occurred in the window ({kind.__name__}: {error})."
        # In a turn of its own: a fault may come while something is painted.
        QTimer.singleShot(0, window, lambda: window.controller.show_fault(text_of_fault, REPORT, text))

    sys.excepthook = show


def main(files: list[str] | None = None, new_window: bool = False, safe_mode: bool = False) -> int:
    """Open the window, or hand the files over to an open one.

    Parameters
    ----------
    files : list of str, optional
        Profiles, sequences or runs; by default the words of the command line.
    new_window : bool
        Open another window even if one is open.
    safe_mode : bool
        With the usual layout, and without looking for devices or opening anything that is not named.

    Returns
    -------
    int
        Exit code.
    """
    if files is None:
        new_window, safe_mode = "--new-window" in sys.argv, "--safe-mode" in sys.argv
        files = [word for word in sys.argv[1:] if not word.startswith("--")]
    files = [str(Path(name).absolute()) for name in files]
    app = make_application(sys.argv[:1])
    endings = Endings(app)
    settings = Settings()
    name = server_name(settings)
    if not new_window and open_in_first(name, files):
        return 0
    instance = Instance(name) if not new_window else None
    log.start_log(log.log_folder())
    if warning := use_temporary_cache():
        logging.getLogger(__name__).warning("%s", warning)
    endings.window = window = open_window(settings, default_worker(), files, safe_mode)
    show_faults(window)
    if instance is not None:

        def take(paths: list[str]) -> None:
            window.bring_forward()
            window.controller.sources.open_paths(paths)

        instance.files_received.connect(take)
    code = app.exec()
    endings.deleteLater()
    if instance is not None:
        instance.close()
    return code

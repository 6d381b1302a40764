"""Opening the window."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from . import theme
from .bridge import default_worker
from .main_window import MainWindow
from .settings import Settings
from .single_instance import Instance, hand_over, server_name

WARM_MS = 400
"""After the window has been seen, the plotting library is loaded, so that the first run does not wait for it."""


def make_application(arguments: list[str]) -> QApplication:
    """Return the application object with its names."""
    app = QApplication(arguments)
    app.setApplicationName("clalign")
    app.setApplicationDisplayName("clalign")
    app.setDesktopFileName("clalign")
    return app


def open_window(settings: Settings, worker: list[str], files: list[str]) -> MainWindow:
    """Make the window, show it, and only then look for devices and open files."""
    theme.apply(settings.preferences.theme)
    QGuiApplication.styleHints().colorSchemeChanged.connect(lambda _: _follow_system(settings, window))
    window = MainWindow(settings, worker)
    conductor = window.conductor

    def begin() -> None:
        conductor.inspector.find_devices(refresh=False)
        if files:
            conductor.sources.open_paths(files)
        elif not settings.preferences.show_start and settings.recent:
            last = settings.recent[0]
            if not last.problem:
                conductor.sources.open_paths([last.path])
        QTimer.singleShot(WARM_MS, window, lambda: _warm_up(window))

    window.shown.connect(begin)
    window.show()
    return window


def _warm_up(window: MainWindow) -> None:
    from .views import results_page

    assert results_page
    QTimer.singleShot(WARM_MS, window, lambda: _warm_laboratory(window))


def _warm_laboratory(window: MainWindow) -> None:
    from .models import rungs

    assert rungs
    window.collector.settle()


def _follow_system(settings: Settings, window: MainWindow) -> None:
    if settings.preferences.theme == "system":
        theme.apply("system")
        window.dress()


def main(files: list[str] | None = None, new_window: bool = False) -> int:
    """Open the window, or hand the files to the one that is open.

    Parameters
    ----------
    files : list of str, optional
        Profiles, sequences or runs; by default the words of the command line.
    new_window : bool
        Open another window even if there is one.

    Returns
    -------
    int
        Exit code.
    """
    if files is None:
        new_window = "--new-window" in sys.argv
        files = [word for word in sys.argv[1:] if not word.startswith("--")]
    files = [str(Path(name).absolute()) for name in files]
    app = make_application(sys.argv[:1])
    settings = Settings()
    name = server_name(settings)
    if not new_window and hand_over(name, files):
        return 0
    instance = Instance(name) if not new_window else None
    window = open_window(settings, default_worker(), files)
    if instance is not None:

        def take(paths: list[str]) -> None:
            window.bring_forward()
            window.conductor.sources.open_paths(paths)

        instance.files_received.connect(take)
    code = app.exec()
    if instance is not None:
        instance.close()
    return code

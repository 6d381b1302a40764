"""What all controllers share: the window's parts, open files, messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QUndoStack
from PySide6.QtWidgets import QFileDialog, QWidget
from shiboken6 import isValid

from clalign.common.plain_data import Json
from clalign.values.specs import Spec

from .. import formatting, theme
from ..models.jobs import JobQueue
from ..models.reader import Reader
from ..settings import Settings, write_whole
from ..views.workbench import Workbench
from .inspector import Inspector

if TYPE_CHECKING:
    from ..views.results.results_page import ResultsPage

Page = TypeVar("Page", bound=QWidget)

BUSY_MS = 400
"""Delay before it is told that a file is being written."""

MAX_NOTES_UNDONE = 200
"""Changes of notes that can be undone."""


class AppContext(QObject):
    """Open files and runs, and the parts of the window.

    Parameters
    ----------
    window : Workbench
    settings : Settings
    worker : list of str
        Starts a worker.
    """

    actions_outdated = Signal()
    """The available commands may have changed."""

    preferences_changed = Signal(dict)

    def __init__(self, window: Workbench, settings: Settings, worker: list[str]) -> None:
        super().__init__(window)
        self.window = window
        self.settings = settings
        self.workspace = window.workspace
        self.queue = JobQueue(worker, self)
        self.inspector = Inspector(worker, self.workspace, self)
        self.reader = Reader(self)
        self.files = Reader(self)
        """A thread that reads sequences and profiles, which may take minutes: tables must not wait for it."""

        self.pages: dict[str, ResultsPage] = {}
        self.notes = QUndoStack(self)
        self.notes.setUndoLimit(MAX_NOTES_UNDONE)
        self.notes.indexChanged.connect(self.update_actions)
        self._trail: list[QWidget] = []
        self.inspector.problem_found.connect(lambda text: self.notify("caution", text))
        self.inspector.remark_made.connect(lambda text: self.notify("note", text))
        self.inspector.devices_found.connect(self._settle_remarks)
        self.inspector.fault_found.connect(self.show_fault)
        self.queue.job_added.connect(lambda _: self.inspector.stop_dry_run())  # the job is to have the device
        window.sheets.sheet_closed.connect(self.inspector.stop_dry_run)

    def forget_files(self, owner: str) -> None:
        """Stop reading for a closed page; `owner` is the path of its run or file."""
        self.files.forget_all(owner)

    def current_spec(self) -> Spec | None:
        """Return the spec of the run in view, or of the one to which the page in view leads back."""
        shown = self.window.center.currentWidget()
        pages = reversed(self._trail) if self._trail[-1:] == [shown] else (shown,)
        return next((run.run.spec for page in pages for run in self.pages.values() if run is page), None)

    @property
    def page(self) -> ResultsPage | None:
        """The results in view."""
        shown = self.window.center.currentWidget()
        return next((page for page in self.pages.values() if page is shown), None)

    def show_start(self) -> None:
        """Show the start page."""
        self.show_page(self.window.start)

    def show_page(self, page: QWidget, title: str = "") -> None:
        """Show a page in the center."""
        self.window.sheets.close_sheet()
        self.window.center.setCurrentWidget(page)
        page.setWindowTitle(title)  # for the way back to it
        if self.window.details.shows_facts:  # of the page that was left
            self.window.details.show_source(None)
        self.window.data.select(self.window.details.path)  # no run that was in view
        page.setFocus()
        self.window.setWindowTitle(f"{title} – clalign" if title else "clalign")
        self.update_actions()

    def show_aside(self, page: QWidget, title: str) -> None:
        """Show a page from which `leave_aside` leads back to the one in view, such as the help."""
        shown = self.window.center.currentWidget() or self.window.start
        if self._trail[-1:] != [shown]:
            self._trail = [shown]
        if page in self._trail:
            del self._trail[self._trail.index(page) :]
        self._trail.append(page)
        self.show_page(page, title)

    def leave_aside(self) -> None:
        """Show what was in view before a page that was shown aside, if such a page is in view."""
        if len(self._trail) < 2 or self._trail[-1] is not self.window.center.currentWidget():
            return
        self._trail.pop()
        before = self._trail[-1]
        if isValid(before) and self.window.center.indexOf(before) >= 0:
            self.show_page(before, before.windowTitle())
        else:
            self.show_start()

    def update_actions(self) -> None:
        """Enable the available commands."""
        self.actions_outdated.emit()

    def call(self, command: str, arguments: tuple[object, ...] = ()) -> None:
        """Call a method of a controller or of the window, as ``sources.open_files`` or ``set_theme:dark``."""
        name, _, argument = command.partition(":")
        if argument:
            arguments = (int(argument) if argument.lstrip("-").isdigit() else argument, *arguments)
        attrgetter(name)(self)(*arguments)

    # --- messages ---

    def _settle_remarks(self) -> None:
        """Close what was said while devices were looked for; it matters if there is none."""
        for text in self.inspector.remarks:
            self.window.messages.withdraw(text)
            if len(self.workspace.devices) < 2:  # only the reference
                self.notify("caution", text)
        self.inspector.remarks.clear()

    def notify(self, severity: str, text: str, *actions: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show a message, with a long text below it if there is one."""
        self.window.messages.notify(severity, text, *actions, details=details)

    def notify_file(self, text: str, path: str) -> None:
        """Show a message about a written file, with a button that shows its folder."""
        folder = QUrl.fromLocalFile(str(Path(path).absolute().parent))
        self.notify("good", text, ("Show folder", lambda: QDesktopServices.openUrl(folder)))

    def show_fault(self, message: str, hint: str, text: str) -> None:
        """Show a fault of the program, with a text to report."""
        self.notify("stop", f"{message} {hint}".strip(), details=text)

    @property
    def export_folder(self) -> Path:
        """The folder proposed for files: that of the last one if it still exists."""
        last = self.settings.preferences.export_folder
        return Path(last) if last and Path(last).is_dir() else Path.home()

    def ask_file(self, heading: str, filters: str = "") -> str:
        """Ask for a file to open, in the folder of the last one; empty if there is none."""
        path, _ = QFileDialog.getOpenFileName(self.window, heading, self.settings.preferences.open_folder, filters)
        if path:
            self._opened([path])
        return path

    def ask_files(self, heading: str, filters: str = "") -> list[str]:
        """Ask for files to open, in the folder of the last ones."""
        before = self.settings.preferences.open_folder
        return self._opened(QFileDialog.getOpenFileNames(self.window, heading, before, filters)[0])

    def _opened(self, names: list[str]) -> list[str]:
        """Return the names of files after their folder was remembered."""
        if names:
            self.settings.change(open_folder=str(Path(names[0]).absolute().parent))
        return names

    def ask_target(self, heading: str, name: str, filters: str) -> tuple[str, str]:
        """Ask for a file to write, of a proposed name; return its path, empty if there is none, and the filter."""
        return QFileDialog.getSaveFileName(self.window, heading, str(self.export_folder / name), filters)

    def output_of_job(self, folder: str, name: str, ending: str) -> str:
        """Return an unused path for what a job will make, in a folder of the data; empty if that cannot be made."""
        taken = {str(item.spec.get(key)) for item in self.queue.items for key in ("output", "run")}
        try:
            return self.settings.new_file(folder, name, ending, taken)
        except OSError as error:
            place = self.settings.data / folder
            self.notify("stop", f"The folder {place} could not be created because: {error.strerror}.")
            return ""

    def write_file(self, path: str, what: str, write: Callable[[], None], reader: Reader | None = None) -> None:
        """Write a file in a reader's thread, and show the result.

        Parameters
        ----------
        path : str
        what : str
            What it is, as the message begins.
        write : callable
        reader : Reader, optional
            By default that of all pages.
        """
        words, key, reader = f"Writing {Path(path).name}…", (path, what), reader or self.reader

        def finish(answer: object) -> None:
            self.window.messages.withdraw(words)
            if isinstance(answer, Exception):
                why = getattr(answer, "strerror", None) or answer
                self.notify("stop", f"{path} could not be written because: {why}.")
            else:
                self.settings.change(export_folder=str(Path(path).absolute().parent))
                self.notify_file(f"{what} written to {formatting.short_path(path)}.", path)

        reader.ask(key, write, finish)
        QTimer.singleShot(BUSY_MS, self, lambda: self.notify("note", words) if reader.is_asked(key) else None)

    def save_text(self, heading: str, name: str, filters: str, what: str, text: str) -> bool:
        """Ask for a file, and write a text to it; return whether one was named."""
        path, _ = self.ask_target(heading, name, filters)
        if path:
            self.write_file(path, what, partial(write_whole, Path(path), text))
        return bool(path)

    # --- preferences ---

    def toggle_scale(self) -> None:
        """Switch the histogram between logarithmic and linear."""
        self.change_preferences({"log_counts": not self.settings.preferences.log_counts})

    def set_scheme(self, scheme: str) -> None:
        """Color residues by another scheme."""
        self.change_preferences({"scheme": scheme})

    def set_theme(self, choice: str) -> None:
        """Switch between light and dark."""
        self.change_preferences({"theme": choice})

    def change_preferences(self, choices: Json) -> None:
        """Save preferences and apply them at once."""
        self.settings.change(**choices)
        chosen = self.settings.preferences
        if choices.keys() & {"theme", "contrast", "still"}:
            theme.apply(chosen.theme, chosen.contrast, chosen.still)
        for page in self.pages.values():
            page.show_preferences(chosen)
        self.preferences_changed.emit(choices)


class Controller(QObject):
    """One kind of work in the window; it may use the controllers below it."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._app = app

    def connect_page(self, page: ResultsPage) -> None:
        """Connect results; a controller of an engine connects those of its engine."""

    def close_page(self) -> None:
        """Close the page in view if it belongs to this controller."""

    def forget(self, owner: str) -> None:
        """Stop reading a file or a closed run."""


class PagesController(Controller, Generic[Page]):
    """A controller of what has a page each: files, by their paths, or laboratories."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.pages: dict[str, Page] = {}

    @property
    def path_in_view(self) -> str:
        """The file whose page is in view; empty if none is."""
        shown = self._app.window.center.currentWidget()
        return next((path for path, page in self.pages.items() if page is shown), "")

    @property
    def page(self) -> Page | None:
        """The page in view, if it is one of these."""
        return self.pages.get(self.path_in_view)

    def close_page(self) -> None:
        if path := self.path_in_view:
            self._app.show_start()
            self.drop(path)

    def drop(self, path: str) -> None:
        """Remove the page of a file."""
        page = self.pages.pop(path, None)
        if page is not None:
            self._app.window.center.removeWidget(page)
            page.deleteLater()

"""The window: menus, job strip, and the connections of its parts with their controllers."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from clalign.runs.side_files import ENDING

from ..controllers.app_controller import AppController
from ..controllers.library_controller import run_words
from ..engines.register import welcome
from ..models.jobs import JobItem
from ..models.results.links import links_of_hit
from ..settings import Settings
from ..views.widgets.parts import button, row
from ..views.workbench import FIRST_SIZE, MIN_SIZE, SHARE_OF_SCREEN, Workbench
from .actions import Actions
from .collector import Collector
from .finders import find_commands, find_named, find_opened, find_queries, recent_entries
from .job_strip import JobStrip
from .leaving import Leaving
from .palette import CommandPalette

HIT_MENU = (
    "hits.edit_note", "page.hits.table.copy", "page.hit.copy_text", "page.hit.copy_fasta",
    "hits.verify_hit", "explanations.explain_hit", "search.search_with_hit", "search.search_with_hit:rounds",
)  # fmt: skip
"""Commands in the menu of a row of hits."""


class MainWindow(Workbench):
    """The window.

    Parameters
    ----------
    settings : Settings
    worker : list of str
        Starts a worker.
    safe_mode : bool
        Begin with the usual layout; none is kept.
    """

    shown = Signal()

    def __init__(self, settings: Settings, worker: list[str], safe_mode: bool = False) -> None:
        super().__init__(settings, welcome())
        self._safe_mode = safe_mode
        self._shown_emitted = False
        self.controller = AppController(self, settings, worker)
        self._make_job_strip()
        self.palette_ = CommandPalette(self)
        self.actions_ = Actions(self, self.controller)
        self.actions_.fill_menus(self)
        self._make_recent_menu()
        self.search_button = button("Commands and names  Ctrl+K", self.show_palette, "flat")
        self._corner = QWidget()  # kept: the bar does not
        self._corner.setLayout(row(self.chip, self.search_button, spacing=4))
        self._place_corner()
        self.chip.resized.connect(self._place_corner)
        self._connect()
        self.reset_layout()
        self._restore()
        self.actions_.dress()
        self.show_recent()
        self.actions_.update()
        self.collector = Collector(self)
        self.leaving = Leaving(self, self.controller.queue)

    def _place_corner(self) -> None:
        """Give the corner of the menu bar its width; the bar only does so when it gets another widget."""
        self.menuBar().setCornerWidget(self._corner)
        self._corner.show()
        self.menuBar().setCornerWidget(self.dock_button, Qt.Corner.TopLeftCorner)

    def _make_recent_menu(self) -> None:
        self.recent_menu = QMenu("Open recent", self)
        self.recent_menu.setToolTipsVisible(True)
        self.recent_menu.aboutToShow.connect(self._fill_recent_menu)
        file_menu = self.menuBar().actions()[0].menu()
        assert isinstance(file_menu, QMenu)
        file_menu.insertMenu(self.actions_.by_id["sources.paste_sequences"], self.recent_menu)

    def _fill_recent_menu(self) -> None:
        self.recent_menu.clear()
        names = self.recent_names
        for entry in self.settings.recent:
            problem = entry.problem
            text = names[entry.path] + (f" – {problem}" if problem else "")
            action = self.recent_menu.addAction(text, partial(self.open_recent, entry.path))
            action.setEnabled(not problem)
            action.setToolTip(f"{entry.path}\n{problem}".strip())
        if not self.settings.recent:
            self.recent_menu.addAction("Files that you open are listed here").setEnabled(False)

    def show_recent(self) -> None:
        super().show_recent()
        runs = [entry.path for entry in self.settings.recent if entry.path.endswith(ENDING)]
        self.controller.reader.ask((id(self), "recent"), partial(run_words, runs), self._take_run_words)

    def _note_search(self, item: JobItem) -> None:
        if item.is_search and item.state == "done":
            self.tour.note_done(1)

    def _take_job(self, item: JobItem) -> None:
        """Show that a recent run goes on, or is paused."""
        if item.is_active and self.run_words.get(item.run, ("", item.state_words, ""))[1] != item.state_words:
            self.show_recent()

    def _take_run_words(self, answer: dict[str, tuple[str, str, str]] | Exception) -> None:
        if isinstance(answer, Exception):
            return
        jobs = {path: job for path in answer if (job := self.controller.queue.of_run(path)) is not None}
        running = {path: (answer[path][0], job.state_words, answer[path][2]) for path, job in jobs.items()}
        if answer | running != self.run_words:
            self.run_words = answer | running
            super().show_recent()

    def _make_job_strip(self) -> None:
        self.jobs = JobStrip(self.controller.queue)
        self.jobs.focus_left.connect(self.messages.focus_left)
        self.statusBar().addWidget(self.jobs, 1)
        self.messages.lie_over(self.statusBar(), self.past_messages, self.jobs)
        for signal in (self.controller.queue.job_added, self.controller.queue.job_changed):
            signal.connect(self._take_job)

    def _connect(self) -> None:
        controller = self.controller
        for part in (self.start, self.data, self.devices, self.details.source):
            part.command_requested.connect(controller.call)
        self.data.menu_requested.connect(lambda path, place: self.file_menu(path).popup(place))
        self.devices.device_chosen.connect(controller.devices.choose_device)
        self.devices.refresh_requested.connect(controller.devices.refresh_devices)
        self.past_messages.clicked.connect(controller.help.messages)
        self.jobs.action_requested.connect(controller.jobs.act)
        self.tour.show_requested.connect(self._show_step)
        controller.example_opened.connect(partial(self.tour.note_done, 0))
        controller.queue.job_ended.connect(self._note_search)
        controller.actions_outdated.connect(self.actions_.update)
        controller.preferences_changed.connect(lambda new: self.dress() if {"theme", "contrast"} & new.keys() else None)
        controller.hit_menu_requested.connect(self._offer_hit_menu)
        controller.alignments.ways_requested.connect(lambda menu: self.actions_.fill_menu(menu, "Alignment"))
        self._connect_changes()

    def _connect_changes(self) -> None:
        workspace, queue = self.controller.workspace, self.controller.queue
        for signal in (workspace.sources_changed, workspace.choice_changed, workspace.devices_changed):
            signal.connect(self.controller.update_actions)
        workspace.sources_changed.connect(lambda: self.details.renew(workspace))
        for signal in (queue.job_added, queue.job_begun, queue.job_ended):
            signal.connect(lambda _: self.controller.update_actions())

    def _restore(self) -> None:
        layout = self.settings.layout
        self.setMinimumSize(MIN_SIZE)
        self.resize(FIRST_SIZE.boundedTo(self.screen().availableGeometry().size() * SHARE_OF_SCREEN))
        self.fit_screen()
        if self._safe_mode:
            return
        for name, restore in (("geometry", self.restoreGeometry), ("state", self.restoreState)):
            stored = layout.value(name)
            if isinstance(stored, QByteArray):
                restore(stored)
        self.arrange_dock(layout.value("wanted/data", "true") not in ("false", False))

    def open_recent(self, path: str) -> None:
        """Open a recent file; one that has no page is shown beside it."""
        if not path.endswith((ENDING, ".json")):
            self.dock.show()
        self.controller.sources.open_paths([path])

    def pin(self, path: str, pinned: bool) -> None:
        """Pin a recent file to the list, or unpin it."""
        self.settings.change_recent(path, pinned=pinned)
        self.show_recent()

    def dress(self) -> None:
        """Apply the colors of the theme."""
        self.actions_.dress()

    def file_menu(self, path: str) -> QMenu:
        """Return the menu of an opened file."""
        menu, controller = QMenu(self), self.controller
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        is_run = path.endswith(".clalign")
        menu.addAction("Show", partial(controller.sources.choose_source, path))
        if is_run:
            menu.addAction("Rename…", partial(controller.library.rename, [path]))
        menu.addAction("Show in folder", partial(controller.library.reveal, [path]))
        menu.addAction("Copy path", partial(QGuiApplication.clipboard().setText, path))
        menu.addSeparator()
        menu.addAction("Close", partial(controller.close_source, path))
        if is_run:
            menu.addAction("Delete…", partial(controller.library.delete, [path]))
        return menu

    def _offer_hit_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        self.actions_.update()
        menu.addActions([self.actions_.by_id[name] for name in HIT_MENU])
        page = self.controller.page
        if page is not None:
            for words, address in links_of_hit(page.run).items():
                menu.addAction(f"Look up {words}", partial(page.link_requested.emit, address))
        menu.popup(place)

    def start_tour(self) -> None:
        """Start the tour."""
        self.tour.begin()

    def _show_step(self, command: str) -> None:
        if not command:
            examples = self.start.cards
            if examples:
                self.controller.open_example(examples[0].name, examples[0].example)
            return
        action = self.actions_.by_id[command]
        self.actions_.update()
        if action.isEnabled():
            action.trigger()
        else:
            self.messages.notify("note", action.toolTip())

    def press(self, name: str) -> None:
        """Send the keys of Copy or Select All to the focused widget."""
        focus = QApplication.focusWidget()
        key = {"copy": Qt.Key.Key_C, "select_all": Qt.Key.Key_A}[name]
        if focus is not None:
            pressed = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.ControlModifier)
            QCoreApplication.sendEvent(focus, pressed)

    def full_screen(self) -> None:
        """Switch full screen on or off."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def show_palette(self) -> None:
        """Search commands, files, runs and queries by name."""
        self.actions_.update()
        recent = recent_entries(self.controller, self.open_recent)
        self.palette_.open_with((
            partial(find_commands, self.actions_.by_id.values()), partial(find_opened, self.controller),
            partial(find_named, "Recent", recent), partial(find_queries, self.controller),
        ))  # fmt: skip

    def show_keys(self) -> None:
        """Show keys and the filter language."""
        from .help import keys_sheet

        self.sheets.open_sheet(keys_sheet(self.actions_))

    def about(self) -> None:
        """Show the sheet about the program."""
        from .help import about_sheet

        self.sheets.open_sheet(about_sheet())

    def quit(self) -> None:
        """Close the window."""
        self.close()

    def bring_forward(self) -> None:
        """Show the window before others."""
        if self.leaving.is_hidden:
            self.leaving.come_back()
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def showEvent(self, event: QShowEvent) -> None:
        # Everything slow begins only once the window is visible.
        super().showEvent(event)
        if not self._shown_emitted:
            self._shown_emitted = True
            QTimer.singleShot(0, self, self.shown.emit)

    def changeEvent(self, event: QEvent) -> None:
        # Files may have changed while another program was active.
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self._shown_emitted:
            self.controller.sources.look_again()
        super().changeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.leaving.may_close():
            event.ignore()
            return
        if not self._safe_mode:
            self._keep_layout()
        self.controller.leave()
        self.collector.stop()
        super().closeEvent(event)

    def _keep_layout(self) -> None:
        layout = self.settings.layout
        layout.setValue("geometry", self.saveGeometry())
        layout.setValue("state", self.saveState())
        layout.setValue("wanted/data", self.is_dock_wanted)
        layout.sync()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.sheets.sheet is None:
                self.controller.leave_aside()
            else:
                self.sheets.leave_sheet()
            return
        super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        # Hits that are dragged out of this window are no files to open.
        if event.source() is None and event.mimeData().hasUrls():
            event.acceptProposedAction()
            self.show_drop(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.show_drop(False)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        self.show_drop(False)
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.bring_forward()
        self.controller.sources.open_paths(paths)

"""The frame of the window: centre, docks, menus, job strip. No logic."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from clalign.databases.examples import load_examples, load_pair_examples

from .. import formatting, theme
from ..controllers.app_controller import AppController
from ..settings import Settings
from ..views.docks import DataDock, DevicePicker
from ..views.message_bar import MessageBar
from ..views.parts import button, label
from ..views.sheet import SheetHost
from ..views.start_page import StartPage
from .actions import Actions
from .collector import Collector
from .job_strip import JobStrip
from .palette import CommandPalette

DOCKS = {
    "data": ("Data", Qt.DockWidgetArea.LeftDockWidgetArea),
    "device": ("Device", Qt.DockWidgetArea.LeftDockWidgetArea),
    "details": ("Details", Qt.DockWidgetArea.RightDockWidgetArea),
}

LEAST_STAGE = 240
"""Pixels of the page in the centre. What the tabs behind it need must not make the window higher than the screen when
a message is shown."""


class MainWindow(QMainWindow):
    """The window.

    Parameters
    ----------
    settings : Settings
    worker : list of str
        Starts a worker.
    """

    shown = Signal()

    def __init__(self, settings: Settings, worker: list[str]) -> None:
        super().__init__()
        self.settings = settings
        self.setWindowTitle("clalign")
        self.setWindowIcon(theme.app_icon())
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AnimatedDocks | QMainWindow.DockOption.AllowNestedDocks)
        self.docks: dict[str, QDockWidget] = {}
        self._told_shown = False
        self.controller = AppController(self, settings, worker)
        self._make_center()
        self._make_docks()
        self._make_status()
        self.palette_ = CommandPalette(self)
        self.actions_ = Actions(self, self.controller)
        self.actions_.fill_menus(self)
        self._make_recent_menu()
        self.search_button = button("Search commands  Ctrl+K", self.controller.show_palette, "flat")
        self.menuBar().setCornerWidget(self.search_button)
        self._connect()
        self.arrange()
        self._restore()
        self.dress()
        self.show_recent()
        self.actions_.update()
        self.collector = Collector(self)

    def _make_center(self) -> None:
        self.messages = MessageBar()
        self.center = QStackedWidget()
        first, *others = load_examples()
        examples = [first, *load_pair_examples(), *others]
        self.start = StartPage(self.controller.workspace, examples, self.settings.preferences.show_start)
        self.center.addWidget(self.start)
        self.jobs = JobStrip(self.controller.queue)
        stage, middle = QWidget(), QWidget()
        for holder, widgets in ((stage, (self.center,)), (middle, (self.messages, stage))):
            box = QVBoxLayout(holder)
            box.setContentsMargins(0, 0, 0, 0)
            box.setSpacing(0)
            for widget in widgets:
                box.addWidget(widget, 0 if widget is self.messages else 1)
        stage.setMinimumHeight(LEAST_STAGE)
        self.setCentralWidget(middle)
        self.sheets = SheetHost(stage)

    def _make_docks(self) -> None:
        from ..views.details import Details

        workspace = self.controller.workspace
        self.data, self.devices, self.details = DataDock(workspace), DevicePicker(workspace), Details()
        for (name, (title, _)), widget in zip(DOCKS.items(), (self.data, self.devices, self.details), strict=True):
            dock = QDockWidget(title, self)
            dock.setObjectName(name)
            dock.setWidget(widget)
            dock.setFeatures(
                QDockWidget.DockWidgetFeature.DockWidgetClosable | QDockWidget.DockWidgetFeature.DockWidgetMovable
            )
            self.docks[name] = dock

    def _make_recent_menu(self) -> None:
        self.recent_menu = QMenu("Open recent", self)
        self.recent_menu.setToolTipsVisible(True)
        self.recent_menu.aboutToShow.connect(self._fill_recent_menu)
        file_menu = self.menuBar().actions()[0].menu()
        file_menu.insertMenu(self.actions_.by_id["sources.paste_sequences"], self.recent_menu)

    def _fill_recent_menu(self) -> None:
        self.recent_menu.clear()
        for entry in self.settings.recent:
            problem = entry.problem
            text = Path(entry.path).name + (f" – {problem}" if problem else "")
            action = self.recent_menu.addAction(
                text, lambda path=entry.path: self.controller.sources.open_paths([path])
            )
            action.setEnabled(not problem)
            action.setToolTip(f"{entry.path}\n{problem}".strip())
        if not self.settings.recent:
            self.recent_menu.addAction("Files that you open are listed here").setEnabled(False)

    def _make_status(self) -> None:
        strip = QToolBar("Jobs", self)
        strip.setObjectName("jobs")
        strip.setMovable(False)
        strip.toggleViewAction().setEnabled(False)
        strip.addWidget(self.jobs)
        self.addToolBar(Qt.ToolBarArea.BottomToolBarArea, strip)
        self.jobs.shown_changed.connect(strip.setVisible)
        strip.hide()
        self.job_bar = strip
        self.device_words = QPushButton("Looking for devices…")
        self.device_words.setProperty("role", "flat")
        self.device_words.setToolTip("Choose a device (D)")
        self.job_words = label("No jobs", "muted")
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        bar.addWidget(self.job_words)
        bar.addPermanentWidget(self.device_words)

    def _connect(self) -> None:
        controller = self.controller
        start, data, devices, details = self.start, self.data, self.devices, self.details
        start.open_asked.connect(controller.sources.open_files)
        start.paste_asked.connect(controller.sources.paste_sequences)
        start.compare_asked.connect(controller.pairs.open_sheet)
        start.example_asked.connect(controller.sources.open_example)
        start.recent_asked.connect(lambda path: controller.sources.open_paths([path]))
        start.pin_asked.connect(self._pin)
        start.show_start_changed.connect(lambda on: self.settings.change(show_start=on))
        data.source_chosen.connect(controller.sources.choose_source)
        data.source_activated.connect(controller.sources.use_source)
        data.close_asked.connect(controller.sources.close_source)
        data.open_asked.connect(controller.sources.open_files)
        devices.device_chosen.connect(controller.devices.choose_device)
        devices.test_asked.connect(lambda number: controller.devices.show_device(number, True))
        devices.details_asked.connect(controller.devices.show_device)
        devices.refresh_asked.connect(controller.devices.refresh_devices)
        details.source.alphabet_chosen.connect(controller.sources.choose_alphabet)
        details.source.use_asked.connect(controller.sources.use_source)
        details.source.close_asked.connect(controller.sources.close_source)
        details.source.calibrate_asked.connect(controller.labs.calibrate)
        details.source.build_asked.connect(controller.building.build)
        details.source.compare_asked.connect(controller.pairs.search_with)
        details.source.logo_asked.connect(controller.profiles.open_profile)
        devices.compare_asked.connect(controller.labs.open_comparison)
        start.lab_asked.connect(self._open_lab)
        details.hit.verify_asked.connect(lambda _: controller.hits.verify_hit())
        details.hit.explain_asked.connect(controller.filters.explain_hit)
        details.hit.node_chosen.connect(controller.profiles.show_node_of_hit)
        details.hit.set_posterior(self.settings.preferences.posterior)
        self.jobs.action_asked.connect(controller.jobs.act)
        self.device_words.clicked.connect(controller.devices.focus_devices)
        self._connect_changes()

    def _connect_changes(self) -> None:
        workspace, queue = self.controller.workspace, self.controller.queue
        workspace.devices_changed.connect(self.controller.devices.show_device_summary)
        for signal in (workspace.sources_changed, workspace.choice_changed, workspace.devices_changed):
            signal.connect(self.controller.update_actions)
        workspace.sources_changed.connect(lambda: self.details.renew(workspace))
        for signal in (queue.job_added, queue.job_changed, queue.job_ended, queue.job_removed):
            signal.connect(lambda _: self._show_jobs())
        for signal in (queue.job_added, queue.job_ended):
            signal.connect(lambda _: self.controller.update_actions())

    def _show_jobs(self) -> None:
        active = sum(item.is_active for item in self.controller.queue.items)
        self.job_words.setText(f"{formatting.plural(active, 'job')} running or waiting" if active else "No jobs")

    def arrange(self) -> None:
        """Put the docks where they are at first."""
        for name, dock in self.docks.items():
            self.addDockWidget(DOCKS[name][1], dock)
            dock.show()
        self.resizeDocks([self.docks["data"], self.docks["details"]], [250, 300], Qt.Orientation.Horizontal)
        self.resizeDocks([self.docks["data"], self.docks["device"]], [400, 260], Qt.Orientation.Vertical)

    def _restore(self) -> None:
        layout = self.settings.layout
        self.resize(1280, 800)
        for name, restore in (("geometry", self.restoreGeometry), ("state", self.restoreState)):
            stored = layout.value(name)
            if isinstance(stored, QByteArray):
                restore(stored)
        # The stored layout may be of a moment when jobs were listed.
        self.job_bar.hide()

    def show_dock(self, name: str) -> None:
        """Bring a dock into view."""
        self.docks[name].show()
        self.docks[name].raise_()

    def show_recent(self) -> None:
        """Show the recent files."""
        self.start.show_recent(self.settings.recent)

    def _pin(self, path: str, pinned: bool) -> None:
        self.settings.pin(path, pinned)
        self.show_recent()

    def _open_lab(self, name: str) -> None:
        {"ladder": self.controller.labs.open_ladder, "comparison": self.controller.labs.open_comparison}[name]()

    def dress(self) -> None:
        """Take the colors of the theme."""
        self.actions_.dress()

    def bring_forward(self) -> None:
        """Show the window before others."""
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def showEvent(self, event: QShowEvent) -> None:
        """Tell once that the window is there; everything slow begins only then."""
        super().showEvent(event)
        if not self._told_shown:
            self._told_shown = True
            QTimer.singleShot(0, self, self.shown.emit)

    def changeEvent(self, event: QEvent) -> None:
        """Look at the files again when the user comes back."""
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self._told_shown:
            self.controller.sources.look_again()
        super().changeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout and end what runs."""
        layout = self.settings.layout
        layout.setValue("geometry", self.saveGeometry())
        layout.setValue("state", self.saveState())
        layout.sync()
        self.controller.leave()
        self.collector.stop()
        super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close what lies in front on Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.sheets.close_sheet()
            return
        super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the files that were dropped; they sort themselves."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.bring_forward()
        self.controller.sources.open_paths(paths)

"""The frame of the window: pages in the center, sheets over them, docks around, messages at the foot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStackedWidget, QToolBar, QVBoxLayout, QWidget

from .. import theme
from ..models.file_names import distinct_names
from ..models.workspace import Workspace
from ..settings import Settings
from .docks import DataDock, DeviceChip, DevicePicker
from .start_page import StartPage, Welcome
from .tour_bar import TourBar
from .widgets.message_bar import MessageBar
from .widgets.parts import IconButton, label
from .widgets.sheet import SheetHost

LEFT, RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
DOCKS = {
    "data": ("Data", "file-tree-outline", LEFT),
    "details": ("Details", "text-box-search-outline", RIGHT),
}
"""Title, icon and place of each dock."""

NARROW = 1270
"""Pixels of the window below which docks are hidden; more for pages with a property `room`."""

MIN_STAGE = QSize(360, 240)
"""Pixels of the page in the center. The tabs of hidden pages must not make the window larger than the screen when
another one is shown."""

FIRST_SIZE = QSize(1280, 800)

MIN_SIZE = QSize(720, 480)
"""The window never grows beyond this by itself, whatever its pages need."""

FRAME = QSize(16, 48)
"""Pixels of the frame of a window."""


class Workbench(QMainWindow):
    """The parts of the window that controllers use; it calls none of them.

    Parameters
    ----------
    settings : Settings
    welcome : Welcome

    Attributes
    ----------
    run_words : dict
        Of recent runs that were read, by their paths: name, and state unless it is complete.
    """

    def __init__(self, settings: Settings, welcome: Welcome) -> None:
        super().__init__()
        self.settings = settings
        self.workspace = Workspace(self)
        self.workspace.device_id = settings.preferences.device
        self.run_words: dict[str, tuple[str, str]] = {}
        self.setWindowTitle("clalign")
        self.setWindowIcon(theme.app_icon())
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AnimatedDocks | QMainWindow.DockOption.AllowNestedDocks)
        self._make_center(StartPage(self.workspace, welcome, settings.preferences.show_start))
        self._make_docks()
        self._make_status()

    def _make_center(self, start: StartPage) -> None:
        self.messages, self.tour = MessageBar(), TourBar()
        self.center = QStackedWidget()
        self.start = start
        self.center.addWidget(self.start)
        self.messages.focus_left.connect(self._focus_page)
        stage, middle = QWidget(), QWidget()
        for holder, widgets in ((stage, (self.center,)), (middle, (self.tour, stage))):
            box = QVBoxLayout(holder)
            box.setContentsMargins(0, 0, 0, 0)
            box.setSpacing(0)
            for widget in widgets:
                box.addWidget(widget, 0 if widget is self.tour else 1)
        self._drop_words = label("Drop profiles, sequences or runs here", "drop")
        self._drop_words.setParent(stage)
        self._drop_words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._drop_words.setWordWrap(True)
        self._drop_words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._drop_words.hide()
        stage.setMinimumSize(MIN_STAGE)
        self.setCentralWidget(middle)
        self.sheets = SheetHost(stage)

    def show_drop(self, shown: bool) -> None:
        """Show or hide that files can be dropped."""
        stage = self.center.parentWidget()
        if stage is not None:
            self._drop_words.setGeometry(stage.rect().adjusted(8, 8, -8, -8))
        self._drop_words.setVisible(shown)
        self._drop_words.raise_()

    def _focus_page(self) -> None:
        page = self.center.currentWidget()
        if page is not None:
            page.setFocus()

    def _make_docks(self) -> None:
        from .details import Details

        self.data, self.devices, self.details = DataDock(self.workspace), DevicePicker(self.workspace), Details()
        self.docks: dict[str, QDockWidget] = {}
        features = QDockWidget.DockWidgetFeature
        self.chip = DeviceChip(self.devices)
        widgets = (self.data, self.details)
        self.dock_bar = QToolBar("Docks", self, movable=False)
        self.dock_bar.setObjectName("docks")
        self.dock_bar.toggleViewAction().setEnabled(False)
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.dock_bar)
        for (name, (title, icon, area)), widget in zip(DOCKS.items(), widgets, strict=True):
            dock = self.docks[name] = QDockWidget(title, self)
            dock.setObjectName(name)
            dock.setWidget(widget)
            dock.setFeatures(features.DockWidgetClosable | features.DockWidgetMovable)
            self.addDockWidget(area, dock)
            dock.hide()
            self.dock_bar.addWidget(IconButton(icon, title, partial(self.toggle_dock, name)))
        self._fitting: set[str] = set()
        self._wanted = set(DOCKS)
        self.details.selection_changed.connect(self._fit_docks)
        self.center.currentChanged.connect(lambda _: self._fit_docks())

    def _fit_docks(self) -> None:
        """Show the wanted docks if the pages keep enough room; Details only with a selection."""
        page = self.center.currentWidget()
        is_wide = self.width() >= ((page.property("room") if page is not None else 0) or NARROW)
        self.dock_bar.setVisible(not is_wide)
        fitting = {name for name in DOCKS if is_wide and (name != "details" or self.details.has_selection)}
        before, self._fitting = self._fitting, fitting
        for name, dock in self.docks.items():
            if (name in fitting) != (name in before):  # what the user did with the others meanwhile stays
                if not dock.isHidden():
                    self._wanted.add(name)
                elif name in before:
                    self._wanted.discard(name)
                dock.setVisible(name in fitting & self._wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_docks()

    @property
    def wanted_docks(self) -> list[str]:
        """The names of the docks that are open, or would be with room and a selection."""
        hidden = self._wanted - self._fitting
        return [name for name, dock in self.docks.items() if not dock.isHidden() or name in hidden]

    def arrange_docks(self, names: Collection[str]) -> None:
        """Show some docks if there is room, and close the others."""
        self._fit_docks()
        self._wanted = set(names)
        for name, dock in self.docks.items():
            dock.setVisible(name in self._wanted & self._fitting)

    def toggle_dock(self, name: str) -> None:
        """Show or hide a dock."""
        self.docks[name].setVisible(self.docks[name].isHidden())

    def _make_status(self) -> None:
        self.job_words = label("No jobs", "muted")
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self.past_messages = IconButton("message-text-outline", "Messages of this session", lambda: None, "0")
        for shown in (self.job_words, self.past_messages):
            bar.addPermanentWidget(shown)
            shown.ensurePolished()
        bar.setMinimumHeight(self.past_messages.sizeHint().height() + 6)
        self.messages.lie_over(bar, self.job_words)
        self.messages.message_added.connect(lambda *_: self.past_messages.setText(self.messages.count_words()))

    def reset_layout(self) -> None:
        """Restore the initial places of the docks."""
        for name, dock in self.docks.items():
            self.addDockWidget(DOCKS[name][2], dock)
        self.arrange_docks(DOCKS)
        self.resizeDocks([self.docks["data"], self.docks["details"]], [250, 300], Qt.Orientation.Horizontal)

    def show_dock(self, name: str) -> None:
        """Bring a dock into view."""
        self.docks[name].show()
        self.docks[name].raise_()

    def fit_screen(self) -> None:
        """Fit the window with its frame to the screen."""
        free = self.screen().availableGeometry()
        self.resize(self.size().boundedTo(free.size() - FRAME))
        if not free.contains(self.geometry()):
            left = min(max(self.x(), free.left()), free.right() - self.width() - FRAME.width())
            top = min(max(self.y(), free.top()), free.bottom() - self.height() - FRAME.height())
            self.move(left, top)

    def show_recent(self) -> None:
        """Show the recent files."""
        names = self.recent_names
        self.start.show_recent(self.settings.recent, names, self.run_words)
        runs = [entry.path for entry in self.settings.recent if entry.path in self.run_words and not entry.problem]
        self.data.show_recent([(path, names[path], self.run_words[path][1]) for path in runs])

    @property
    def recent_names(self) -> dict[str, str]:
        """The titles of the recent files, by their paths: of runs their names, as far as they are read."""
        names = distinct_names(entry.path for entry in self.settings.recent)
        runs = {path: name for path, (name, _) in self.run_words.items() if path in names}
        counts = Counter(runs.values())
        told_apart = {path: f"{name} ({Path(path).stem})" for path, name in runs.items() if counts[name] > 1}
        return names | runs | told_apart

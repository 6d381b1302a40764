"""The frame of the window: pages in the center, sheets over them, a dock beside them, messages at the foot."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow

from .. import theme
from ..models.file_names import distinct_names
from ..models.workspace import Workspace
from ..settings import Settings
from .docks import DataDock, DeviceChip, DevicePicker
from .start_page import StartPage, Welcome
from .tour_bar import TourBar
from .widgets.message_bar import MessageBar
from .widgets.parts import IconButton, held, label, one_of, split, stacked
from .widgets.sheet import SheetHost

LEFT = Qt.DockWidgetArea.LeftDockWidgetArea

NARROW = 1270
"""Pixels of the window below which the dock is folded; more for pages with a property `room`."""

DOCK_WIDTH = 330
"""Pixels of the dock in a new window: room for usual names of files with what stands beside them."""

MIN_STAGE = QSize(360, 240)
"""Pixels of the page in the center. The tabs of hidden pages must not make the window larger than the screen when
another one is shown."""

FIRST_SIZE, SHARE_OF_SCREEN = QSize(1680, 1050), 0.9
"""Pixels of the first window, if the screen has room for them in this share of it."""

MIN_SIZE = QSize(720, 480)
"""The window never grows beyond this by itself, whatever its pages need."""

FRAME = QSize(16, 48)
"""Pixels of the frame of a window."""


class Workbench(QMainWindow):
    """The parts of the window that controllers use; it calls none of them.

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
        self.run_words: dict[str, tuple[str, str, str]] = {}
        self.setWindowTitle("clalign")
        self.setWindowIcon(theme.app_icon())
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AnimatedDocks | QMainWindow.DockOption.AllowNestedDocks)
        self._make_center(StartPage(self.workspace, welcome, settings.preferences.show_start))
        self._make_dock()
        self._make_status()

    def _make_center(self, start: StartPage) -> None:
        self.messages, self.tour = MessageBar(), TourBar()
        self.start, self.center = start, one_of(start)
        stage = held(stacked(self.center))
        middle = held(stacked(self.tour, (stage, 1), spacing=0))
        self._drop_words = label("Drop profiles, sequences or runs here", "drop")
        self._drop_words.setParent(stage)
        self._drop_words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._drop_words.setWordWrap(True)
        self._drop_words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._drop_words.hide()
        stage.setMinimumSize(MIN_STAGE)
        self.setCentralWidget(middle)
        self.sheets = SheetHost(stage)
        for part in (self.messages, self.sheets):
            part.focus_left.connect(lambda: (self.center.currentWidget() or self.start).setFocus())

    def show_drop(self, shown: bool) -> None:
        """Show or hide that files can be dropped."""
        stage = self.center.parentWidget()
        if stage is not None:
            self._drop_words.setGeometry(stage.rect().adjusted(8, 8, -8, -8))
        self._drop_words.setVisible(shown)
        self._drop_words.raise_()

    def _make_dock(self) -> None:
        """Make the dock of opened files, with the card of the selected one below them."""
        from .details import Details

        self.data, self.devices, self.details = DataDock(self.workspace), DevicePicker(self.workspace), Details()
        self.details.source_shown.connect(self.data.select)
        self.chip = DeviceChip(self.devices)
        self.dock = QDockWidget("Data", self)
        self.dock.setObjectName("data")
        self.dock.setWidget(split(self.data, self.details, shares=(2, 3), sizes=(300, 400)))
        features = QDockWidget.DockWidgetFeature
        self.dock.setFeatures(features.DockWidgetClosable | features.DockWidgetMovable)
        self.dock.hide()
        self.dock_button = IconButton("dock-left", "Show or hide opened files and recent runs", self.toggle_dock)
        self.dock_button.setCheckable(True)
        self.dock_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # by keys: F9
        self.dock.visibilityChanged.connect(lambda _: self.dock_button.setChecked(not self.dock.isHidden()))
        self._is_wide, self._is_wanted = False, True
        self.center.currentChanged.connect(lambda _: self._fit_dock())

    def _fit_dock(self) -> None:
        """Show the dock, if it is wanted, as long as the page keeps enough room."""
        page = self.center.currentWidget()
        is_wide = self.width() >= ((page.property("room") if page is not None else 0) or NARROW)
        if is_wide != self._is_wide:
            self._is_wanted = self.is_dock_wanted or not self.dock.isHidden()
            self._is_wide = is_wide
            self.dock.setVisible(is_wide and self._is_wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_dock()

    @property
    def is_dock_wanted(self) -> bool:
        """Whether the dock is open where there is room for it."""
        return not self.dock.isHidden() if self._is_wide else self._is_wanted

    def arrange_dock(self, is_wanted: bool) -> None:
        """Show the dock if there is room, or close it."""
        self._fit_dock()
        self._is_wanted = is_wanted
        self.dock.setVisible(is_wanted and self._is_wide)

    def toggle_dock(self) -> None:
        """Show or hide the dock."""
        self.dock.setVisible(self.dock.isHidden())

    def _make_status(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self.past_messages = IconButton("message-text-outline", "Messages of this session", lambda: None, "0")
        bar.addPermanentWidget(self.past_messages)
        self.messages.message_added.connect(lambda *_: self.past_messages.setText(self.messages.count_words()))

    def reset_layout(self) -> None:
        """Restore the initial place of the dock."""
        self.addDockWidget(LEFT, self.dock)
        self.arrange_dock(True)
        self.resizeDocks([self.dock], [DOCK_WIDTH], Qt.Orientation.Horizontal)

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
        runs = {path: name for path, (name, *_) in self.run_words.items() if path in names}
        counts = Counter(runs.values())
        with_times = {p: f"{name} · {self.run_words[p][2]}" for p, name in runs.items() if counts[name] > 1}
        return names | runs | with_times

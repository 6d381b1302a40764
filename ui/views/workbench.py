"""The frame of the window: pages in the middle, messages above and sheets over them, docks around."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from .. import theme
from ..models.workspace import Workspace
from ..settings import Settings
from .docks import DataDock, DevicePicker
from .message_bar import MessageBar
from .parts import label
from .sheet import SheetHost
from .start_page import StartPage, Welcome

DOCKS = {
    "data": ("Data", Qt.DockWidgetArea.LeftDockWidgetArea),
    "device": ("Device", Qt.DockWidgetArea.LeftDockWidgetArea),
    "details": ("Details", Qt.DockWidgetArea.RightDockWidgetArea),
}

LEAST_STAGE = 240
"""Pixels of the page in the centre. What the tabs behind it need must not make the window higher than the screen when
a message is shown."""


class Workbench(QMainWindow):
    """What controllers work with; it calls none of them.

    Parameters
    ----------
    settings : Settings
    welcome : Welcome
    """

    def __init__(self, settings: Settings, welcome: Welcome) -> None:
        super().__init__()
        self.settings = settings
        self.workspace = Workspace(self)
        self.workspace.device_id = settings.preferences.device
        self.setWindowTitle("clalign")
        self.setWindowIcon(theme.app_icon())
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AnimatedDocks | QMainWindow.DockOption.AllowNestedDocks)
        self.docks: dict[str, QDockWidget] = {}
        self._make_center(StartPage(self.workspace, welcome, settings.preferences.show_start))
        self._make_docks()
        self._make_status()

    def _make_center(self, start: StartPage) -> None:
        self.messages = MessageBar()
        self.center = QStackedWidget()
        self.start = start
        self.center.addWidget(self.start)
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
        from .details import Details

        self.data, self.devices, self.details = DataDock(self.workspace), DevicePicker(self.workspace), Details()
        for (name, (title, _)), widget in zip(DOCKS.items(), (self.data, self.devices, self.details), strict=True):
            dock = QDockWidget(title, self)
            dock.setObjectName(name)
            dock.setWidget(widget)
            dock.setFeatures(
                QDockWidget.DockWidgetFeature.DockWidgetClosable | QDockWidget.DockWidgetFeature.DockWidgetMovable
            )
            self.docks[name] = dock

    def _make_status(self) -> None:
        self.device_words = QPushButton("Looking for devices…")
        self.device_words.setProperty("role", "flat")
        self.device_words.setToolTip("Choose a device (D)")
        self.job_words = label("No jobs", "muted")
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        bar.addWidget(self.job_words)
        bar.addPermanentWidget(self.device_words)

    def reset_layout(self) -> None:
        """Put the docks where they are at first."""
        for name, dock in self.docks.items():
            self.addDockWidget(DOCKS[name][1], dock)
            dock.show()
        self.resizeDocks([self.docks["data"], self.docks["details"]], [250, 300], Qt.Orientation.Horizontal)
        self.resizeDocks([self.docks["data"], self.docks["device"]], [400, 260], Qt.Orientation.Vertical)

    def show_dock(self, name: str) -> None:
        """Bring a dock into view."""
        self.docks[name].show()
        self.docks[name].raise_()

    def show_recent(self) -> None:
        """Show the recent files."""
        self.start.show_recent(self.settings.recent)

"""The rails at both sides: docks where there is room, else icons that bring them over the pages."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QFrame, QMainWindow, QToolBar, QWidget

from .parts import IconButton, label, row, set_role, stacked

NARROW = 1270
"""Pixels of the window below which docks would leave the pages too little room for all tabs of results."""

DRAWER_WIDTH = 320


@dataclass(frozen=True, slots=True)
class Place:
    """Where a dock belongs.

    Attributes
    ----------
    title, icon : str
    area : Qt.DockWidgetArea
        Left or right.
    """

    title: str
    icon: str
    area: Qt.DockWidgetArea

    @property
    def is_left(self) -> bool:
        """Whether it stands at the left of the pages."""
        return self.area == Qt.DockWidgetArea.LeftDockWidgetArea


class SideDock(QDockWidget):
    """A dock that tells when the user closes it."""

    closed = Signal()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Tell of it."""
        super().closeEvent(event)
        self.closed.emit()


class Drawer(QFrame):
    """Holds a dock's content over an edge of the pages; Esc and a click beside it close it."""

    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "surface")
        self.setAutoFillBackground(True)
        self._title = label("", "muted")
        top = row(self._title, None, IconButton("close", "Close (Esc)", self.leave), margins=(8, 2, 2, 0))
        self._box = stacked(top, spacing=0, margins=(1, 1, 1, 1))
        self.setLayout(self._box)
        self.hide()

    def take(self, title: str, content: QWidget) -> None:
        """Show something."""
        self._title.setText(title)
        self._box.addWidget(content, 1)
        content.show()
        self.show()
        self.raise_()
        content.setFocus()
        application = QApplication.instance()
        assert application is not None
        application.installEventFilter(self)

    def leave(self) -> None:
        """Close it."""
        application = QApplication.instance()
        assert application is not None
        application.removeEventFilter(self)
        self.hide()
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Close it when something else of its window is clicked."""
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            outside = watched is not self and not self.isAncestorOf(watched) and watched.window() is self.window()
            if outside and not watched.property("rail"):
                self.leave()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close it on Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
            return
        super().keyPressEvent(event)


class Rails(QObject):
    """Decides where the content of each dock is seen.

    A dock stands beside the pages if it is wanted, the window is wide, and it has something to say. Otherwise its icon
    stands in the rail of its side, and brings the content over the pages (in a wide window, the dock itself).

    Parameters
    ----------
    window : QMainWindow
        Its central widget must be there.
    contents : dict
        Place and content of each dock by its name.
    """

    def __init__(self, window: QMainWindow, contents: dict[str, tuple[Place, QWidget]]) -> None:
        super().__init__(window)
        self._window = window
        self.docks: dict[str, SideDock] = {}
        self.wanted = dict.fromkeys(contents, True)
        self.says_something = dict.fromkeys(contents, True)
        self.is_narrow = False
        self.open_one = ""
        self._contents, self._places, self._buttons = {}, {}, {}
        self.bars = {True: self._made_bar("left"), False: self._made_bar("right")}
        self.drawer = Drawer(window)
        self.drawer.closed.connect(self._take_back)
        for name, (place, content) in contents.items():
            self._add(name, place, content)
        self.fit()

    _contents: dict[str, QWidget]
    _places: dict[str, Place]
    _buttons: dict[str, IconButton]

    def _made_bar(self, side: str) -> QToolBar:
        bar = QToolBar(f"Icons at the {side}", self._window)
        bar.setObjectName(f"rail-{side}")
        bar.setProperty("role", "rail")
        bar.setMovable(False)
        bar.toggleViewAction().setEnabled(False)
        area = Qt.ToolBarArea.LeftToolBarArea if side == "left" else Qt.ToolBarArea.RightToolBarArea
        self._window.addToolBar(area, bar)
        return bar

    def _add(self, name: str, place: Place, content: QWidget) -> None:
        dock = SideDock(place.title, self._window)
        dock.setObjectName(name)
        dock.setWidget(content)
        features = QDockWidget.DockWidgetFeature
        dock.setFeatures(features.DockWidgetClosable | features.DockWidgetMovable)
        dock.closed.connect(lambda: self.want(name, False))
        shown = IconButton(place.icon, place.title, lambda: self.toggle(name))
        shown.setProperty("rail", True)
        self.docks[name], self._contents[name], self._places[name] = dock, content, place
        self._buttons[name] = shown
        self.bars[place.is_left].addWidget(shown)
        self._window.addDockWidget(place.area, dock)

    def reset(self) -> None:
        """Put every dock where it is at first."""
        self.drawer_away()
        for name, dock in self.docks.items():
            self.wanted[name] = True
            self._window.addDockWidget(self._places[name].area, dock)
        self.arrange()

    def want(self, name: str, wanted: bool) -> None:
        """Have a dock beside the pages where there is room, or not."""
        self.wanted[name] = wanted
        self.arrange()

    def want_only(self, names: list[str]) -> None:
        """Have some docks beside the pages where there is room, and no others."""
        self.wanted = {name: name in names for name in self.docks}
        self.arrange()

    def say(self, name: str, something: bool) -> None:
        """Take note of whether a dock has something to say."""
        if self.says_something[name] != something:
            self.says_something[name] = something
            self.arrange()

    def fit(self) -> None:
        """Take the width of the window into account."""
        narrow = self._window.width() < NARROW
        if narrow != self.is_narrow:
            self.drawer_away()
            self.is_narrow = narrow
            self.arrange()
        elif self.open_one:
            self._place_drawer()

    def arrange(self) -> None:
        """Show each dock, or its icon."""
        for name, dock in self.docks.items():
            docked = self.wanted[name] and self.says_something[name] and not self.is_narrow
            if dock.isHidden() == docked:
                dock.setVisible(docked)
        for is_left, bar in self.bars.items():
            folded = [n for n, p in self._places.items() if p.is_left == is_left and self.docks[n].isHidden()]
            for action, name in zip(bar.actions(), self._names(is_left), strict=True):
                action.setVisible(name in folded)
            bar.setVisible(bool(folded))

    def _names(self, is_left: bool) -> list[str]:
        return [name for name, place in self._places.items() if place.is_left == is_left]

    def is_seen(self, name: str) -> bool:
        """Return whether a content is on the screen."""
        return not self.docks[name].isHidden() or self.open_one == name

    def toggle(self, name: str) -> None:
        """Show a content, or put it away."""
        if not self.is_seen(name):
            self.show(name)
        elif self.open_one == name:
            self.drawer.leave()
        else:
            self.want(name, False)

    def show(self, name: str) -> None:
        """Bring a content into view: as a dock where there is room, else over the pages."""
        if self.open_one == name:
            return
        if self.is_narrow:
            self._open(name)
            return
        self.says_something[name] = True
        self.want(name, True)
        self.docks[name].raise_()

    def _open(self, name: str) -> None:
        self.drawer_away()
        self.open_one = name
        set_role(self._buttons[name], "rail", "open")
        self._place_drawer()
        self.drawer.take(self._places[name].title, self._contents[name])

    def _place_drawer(self) -> None:
        center = self._window.centralWidget()
        if center is None:
            return
        width = min(DRAWER_WIDTH, center.width())
        left = center.x() if self._places[self.open_one].is_left else center.x() + center.width() - width
        self.drawer.setGeometry(QRect(left, center.y(), width, center.height()))

    def drawer_away(self) -> None:
        """Close what lies over the pages."""
        if self.open_one:
            self.drawer.leave()

    def _take_back(self) -> None:
        name, self.open_one = self.open_one, ""
        if name:
            self.docks[name].setWidget(self._contents[name])
            set_role(self._buttons[name], "rail", "closed")

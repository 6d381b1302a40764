"""The dock with the open files, and the chip of the chosen device with its list."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QShortcut,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QListView,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from clalign.values.devices import Device

from .. import formatting, theme
from ..models import device_words
from ..models.data_tree import LINE_ROLE, PATH_ROLE, DataTree
from ..models.widgets.text_table import Index
from ..models.workspace import Workspace
from .widgets.aside_delegate import AsideDelegate
from .widgets.parts import ElidedButton, button, clear_layout, label, row, stacked

ID_ROLE = Qt.ItemDataRole.UserRole + 1
DEVICE_ROLE = Qt.ItemDataRole.UserRole + 2

PARTIAL = "partial"
"""What the state of a recent run that can go on says."""

MAX_RECENT = 6
"""Recent runs that are listed."""


class DataDock(QWidget):
    """The tree of open files, and recent runs below it."""

    command_requested = Signal(str, tuple)
    menu_requested = Signal(str, QPoint)
    """Path of a file, and the place of its menu."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.tree_model = DataTree(workspace)
        self.tree = QTreeView()
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names that begin alike differ at their ends
        self.tree.setItemDelegate(AsideDelegate(self.tree, lambda index: index.data(LINE_ROLE) or ("", "muted")))
        self.tree.setProperty("role", "dock")
        self.tree.setModel(self.tree_model)
        self.tree.setHeaderHidden(True)
        self.tree.setRootIsDecorated(False)
        self.tree.setIndentation(12)
        self.tree.setIconSize(theme.ICON_SIZE)
        self.tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.tree.setAccessibleName("Opened files")
        self._path = ""
        self._quiet = False
        ask = partial(self.command_requested.emit, "sources.open_files", ())
        opening = button("Open files…", ask, tip="Profiles, sequences or runs (Ctrl+O)")
        self._workspace, self._shown_recent = workspace, [("", "", "")] * 0
        self._recent_title = label("Recent runs", "heading")
        self._recent = stacked(spacing=0, margins=(8, 0, 8, 4))
        title, add = row(self._recent_title, margins=(8, 4, 8, 0)), row(opening, None, margins=(8, 0, 8, 0))
        self.setLayout(stacked((self.tree, 1), title, self._recent, add, spacing=-1, margins=(4, 0, 4, 8)))
        self.tree_model.modelAboutToBeReset.connect(self._hush)
        workspace.sources_changed.connect(self._restore)
        workspace.choice_changed.connect(self._restore)
        self.tree.selectionModel().currentChanged.connect(self._choose)
        self.tree.clicked.connect(self._click)
        self.tree.activated.connect(self._activate)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tree.customContextMenuRequested.connect(self._request_menu)
        self._restore()

    def show_recent(self, runs: list[tuple[str, str, str]]) -> None:
        """List runs that are not open, by path, name and state, while no other file is; a partial one can go on."""
        self._shown_recent = runs
        clear_layout(self._recent)
        sources = self._workspace.sources
        has_files = any(source.kind != "run" for source in sources.values())
        shown = [run for run in runs if run[0] not in sources][: 0 if has_files else MAX_RECENT]
        for path, name, state in shown:
            opened = ElidedButton(name, partial(self.command_requested.emit, "sources.open_paths", ([path],)))
            opened.setToolTip(f"{path}\n{state}".strip())
            parts: list[QWidget] = [opened]
            if PARTIAL in state:
                resume = partial(self.command_requested.emit, "resume_recent", (path,))
                parts.append(button("Continue", resume, "link", "It is partial: search the rest"))
            self._recent.addLayout(row((opened, 1), *parts[1:], spacing=4))
            for part in parts:
                part.show()  # the layout would show it in the next turn only
        self._recent_title.setVisible(bool(shown))

    def _hush(self) -> None:
        self._quiet = True

    def _restore(self) -> None:
        """Expand all groups and select the chosen file again after the tree was rebuilt."""
        self.tree.expandAll()
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._quiet = True
        self.select(self._path)
        self._quiet = False
        self.show_recent(self._shown_recent)

    def select(self, path: str) -> None:
        """Select a file without choosing it again, or none."""
        self._path = path
        item = self.tree_model.index_of(path) if path else None
        before, self._quiet = self._quiet, True
        self.tree.setCurrentIndex(QModelIndex() if item is None else item.index())
        self._quiet = before

    def _choose(self, index: Index) -> None:
        if not self._quiet:
            self._click(index)

    def _click(self, index: Index) -> None:
        path = index.data(PATH_ROLE)
        if path:
            self._path = path
            self.command_requested.emit("sources.choose_source", (path,))

    def _request_menu(self, place: QPoint) -> None:
        path = self.tree.indexAt(place).data(PATH_ROLE)
        if path:
            self.menu_requested.emit(path, self.tree.viewport().mapToGlobal(place))

    def _activate(self, index: Index) -> None:
        path = index.data(PATH_ROLE)
        if path:
            self.command_requested.emit("sources.use_source", (path,))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self._path:
            self.command_requested.emit("close_source", (self._path,))
            return
        super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_path"):
            self.tree_model.rebuild()
            self._restore()
        super().changeEvent(event)


MARK_WIDTH = 28
"""Pixels of the check box at the left of a device."""


MAX_VISIBLE = 4
"""Devices that are visible without scrolling."""

LIST_WIDTH, TEXT_WIDTH = 340, 220
"""Pixels of the list, and of the name of a device in its chip."""

EXCLUSIVE = ("auto", device_words.CLUSTER)
"""Entries that are chosen alone."""


class DeviceDelegate(QStyledItemDelegate):
    """Two lines: the name, and health, type and speed, with marks before them.

    Attributes
    ----------
    is_on_mark : bool
        Whether the last press was on the mark of a choice.
    """

    is_on_mark = False

    def editorEvent(self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            self.is_on_mark = event.position().x() < option.rect.left() + MARK_WIDTH
        return super().editorEvent(event, model, option, index)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, 2 * option.fontMetrics.height() + 12)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors, area = theme.current(), option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, QColor(colors.selected))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(area, QColor(colors.hover))
        chosen, severity, name, second = index.data(DEVICE_ROLE)
        height = option.fontMetrics.height()
        is_one = index.data(ID_ROLE) in EXCLUSIVE
        names = ("radiobox-marked", "radiobox-blank") if is_one else ("checkbox-marked", "checkbox-blank-outline")
        mark = theme.icon(names[0 if chosen else 1], "accent" if chosen else "muted")
        mark.paint(painter, QRect(area.left() + 8, area.top() + 5, 16, 16))
        theme.mark(severity).paint(painter, QRect(area.left() + 30, area.top() + height + 6, 14, 14))
        painter.setPen(QColor(colors.text))
        first = QRect(area.left() + 30, area.top() + 4, area.width() - 36, height)
        elide = option.fontMetrics.elidedText
        painter.drawText(first, Qt.AlignmentFlag.AlignVCenter, elide(name, Qt.TextElideMode.ElideRight, first.width()))
        painter.setPen(QColor(colors.muted))
        below = QRect(area.left() + 50, area.top() + 6 + height, area.width() - 56, height)
        painter.drawText(
            below, Qt.AlignmentFlag.AlignVCenter, elide(second, Qt.TextElideMode.ElideRight, below.width())
        )


class DevicePicker(QWidget):
    """The devices of searches, with health and measured speed: one, or all that are checked."""

    device_chosen = Signal(str)
    refresh_requested = Signal()
    command_requested = Signal(str, tuple)
    """A command that leads away from the list."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self._chosen: set[str] = set()
        self.items = QStandardItemModel(self)
        self.view = QListView()
        self.view.setProperty("role", "dock")
        self.view.setModel(self.items)
        self.marks = DeviceDelegate(self.view)
        self.view.setItemDelegate(self.marks)
        toggle = QShortcut(QKeySequence("Space"), self.view, context=Qt.ShortcutContext.WidgetShortcut)
        toggle.activated.connect(lambda: self._toggle(self.view.currentIndex()))
        self.view.setMouseTracking(True)
        self.view.setAccessibleName("Devices")
        self.view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.words = label("", "muted", wrap=True)
        ask = self.command_requested.emit
        self.test = button("Self-test", lambda: ask("devices.show_device", (workspace.device.id, True)))
        self.details = button("Details", lambda: ask("devices.show_device", (workspace.device.id,)))
        self.refresh = button("Look again", self.refresh_requested.emit, tip="Look for devices again and test them")
        self.compare = button("Compare devices…", lambda: ask("labs.compare", ()), tip="Your search on several devices")
        tools = row(self.test, self.details, self.refresh, None, spacing=6)
        below = stacked(self.words, tools, row(self.compare, None), spacing=6, margins=(8, 0, 8, 0))
        self.setLayout(stacked((self.view, 1), below, spacing=6, margins=(4, 0, 4, 8)))
        self.view.clicked.connect(self._choose)
        self.view.activated.connect(self._choose)
        workspace.devices_changed.connect(self.show_devices)
        workspace.choice_changed.connect(self.show_devices)
        self.show_devices()

    def show_devices(self) -> None:
        """Show the devices of the workspace."""
        space = self.workspace
        current = self.view.currentIndex().data(ID_ROLE)
        self.items.clear()
        auto = space.auto_device()
        second = f"now {device_words.title(auto)}" if space.devices_known else "looking for devices…"
        severity = device_words.health(auto)[0] if space.devices_known else "note"
        self._add("auto", space.device_id == "auto", severity, "Automatic", second)
        for device, name in zip(space.devices, device_words.names(space.devices), strict=True):
            severity, _ = device_words.health(device)
            chosen = device.id in space.device_ids
            self._add(device.id, chosen, severity, name, device_words.line(device), device)
        far = space.cluster or "workers on other machines, or several here"
        self._add(device_words.CLUSTER, bool(space.cluster), "good" if space.cluster else "note", "Cluster", far)
        self._show_current(current)
        self._show_words()
        n_seen = min(self.items.rowCount(), MAX_VISIBLE)
        self.view.setFixedHeight(n_seen * self.view.sizeHintForRow(0) + 2 * self.view.frameWidth())

    def _show_current(self, current: str | None) -> None:
        """Select the newly chosen device, or keep the selection."""
        rows = [self.items.index(place, 0) for place in range(self.items.rowCount())]
        before, self._chosen = self._chosen, {row.data(ID_ROLE) for row in rows if row.data(DEVICE_ROLE)[0]}
        new = [row for row in rows if row.data(ID_ROLE) in self._chosen - before]
        same = [row for row in rows if row.data(ID_ROLE) == current]
        self.view.setCurrentIndex((new or same or rows)[0])

    def _add(
        self, number: str, chosen: bool, severity: str, name: str, second: str, device: Device | None = None
    ) -> None:
        item = QStandardItem(name)
        item.setData(number, ID_ROLE)
        item.setData((chosen, severity, name, second), DEVICE_ROLE)
        reason = f"\n{device.problem}" if device is not None and device.problem else ""
        more = "\nCheck the boxes of several (or press Space) to run on all of them." if device is not None else ""
        item.setToolTip(f"{name}\n{second}{reason}{more}")
        self.items.appendRow(item)

    def _show_words(self) -> None:
        space = self.workspace
        device = space.device
        text = device.problem
        if space.devices_known and len(space.devices) == 1:
            text = device_words.NO_DEVICE if space.devices_sought else device_words.NOT_SOUGHT
        if not space.devices_known:
            text = ""
        self.words.setText(text)
        self.words.setVisible(bool(text))
        for shown in (self.test, self.details):
            shown.setEnabled(space.devices_known)
            shown.setToolTip("" if space.devices_known else "Still looking for devices.")
        if space.devices_known:
            self.test.setToolTip("Search the bundled examples on the chosen device and compare with known answers")
            self.details.setToolTip("All facts about the chosen device")

    def _choose(self, index: Index) -> None:
        on_mark, self.marks.is_on_mark = self.marks.is_on_mark, False
        if on_mark:
            self._toggle(index)
        else:
            self.device_chosen.emit(index.data(ID_ROLE))

    def _toggle(self, index: Index) -> None:
        number = index.data(ID_ROLE)
        self.device_chosen.emit(number if number in EXCLUSIVE else self.workspace.words_with(number))


class DeviceChip(QPushButton):
    """Name and health of the chosen device; a click shows the list of all.

    Parameters
    ----------
    picker : DevicePicker
        The list.
    """

    resized = Signal()
    """The dock needs another width."""

    def __init__(self, picker: DevicePicker) -> None:
        super().__init__()
        self.setProperty("role", "flat")
        self.setIconSize(theme.ICON_SIZE)
        self._workspace = picker.workspace
        self.popover = QFrame(self, Qt.WindowType.Popup)
        self.popover.setProperty("role", "popup")
        self.popover.setFrameShape(QFrame.Shape.StyledPanel)
        self.popover.setLayout(stacked(picker, margins=(4, 8, 4, 4)))
        self._picker = picker
        self.clicked.connect(self.show_list)
        picker.command_requested.connect(self.popover.hide)
        picker.device_chosen.connect(lambda number: self.popover.setVisible(number != device_words.CLUSTER))
        self._workspace.devices_changed.connect(self.show_device)
        self._workspace.choice_changed.connect(self.show_device)
        self.show_device()

    def show_list(self) -> None:
        """Show the list of devices below the chip, inside the window."""
        self.popover.setFixedWidth(LIST_WIDTH)
        self.popover.adjustSize()
        place = self.mapToGlobal(self.rect().bottomRight())
        self.popover.move(max(self.window().mapToGlobal(QPoint()).x(), place.x() - LIST_WIDTH), place.y() + 2)
        self.popover.show()
        self._picker.view.setFocus()

    def show_device(self) -> None:
        """Show the device of the next run."""
        space = self._workspace
        words = f"Cluster {space.cluster}" if space.cluster else device_words.titles(space.chosen_devices)
        severity, health = ("good", "") if space.cluster else device_words.health(space.device)
        if not space.devices_known:
            words, severity, health = "Looking for devices…", "note", ""
        elif space.device.kind == "reference" and not space.cluster:
            severity = "caution"
        self.setText(self.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, TEXT_WIDTH))
        self.setIcon(theme.mark(severity))
        automatic = ", chosen automatically" if space.device_id == "auto" else ""
        rate = f", {formatting.rate(space.device.gcups)}" if space.device.gcups else ""
        text = f"Device of the next run: {words}{automatic}. {health}{rate}"
        self.setToolTip(f"{text}\nClick to choose another one (D)")
        self.setAccessibleName(f"Device: {words}")
        self.resized.emit()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_workspace"):
            self.show_device()
        super().changeEvent(event)

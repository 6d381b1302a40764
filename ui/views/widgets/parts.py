"""Small widgets shared by the views."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent, QShowEvent, QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from clalign.common.escapes import escaped

from ... import theme

Box = TypeVar("Box", QHBoxLayout, QVBoxLayout)
Content = TypeVar("Content", bound=QWidget)


def label(text: str = "", role: str = "", wrap: bool = False, selectable: bool = False) -> QLabel:
    """Return a label in a role of the style sheet."""
    made = QLabel(escaped(text))
    made.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        made.setProperty("role", role)
    made.setWordWrap(wrap)
    if selectable:
        made.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return made


def set_role(widget: QWidget, name: str, value: str) -> None:
    """Change a property that the style sheet depends on."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def line() -> QFrame:
    """Return a hairline."""
    made = QFrame()
    made.setProperty("role", "line")
    return made


def button(text: str, call: Callable[[], object], role: str = "", tip: str = "") -> QPushButton:
    """Return a button that calls something."""
    made = QPushButton(text)
    if role:
        made.setProperty("role", role)
    if tip:
        made.setToolTip(tip)
    made.clicked.connect(lambda: call())
    return made


HANDLE = 7
"""Pixels of an edge that can be dragged; a hairline is drawn in its middle."""

Part = QWidget | QLayout | None
"""An entry of a row or a column; None is free space."""

Margins = tuple[int, int, int, int]


def row(*parts: Part | tuple[Part, int], spacing: int = 8, margins: Margins | None = (0, 0, 0, 0)) -> QHBoxLayout:
    """Return parts side by side, some of them with their share of the free space."""
    return _filled(QHBoxLayout(), parts, spacing, margins)


def stacked(*parts: Part | tuple[Part, int], spacing: int = 8, margins: Margins | None = (0, 0, 0, 0)) -> QVBoxLayout:
    """Return parts one above the other; without margins they are those of the style."""
    return _filled(QVBoxLayout(), parts, spacing, margins)


def _filled(box: Box, parts: Iterable[Part | tuple[Part, int]], spacing: int, margins: Margins | None) -> Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    for part in parts:
        inside, share = part if isinstance(part, tuple) else (part, 0)
        if inside is None:
            box.addStretch(share or 1)
        elif isinstance(inside, QLayout):
            box.addLayout(inside, share)
        else:
            box.addWidget(inside, share)
    return box


def grid(across: int, down: int, wide: int = 1, margins: Margins = (0, 0, 0, 0)) -> QGridLayout:
    """Return a grid with pixels between columns and between lines, and a `wide` column that takes the free room."""
    made = QGridLayout()
    made.setContentsMargins(*margins)
    made.setHorizontalSpacing(across)
    made.setVerticalSpacing(down)
    made.setColumnStretch(wide, 1)
    return made


def held(layout: QLayout) -> QWidget:
    """Return a widget with a layout."""
    made = QWidget()
    made.setLayout(layout)
    return made


def one_of(*widgets: QWidget) -> QStackedWidget:
    """Return widgets of which one is seen, at first the first one."""
    made = QStackedWidget()
    for widget in widgets:
        made.addWidget(widget)
    return made


def scrolled(inside: QWidget, area: QScrollArea | None = None) -> QScrollArea:
    """Return a vertically scrolling area, new or given, with a widget."""
    made = area or QScrollArea()
    made.setWidgetResizable(True)
    made.setFrameShape(QFrame.Shape.NoFrame)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    made.setWidget(inside)
    return made


def split(
    *widgets: QWidget,
    shares: tuple[int, ...] = (),
    sizes: tuple[int, ...] = (),
    orientation: Qt.Orientation = Qt.Orientation.Vertical,
) -> QSplitter:
    """Return widgets one above the other, or side by side, with draggable edges between them."""
    made = QSplitter(orientation)
    for widget in widgets:
        made.addWidget(widget)
    for place, share in enumerate(shares):
        made.setStretchFactor(place, share)
    if sizes:
        made.setSizes(sizes)
    made.setChildrenCollapsible(False)
    made.setHandleWidth(HANDLE)
    return made


def shrinking(box: QComboBox) -> QComboBox:
    """Return a box that may be narrower than its longest entry."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(5)
    return box


def fill_box(box: QComboBox, entries: Iterable[tuple[str, ...]], chosen: str = "") -> None:
    """Fill a box with entries, each with its key, its text and perhaps a tooltip, and choose one by its key."""
    box.clear()
    for place, (key, text, *tip) in enumerate(entries):
        box.addItem(text, key)
        box.setItemData(place, tip[0] if tip else "", Qt.ItemDataRole.ToolTipRole)
    box.setCurrentIndex(max(0, box.findData(chosen)))


def allow_entry(box: QComboBox, place: int, reason: str = "") -> None:
    """Enable an entry of a box, or disable it with a reason."""
    model = box.model()
    item = model.item(place) if isinstance(model, QStandardItemModel) else None
    if item is not None:
        item.setEnabled(not reason)
        item.setToolTip(reason)


def clear_layout(layout: QLayout) -> None:
    """Remove and delete the content of a layout."""
    while layout.count():
        item = layout.takeAt(0)
        widget, inner = (item.widget(), item.layout()) if item is not None else (None, None)
        if widget is not None:
            widget.hide()
            widget.deleteLater()
        elif inner is not None:
            clear_layout(inner)


def height_for(layout: QLayout | None, width: int) -> int:
    """Return the height of a layout for a width."""
    if layout is None:
        return 0
    return layout.heightForWidth(width) if layout.hasHeightForWidth() else layout.sizeHint().height()


class IconButton(QToolButton):
    """A tool button whose icon follows the theme."""

    def __init__(self, name: str, tip: str, call: Callable[[], object], text: str = "") -> None:
        super().__init__()
        self._icon, self._theme = name, theme.current()
        self.setProperty("role", "flat")
        self.setToolTip(tip)
        self.setAccessibleName(text or tip)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if text:
            self.setText(text)
            self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIcon(theme.icon(name))
        self.clicked.connect(lambda: call())

    def show_icon(self, name: str, tip: str) -> None:
        """Show another icon and tooltip."""
        self._icon = name
        self.setIcon(theme.icon(name))
        self.setToolTip(tip)
        self.setAccessibleName(tip)

    def add_menu(self) -> QMenu:
        """Show a menu when it is pressed."""
        menu = QMenu(self, toolTipsVisible=True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setMenu(menu)
        return menu

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange and self._theme is not theme.current():
            self._theme = theme.current()
            self.setIcon(theme.icon(self._icon))
        super().changeEvent(event)


def back_button(leave: Callable[[], object]) -> IconButton:
    """Return a button that leads back to the page before."""
    return IconButton("arrow-left", "Back (Esc)", leave)


class IconLabel(QLabel):
    """An icon that follows the theme."""

    def __init__(self, name: str, color: str, size: int = 16) -> None:
        super().__init__()
        self._name, self._color, self._size, self._theme = name, color, size, theme.current()
        self.setFixedSize(QSize(size, size))
        self._draw()

    def show_icon(self, name: str, color: str) -> None:
        """Show another icon."""
        self._name, self._color = name, color
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange and self._theme is not theme.current():
            self._theme = theme.current()
            self._draw()
        super().changeEvent(event)

    def _draw(self) -> None:
        self.setPixmap(theme.icon(self._name, self._color).pixmap(self._size, self._size))


class ElidedLabel(QWidget):
    """A line of text that is shortened to its width; the tooltip has it whole."""

    PLACE = Qt.AlignmentFlag.AlignVCenter

    def __init__(self, text: str = "", role: str = "text", middle: bool = False) -> None:
        super().__init__()
        text = escaped(text)
        self._text, self._role = text, role
        self._mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(text)

    def setText(self, text: str) -> None:
        text = escaped(text)
        if text != self._text:
            self._text = text
            self.setToolTip(text)
            self.update()

    def text(self) -> str:
        """Return the whole text."""
        return self._text

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height() + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(getattr(theme.current(), self._role)))
        painter.drawText(self.rect(), self.PLACE | Qt.AlignmentFlag.AlignLeft, self.shown())

    def shown(self) -> str:
        """Return the visible part of the text."""
        return QFontMetrics(self.font()).elidedText(self._text, self._mode, self.width())


def title_label(text: str = "", middle: bool = False) -> ElidedLabel:
    """Return the heading of a page; with `middle` its middle is omitted if necessary, as both ends distinguish runs."""
    made = ElidedLabel(text, middle=middle)
    font = made.font()
    font.setPointSize(font.pointSize() + 3)
    font.setBold(True)
    made.setFont(font)
    return made


class ScrolledCard(QScrollArea):
    """A column of widgets in `box`, which can be scrolled up and down."""

    def __init__(self, margins: Margins = (12, 8, 12, 12), spacing: int = 8) -> None:
        super().__init__()
        self.box = stacked(margins=margins, spacing=spacing)
        scrolled(held(self.box), self)


class FactsLabel(ElidedLabel):
    """A line of facts separated by dots or commas, of which only whole ones are shown."""

    def shown(self) -> str:
        metrics, facts = QFontMetrics(self.font()), re.split(r"(?= · |, )", self._text)
        for n_shown in range(len(facts), 0, -1):
            text = "".join(facts[:n_shown]) + ("" if n_shown == len(facts) else " …")
            if metrics.horizontalAdvance(text) <= self.width():
                return text
        return super().shown()


BETWEEN_FACTS, BETWEEN_WORDS = re.compile(r"(?= · )"), re.compile(r"(?<= )")


class FactsParagraph(ElidedLabel):
    """Facts separated by dots, or a sentence, in a line or two; facts that do not fit are left out.

    Parameters
    ----------
    breaks : re.Pattern
        Where a line may end: `BETWEEN_FACTS` or `BETWEEN_WORDS`.
    stays : bool
        Whether it has the room of two lines whatever it shows, so that nothing below it moves.
    """

    MAX_LINES = 2
    PLACE = Qt.AlignmentFlag.AlignTop

    def __init__(self, breaks: re.Pattern[str], role: str = "muted", stays: bool = False) -> None:
        super().__init__(role=role)
        self._breaks, self._stays = breaks, stays
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.updateGeometry()

    def lines(self, width: int) -> list[str]:
        """Return the facts that fit a width in pixels."""
        metrics, made = QFontMetrics(self.font()), [""]
        for part in self._breaks.split(self._text):
            if metrics.horizontalAdvance((made[-1] + part).rstrip()) <= width:
                made[-1] += part
            elif len(made) < self.MAX_LINES and made[-1]:
                made.append(part.removeprefix(" · "))
            else:
                whole = f"{made[-1].rstrip()} …" if made[-1] else part
                made[-1] = metrics.elidedText(whole, Qt.TextElideMode.ElideRight, width)
                break
        return made

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        n_lines = self.MAX_LINES if self._stays else len(self.lines(width))
        return n_lines * QFontMetrics(self.font()).height() + 2

    def shown(self) -> str:
        return "\n".join(self.lines(self.width()))


class ElidedButton(QPushButton):
    """A flat button whose text is shortened to its width."""

    def __init__(self, text: str, call: Callable[[], object]) -> None:
        super().__init__()
        self._whole = text
        self.setProperty("role", "flat")
        self.setStyleSheet("text-align: left; padding: 5px 4px;")
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.clicked.connect(lambda: call())

    def resizeEvent(self, event: QResizeEvent) -> None:
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideMiddle, self.width() - 12)
        self.setText(shown)
        super().resizeEvent(event)


class LazyWidget(QWidget, Generic[Content]):
    """Creates its content on first use: pages created at once would stall the window.

    Parameters
    ----------
    make : callable
        Makes the content.
    made : callable, optional
        Called with the content once it is made. It is no signal: its connections would keep for ever a place that
        never comes into a layout, and everything they refer to.
    """

    def __init__(self, make: Callable[[], Content], made: Callable[[Content], object] | None = None) -> None:
        super().__init__()
        self._make, self._on_made = make, made
        self._made: Content | None = None
        self._box = stacked()
        self.setLayout(self._box)

    @property
    def content(self) -> Content | None:
        """The content; None before its first use."""
        return self._made

    def load(self) -> Content:
        """Return the content, created if necessary."""
        if self._made is None:
            self._made = self._make()
            self._box.addWidget(self._made)
            # The layout would show it and give it its size in the next turn only, too late for the focus and the eye.
            self._made.show()
            self._box.activate()
            self.setFocusProxy(self._made)
            if self._on_made is not None:
                self._on_made(self._made)
        return self._made

    def showEvent(self, event: QShowEvent) -> None:
        self.load()
        super().showEvent(event)


class EmptyPanel(QWidget):
    """A text in place of missing content, and the action that provides it."""

    def __init__(self, icon: str, heading: str, text: str, *buttons: QPushButton) -> None:
        super().__init__()
        self.heading, self.words = label(heading, "heading", wrap=True), label(text, "muted", wrap=True)
        self._icon = IconLabel(icon, "muted", 40)
        self._box = box = stacked((None, 2), row(None, self._icon, None), spacing=10, margins=None)
        self.setLayout(box)
        for words in (self.heading, self.words):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            words.setMaximumWidth(420)
            words.setMinimumWidth(1)
            middle = row(None, None)
            middle.insertWidget(1, words, 100)
            box.addLayout(middle)
        if buttons:
            box.addLayout(row(None, *buttons, None))
        box.addStretch(3)

    def add_row(self, made: QLayout) -> None:
        """Add a widget below text and buttons."""
        self._box.insertLayout(self._box.count() - 1, made)

    def show_text(self, heading: str, text: str) -> None:
        """Show another text; without one nothing is shown."""
        self.heading.setText(escaped(heading))
        self.words.setText(escaped(text))
        self._icon.setVisible(bool(heading or text))

    def show_icon(self, name: str, color: str) -> None:
        """Show another icon."""
        self._icon.show_icon(name, color)


def notice_row(severity: str, text: str, *buttons: QPushButton) -> QWidget:
    """Return a line with the icon of a severity, a text and buttons."""
    box = row(margins=(0, 2, 0, 2))
    box.addWidget(IconLabel(*theme.MARKS.get(severity, theme.MARKS["note"])), 0, Qt.AlignmentFlag.AlignTop)
    words = label(text, wrap=True, selectable=True)
    words.setMinimumWidth(1)
    box.addWidget(words, 1)
    for shown in buttons:
        box.addWidget(shown, 0, Qt.AlignmentFlag.AlignTop)
    return held(box)


class Surface(QWidget):
    """A widget with the ground of pages."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


class LazyView(Surface):
    """A view that requests its content when it becomes visible; until then a page shows why there is none."""

    requested = Signal(object)
    """The request."""

    request: object = None
    empty: EmptyPanel
    _stack: QStackedWidget
    _is_old = True

    def reload(self) -> None:
        """Request the content again, now or when the view becomes visible."""
        self._is_old = True
        if self.isVisible():
            self._is_old = False
            self.requested.emit(self.request)

    @property
    def has_content(self) -> bool:
        """Whether the content is in view."""
        return bool(self._stack.currentIndex())

    def stop_waiting(self) -> None:
        """Keep the content after a canceled read; without content request it at the next visit."""
        if not self.has_content:
            self.show_text("Stopped", "Leave this page and come back to read it again.")
            self._is_old = True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_old:
            self.reload()

    def show_text(self, heading: str, text: str) -> None:
        """Show a text in place of the content."""
        self.empty.show_text(heading, text)
        self._stack.setCurrentIndex(0)

"""Colors, fonts, icons and the style sheet, for light and dark."""

from __future__ import annotations

import atexit
import sys
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QProxyStyle, QStyleFactory

_kept = ExitStack()
atexit.register(_kept.close)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colors of a theme, by meaning."""

    name: str
    window: str
    surface: str
    border: str
    text: str
    muted: str
    accent: str
    on_accent: str
    good: str
    caution: str
    stop: str
    hover: str
    selected: str
    bar: str
    good_text: str
    caution_text: str
    stop_text: str


LIGHT = Tokens(
    name="light",
    window="#F6F7F9",
    surface="#FFFFFF",
    border="#D8DDE3",
    text="#1A1E23",
    muted="#5A6470",
    accent="#0072B2",
    on_accent="#FFFFFF",
    good="#009E73",
    caution="#E69F00",
    stop="#D55E00",
    hover="#EEF2F6",
    selected="#D6E8F4",
    bar="#A9CDE3",
    good_text="#00714F",
    caution_text="#8A5A00",
    stop_text="#B04A00",
)

DARK = Tokens(
    name="dark",
    window="#15181C",
    surface="#1D2126",
    border="#31373F",
    text="#E7EAED",
    muted="#9AA4AE",
    accent="#56B4E9",
    on_accent="#0E1114",
    good="#2BC79A",
    caution="#F0B93A",
    stop="#FF7F3F",
    hover="#262B32",
    selected="#23445A",
    bar="#2F5F7E",
    good_text="#2BC79A",
    caution_text="#F0B93A",
    stop_text="#FF8F57",
)

STYLE_SHEET = """
QMainWindow, QDialog { background: $window; }
QToolTip { background: $surface; color: $text; border: 1px solid $border; padding: 4px; }
QMainWindow::separator { background: $border; width: 1px; height: 1px; }
QMenuBar { background: $window; padding: 2px 4px; }
QMenuBar::item { padding: 6px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $surface; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: $selected; color: $text; }
QMenu::item:disabled { color: $muted; }
QMenu::indicator { left: 6px; width: 14px; height: 14px; border: 1px solid $muted; border-radius: 3px; }
QMenu::indicator:exclusive { border-radius: 8px; }
QMenu::indicator:exclusive:checked { image: none; width: 6px; height: 6px; border: 5px solid $accent;
    background: $on_accent; }
QMenu::indicator:checked { background: $accent; border-color: $accent; image: url("$icons/tick-$name.svg"); }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }
QDockWidget { titlebar-close-icon: url("$icons/close-$name.svg"); }
QDockWidget::close-button { background: transparent; border: none; icon-size: 16px;
    subcontrol-position: center right; right: 8px; }
QDockWidget::title { padding: 7px 8px 5px 8px; background: $window; color: $muted; }
QStatusBar { background: $window; color: $muted; border-top: 1px solid $border; }
QToolBar { background: $window; border: none; spacing: 0; padding: 0; }
QToolBar[role="tools"] { background: transparent; spacing: 1px; }
QToolBar[role="tools"] > QComboBox { margin-right: 4px; }
QToolButton#qt_toolbar_ext_button { padding: 0; border: none; image: url("$icons/chevron-$name.svg"); }
QWidget[role="page"] { background: $surface; }
QStatusBar::item { border: none; }
QLabel { background: transparent; }
QLabel[role="title"] { font-size: 20pt; font-weight: 600; }
QLabel[role="heading"] { font-size: 12pt; font-weight: 600; }
QLabel[role="muted"], QCheckBox[role="muted"] { color: $muted; }
QLabel[role="drop"] { background: $selected; color: $text; border: 2px dashed $accent; border-radius: 6px; }
QLabel[role="caution"] { color: $caution_text; }
QLabel[role="stop"] { color: $stop_text; }
QLabel[role="good"] { color: $good_text; }
QLabel:disabled { color: $muted; }
QFrame[role="surface"] { background: $surface; border: 1px solid $border; border-radius: 6px; }
QFrame[role="line"] { background: $border; border: none; max-height: 1px; min-height: 1px; }
QFrame[role="message"] { background: $surface; border: none; border-top: 2px solid $border; }
QFrame[role="message"][severity="caution"] { border-top-color: $caution; }
QFrame[role="message"][severity="stop"] { border-top-color: $stop; }
QPushButton, QToolButton { background: $surface; border: 1px solid $border; border-radius: 6px; padding: 5px 12px; }
QPushButton { outline: none; }
QToolButton { padding: 4px 8px; }
QToolButton[popupMode="2"] { padding-right: 20px; }
QToolButton::menu-indicator { image: url("$icons/chevron-$name.svg"); width: 10px; height: 10px;
    subcontrol-origin: padding; subcontrol-position: center right; right: 5px; }
QPushButton:hover, QToolButton:hover { background: $hover; }
QPushButton:focus, QToolButton:focus { border: 1px solid $accent; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: $selected; }
QPushButton:disabled, QToolButton:disabled { color: $muted; background: $window; border-color: $border; }
QPushButton[role="primary"] { background: $accent; color: $on_accent; border: 1px solid $accent; font-weight: 600; }
QPushButton[role="primary"]:focus { border: 1px solid $text; }
QPushButton[role="primary"]:disabled { background: $hover; color: $muted; border-color: $border; }
QPushButton[role="card"] { text-align: left; padding: 0; }
QPushButton[role="link"] { background: transparent; border: none; padding: 1px 4px; color: $accent; text-align: right; }
QPushButton[role="link"]:hover { text-decoration: underline; background: $hover; }
QPushButton[role="link"]:focus { border: 1px solid $accent; }
QPushButton[dim="yes"], QLabel[dim="yes"] { color: $muted; }
QPushButton[role="flat"], QToolButton[role="flat"] { background: transparent; border: 1px solid transparent; }
QPushButton[role="flat"]:hover, QToolButton[role="flat"]:hover { background: $hover; }
QPushButton[role="flat"]:checked, QToolButton[role="flat"]:checked { background: $selected; }
QPushButton[role="flat"]:focus, QToolButton[role="flat"]:focus { border: 1px solid $accent; }
QLineEdit, QComboBox, QPlainTextEdit, QAbstractSpinBox {
    background: $surface; border: 1px solid $border; border-radius: 6px; padding: 4px 8px;
    selection-background-color: $selected; selection-color: $text; }
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus, QAbstractSpinBox:focus { border: 1px solid $accent; }
QLineEdit[state="wrong"] { border: 1px solid $stop; }
QLineEdit:disabled, QComboBox:disabled { color: $muted; background: $window; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; width: 22px; }
QAbstractSpinBox::up-arrow { image: url("$icons/sorted-up-$name.svg"); width: 12px; height: 6px; }
QAbstractSpinBox::down-arrow { image: url("$icons/sorted-down-$name.svg"); width: 12px; height: 6px; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url("$icons/chevron-$name.svg"); width: 12px; height: 12px; }
QComboBox { padding-right: 22px; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $border; selection-background-color: $selected;
    selection-color: $text; outline: 0; }
QTreeView, QListView, QTableView { background: $surface; border: 1px solid transparent; outline: 0;
    gridline-color: $border; selection-background-color: $selected; selection-color: $text; }
QTreeView:focus, QListView:focus, QTableView:focus { border: 1px solid $accent; }
QTreeView[role="dock"], QListView[role="dock"] { background: $window; }
QTreeView::item { padding: 3px 2px; }
QTreeView::item:hover, QListView::item:hover { background: $hover; }
QTreeView::item:selected, QListView::item:selected { background: $selected; color: $text; }
QHeaderView { background: $surface; }
QHeaderView::section { background: $surface; color: $muted; border: none; border-bottom: 1px solid $border;
    padding: 5px 6px; }
QHeaderView::section:horizontal { padding: 5px 3px; }
QHeaderView::section:vertical { border: none; }
QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-origin: margin; subcontrol-position: top center;
    width: 12px; height: 6px; image: url("$icons/sorted-up-$name.svg"); }
QHeaderView::down-arrow { image: url("$icons/sorted-down-$name.svg"); }
QTableCornerButton::section { background: $surface; border: none; border-bottom: 1px solid $border; }
QTabBar::tab { padding: 7px 9px; color: $muted; background: transparent; border: none;
    border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:focus { color: $accent; }
QTabBar QToolButton { padding: 0; border-radius: 0; }
QTabWidget::pane { border: none; border-top: 1px solid $border; }
QProgressBar { background: $hover; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QProgressBar[state="paused"]::chunk { background: $caution; }
QProgressBar[state="lost"]::chunk { background: $stop; }
QSplitter::handle { background: $window; }
QSplitter::handle:vertical { border-top: 1px solid $border; }
QSplitter::handle:horizontal { border-left: 1px solid $border; }
QSplitter::handle:hover { background: $accent; }
QTableView[role="lab"]::item { padding: 0 3px; }
QTableView::indicator { width: 14px; height: 14px; border: 1px solid $muted; background: $surface; border-radius: 3px; }
QTableView::indicator:checked { background: $accent; border-color: $accent; image: url("$icons/tick-$name.svg"); }
QCheckBox::indicator, QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid $muted;
    background: $surface; }
QCheckBox::indicator { border-radius: 3px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$icons/tick-$name.svg"); }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid $accent; background: $on_accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $accent; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $border; background: $window; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 4px; margin: 1px; min-width: 24px; min-height: 24px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget { background: transparent; }
"""


def style_sheet(tokens: Tokens) -> str:
    """Return the style sheet with the colors of a theme."""
    text = STYLE_SHEET.replace("$icons", icon_folder().as_posix())
    for name in sorted((f.name for f in fields(tokens)), key=len, reverse=True):
        text = text.replace(f"${name}", getattr(tokens, name))
    return text


def palette(tokens: Tokens) -> QPalette:
    """Return the palette of a theme, for the parts that Fusion draws itself."""
    colors = QPalette()
    roles = {
        "window": ("Window",), "surface": ("Base", "Button", "ToolTipBase"), "hover": ("AlternateBase", "Light"),
        "text": ("ToolTipText", "Text", "WindowText", "ButtonText"), "muted": ("PlaceholderText",),
        "accent": ("Highlight", "Link"), "on_accent": ("HighlightedText",), "border": ("Mid", "Dark"),
    }  # fmt: skip
    for color, names in roles.items():
        for name in names:
            colors.setColor(QPalette.ColorRole[name], QColor(getattr(tokens, color)))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.WindowText, QPalette.ColorRole.ButtonText):
        colors.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.muted))
    return colors


_current = LIGHT

MIN_CONTRAST = 2.2
"""Contrast of colored letters in a logo."""


def current() -> Tokens:
    """Return the colors in use."""
    return _current


class PlainTextStyle(QProxyStyle):
    """Fusion, with labels that show every text as plain text.

    Qt takes a text for HTML if it looks like that, and loads what it names; names and descriptions come from files.
    Tooltips and message boxes are labels, too, and a style sees each label before it lays out its text.
    """

    def polish(self, what: Any) -> Any:
        # By itself a label guesses whether its text is rich text.
        if isinstance(what, QLabel) and what.textFormat() == Qt.TextFormat.AutoText:
            what.setTextFormat(Qt.TextFormat.PlainText)
        return super().polish(what)


def system_wants_contrast() -> bool:
    """Return whether the desktop is set to high contrast; older versions of Qt do not know."""
    hints = QGuiApplication.styleHints()
    return hasattr(hints, "accessibility") and (
        hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast
    )


def contrasting(tokens: Tokens) -> Tokens:
    """Return a theme with strong contrasts: gray words and lines have the color of text, and surfaces are plain."""
    plain = "#000000" if tokens is DARK else "#FFFFFF"
    text = "#FFFFFF" if tokens is DARK else "#000000"
    line = "#B4B4B4" if tokens is DARK else "#595959"
    return replace(tokens, text=text, muted=text, border=line, window=plain, surface=plain)


def is_still() -> bool:
    """Return whether nothing is to move by itself: because the user, or on Windows the system, wants it so."""
    is_moving = sys.platform != "win32" or QApplication.isEffectEnabled(Qt.UIEffect.UI_General)
    application = QGuiApplication.instance()
    return not is_moving or (application is not None and bool(application.property("is_still")))


def apply(choice: str, contrast: bool = False, still: bool = False) -> Tokens:
    """Apply a theme to the whole application.

    Parameters
    ----------
    choice : str
        ``light``, ``dark`` or ``system``.
    contrast, still : bool
        Strong contrasts, and nothing that moves by itself, whatever the system prefers.
    """
    global _current
    is_dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    dark = choice == "dark" or (choice == "system" and is_dark)
    _current = DARK if dark else LIGHT
    if contrast or system_wants_contrast():
        _current = contrasting(_current)
    icon.cache_clear()
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    app.setProperty("is_still", still)
    if not app.property("shows_plain_text"):
        app.setStyle(PlainTextStyle(QStyleFactory.create("Fusion")))
        app.setProperty("shows_plain_text", True)
    # Qt polishes each widget once for each of its ancestors when a style sheet takes the place of another one.
    app.setStyleSheet("")
    app.setPalette(palette(_current))
    app.setStyleSheet(style_sheet(_current))
    return _current


@cache
def icon(name: str, color: str = "text") -> QIcon:
    """Return an icon of the icon font (Material Design Icons) in a color of the theme."""
    import qtawesome

    found: QIcon = qtawesome.icon(f"mdi6.{name}", color=getattr(_current, color), color_disabled=_current.muted)
    return found


ICON_SIZE = QSize(16, 16)

MARKS = {
    "good": ("check-circle", "good"),
    "note": ("information-outline", "muted"),
    "caution": ("alert", "caution"),
    "stop": ("alert-octagon", "stop"),
}
"""Icon and color of each severity; text always stands beside them."""


def mark(severity: str) -> QIcon:
    """Return the icon of a severity: ``good``, ``note``, ``caution`` or ``stop``."""
    return icon(*MARKS.get(severity, MARKS["note"]))


@cache
def mono_font(points: int = 0) -> QFont:
    """Return the font for sequences."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setStyleHint(QFont.StyleHint.Monospace)
    if points:
        font.setPointSize(points)
    return font


def tabular(font: QFont) -> QFont:
    """Return a font whose digits all have the same width, where the font can."""
    font = QFont(font)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def blend(over: str, under: str, share: float) -> QColor:
    """Return the color of a share of one color over another; opaque, so that cells show no seams."""
    one, other = QColor(over), QColor(under)
    pairs = ((one.red(), other.red()), (one.green(), other.green()), (one.blue(), other.blue()))
    return QColor(*(round(share * a + (1 - share) * b) for a, b in pairs))


def luminance(color: str) -> float:
    """Return the relative luminance of a color (WCAG 2)."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colors (WCAG 2), from 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@cache
def strong(color: str, tokens: Tokens) -> QColor:
    """Return a color with the contrast of letters on the surface: the given one, or a darker or paler one."""
    made = QColor(color)
    while contrast(made.name(), tokens.surface) < MIN_CONTRAST:
        made = made.darker(106) if tokens.name == "light" else made.lighter(106)
    return made


@cache
def icon_folder() -> Path:
    """Return the folder of the program's own icons; the style sheet needs real files."""
    return _kept.enter_context(as_file(files("clalign.resources") / "icons"))


def app_icon() -> QIcon:
    """Return the icon of the application."""
    found = QIcon()
    for pixels in (16, 32, 48, 128, 256):
        found.addFile(str(icon_folder() / f"clalign-{pixels}.png"), QSize(pixels, pixels))
    return found

"""A form for the options of a spec, made from the metadata of its fields."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QGridLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from clalign.values.specs import Spec, options_of

from ... import formatting
from .choices import NarrowBox
from .parts import IconButton, button, fill_box, held, label, row, set_role, stacked

TICK_LETTERS = 52
"""Letters of a line beside a check box."""

LABELS, NARROW_LABELS, NARROW = 166, 110, 600
"""Pixels of labels, the same all over a sheet; less in a narrow sheet."""

LAST = 74
"""Pixels of the column behind the fields."""

Field = dataclasses.Field[Any]

Options = dict[str, object]
"""Values of options by their names."""


class FormLines(QWidget):
    """Lines of labels, fields, and a third column."""

    def __init__(self) -> None:
        super().__init__()
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setHorizontalSpacing(12)
        self.grid.setVerticalSpacing(6)
        self.grid.setColumnMinimumWidth(0, LABELS)
        self.grid.setColumnMinimumWidth(2, LAST)
        self.grid.setColumnStretch(1, 1)
        self._names: list[QLabel] = []

    def add(self, place: int, name: str, field: QWidget) -> QLabel:
        """Add a line; the third column is free."""
        words = label(name, wrap=True)
        words.setFixedWidth(LABELS)
        words.setBuddy(field)
        field.setAccessibleName(name)
        self._names.append(words)
        self.grid.addWidget(words, place, 0)
        self.grid.addWidget(field, place, 1)
        return words

    def resizeEvent(self, event: QResizeEvent) -> None:
        width = LABELS if self.width() >= NARROW else NARROW_LABELS
        self.grid.setColumnMinimumWidth(0, width)
        for words in self._names:
            words.setFixedWidth(width)
        super().resizeEvent(event)


class OptionForm(QWidget):
    """The options that most runs need, and below a button all others, in groups.

    Names of the command line are in the tooltips.

    Parameters
    ----------
    spec : type
        A `Spec`, whose fields describe their entries with `clalign.values.specs.option`.
    found : str
        What is found, in the words of the tooltips.
    given : dict, optional
        Values of other fields, on which it depends what has a meaning.
    """

    changed = Signal()
    resized = Signal()

    beside: ClassVar[Mapping[str, str]] = {}
    """Options that share a line with another one, by its name."""

    usual: Mapping[str, object] = {}
    """Values that are usual in place of the defaults of the spec."""

    def __init__(self, spec: type[Spec], found: str, given: Options | None = None) -> None:
        super().__init__()
        self._fields, self._found = {field.name: field for field in options_of(spec, given)}, found
        self.editors: dict[str, QLineEdit | QCheckBox | QComboBox] = {}
        self.hints: dict[str, QLabel] = {}
        self._places: dict[str, tuple[FormLines, int]] = {}
        first = [field for field in self._fields.values() if field.metadata.get("first")]
        self._rest = [field for field in self._fields.values() if field not in first]
        of_group = {title: [f for f in self._rest if f.metadata["group"] == title] for title in self._titles()}
        self.groups = {title: self._grid(fields) for title, fields in of_group.items()}
        self.more = QWidget()
        parts = [part for title, lines in self.groups.items() for part in (label(title, "muted"), lines)]
        self.more.setLayout(stacked(*parts, spacing=6))
        self.more.hide()
        self.more_button = button("More options", self.toggle_more, "flat")
        self.more_button.setCheckable(True)
        box = self.box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(6)
        self.first = self._grid(first)
        box.addWidget(self.first)
        self.reset_button = button("Reset options", lambda: self.set_values(self._usual), "flat", "To what is usual")
        self.reset_button.hide()
        self.changed.connect(self._show_reset)
        box.addLayout(row(self.more_button, self.reset_button, None))
        box.addWidget(self.more)

    def _titles(self) -> list[str]:
        """Return the groups of the options that are not shown at once."""
        return list(dict.fromkeys(field.metadata["group"] for field in self._rest))

    def _grid(self, fields: list[Field]) -> FormLines:
        made = FormLines()
        for field in fields:
            self.editors[field.name] = editor = self._editor(field)
            editor.setToolTip(self._tip(field))
            editor.setAccessibleName(field.metadata["label"])
        beside = {name: other for name, other in self.beside.items() if name in self._fields}
        shown_fields = [field for field in fields if field.name not in beside.values()]
        for number, field in enumerate(shown_fields):
            place = 2 * number  # a hint may come below
            self._places[field.name] = made, place
            shown: QWidget = self.editors[field.name]
            if field.name in beside:
                shown = held(row((self.editors[field.name], 2), (self.editors[beside[field.name]], 1)))
            made.add(place, field.metadata["label"], shown).setToolTip(self._tip(field))
            if heading := field.metadata.get("file"):
                opens = IconButton("folder-open-outline", heading, partial(self._ask_file, field.name, heading))
                made.grid.addWidget(opens, place, 2, Qt.AlignmentFlag.AlignLeft)
            else:
                made.grid.addWidget(label(), place, 2)  # an empty column would take no room
        return made

    def _tip(self, field: Field) -> str:
        """Return a sentence on an option, and its name on the command line."""
        return f"{field.metadata['help'].format(found=self._found)}\n{field.metadata['flag'].replace('|', ' ')}"

    def _ask_file(self, name: str, heading: str) -> None:
        path, _ = QFileDialog.getOpenFileName(self, heading)
        if path:
            self._put(name, path)

    def _editor(self, field: Field) -> QLineEdit | QCheckBox | QComboBox:
        if "choices" in field.metadata:
            choice = NarrowBox()
            fill_box(choice, field.metadata["choices"].items())
            choice.currentIndexChanged.connect(lambda: self.changed.emit())
            return choice
        if isinstance(field.default, bool):
            tick = QCheckBox(textwrap.fill(field.metadata["help"], TICK_LETTERS))
            tick.toggled.connect(lambda: self.changed.emit())
            return tick
        number = QLineEdit(_entry(field, field.default))
        number.setPlaceholderText(field.metadata.get("empty", "no limit" if field.default is None else ""))
        number.textChanged.connect(lambda: self.changed.emit())
        return number

    def toggle_more(self) -> None:
        """Show or hide the other options."""
        self.more.setVisible(not self.more.isVisible())
        self.more_button.setText("Fewer options" if not self.more.isHidden() else "More options")
        self.more_button.setChecked(not self.more.isHidden())
        self.resized.emit()

    def set_values(self, values: Options) -> None:
        """Fill the form in; an option that differs from what is usual is never hidden."""
        for name, value in values.items():
            self._put(name, value)
        self._show_reset()
        others = {name for name, value in self._usual.items() if values.get(name, value) != value}
        if self.more.isHidden() and any(field.name in others for field in self._rest):
            self.toggle_more()

    @property
    def _usual(self) -> dict[str, object]:
        return {field.name: self.usual.get(field.name, field.default) for field in self._fields.values()}

    def _show_reset(self) -> None:
        """Show the way back to what is usual while an option that has an effect differs."""
        values, problem = self.values()
        usual = {name: value for name, value in self._usual.items() if self.editors[name].isEnabledTo(self)}
        is_needed = bool(problem) or any(values[name] != value for name, value in usual.items())
        if self.reset_button.hasFocus() and not is_needed:
            self.more_button.setFocus()
        self.reset_button.setVisible(is_needed)

    def _put(self, name: str, value: object) -> None:
        editor = self.editors.get(name)
        if isinstance(editor, QComboBox):
            editor.setCurrentIndex(max(0, editor.findData(value)))
        elif isinstance(editor, QCheckBox):
            editor.setChecked(bool(value))
        elif editor is not None:
            editor.setText(_entry(self._fields[name], value))

    def _choice(self, name: str) -> QComboBox:
        """Return the editor of an option with choices."""
        editor = self.editors[name]
        assert isinstance(editor, QComboBox)
        return editor

    def _is_set(self, name: str) -> bool:
        """Return whether an option has a value of its own, right or wrong."""
        editor = self.editors[name]
        if isinstance(editor, QComboBox):
            return bool(editor.currentData() != self._fields[name].default)
        return editor.isChecked() if isinstance(editor, QCheckBox) else bool(editor.text().strip())

    def _hint(self, name: str, text: str) -> None:
        """Say below an option why its value is not what was meant; nothing if the text is empty."""
        if text and name not in self.hints:
            lines, place = self._places[name]
            self.hints[name] = label("", "caution", wrap=True)
            lines.grid.addWidget(self.hints[name], place + 1, 1)
        if name in self.hints:
            self.hints[name].setText(text)
            self.hints[name].setVisible(bool(text))

    def _allow(self, name: str, reason: str) -> None:
        """Enable an option, or disable it at its default with the reason in its tooltip."""
        self.editors[name].setEnabled(not reason)
        self.editors[name].setToolTip(reason or self._tip(self._fields[name]))

    def values(self) -> tuple[Options, str]:
        """Return the options by name, and what is wrong with them; empty if nothing is."""
        values: Options = {}
        problem = ""
        for field in self._fields.values():
            editor = self.editors[field.name]
            if not editor.isEnabledTo(self):
                set_role(editor, "state", "")
                values[field.name] = field.default
            elif isinstance(editor, QComboBox):
                values[field.name] = editor.currentData()
            elif isinstance(editor, QCheckBox):
                values[field.name] = editor.isChecked()
            elif str(field.type).startswith("str"):
                values[field.name] = editor.text().strip() or field.default
            else:
                value, wrong = self._number(editor.text(), field)
                set_role(editor, "state", "wrong" if wrong else "")
                values[field.name] = value
                problem = problem or wrong
        return values, problem

    def _number(self, text: str, field: Field) -> tuple[float | None, str]:
        usual: Any = field.default
        text = text.strip().replace(",", ".").replace("−", "-")
        if not text:
            if usual is None or "empty" in field.metadata:
                return usual, ""
            return usual, f"{field.metadata['label']}: a number is needed."
        try:
            value = float(text)
            if not math.isfinite(value):
                raise ValueError
        except ValueError:
            return usual, f"{field.metadata['label']}: “{text}” is not a number."
        if str(field.type).startswith("int"):
            signed = field.metadata.get("signed", False)
            if value != int(value) or (value < 0 and not signed):
                least = "" if signed else " of at least 0"
                return usual, f"{field.metadata['label']}: a whole number{least} is needed."
            return int(value), ""
        if value <= 0 and field.metadata.get("positive"):
            return usual, f"{field.metadata['label']} must be above 0."
        return value, ""


def _entry(field: Field, value: object) -> str:
    """Return the text of a value: empty if the placeholder describes it."""
    return "" if "empty" in field.metadata and value == field.default else _shown(value)


def _shown(value: object) -> str:
    return formatting.limit(value) if isinstance(value, float) else "" if value is None else str(value)

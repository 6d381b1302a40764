"""A form for the options of `SearchSpec`, made from the metadata of its fields."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QLineEdit, QVBoxLayout, QWidget

from clalign.specs import SearchSpec

from ..views.parts import button, label, row, set_role

FIRST = ("evalue", "inclusion_evalue", "cutoff")
"""Options shown at once; the others are behind More options."""

PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("Default, as HMMER3", {}),
    "fast": ("Fast, misses more", {"f1": 0.005, "f2": 1e-4}),
    "max": ("Max, no filters", {"without_filters": True}),
}
"""How thoroughly HMMER3 profiles search: words, and the options that differ from the defaults."""

PRESET_FIELDS = ("f1", "f2", "f3", "without_bias_filter", "without_filters")

TICK_LETTERS = 44
"""Letters of a line beside a box to tick."""

OWN = "own"
"""In place of a preset: the filter options are others."""

LEFT_OUT = ("alphabet", "sequence_format")
"""Options that belong to the opened file, not to the search."""

FOUND = "sequences (in a scan: profiles)"

CHOICES = {
    "cutoff": (
        ("none", "the E-values above"),
        ("ga", "gathering cutoff (GA)"),
        ("tc", "trusted cutoff (TC)"),
        ("nc", "noise cutoff (NC)"),
    )
}
"""The one field that needs a list of its own."""


def option_fields() -> list[dataclasses.Field[Any]]:
    """Return the fields of `SearchSpec` that the form has."""
    return [f for f in dataclasses.fields(SearchSpec) if "flag" in f.metadata and f.name not in LEFT_OUT]


class SearchForm(QWidget):
    """Plain words on the left, HMMER's names in grey on the right."""

    changed = Signal()
    resized = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._editors: dict[str, QLineEdit | QCheckBox | QComboBox] = {}
        fields = option_fields()
        first = [f for f in fields if f.name in FIRST]
        rest = [f for f in fields if f.name not in FIRST]
        self._more = self._grid(rest)
        self._more.hide()
        self.more_button = button("More options", self.toggle_more, "flat")
        self.more_button.setCheckable(True)
        self.presets = self._preset_box()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(6)
        box.addWidget(self._first_grid(first))
        box.addLayout(row(self.more_button, None))
        box.addWidget(self._more)

    def _first_grid(self, fields: list[dataclasses.Field[Any]]) -> QWidget:
        made = self._grid(fields)
        grid = made.layout()
        assert isinstance(grid, QGridLayout)
        thorough = label("How thorough")
        thorough.setBuddy(self.presets)
        for column, widget in enumerate((thorough, self.presets, label("--max --F1 --F2", "muted"))):
            grid.addWidget(widget, len(fields), column)
        return made

    def _two_columns(self, made: QWidget) -> QGridLayout:
        grid = QGridLayout(made)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        grid.setColumnMinimumWidth(0, 190)
        grid.setColumnStretch(1, 1)
        return grid

    def _preset_box(self) -> QComboBox:
        made = QComboBox()
        made.setAccessibleName("How thorough the search is")
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        made.setMinimumContentsLength(16)
        for key, (text, _) in PRESETS.items():
            made.addItem(text, key)
        made.addItem("As chosen below", OWN)
        made.model().item(made.count() - 1).setEnabled(False)
        made.activated.connect(lambda: self._take_preset(made.currentData()))
        self.changed.connect(self._show_preset)
        return made

    def _take_preset(self, key: str) -> None:
        usual = {field.name: field.default for field in option_fields() if field.name in PRESET_FIELDS}
        for name, value in {**usual, **PRESETS[key][1]}.items():
            self._put(name, value)

    def _show_preset(self) -> None:
        """Show which preset the filter options are."""
        usual = {field.name: field.default for field in option_fields() if field.name in PRESET_FIELDS}
        values = self.values()[0]
        now = {name: values[name] for name in usual}
        same = (key for key, (_, changes) in PRESETS.items() if {**usual, **changes} == now)
        self.presets.setCurrentIndex(self.presets.findData(next(same, OWN)))

    def offer_presets(self, has_hmmer3: bool) -> None:
        """Let presets be chosen where there are filters."""
        self.presets.setEnabled(has_hmmer3)
        tip = (
            "Fast has stricter filters and may miss distant members; Max computes everything for every sequence, which "
            "is slow"
            if has_hmmer3
            else "HMMER2 profiles have no filters."
        )
        self.presets.setToolTip(tip)

    def _grid(self, fields: list[dataclasses.Field[Any]]) -> QWidget:
        made = QWidget()
        grid = self._two_columns(made)
        for place, field in enumerate(fields):
            editor = self._editor(field)
            words = label(field.metadata["label"])
            for widget in (words, editor):
                widget.setToolTip(field.metadata["help"].format(found=FOUND))
            words.setBuddy(editor)
            editor.setAccessibleName(field.metadata["label"])
            self._editors[field.name] = editor
            grid.addWidget(words, place, 0)
            grid.addWidget(editor, place, 1)
            grid.addWidget(label(field.metadata["flag"].replace("|", " "), "muted"), place, 2)
        return made

    def _editor(self, field: dataclasses.Field[Any]) -> QLineEdit | QCheckBox | QComboBox:
        if field.name in CHOICES:
            choice = QComboBox()
            for key, text in CHOICES[field.name]:
                choice.addItem(text, key)
            choice.currentIndexChanged.connect(lambda: self.changed.emit())
            return choice
        if isinstance(field.default, bool):
            tick = QCheckBox(textwrap.fill(field.metadata["help"], TICK_LETTERS))
            tick.toggled.connect(lambda: self.changed.emit())
            return tick
        number = QLineEdit("" if field.default is None else _shown(field.default))
        number.setPlaceholderText("no limit" if "targets" not in field.name else "as many as there are")
        number.textChanged.connect(lambda: self.changed.emit())
        return number

    def toggle_more(self) -> None:
        """Show or hide the other options."""
        self._more.setVisible(not self._more.isVisible())
        self.more_button.setText("Fewer options" if not self._more.isHidden() else "More options")
        self.more_button.setChecked(not self._more.isHidden())
        self.resized.emit()

    def offer_cutoffs(self, cutoffs: dict[str, float]) -> None:
        """Offer the cutoffs that every profile has, with their scores."""
        choice = self._editors["cutoff"]
        assert isinstance(choice, QComboBox)
        for place, (key, text) in enumerate(CHOICES["cutoff"]):
            usable = key == "none" or key in cutoffs
            choice.setItemText(place, f"{text[:-1]} {cutoffs[key]:g} bits)" if key in cutoffs else text)
            choice.model().item(place).setEnabled(usable)
            choice.model().item(place).setToolTip("" if usable else "The profile does not have this cutoff.")
        if choice.currentData() != "none" and choice.currentData() not in cutoffs:
            choice.setCurrentIndex(0)

    def set_values(self, values: dict[str, Any]) -> None:
        """Fill the form in; an option that is not at its default is never hidden."""
        for name, value in values.items():
            self._put(name, value)
        defaults = {field.name: field.default for field in option_fields() if field.name not in FIRST}
        if self._more.isHidden() and any(values.get(name, usual) != usual for name, usual in defaults.items()):
            self.toggle_more()

    def _put(self, name: str, value: Any) -> None:
        editor = self._editors.get(name)
        if isinstance(editor, QComboBox):
            editor.setCurrentIndex(max(0, editor.findData(value)))
        elif isinstance(editor, QCheckBox):
            editor.setChecked(bool(value))
        elif editor is not None:
            editor.setText("" if value is None else _shown(value))

    def values(self) -> tuple[dict[str, Any], str]:
        """Return the options by name, and what is wrong with them; empty if nothing is."""
        values: dict[str, Any] = {}
        problem = ""
        for field in option_fields():
            editor = self._editors[field.name]
            if isinstance(editor, QComboBox):
                values[field.name] = editor.currentData()
            elif isinstance(editor, QCheckBox):
                values[field.name] = editor.isChecked()
            else:
                value, wrong = _number(editor.text(), field)
                set_role(editor, "state", "wrong" if wrong else "")
                values[field.name] = value
                problem = problem or wrong
        return values, problem


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _number(text: str, field: dataclasses.Field[Any]) -> tuple[float | None, str]:
    text = text.strip().replace(",", ".")
    if not text:
        if field.default is None:
            return None, ""
        return field.default, f"{field.metadata['label']}: a number is needed."
    try:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError
    except ValueError:
        return field.default, f"{field.metadata['label']}: “{text}” is not a number."
    if isinstance(field.default, int):
        if value != int(value) or value < 0:
            return field.default, f"{field.metadata['label']}: a whole number from 0 on is needed."
        return int(value), ""
    if value <= 0 and ("evalue" in field.name or "targets" in field.name or field.name in PRESET_FIELDS):
        return field.default, f"{field.metadata['label']} must be above 0."
    return value, ""

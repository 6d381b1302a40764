"""The form for the options of `SearchSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from PySide6.QtWidgets import QComboBox

from clalign.engines.plan7.spec import PRESET_FIELDS, PRESETS, REPLACED, SearchSpec, replaced_by

from ...views.widgets.choices import NarrowBox
from ...views.widgets.option_form import OptionForm
from ...views.widgets.parts import allow_entry

CUSTOM = "own"
"""Entry in place of a preset when the filter options match none."""

FOUND = "sequences (in a scan: profiles)"


class SearchForm(OptionForm):
    """The options, with presets of the filters.

    Parameters
    ----------
    direction : str
        Of the search, on which it depends which options there are.
    """

    beside: ClassVar[Mapping[str, str]] = {"cutoff": "evalue"}

    def __init__(self, direction: str = "search") -> None:
        super().__init__(SearchSpec, FOUND, {"direction": direction})
        self._usual = {name: field.default for name, field in self._fields.items() if name in PRESET_FIELDS}
        self._has_hmmer3 = False
        self.presets = self._preset_box()
        self.presets.activated.connect(lambda: self._take_preset(self.presets.currentData()))
        self.changed.connect(self._show_replaced)
        self.changed.connect(self._show_preset)

    def _preset_box(self) -> QComboBox:
        made, place = NarrowBox(), self.first.grid.rowCount()
        self._preset_words = self.first.add(place, "Thoroughness", made)
        self.setTabOrder(self.editors["evalue"], made)
        for key, (text, _) in PRESETS.items():
            made.addItem(text, key)
        made.addItem("As set under Filters", CUSTOM)
        made.setToolTip(
            "Fast has stricter filters and may miss distant members; Max computes everything for every sequence, which"
            " is slow\n--max --F1 --F2"
        )
        allow_entry(made, made.count() - 1, "Set the filters under More options.")
        return made

    def _take_preset(self, key: str) -> None:
        for name, value in {**self._usual, **PRESETS[key][1]}.items():
            self._put(name, value)

    def _show_preset(self) -> None:
        """Show which preset matches the filter options."""
        values = self.values()[0]
        now = {name: values[name] for name in self._usual}
        same = (key for key, (_, changes) in PRESETS.items() if {**self._usual, **changes} == now)
        self.presets.setCurrentIndex(self.presets.findData(next(same, CUSTOM)))

    def _show_replaced(self) -> None:
        """Disable options that others override."""
        names = [name for name in REPLACED if name in self._fields]
        given = [name for name in names if self._is_set(name)] if self._has_hmmer3 else []
        replaced = replaced_by(given)
        for name in self._fields:
            other = replaced.get(name)
            self._allow(name, f"Has no effect: {REPLACED[other][1]}." if other else "")

    def offer_presets(self, has_hmmer3: bool) -> None:
        """Enable the presets if there are filters."""
        self._has_hmmer3 = has_hmmer3
        if not has_hmmer3 and self.presets.currentData() != "default":  # of an earlier search
            self._take_preset("default")
        self._show_replaced()
        for widget in (self.presets, self._preset_words):
            widget.setVisible(has_hmmer3)

    def offer_cutoffs(self, cutoffs: dict[str, float], is_one: bool = True) -> None:
        """Enable the cutoffs that every profile has, with their scores if there is one profile."""
        choice = self._choice("cutoff")
        for place, (key, text) in enumerate(self._fields["cutoff"].metadata["choices"].items()):
            usable = key == "none" or key in cutoffs
            choice.setItemText(place, f"{text[:-1]} {cutoffs[key]:g} bits)" if key in cutoffs and is_one else text)
            allow_entry(choice, place, "" if usable else "The profile does not have this cutoff.")
        if choice.currentData() != "none" and choice.currentData() not in cutoffs:
            choice.setCurrentIndex(0)

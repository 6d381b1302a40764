"""The texts of the Help menu."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import qVersion
from PySide6.QtWidgets import QGridLayout, QKeySequenceEdit, QWidget

import clalign

from ..views.widgets.parts import button, label, row, stacked
from ..views.widgets.small_sheets import TextSheet
from .actions import COMMANDS, Actions

FILTER_ROWS = [
    ("kinase", "Hits with this text in name, accession or description"),
    ('"protein kinase"', "A phrase"),
    ("-fragment", "Hits without this text"),
    ("E<1e-5", "E-value; likewise score, bias, len, domains, domE, domscore with <, <=, =, >=, >"),
    (
        'species:"Homo sapiens"',
        "Hits of a species: OS= or OX= in descriptions, or a table of taxonomy chosen on Pictures",
    ),
    ("note:check", "Hits with this text in your note; note: alone finds all that have one"),
    ("score>20 len>200", "Several parts must all hold"),
]

HISTOGRAM_ROWS = [
    ("Left, Right", "Move the line from which on hits are shown (Shift: faster)"),
    ("Enter, double-click", "Type the score of a line"),
    ("L", "Logarithmic or linear"),
]


class KeyFields(QWidget):
    """A field with the keys of each command of the menus, which can be changed."""

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self._actions, self.fields = actions, dict[str, QKeySequenceEdit]()
        self.note = label("Click a field and press other keys. Esc closes the sheet in front.", "muted", wrap=True)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        shown = [command for command in COMMANDS if command.menu or command.keys]
        for place, command in enumerate(sorted(shown, key=lambda command: not command.keys)):
            field = self.fields[command.id] = QKeySequenceEdit()
            field.setMaximumSequenceLength(1)
            field.setClearButtonEnabled(True)
            field.setAccessibleName(f"Keys of {command.text}")
            field.editingFinished.connect(partial(self._take, command.id))
            grid.addWidget(field, place, 0)
            grid.addWidget(label(command.text.rstrip("…")), place, 1)
        restore = button("Restore the usual keys", self._restore, "flat")
        self.setLayout(stacked(row((self.note, 1), restore), grid))
        self._show()

    def _show(self) -> None:
        for name, field in self.fields.items():
            field.setKeySequence(self._actions.by_id[name].shortcut())

    def _take(self, name: str) -> None:
        other = self._actions.set_keys(name, self.fields[name].keySequence())
        if other:
            self.note.setText(f"“{other}” has these keys. Change them there first.")
        self._show()

    def _restore(self) -> None:
        self._actions.restore_keys()
        self._show()


def keys_sheet(actions: Actions) -> TextSheet:
    """Return the sheet of keys and of the filter language."""
    made = TextSheet("Keys", [("Histogram", HISTOGRAM_ROWS), ("Filter box", FILTER_ROWS)])
    made.body.insertWidget(made.body.count() - 1, label("Commands", "heading"))
    made.body.insertWidget(made.body.count() - 1, KeyFields(actions))
    return made


def about_sheet() -> TextSheet:
    """Return the sheet about the program."""
    about = [
        ("clalign", clalign.__version__),
        (
            "What it is",
            "Profile HMM search, Smith-Waterman and statistical alignment on any OpenCL device; scores"
            " equal to hmmsearch 2.3.2 and 3.3.2, alignments to fsa 1.15.9",
        ),
        ("License", "BSD-3-Clause"),
        ("Qt", qVersion()),
        ("Icons", "Material Design Icons, through QtAwesome"),
    ]
    return TextSheet("About clalign", [("", about)])

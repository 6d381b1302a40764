"""The texts of the Help menu."""

from __future__ import annotations

from PySide6.QtCore import qVersion
from PySide6.QtGui import QKeySequence

import clalign

from ..views.widgets.small_sheets import TextSheet
from .actions import COMMANDS

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
    ("Left, Right", "Move the significance line (Shift: faster, Ctrl: the report line)"),
    ("Enter, double-click", "Type the score of a line"),
    ("L", "Logarithmic or linear"),
]


def keys_sheet() -> TextSheet:
    """Return the sheet of keys and of the filter language."""
    keys = [
        (QKeySequence(command.keys).toString(QKeySequence.SequenceFormat.NativeText), command.text.rstrip("…"))
        for command in COMMANDS
        if command.keys
    ]
    keys.append(("Esc", "Close the sheet in front"))
    return TextSheet("Keys", [("Everywhere", keys), ("Histogram", HISTOGRAM_ROWS), ("Filter box", FILTER_ROWS)])


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

"""Headings and facts of cards, with names that may be longer than a card is wide."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from clalign.common.escapes import escaped

from ... import formatting
from ...models.glossary import explanation
from .parts import ElidedLabel, grid, held, label

MAX_HEADING = 120
"""Letters of a heading; its tooltip has all."""


def heading(text: str) -> QLabel:
    """Return a heading with line breaks in long names of files, which have no spaces."""
    made = label(formatting.breakable(formatting.short_text(escaped(text), MAX_HEADING)), "heading", wrap=True)
    made.setMinimumWidth(1)
    made.setAccessibleName(text)
    if len(text) > formatting.LONG_WORD:
        made.setToolTip(formatting.tip(text))
    return made


def facts_grid(rows: list[tuple[str, str]]) -> QWidget:
    """Return names and values in two columns, with explanations of the glossary as tooltips."""
    lines = grid(12, 3)
    for place, (name, value) in enumerate(rows):
        named, shown = label(name, "muted"), _value(value)
        lines.addWidget(named, place, 0, Qt.AlignmentFlag.AlignTop)
        lines.addWidget(shown, place, 1)
        explained = explanation(name)
        for part in (named, shown) if explained else ():
            part.setToolTip(formatting.tip(explained))
            part.setWhatsThis(explained)
    return held(lines)


def _value(text: str) -> QWidget:
    """Return the value of a fact; of a single long word, such as a path, the middle may be omitted."""
    if len(text) > formatting.LONG_WORD + 4 and len(text.split()) == 1:
        return ElidedLabel(text, middle=True)
    shown = formatting.breakable(text)
    made = label(shown, wrap=True, selectable=shown == text)  # else break points would be copied
    made.setMinimumWidth(1)
    return made

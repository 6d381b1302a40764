"""The sheet that explains the score of two sequences."""

from __future__ import annotations

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from clalign.values.documents import Explanation

from ... import theme
from ...views.results.explain_sheet import ExplainSheet, mono_label

COLUMNS_HEIGHT = 240
"""Pixels of the scrolled table of columns."""


class ColumnSheet(ExplainSheet):
    """Shows every column of the alignment, and the derivation of bits and E-value."""

    ASK_WORDS = "Aligns the sequence with the query, and shows the parts of their score, and why it is reported or not."
    WAIT_WORDS = "Aligning the two sequences again…"

    def parts(self, value: Explanation, verdict: QWidget) -> list[QWidget]:
        """Return the widgets for the sequences, the table of their columns, and the sums."""
        lines = list(self._engine.explanation_lines(value))
        first, second, third = (place for place, text in enumerate(lines) if not text)
        what, columns, sums = lines[:first], lines[first + 1 : second], lines[second + 1 : third]
        return [verdict, mono_label("\n".join(what)), _scrolling("\n".join(columns)), mono_label("\n".join(sums))]


def _scrolling(text: str) -> QPlainTextEdit:
    """Return the columns in an area that scrolls: there may be thousands."""
    made = QPlainTextEdit(text)
    made.setReadOnly(True)
    made.setFont(theme.mono_font(9))
    made.setFixedHeight(COLUMNS_HEIGHT)
    made.setTabChangesFocus(True)
    made.setAccessibleName("Columns of the alignment with their scores")
    return made

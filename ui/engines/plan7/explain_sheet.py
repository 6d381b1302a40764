"""The sheet that explains the result of every filter for a sequence."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QWidget

from clalign.engines.plan7.steps import Step
from clalign.values.documents import Explanation

from ... import formatting, theme
from ...views.results.explain_sheet import ExplainSheet
from ...views.widgets.parts import IconLabel, label, line
from .explanation import explanation_text, explanation_title, step_mark, step_note, step_numbers, step_result


class FilterSheet(ExplainSheet):
    """Shows every step with its numbers."""

    ASK_WORDS = "Runs the sequence through every filter, even those it would not reach, with scores and thresholds."
    WAIT_WORDS = "Computing every filter for this sequence…"

    def parts(self, value: Explanation, verdict: QWidget) -> list[QWidget]:
        steps = [part for step in value["steps"] for part in (line(), step_card(step))]
        return [label(formatting.breakable(explanation_title(value)), "muted", wrap=True), verdict, *steps]

    def text(self, value: Explanation) -> str:
        return explanation_text(value)


def step_card(step: Step) -> QWidget:
    """Return the widgets of one step."""
    made = QWidget()
    grid = QGridLayout(made)
    grid.setContentsMargins(0, 2, 0, 2)
    grid.setHorizontalSpacing(10)
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    grid.addWidget(IconLabel(*theme.MARKS[step_mark(step)]), 0, 0)
    result = step_result(step)
    quiet = "" if step["ran"] else "muted"
    name = label(f"{step['label']}: {result}" if result else step["label"], quiet, wrap=True)
    font = name.font()
    font.setBold(step["ran"])
    name.setFont(font)
    grid.addWidget(name, 0, 1)
    for place, (text, role) in enumerate(((step_numbers(step), quiet), (step_note(step), "muted")), 1):
        if text:
            grid.addWidget(label(text, role, wrap=True, selectable=True), place, 1)
    return made

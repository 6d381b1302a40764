"""The sheet that explains the result of every filter for a sequence, and its text."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from clalign.engines.plan7.steps import LEFT_OUT, NOT_REACHED, Step
from clalign.values.documents import Explanation
from clalign.values.evalues import distinguishing_decimals

from ... import formatting, theme
from ...views.results.explain_sheet import ExplainSheet
from ...views.widgets.parts import IconLabel, grid, held, label, line

FILTERS = ("msv", "bias", "viterbi", "forward")
"""Steps that numbers describe completely."""

MARKS = {True: "good", False: "stop", None: "note"}
RESULTS = {True: "passes", False: "is stopped here", None: ""}


def step_mark(step: Step) -> str:
    """Return the severity of a step; one that the search does not reach has a quiet one."""
    return MARKS[step["passed"]] if step["ran"] else "note"


def step_result(step: Step) -> str:
    """Return the result of a step in a word or two."""
    if step["ran"]:
        return RESULTS[step["passed"]]
    if step["passed"] is None:
        return "not part of the search"
    if step["text"].startswith(LEFT_OUT):
        return f"would {'pass' if step['passed'] else 'not pass'}"
    return f"would {'pass' if step['passed'] else 'be stopped'}; the search does not reach it"


def step_numbers(step: Step) -> str:
    """Return score and threshold, P-value and limit of a step."""
    score, needed = step["score"], step["threshold"]
    parts = []
    if score is not None:
        digits = distinguishing_decimals(score, needed)
        parts.append(f"{score:.{digits}f} bits" + ("" if needed is None else f", {needed:.{digits}f} needed"))
    elif step["pvalue"] is not None:
        if step["passed"]:
            return "more bits than the filter can count"  # which says nothing of how unlikely they are
        parts.append("no alignment at all")
    if step["pvalue"] is not None:
        rounded = "" if step["limit"] is None else f"{step['limit']:.2g}"
        limit = f", at most {formatting.limit(float(rounded))}" if rounded else ""
        parts.append(f"P-value {formatting.evalue(step['pvalue'])}{limit}")
    return " · ".join([part.replace("-", "−") if "bits" in part else part for part in parts])


def step_note(step: Step) -> str:
    """Return remarks on a step beside its numbers."""
    if step["stage"] not in FILTERS:
        return str(step["text"]).removeprefix(NOT_REACHED)
    left_out = step["text"].partition(" It scores")[0]
    return left_out if left_out.startswith(LEFT_OUT) else ""


def explanation_title(value: Explanation) -> str:
    """Return the title: sequence and profile."""
    length = "" if value.get("length") is None else f" ({formatting.plural(value['length'], 'residue')})"
    return f"{value['target']}{length} and the profile {value['profile']}"


def explanation_text(value: Explanation) -> str:
    """Return the whole explanation as plain text."""
    lines = [explanation_title(value), ""]
    for step in value["steps"]:
        lines.append(": ".join(part for part in (step["label"], step_result(step)) if part))
        lines += [f"    {text}" for text in (step_numbers(step), step_note(step)) if text]
    return "\n".join([*lines, "", value["verdict"], ""]).replace(formatting.THIN, " ")


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
    lines = grid(10, 2, margins=(0, 2, 0, 2))
    lines.addWidget(IconLabel(*theme.MARKS[step_mark(step)]), 0, 0)
    result = step_result(step)
    quiet = "" if step["ran"] else "muted"
    name = label(f"{step['label']}: {result}" if result else step["label"], quiet, wrap=True)
    font = name.font()
    font.setBold(step["ran"])
    name.setFont(font)
    lines.addWidget(name, 0, 1)
    for place, (text, role) in enumerate(((step_numbers(step), quiet), (step_note(step), "muted")), 1):
        if text:
            lines.addWidget(label(text, role, wrap=True, selectable=True), place, 1)
    return held(lines)

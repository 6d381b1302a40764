"""Why a target was found, or missed, as text."""

from __future__ import annotations

import textwrap

from clalign.engines.plan7.steps import Step
from clalign.values.documents import Explanation
from clalign.values.evalues import distinguishing_decimals

WIDTH = 100


def explanation_lines(value: Explanation) -> list[str]:
    """Return the steps as a table, what is to be said of each, and the verdict."""
    length = "" if value["length"] is None else f" ({value['length']} residues)"
    lines = [f"Profile:  {value['profile']}", f"Sequence: {value['target']}{length}", ""]
    lines.append(f"{'Step':<18s} {'Score':>9s} {'Needed':>9s} {'P-value':>9s} {'Limit':>9s}  Result")
    lines += (_step_line(step) for step in value["steps"])
    lines.append("")
    for step in value["steps"]:
        lines += textwrap.wrap(
            step["text"], WIDTH, initial_indent=f"{step['label'] + ':':<19s}", subsequent_indent=" " * 19
        )
    return [*lines, "", *textwrap.wrap(value["verdict"], WIDTH)]


def _step_line(step: Step) -> str:
    results = {True: "passed", False: "not passed", None: ""}
    result = results[step["passed"]] + ("" if step["ran"] else " (not part of the search)")
    score, needed, value = step["score"], step["threshold"], step["pvalue"]
    form = ".1f" if score is None else f".{distinguishing_decimals(score, needed)}f"
    shown = "<1e-300" if value == 0.0 else _shown(value, ".2g")
    if score is not None or value is None:
        scored = _shown(score, form)
    elif step["passed"]:
        scored, shown = "inf", ""  # the counter is full, which says nothing of how unlikely the score is
    else:
        scored = "-inf"
    numbers = scored, _shown(needed, form), shown, _shown(step["limit"], ".2g")
    return f"{step['label']:<18s} {' '.join(f'{number:>9s}' for number in numbers)}  {result}".rstrip()


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)

"""Every stage of which a job reports its progress has words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import clalign
from clalign.jobs import course

FOLDER = Path(clalign.__file__).parent


def stages_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names of stages that stand in a module as texts: reported, of a phase, or a default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_reported = isinstance(node.func, ast.Attribute) and node.func.attr == "progress"
            is_phase = isinstance(node.func, ast.Name) and node.func.id == "Phase"
            if node.args and (is_reported or is_phase) and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            defaults = zip(reversed(names), reversed(node.args.defaults), strict=False)
            yield from (value.value for name, value in defaults if name == "stage" and isinstance(value, ast.Constant))


@pytest.mark.thorough
def test_every_stage_has_words() -> None:
    found = {stage for path in FOLDER.rglob("*.py") for stage in stages_in(ast.parse(path.read_text("utf-8")))}
    assert {"search", "self-test", "annealing", "encode", "pairs"} <= found
    assert found - set(course._WORDS) == set()


def test_a_stage_without_an_entry_is_shown_by_its_name() -> None:
    assert course.stage_words("training round 1 of at most 3") == "Training round 1 of at most 3"
    assert course.stage_words("self-test") == "Testing"

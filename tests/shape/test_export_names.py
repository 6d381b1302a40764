"""An export is known by its name in one place: the module that declares it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from clalign.engines.engine import engines
from clalign.formats.row_forms import FORMS

ROOT = Path(__file__).resolve().parents[2]

OTHERWISE = {*FORMS, "afa", "text", "queries", "matrix", "scores", "architecture", "gui"}
"""Names of exports that also are those of formats that are read, of commands, or words of other meaning."""


def constants(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and value of each string in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.thorough
def test_names_of_exports_stand_where_these_are_declared() -> None:
    names = {one.name for engine in engines() for one in engine.exports} - OTHERWISE
    assert len(names) > 20
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for folder in ("clalign", "ui")
        for path in (ROOT / folder).rglob("*.py")
        if "engines" not in path.parts or (path.name != "exports.py" and path.parts[-2:] != ("exports", "register.py"))
        for line, text in constants(path)
        if text in names
    ]
    assert not found, "ask the Export instead:\n" + "\n".join(found)

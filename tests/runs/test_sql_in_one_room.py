"""All SQL stands in one room, and in what engines declare of their tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SQL = re.compile(
    r"SELECT .* FROM|INSERT (OR [A-Z]+ )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE (TEMP |UNIQUE )?(TABLE|VIEW|INDEX)"
    r"|DROP (TABLE|VIEW|INDEX)|^PRAGMA |ORDER BY|GROUP BY|LEFT JOIN| IS NULL| COLLATE "
)


def violations(root: Path) -> Iterator[str]:
    """Yield where SQL, or a question to a database, stands outside of its room."""
    for path in sorted([*(root / "clalign").rglob("*.py"), *(root / "ui").rglob("*.py")]):
        place = path.relative_to(root).as_posix()
        is_declared = re.fullmatch(r"clalign/engines/\w+/tables\.py", place) is not None
        if place.startswith("clalign/runs/"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_sql = isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value)
            is_asked = isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript")
            if (is_sql and not is_declared) or is_asked:
                yield f"{place}:{node.lineno}"


@pytest.mark.thorough
def test_all_sql_stands_in_one_room() -> None:
    assert list(violations(ROOT)) == []


def test_no_placeholder_has_a_number() -> None:
    """From Python 3.12 on those are taken for names, which a sequence has no values for."""
    numbered = [path.name for path in (ROOT / "clalign").rglob("*.py") if re.search(r"= \?\d", path.read_text("utf-8"))]
    assert numbered == []


def test_what_stands_elsewhere_is_found(tmp_path: Path) -> None:
    planted = {
        "ui/models/pages.py": 'question = f"SELECT id FROM hits WHERE {condition}"\n',
        "ui/views/widgets/table.py": "def count(run):\n    return run.connection.execute(question)\n",
        "clalign/engines/plan7/tables.py": 'OLDER = "SELECT id FROM hits"\nconnection.execute(OLDER)\n',
        "clalign/runs/queries.py": 'connection.execute("DELETE FROM hits")\n',
    }
    for name, text in planted.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(violations(tmp_path)) == [
        "clalign/engines/plan7/tables.py:2", "ui/models/pages.py:1", "ui/views/widgets/table.py:2"
    ]  # fmt: skip

"""Size limits: a function fits a screen or two, a file fits a head."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PYTHON_FOLDERS = ("clalign", "ui", "tests", "packaging", "benchmarks", "docs", "kernels_cl", "resources")
FUNCTION_LINES = 100
FILE_LINES = 1000
CONSTRUCTOR_LINES = 40
KERNEL_FUNCTION_LINES = 80
KERNEL_FILE_LINES = 300

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without those of its docstring."""
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= first.end_lineno - first.lineno + 1
    return lines


def functions(node: ast.AST) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Yield every function, and whether it is the constructor of a class; expressions hold none."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, ())
        for statement in inner if isinstance(inner, list) else ():
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                yield statement, isinstance(node, ast.ClassDef) and statement.name == "__init__"
            yield from functions(statement)


def oversized_python(root: Path) -> list[str]:
    paths = [path for folder in PYTHON_FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    found = []
    for path in [*paths, *sorted(root.glob("*.py"))]:
        text = path.read_text("utf-8")
        name = path.relative_to(root)
        if text.count("\n") > FILE_LINES:
            found.append(f"{name}: {text.count(chr(10))} lines")
        for function, constructs in functions(ast.parse(text)):
            limit = CONSTRUCTOR_LINES if constructs and name.parts[0] == "ui" else FUNCTION_LINES
            if code_lines(function) > limit:
                found.append(f"{name}: {function.name} has {code_lines(function)} lines")
    return found


def kernel_blocks(text: str) -> Iterator[tuple[str, int]]:
    """Yield name and lines, from the opening to the closing brace, of every function of a kernel file."""
    plain = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    depth = start = 0
    for found in re.finditer(r"[{}]", plain):
        if found[0] == "{":
            depth += 1
            start = found.start() if depth == 1 else start
            continue
        depth -= 1
        signature = re.search(r"(\w+)\s*\([^{}]*\)\s*$", plain[:start])
        if depth == 0 and signature:
            yield signature[1], plain.count("\n", start, found.start()) + 1


def oversized_kernels(root: Path) -> list[str]:
    found = []
    folder = root / "kernels_cl"
    for path in sorted([*folder.rglob("*.cl"), *folder.rglob("*.h")]):
        text = path.read_text("utf-8")
        if text.count("\n") > KERNEL_FILE_LINES:
            found.append(f"{path.name}: {text.count(chr(10))} lines")
        for name, lines in kernel_blocks(text):
            if lines > KERNEL_FUNCTION_LINES:
                found.append(f"{path.name}: {name} has {lines} lines")
    return found


@pytest.mark.thorough
def test_python_files_and_functions_keep_their_limits():
    assert oversized_python(ROOT) == []


def test_kernel_files_and_functions_keep_their_limits():
    assert oversized_kernels(ROOT) == []


def test_long_python_function_is_found_and_its_docstring_not_counted(tmp_path: Path):
    (tmp_path / "clalign").mkdir()
    allowed = "def short():\n" + '    """' + "\n" * 30 + '    """\n' + "    x = 1\n" * (FUNCTION_LINES - 1)
    (tmp_path / "clalign" / "a.py").write_text(allowed + "def long():\n" + "    x = 1\n" * FUNCTION_LINES)
    assert oversized_python(tmp_path) == ["clalign/a.py: long has 101 lines"]


def test_long_constructor_is_found_in_the_window_only(tmp_path: Path):
    text = "class A:\n    def __init__(self):\n" + "        x = 1\n" * CONSTRUCTOR_LINES
    for folder in ("ui", "clalign"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(text)
    assert oversized_python(tmp_path) == ["ui/a.py: __init__ has 41 lines"]


def test_long_python_file_is_found(tmp_path: Path):
    (tmp_path / "run.py").write_text("x = 1\n" * (FILE_LINES + 1))
    assert oversized_python(tmp_path) == ["run.py: 1001 lines"]


def test_long_kernel_function_is_found(tmp_path: Path):
    (tmp_path / "kernels_cl").mkdir()
    body = "    x += 1; /* } */\n"
    text = "int f(int x)\n{\n" + body * 78 + "}\n\nvoid __kernel g(\n    int x)\n{\n" + body * 79 + "}\n"
    (tmp_path / "kernels_cl" / "a.cl").write_text(text)
    assert oversized_kernels(tmp_path) == ["a.cl: g has 81 lines"]


def test_long_kernel_file_is_found(tmp_path: Path):
    (tmp_path / "kernels_cl").mkdir()
    (tmp_path / "kernels_cl" / "a.h").write_text("\n" * (KERNEL_FILE_LINES + 1))
    assert oversized_kernels(tmp_path) == ["a.h: 301 lines"]

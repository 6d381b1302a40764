"""The import law: a room imports only lower rooms, drivers have one room, and the engine knows no window."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from clalign.engines.engine import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]

LEVELS = (
    ("control_characters",),
    ("errors", "sizes"),
    ("jobs", "children"),
    ("values",),
    ("formats",),
    ("databases", "reference"),
    ("compute",),
    ("stages",),
    ("runs",),
    ("execution",),
    ("engines",),
    ("tools", "labs"),
    ("api",),
    ("cli",),
    ("__main__", "__init__"),
)
"""Lowest first."""

LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}

DATA = {"kernels_cl", "resources"}
WITHIN_A_FUNCTION = {("cli", "ui")}
"""Steps upwards that are taken only when the thing is asked for: opening the window."""

DRIVERS, OPENS_DEVICES = "compute.opencl", "compute.opening"
"""The one folder that imports pyopencl; of the rest of its room one file reaches it, when a device is opened."""

QT = ("PySide6", "shiboken6", "pyqtgraph", "qtawesome")


def imports(node: ast.AST, within_function: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield every imported module, and whether that happens within a function.

    Only statements are looked into, which expressions do not hold: that is most of the work saved.
    """
    if isinstance(node, ast.Import):
        yield from ((alias.name, within_function) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        if module == "clalign":
            yield from ((f"clalign.{alias.name}", within_function) for alias in node.names)
        else:
            yield module, within_function
    within_function |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, ())
        for statement in inner if isinstance(inner, list) else ():
            yield from imports(statement, within_function)


def may_compare(place: str, within_function: bool) -> bool:
    """Return whether a file may import the oracle: to judge what a device computes, or to stand in for one."""
    room, *_, name = place.split(".")
    return room in ("reference", "labs") or name == "verify" or (room == "stages" and within_function)


def place_of(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package).with_suffix("").parts)


def is_driver(place: str) -> bool:
    return f"{place}.".startswith(f"{DRIVERS}.")


def is_allowed(place: str, module: str, within_function: bool) -> bool:
    """Return whether a file of the engine, whose place is ``room.file``, may import a module."""
    room = place.split(".")[0]
    top, _, rest = module.partition(".")
    if top == "pyopencl":
        return is_driver(place)
    if module.startswith(".") or top in QT or top == "ui":
        return False
    if top != "clalign" or not rest:
        return True
    other = rest.split(".")[0]
    if other == "reference" and not may_compare(place, within_function):
        return False
    if other == room:
        return is_driver(place) or not is_driver(rest) or (within_function and place == OPENS_DEVICES)
    if other in DATA or other.startswith("__version"):
        return True
    if (room, other) in WITHIN_A_FUNCTION:
        return within_function
    if room not in LEVEL or other not in LEVEL:
        return False
    return LEVEL[other] < LEVEL[room]


def engine_violations(root: Path) -> list[str]:
    package = root / "clalign"
    found = []
    for path in sorted(package.rglob("*.py")):
        place = place_of(path, package)
        for module, within_function in imports(ast.parse(path.read_text("utf-8"))):
            if not is_allowed(place, module, within_function):
                found.append(f"{path.relative_to(root).as_posix()} imports {module}")
    return found


def window_violations(root: Path) -> list[str]:
    """Inside ui/ imports of ui/ are relative, and no driver is touched."""
    found = []
    for path in sorted((root / "ui").rglob("*.py")):
        for module, _ in imports(ast.parse(path.read_text("utf-8"))):
            if module.split(".")[0] in ("ui", "pyopencl") or f"{module}.".startswith("clalign.ui."):
                found.append(f"{path.relative_to(root).as_posix()} imports {module}")
    return found


def import_everything(blocked: tuple[str, ...], left_out: tuple[str, ...], planted: str = "") -> str:
    """Import every module of the engine in a child where some imports are blocked; return its complaint."""
    program = f"""
import importlib, pkgutil, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.startswith({blocked!r}):
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Block())
import clalign
names = ["clalign"]
names += [m.name for m in pkgutil.walk_packages(clalign.__path__, "clalign.") if not m.name.startswith({left_out!r})]
for name in [*{planted.split()!r}, *names]:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return "" if child.returncode == 0 and int(child.stdout) > 10 else child.stderr or child.stdout


def test_engine_imports_only_lower_rooms():
    assert engine_violations(ROOT) == []


def test_window_imports_are_relative():
    assert window_violations(ROOT) == []


def test_engine_imports_without_qt():
    assert import_everything((*QT, "clalign.ui"), ("clalign.ui",)) == ""


def test_engine_imports_without_opencl():
    left_out = ("clalign.ui", "clalign.compute.opencl", "clalign.tools.device_probe")
    assert import_everything(("pyopencl",), left_out) == ""


def test_planted_qt_import_is_found_when_it_runs():
    assert "PySide6 is blocked" in import_everything(QT, ("clalign.ui",), planted="PySide6")


def test_planted_imports_are_found(tmp_path: Path):
    planted = {
        "clalign/errors.py": "from clalign.values.alphabets import Alphabet",
        "clalign/values/profiles.py": "from clalign.values import hits",
        "clalign/formats/a.py": "from clalign.reference import b\nimport clalign.runs",
        "clalign/stages/a.py": "import pyopencl as cl",
        "clalign/stages/plan7/a.py": "from clalign.reference import b\ndef f():\n    from clalign.reference import b",
        "clalign/engines/a/verify.py": "from clalign.reference.b import c",
        "clalign/tools/a.py": "def f():\n    from clalign.reference.b import c",
        "clalign/engines/a.py": "def f():\n    from PySide6 import QtCore",
        "clalign/compute/sessions.py": "import clalign.compute.opencl\n"
        "def f():\n    from clalign.compute.opencl.session import A",
        "clalign/cli/gui.py": "def f():\n    from clalign.ui.shell.app import main",
        "clalign/cli/a.py": "import clalign.ui\nimport ui.app\nfrom . import gui",
        "clalign/compute/opencl/a.py": "import pyopencl, numpy\nfrom clalign.compute.opencl import b",
        "ui/a.py": "from . import b\nfrom clalign.ui import b\nimport pyopencl\nfrom clalign.values.hits import Hit",
    }
    for name, text in planted.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert engine_violations(tmp_path) == [
        "clalign/cli/a.py imports clalign.ui",
        "clalign/cli/a.py imports ui.app",
        "clalign/cli/a.py imports .",
        "clalign/compute/sessions.py imports clalign.compute.opencl",
        "clalign/compute/sessions.py imports clalign.compute.opencl.session",
        "clalign/engines/a.py imports PySide6",
        "clalign/errors.py imports clalign.values.alphabets",
        "clalign/formats/a.py imports clalign.reference",
        "clalign/formats/a.py imports clalign.runs",
        "clalign/stages/a.py imports pyopencl",
        "clalign/stages/plan7/a.py imports clalign.reference",
        "clalign/tools/a.py imports clalign.reference.b",
    ]
    assert window_violations(tmp_path) == ["ui/a.py imports clalign.ui", "ui/a.py imports pyopencl"]


def names_of_engines(root: Path) -> list[str]:
    """Return where a file outside of the engines imports one of them, or tests for its name."""
    found = []
    for path in sorted((root / "clalign").rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place.startswith("clalign/engines/"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        named = [module for module, _ in imports(tree) if module.startswith(tuple(BUILT_IN.values()))]
        compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
        words = {part.value for node in compared for part in ast.walk(node) if isinstance(part, ast.Constant)}
        found += [f"{place} names {name}" for name in (*named, *sorted(words & set(BUILT_IN)))]
    return found


def test_nothing_but_the_register_names_an_engine(tmp_path: Path):
    assert names_of_engines(ROOT) == []
    planted = tmp_path / "clalign" / "cli" / "a.py"
    planted.parent.mkdir(parents=True)
    planted.write_text('from clalign.engines.plan7.spec import A\nif kind == "pairwise":\n    pass\n')
    assert names_of_engines(tmp_path) == [
        "clalign/cli/a.py names clalign.engines.plan7.spec", "clalign/cli/a.py names pairwise"
    ]  # fmt: skip

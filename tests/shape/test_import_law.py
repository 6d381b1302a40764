"""The import law: a package imports only lower packages, drivers have one package, and the engine knows no window."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from clalign.engines.engine import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]

LEVELS = (
    ("common",),
    ("errors",),
    ("jobs", "system", "tracing"),
    ("values",),
    ("formats",),
    ("databases", "reference"),
    ("compute",),
    ("stages",),
    ("building",),
    ("runs",),
    ("execution",),
    ("engines",),
    ("tools", "labs"),
    ("api_inputs",),
    ("api",),
    ("alignment_api",),
    ("rounds_api",),
    ("cli",),
    ("__main__", "__init__"),
)
"""Lowest first."""

LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}

WINDOW = ("", "models", "views", "services", "engines", "controllers", "shell")
"""The packages of the window, lowest first; the modules beside them stand below all. An engine knows no other."""

WITHIN_A_PACKAGE = {
    "models": ("", "widgets", "alignment", "charts", "laboratory", "results"),
    "views": ("widgets", "charts", "alignment", "laboratory", "results", ""),
}
"""The packages within packages of the window, lowest first; "" are the modules beside them."""

DATA = {"kernels_cl", "resources"}
WITHIN_A_FUNCTION = {("cli", "ui")}
"""Steps upwards that are taken only when the thing is asked for: opening the window."""

DRIVERS, OPENS_DEVICES = "compute.opencl", "compute.opening"
"""The one folder that imports pyopencl; of the rest of its package one file reaches it, when a device is opened."""

QT = ("PySide6", "shiboken6", "pyqtgraph", "qtawesome")


ImportStatement = ast.Import | ast.ImportFrom


def statements(node: ast.AST, within_function: bool = False) -> Iterator[tuple[ImportStatement, bool]]:
    """Yield every import, and whether it happens within a function.

    Only statements are looked into, which expressions do not hold: that is most of the work saved.
    """
    if isinstance(node, ImportStatement):
        yield node, within_function
    within_function |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, ())
        for statement in inner if isinstance(inner, list) else ():
            yield from statements(statement, within_function)


@cache
def statements_of(text: str) -> list[tuple[ImportStatement, bool]]:
    """Return the imports of a file; several tests ask for those of the same ones."""
    return [*statements(ast.parse(text))]


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield every module that a file imports, and whether that happens within a function."""
    for node, within_function in statements_of(path.read_text("utf-8")):
        if isinstance(node, ast.Import):
            yield from ((alias.name, within_function) for alias in node.names)
        elif (module := "." * node.level + (node.module or "")) == "clalign":
            yield from ((f"clalign.{alias.name}", within_function) for alias in node.names)
        else:
            yield module, within_function


def may_compare(place: str, within_function: bool) -> bool:
    """Return whether a file may import the oracle: to judge what a device computes, or to stand in for one."""
    package, *_, name = place.split(".")
    return package in ("reference", "labs") or name == "verify" or (package == "stages" and within_function)


def place_of(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package).with_suffix("").parts)


def is_driver(place: str) -> bool:
    return f"{place}.".startswith(f"{DRIVERS}.")


def is_allowed(place: str, module: str, within_function: bool) -> bool:
    """Return whether a file of the engine, whose place is ``package.file``, may import a module."""
    package = place.split(".")[0]
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
    if other == package:
        return is_driver(place) or not is_driver(rest) or (within_function and place == OPENS_DEVICES)
    if other in DATA or other.startswith("__version"):
        return True
    if (package, other) in WITHIN_A_FUNCTION:
        return within_function
    if package not in LEVEL or other not in LEVEL:
        return False
    return LEVEL[other] < LEVEL[package]


def engine_violations(root: Path) -> list[str]:
    package = root / "clalign"
    found = []
    for path in sorted(package.rglob("*.py")):
        place = place_of(path, package)
        for module, within_function in imports(path):
            if not is_allowed(place, module, within_function):
                found.append(f"{path.relative_to(root).as_posix()} imports {module}")
    return found


def window_graph(ui: Path) -> dict[str, set[str]]:
    """Return the modules of the window that each of them imports, within functions, too."""
    files = {path: path.relative_to(ui).with_suffix("").parts for path in sorted(ui.rglob("*.py"))}
    names = {path: ".".join(parts).removesuffix(".__init__") for path, parts in files.items()}
    graph: dict[str, set[str]] = {name: set() for name in names.values()}
    for path, parts in files.items():
        for node, _ in statements_of(path.read_text("utf-8")):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*parts[: -node.level], *(node.module or "").split(".")]
                for alias in node.names:
                    module, package = (".".join(filter(None, place)) for place in ([*base, alias.name], base))
                    graph[names[path]].add(module if module in graph else package)
    return graph


def is_allowed_in_window(place: str, other: str) -> bool:
    """Return whether a module of the window may import another."""
    here, there = (("", *name.split(".")) if "." in name else ("", "", name) for name in (place, other))
    packages = WINDOW.index(here[1]), WINDOW.index(there[1])
    if packages[0] != packages[1]:
        return packages[1] < packages[0]
    if here[1] in WITHIN_A_PACKAGE:
        inner = [WITHIN_A_PACKAGE[here[1]].index(name[2] if len(name) > 3 else "") for name in (here, there)]
        return inner[1] <= inner[0]
    return here[1] != "engines" or len(there) < 4 or here[2] == there[2]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return modules that import each other in a circle, if there are any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def engine_graph(package: Path) -> dict[str, set[str]]:
    """Return the modules of the engine that each of them imports, within functions and for types, too."""
    files = {path: place_of(path, package).removesuffix(".__init__") for path in sorted(package.rglob("*.py"))}
    graph: dict[str, set[str]] = {name: set() for name in files.values()}
    for path, name in files.items():
        for node, _ in statements_of(path.read_text("utf-8")):
            if isinstance(node, ast.Import):
                graph[name].update(alias.name.removeprefix("clalign.") for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("clalign."):
                base = (node.module or "").split(".")[1:]
                for alias in node.names:
                    module, parent = (".".join(place) for place in ([*base, alias.name], base))
                    graph[name].add(module if module in graph else parent)
        graph[name] = {other for other in graph[name] & graph.keys() if other != name}
    return graph


def window_violations(root: Path) -> list[str]:
    """Inside ui/ imports of ui/ are relative, and go down only; no driver is touched."""
    found = [
        f"ui: {place} imports {other}"
        for place, others in window_graph(root / "ui").items()
        for other in sorted(others)
        if not is_allowed_in_window(place, other)
    ]
    for path in sorted((root / "ui").rglob("*.py")):
        for module, _ in imports(path):
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


def test_window_imports_only_lower_rooms():
    assert window_violations(ROOT) == []


def test_window_has_no_circle():
    graph = window_graph(ROOT / "ui")
    assert sum(map(len, graph.values())) > 100
    assert circle(graph) == []


def test_engine_has_no_circle():
    graph = engine_graph(ROOT / "clalign")
    assert sum(map(len, graph.values())) > 1000
    assert circle(graph) == []


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
        "ui/b.py": "def f():\n    from .models import c",
        "ui/models/c.py": "from .. import a\nfrom typing import Any",
        "ui/views/d.py": "from ..models.c import Any\nfrom ..engines.plan7 import e",
        "ui/views/widgets/g.py": "from ..charts import h",
        "ui/views/charts/h.py": "from ..widgets.i import f",
        "ui/views/widgets/i.py": "f = 1",
        "ui/engines/plan7/e.py": "from ...views import d\nfrom ..pairwise.f import g\nfrom .h import i",
        "ui/engines/plan7/h.py": "from ..engine import kind",
        "ui/engines/pairwise/f.py": "g = 1",
        "ui/engines/engine.py": "from .plan7 import h",
        "ui/controllers/j.py": "if TYPE_CHECKING:\n    from ..shell.k import Window",
        "ui/shell/k.py": "from ..controllers import j",
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
    assert window_violations(tmp_path) == [
        "ui: b imports models.c",
        "ui: controllers.j imports shell.k",
        "ui: engines.engine imports engines.plan7.h",
        "ui: engines.plan7.e imports engines.pairwise.f",
        "ui: views.d imports engines.plan7.e",
        "ui: views.widgets.g imports views.charts.h",
        "ui/a.py imports clalign.ui",
        "ui/a.py imports pyopencl",
    ]


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ({"a": {"b"}, "b": {"a"}}, {"a", "b"}),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, {"b", "c"}),
        ({"a": {"b", "c"}, "b": {"c"}}, set()),
    ],
)
def test_planted_circle_is_found(planted: dict[str, set[str]], found: set[str]):
    assert set(circle(planted)) == found


def test_circle_within_functions_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text("def f():\n    from .b import g")
    (tmp_path / "b.py").write_text("if TYPE_CHECKING:\n    from . import a")
    assert set(circle(window_graph(tmp_path))) == {"a", "b"}


def test_circle_of_the_engine_for_types_and_within_functions_is_found(tmp_path: Path):
    planted = {
        "runs/__init__.py": "",
        "runs/a.py": "import numpy\nfrom clalign.runs import b\nfrom clalign.errors import ClalignError",
        "runs/b.py": "if TYPE_CHECKING:\n    from clalign.runs.c import C",
        "runs/c.py": "def f():\n    import clalign.runs.a",
    }
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert set(circle(engine_graph(tmp_path))) == {"runs.a", "runs.b", "runs.c"}
    (tmp_path / "runs" / "c.py").write_text("from clalign.errors import ClalignError")
    assert circle(engine_graph(tmp_path)) == []


def names_of_engines(root: Path) -> list[str]:
    """Return where a file outside of the engines imports one of them, or tests for its name."""
    found = []
    for path in sorted((root / "clalign").rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place.startswith("clalign/engines/"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        named = [module for module, _ in imports(path) if module.startswith(tuple(BUILT_IN.values()))]
        compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
        words = {part.value for node in compared for part in ast.walk(node) if isinstance(part, ast.Constant)}
        found += [f"{place} names {name}" for name in (*named, *sorted(words & set(BUILT_IN)))]
    return found


@pytest.mark.thorough
def test_nothing_but_the_register_names_an_engine(tmp_path: Path):
    assert names_of_engines(ROOT) == []
    planted = tmp_path / "clalign" / "cli" / "a.py"
    planted.parent.mkdir(parents=True)
    planted.write_text('from clalign.engines.plan7.spec import A\nif kind == "pairwise":\n    pass\n')
    assert names_of_engines(tmp_path) == [
        "clalign/cli/a.py names clalign.engines.plan7.spec", "clalign/cli/a.py names pairwise"
    ]  # fmt: skip


ENGINE_WORDS = re.compile(r"pairwise|plan7|hmmer[23]|searchspec", re.IGNORECASE)
"""What an engine is called, and the formats and specs that only one knows."""

ENGINE_KEYS = {"origin", "direction"}
"""Of cards and specs, by which engines could be told apart."""


def engine_words(tree: ast.Module) -> list[str]:
    """Return every name and every text of a file, but for its documentation, that belongs to an engine."""
    texts = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    found = []
    for node in ast.walk(tree):
        if node in texts:
            continue
        words = [str(value) for _, value in ast.iter_fields(node) if isinstance(value, str)]
        found += [word for word in words if ENGINE_WORDS.search(word) or word in ENGINE_KEYS]
    return found


def engines_in_window(root: Path) -> list[str]:
    """Return where a file of the window names an engine, outside of the engines and the register."""
    found = []
    for path in sorted((root / "ui").rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place.count("/") < 3 and place != "ui/engines/register.py":
            found += [f"{place} names {word}" for word in sorted(engine_words(ast.parse(path.read_text("utf-8"))))]
    return found


def test_nothing_in_the_window_but_the_register_names_an_engine(tmp_path: Path):
    assert engines_in_window(ROOT) == []
    planted = {
        "ui/views/a.py": '"""As plan7 has it."""\nfrom ..engines.plan7 import b\nimport clalign.engines.pairwise',
        "ui/shell/a.py": 'def of(card):\n    """Of HMMER3."""\n    return card["origin"] == "hmmer3"',
        "ui/engines/a.py": "def f(x: SearchSpec) -> str:\n    return x.direction",
        "ui/engines/register.py": 'USUAL = "plan7"',
        "ui/engines/plan7/a.py": 'def is_new(card):\n    return card["origin"] == "hmmer3"',
    }
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert engines_in_window(tmp_path) == [
        "ui/engines/a.py names SearchSpec",
        "ui/engines/a.py names direction",
        "ui/shell/a.py names hmmer3",
        "ui/shell/a.py names origin",
        "ui/views/a.py names clalign.engines.pairwise",
        "ui/views/a.py names engines.plan7",
    ]

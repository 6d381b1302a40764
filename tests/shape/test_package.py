"""What is installed, and what must not lie in the tree."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "clalign": "clalign",
    "ui": "clalign/ui",
    "kernels_cl": "clalign/kernels_cl",
    "resources": "clalign/resources",
}
BUILD_FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in")
TEXTS = {".py", ".md", ".toml", ".cl", ".h", ".json", ".tsv", ".xml", ".desktop", ".spec", ".sh", ".in", ".hmm", ".sto"}
GENERATED = {".git", ".venv", "build", "dist", "runs", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|farm|root|tmp/dev|home/[a-z]+/\.pyenv)/")
"""A path of the machine that somebody worked on."""

LICENSE_NAME = re.compile(r"\b(?:BSD-[23]-Clause|MIT|CC0|CC BY 4\.0|public domain)\b")


def build_wheel(tree: Path, into: Path) -> set[str]:
    """Build the wheel of a tree, in a copy, without a network; return the names in it."""
    copy = into / "tree"
    for folder in FOLDERS:
        shutil.copytree(tree / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    if (tree / "docs").is_dir():
        shutil.copytree(tree / "docs", copy / "docs", ignore=shutil.ignore_patterns("images"))
    for name in BUILD_FILES:
        shutil.copyfile(tree / name, copy / name)
    if (tree / "share").exists():
        shutil.copytree(tree / "share", copy / "share")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", into, copy]
    subprocess.run(command, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(next(into.glob("*.whl"))) as wheel:
        return set(wheel.namelist())


def expected_names(tree: Path) -> set[str]:
    """Return where every program file, kernel and resource of a tree should lie in the wheel."""
    return {
        f"{target}/{path.relative_to(tree / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in (tree / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def undocumented_resources(root: Path) -> list[str]:
    """Return the resource folders without a README.md that names origin and licence."""
    found = []
    for folder in sorted(path for path in (root / "resources").rglob("*") if path.is_dir()):
        if folder.name == "__pycache__" or not any(path.is_file() for path in folder.iterdir()):
            continue
        readme = folder / "README.md"
        if not readme.is_file() or not LICENSE_NAME.search(readme.read_text("utf-8")):
            found.append(folder.relative_to(root).as_posix())
    return found


def machine_paths(root: Path) -> list[str]:
    found = []
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.suffix not in TEXTS or GENERATED & set(inside.parts) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{inside.as_posix()}:{number}")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.mark.thorough
def test_wheel_installs_one_package(wheel: set[str]):
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"clalign"}


@pytest.mark.thorough
def test_wheel_holds_every_program_file_kernel_and_resource(wheel: set[str]):
    assert expected_names(ROOT) - wheel == set()


@pytest.mark.thorough
def test_wheel_holds_the_documents_for_the_help(wheel: set[str]):
    documents = {f"clalign/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "docs").rglob("*.md")}
    assert documents
    assert {name for name in wheel if name.startswith("clalign/docs/")} == documents


@pytest.mark.thorough
def test_file_of_no_known_kind_is_missed_in_the_wheel(tmp_path: Path):
    tree = tmp_path / "planted"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "examples"))
    for name in BUILD_FILES:
        shutil.copyfile(ROOT / name, tree / name)
    (tree / "kernels_cl" / "common" / "table.inc").write_text("1\n")
    (tree / "share" / "man" / "man1").mkdir(parents=True)
    (tree / "share" / "man" / "man1" / "clalign.1").write_text(".TH CLALIGN 1\n")
    names = build_wheel(tree, tmp_path)
    assert expected_names(tree) - names == {"clalign/kernels_cl/common/table.inc"}
    assert [name.partition(".data/data/")[2] for name in names if ".data/" in name] == ["share/man/man1/clalign.1"]


CONDA_NAMES = {"PySide6-Essentials": "pyside6", "pocl-binary-distribution": "pocl"}
"""What packages of PyPI are called on conda-forge, where that differs by more than case."""

LEFT_TO_THE_SYSTEM = ("intel-opencl-rt", "intel-cmplr-lib-rt")


def undeclared(recipe: str) -> list[str]:
    """Return what of the project's dependencies, with their limits, and of its version a conda recipe lacks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    missing = [] if f'version: "{project["version"]}"' in recipe else ["version"]
    for wanted in project["dependencies"]:
        name, limits = re.fullmatch(r"([\w-]+)(\S*).*", wanted).groups()
        name, drivers = CONDA_NAMES.get(name, name.lower()), name in CONDA_NAMES
        line = re.compile(
            rf"^ *(?:- |then: ){re.escape(name)}(?: {'.*' if drivers else re.escape(limits)})?$", re.MULTILINE
        )
        if name not in LEFT_TO_THE_SYSTEM and not line.search(recipe):
            missing.append(name)
    return missing


def test_conda_recipe_names_every_dependency():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    assert undeclared(recipe) == []
    assert undeclared(recipe.replace("- xopen", "- xopenn").replace(">=0.22", ">=0.23")) == ["xopen", "zstandard"]


def test_container_has_everything_that_the_wheel_is_made_of():
    text = (ROOT / "packaging" / "Containerfile").read_text("utf-8")
    copied = " ".join(re.findall(r"^COPY (?!--)(.*)$", text, re.MULTILINE)).split()
    assert {*FOLDERS, *BUILD_FILES} <= set(copied)


def test_packaging_folder_is_no_package():
    assert not (ROOT / "packaging" / "__init__.py").exists(), "it would hide PyPI's package of that name"


def test_resource_folders_name_origin_and_licence():
    assert undocumented_resources(ROOT) == []


def test_planted_resource_without_licence_is_found(tmp_path: Path):
    for name in ("bare", "named", "silent"):
        (tmp_path / "resources" / name).mkdir(parents=True)
        (tmp_path / "resources" / name / "a.txt").write_text("a")
    (tmp_path / "resources" / "named" / "README.md").write_text("a.txt: own work, BSD-3-Clause")
    (tmp_path / "resources" / "silent" / "README.md").write_text("a.txt: found somewhere")
    assert undocumented_resources(tmp_path) == ["resources/bare", "resources/silent"]


@pytest.mark.thorough
def test_tree_names_no_machine_paths():
    assert machine_paths(ROOT) == []


def test_planted_machine_path_is_found(tmp_path: Path):
    planted = "/".join(["", "work", "data", "a.fa"])
    (tmp_path / "a.py").write_text(f"x = 1\nDATA = '{planted}'\nurl = 'https://example.org{planted}'\nframe/work/x\n")
    assert machine_paths(tmp_path) == ["a.py:2"]

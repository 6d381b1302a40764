"""One algorithm, one name: each kernel file has its stage, its reference and its test; each name has one meaning."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from clalign.compute.opencl import kernels

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ("item", "lanes", "vector", "simd4")
HEADERS = sorted(path.stem for path in (ROOT / "kernels_cl/common").glob("*.h"))


def form_of(header: str) -> tuple[str, list[list[str]]]:
    """Return the name of a header without that of its form, and the choices with which it is compiled.

    What has a form in vectors and one for lanes includes one or the other.
    """
    name, _, form = header.rpartition("_")
    forms = {"vector": [], "lanes": ["-DLANE_BACKEND=0"]}
    if form in forms and all(f"{name}_{one}" in HEADERS for one in forms):
        return name, [forms[form]]
    return header, list(forms.values())


PARAMETERS = {"STRIP_WIDTH", "PAIR_LETTERS", "N_PAIRS", "NODES_OF_BLOCK"}
"""What a kernel gives a header, under the names that the header has for it."""

_MACRO = re.compile(r"^#define (\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_TYPE = re.compile(
    r"^typedef (?:(?:struct|union) \{[^}]*\} (\w+)|[^;{]*?\*?(\w+)(?: __attribute__[^;]*)?);", re.MULTILINE
)
_FUNCTION = re.compile(r"^(?!__kernel|typedef|enum)(?:CALL )?\w[\w ]*[ *](\w+)\([^;{}]*\)\n\{", re.MULTILINE)


def ambiguous_names(root: Path) -> list[str]:
    """Return macros and types that two files give different meanings, and functions of a header that another file has.

    A default that a kernel may choose otherwise (``#ifndef``) is no meaning. The two forms of a header are one file.
    """
    meanings: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in sorted([*root.glob("*.cl"), *root.glob("common/*.h")]):
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        file = f"{form_of(path.stem)[0]}.h" if path.suffix == ".h" else path.name
        for found in _MACRO.finditer(text):
            if not text[: found.start()].endswith(f"#ifndef {found[1]}\n") and found[1] not in PARAMETERS:
                meanings[found[1]][file].add(" ".join(found[2].split()))
        for found in _TYPE.finditer(text):
            meanings[found[1] or found[2]][file].add(" ".join(found[0].split()))
        for found in _FUNCTION.finditer(text):
            meanings[found[1]][file].add("function" if path.suffix == ".cl" else f"function of {file}")
    return [
        f"{name}: {', '.join(files)}"
        for name, files in sorted(meanings.items())
        if len({frozenset(texts) for texts in files.values()}) > 1
    ]


def test_each_name_has_one_meaning():
    assert ambiguous_names(ROOT / "kernels_cl") == []


def test_planted_second_meaning_is_found(tmp_path: Path):
    (tmp_path / "common").mkdir()
    (tmp_path / "common/a.h").write_text(
        "#define MOST 3\ntypedef int whole_t;\nint take(int x)\n{\n}\n#ifndef NODES\n#define NODES 4\n"
    )
    (tmp_path / "common/b.h").write_text("#define MOST 4\ntypedef struct {\n    int x;\n} whole_t;\n")
    (tmp_path / "c.cl").write_text(
        "#ifndef NODES\n#define NODES 8\n#endif\nCALL int take(int x)\n{\n}\n#define LEAST 1\n"
    )
    (tmp_path / "d.cl").write_text("#define LEAST 1\n")
    assert ambiguous_names(tmp_path) == ["MOST: a.h, b.h", "take: c.cl, a.h", "whole_t: a.h, b.h"]


@pytest.mark.parametrize("header", HEADERS)
def test_header_includes_what_it_needs(header: str, amd_compiler: str):
    text = kernels.with_headers(f'#include "common/{header}.h"\n', "alone.cl")
    for choices in form_of(header)[1]:
        command = [amd_compiler, "-x", "cl", "-cl-std=CL1.2", "-march=x86-64-v3", "-w", *choices, "-fsyntax-only", "-"]
        subprocess.run(command, input=text, check=True, text=True)


def incomplete_kernels(root: Path) -> list[str]:
    found = []
    for path in sorted((root / "kernels_cl").glob("*.cl")):
        name, _, shape = path.stem.rpartition("_")
        if shape not in SHAPES:
            found.append(f"{path.name}: its shape is none of {', '.join(SHAPES)}")
            continue
        reference = name.removesuffix("_ladder")  # a laboratory computes what the program's own kernel does
        companions = (
            f"clalign/stages/**/{name}.py", f"clalign/reference/{reference}.py", f"tests/stages/test_{name}.py",
        )  # fmt: skip
        found += [f"{path.name}: no {companion}" for companion in companions if not any(root.glob(companion))]
    return found


def test_no_kernel_calls_built_ins_for_vectors_of_512_bits():
    """PoCL 3.0 gives wrong ones of these to processors that have AVX-512 and whose name LLVM 14 does not know."""
    called = re.compile(r"\b(vload16|vstore16|convert_\w+16)\b")
    folder = ROOT / "kernels_cl"
    texts = {path.name: path.read_text("utf-8") for path in [*folder.glob("*.cl"), *folder.glob("common/*.h")]}
    assert len(texts) > len(HEADERS)
    assert [f"{name}: {found}" for name, text in texts.items() for found in called.findall(text)] == []


def test_every_kernel_has_stage_reference_and_test():
    assert incomplete_kernels(ROOT) == []


def test_planted_lonely_kernel_is_found(tmp_path: Path):
    (tmp_path / "kernels_cl").mkdir()
    for name in ("good_item", "good_ladder_item", "lonely_lanes", "shapeless"):
        (tmp_path / "kernels_cl" / f"{name}.cl").touch()
    for name in ("clalign/stages/plan7/good.py", "clalign/reference/good.py", "tests/stages/test_good.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "clalign/stages/lonely.py").touch()
    assert incomplete_kernels(tmp_path) == [
        "good_ladder_item.cl: no clalign/stages/**/good_ladder.py",
        "good_ladder_item.cl: no tests/stages/test_good_ladder.py",
        "lonely_lanes.cl: no clalign/reference/lonely.py",
        "lonely_lanes.cl: no tests/stages/test_lonely.py",
        "shapeless.cl: its shape is none of item, lanes, vector, simd4",
    ]

"""Every kernel compiles for AMD cards, in its default form and in the variants that are named beside.

Nothing is run: this is the check for cards that are not at hand. For the default form the compiler's
own figures are held too: no register spills, and no more scratch memory than stated here. Other variants
get code for one card, and pass the compiler's front end for all. The branches for other vendors, whose
compilers are not at hand, pass the front end.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from clalign.compute.opencl.kernels import assemble, options
from tests.shape.kernel_variants import VARIANTS

ROOT = Path(__file__).resolve().parents[2]
CARDS = ("gfx906", "gfx1030", "gfx90a")
"""The last one has waves of 64 work-items as the first has, the other of 32."""
DEVICE_LIBRARIES = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"

SCRATCH_BYTES: Mapping[str, int] = {"sampling_simd4": 160}
"""Scratch memory a work-item that the default form of a kernel may take; 0 unless stated here. (The ratios of the 32
letters of a sampled segment are looked up by letter.)"""

QUICK = ("bias_filter_item", "sampling_simd4", "smith_waterman_lanes")
"""Kernels whose code a plain run compiles, too: one of each shape."""

NO_CODE = "-fsyntax-only"
"""Effort of the compiler that only looks at the text."""

NVIDIA = ["-target", "nvptx64-nvidia-nvcl", "-Dasm=__asm__", "-DCOMPUTE_CAPABILITY=90", "-DLANE_BACKEND=1"]
INTEL = ["-target", "spir64", "-DLANE_BACKEND=2", "-DLANES=16", "-cl-no-stdinc", "-Xclang", "-finclude-default-header"]
"""Only the full header, not clang's own table of functions, has Intel's extensions."""

MASKED = ["-target", "x86_64-linux-gnu", "-march=skylake-avx512", "-Xclang", "-finclude-default-header"]
"""A processor with registers of masks."""


def named_forms() -> dict[str, list[dict[str, object]]]:
    """Return of every kernel its default form first, then its variants."""
    kernels = sorted(path.stem for path in (ROOT / "kernels_cl").glob("*.cl"))
    assert set(VARIANTS) <= set(kernels), "VARIANTS names a kernel that is not there"
    return {kernel: [{}, *VARIANTS.get(kernel, ())] for kernel in kernels}


def variants() -> Iterator[Any]:
    """Yield every form of every kernel with each card and the effort of its compiler.

    A plain run has the front end's look at the default form for one card, and code of a few kernels. What adds least is
    for an exhaustive run: the front end's look for further cards, code for a second card with waves of the same size,
    and code of forms with other values of macros that an earlier form has had, at which the front end looks before.
    """
    for kernel, forms in named_forms().items():
        macros = set[str]()
        for defines in forms:
            is_repeated = not defines.keys() - macros
            macros |= defines.keys()
            for card, effort in zip(CARDS, efforts(kernel, defines), strict=False):
                is_default = not defines and card == CARDS[0]
                is_plain = is_default and (effort == NO_CODE or kernel in QUICK)
                is_more = (
                    (effort == NO_CODE and card != CARDS[0]) or card == CARDS[2] or (effort == "-O1" and is_repeated)
                )
                level = "exhaustive" if is_more else "thorough"
                marks = () if is_plain else getattr(pytest.mark, level)
                yield pytest.param(kernel, defines, card, effort, marks=marks)
                if is_default and not is_plain:
                    yield pytest.param(kernel, defines, card, NO_CODE)
                elif is_more and card == CARDS[0]:
                    yield pytest.param(kernel, defines, card, NO_CODE, marks=pytest.mark.thorough)


def is_for_cpus(kernel: str, defines: Mapping[str, object]) -> bool:
    return kernel.endswith("_vector") or (kernel.endswith("_simd4") and "LANE_BACKEND" not in defines)


def efforts(kernel: str, defines: Mapping[str, object]) -> tuple[str, ...]:
    """Return how a form is compiled for each of the cards: forms for CPUs are never run on one."""
    if is_for_cpus(kernel, defines):
        return (NO_CODE,)
    if not defines or (kernel.endswith("_simd4") and defines["LANE_BACKEND"] == 3):
        return ("-O3",) * len(CARDS)
    return ("-O1", *[NO_CODE] * (len(CARDS) - 1))


def amd_options(card: str) -> list[str]:
    return ["-target", "amdgcn-amd-amdhsa", f"-mcpu={card}", f"--rocm-device-lib-path={DEVICE_LIBRARIES}"]


def compile_text(compiler: str, target: list[str], text: str, defines: Mapping[str, object], effort: str) -> str:
    """Return the assembly of a kernel, if code is asked for; raise CalledProcessError if the compiler refuses it."""
    command = [compiler, "-x", "cl", "-cl-std=CL1.2", "-w", *target, *options(defines), effort]
    command += ["-"] if effort == NO_CODE else ["-S", "-", "-o", "-"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def figures(assembly: str, name: str) -> list[int]:
    """Return a figure of the metadata, once for each kernel of a file."""
    return [int(value) for value in re.findall(rf"^\s+\.{name}:\s+(\d+)$", assembly, re.MULTILINE)]


def label(value: object) -> str | None:
    if isinstance(value, dict):
        return "-".join(f"{name}={choice}" for name, choice in value.items()) or "default"
    return None


@pytest.mark.parametrize(("kernel", "defines", "card", "effort"), [*variants()], ids=label)
def test_kernel_compiles(kernel: str, defines: dict[str, object], card: str, effort: str, amd_compiler: str):
    try:
        assembly = compile_text(amd_compiler, amd_options(card), assemble(kernel), defines, effort)
    except subprocess.CalledProcessError as refusal:
        pytest.fail(refusal.stderr)
    if effort == NO_CODE:
        return
    scratch = figures(assembly, "private_segment_fixed_size")
    spills = figures(assembly, "vgpr_spill_count")
    assert len(scratch) == len(spills) > 0
    if effort == "-O3":
        assert max(scratch) <= SCRATCH_BYTES.get(kernel, 0)
        assert max(spills) == 0


@pytest.mark.thorough(target=[NVIDIA])
@pytest.mark.parametrize("target", [NVIDIA, INTEL], ids=["nvidia", "intel"])
@pytest.mark.parametrize(
    "kernel", [kernel for kernel in named_forms() if kernel.endswith(("_lanes", "_item", "_simd4"))]
)
def test_branches_of_other_vendors_compile(kernel: str, target: list[str], amd_compiler: str):
    try:
        compile_text(amd_compiler, target, assemble(kernel), {}, NO_CODE)
    except subprocess.CalledProcessError as refusal:
        pytest.fail(refusal.stderr)


@pytest.mark.parametrize(("more", "is_used"), [([], True), (["-U__has_builtin"], False)], ids=["known", "unknown"])
def test_masks_are_used_where_the_compiler_says_it_has_them(more: list[str], is_used: bool, amd_compiler: str):
    text = assemble("smith_waterman_vector")
    assembly = compile_text(amd_compiler, [*MASKED, *more], text, {"MASKS": 1}, "-O1")
    assert bool(re.search(r"#APP\s+vpcmpgtb\s.*zmm.*%k", assembly)) == is_used


@pytest.mark.parametrize("target", [amd_options("gfx1030"), NVIDIA, INTEL], ids=["amd", "nvidia", "intel"])
def test_planted_error_is_refused(target: list[str], amd_compiler: str):
    text = "__kernel void f(__global int *x) { x[0] = no_such_function(1); }"
    with pytest.raises(subprocess.CalledProcessError, match="non-zero"):
        compile_text(amd_compiler, target, text, {}, NO_CODE)


def test_planted_scratch_memory_is_seen(amd_compiler: str):
    text = """__kernel void f(__global int *x) {
        int a[300];
        for (int i = 0; i < 300; i++) a[i] = x[i];
        x[0] = a[x[1]];
    }"""
    assembly = compile_text(amd_compiler, amd_options("gfx1030"), text, {}, "-O3")
    assert max(figures(assembly, "private_segment_fixed_size")) >= 1200

"""Every kernel compiles for AMD cards, in its default form and in the variants its stage names.

Nothing is run: this is the check for cards that are not at hand. For the default form the compiler's
own figures are held too: no register spills, and no more scratch memory than stated here.
"""

import importlib
import os
import pkgutil
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import clalign.stages
from clalign.compute.opencl.kernels import assemble, options

ROOT = Path(__file__).resolve().parents[2]
CARDS = ("gfx906", "gfx90a", "gfx1030")
DEVICE_LIBRARIES = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"

SCRATCH_BYTES: Mapping[str, int] = {"sampling_simd4": 160}
"""Scratch memory a work-item that the default form of a kernel may take; 0 unless stated here. (The ratios of the 32
letters of a sampled segment are looked up by letter.)"""

ENVIRONMENT = dict(os.environ)
"""Of the compilers: other tests change that of this process while threads start them."""

CPU_SHAPE = "_vector"
"""Kernels of this shape are made for CPUs: they must compile for a card, but nobody looks at their figures there."""


def variants() -> list[tuple[str, dict[str, object], str]]:
    """Return every kernel with its default form first, then with the choices that its stage names, for each card."""
    named: dict[str, tuple[dict[str, object], ...]] = {}
    for module in pkgutil.walk_packages(clalign.stages.__path__, "clalign.stages."):
        named |= getattr(importlib.import_module(module.name), "VARIANTS", {})
    kernels = sorted(path.stem for path in (ROOT / "kernels_cl").glob("*.cl"))
    assert set(named) <= set(kernels), "VARIANTS names a kernel that is not there"
    forms = {kernel: [{}, *(defines for defines in named.get(kernel, ()) if defines)] for kernel in kernels}
    return [(kernel, defines, card) for kernel in kernels for defines in forms[kernel] for card in cards_for(kernel)]


def is_for_cpus(kernel: str) -> bool:
    return kernel.endswith(CPU_SHAPE)


def cards_for(kernel: str) -> tuple[str, ...]:
    """Return the cards that a kernel is compiled for; where nobody looks at figures, one says as much as three."""
    return CARDS[:1] if is_for_cpus(kernel) else CARDS


def compile_for(
    compiler: str, card: str, text: str, defines: Mapping[str, object], folder: Path, effort: str = "-O3"
) -> str:
    """Return the assembly of a kernel; raise CalledProcessError if the compiler refuses it."""
    source, target = folder / "kernel.cl", folder / "kernel.s"
    source.write_text(text, "utf-8")
    command = [compiler, "-x", "cl", "-cl-std=CL1.2", effort, "-target", "amdgcn-amd-amdhsa", f"-mcpu={card}"]
    command += [f"--rocm-device-lib-path={DEVICE_LIBRARIES}", *options(defines), "-S", str(source), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    return target.read_text("utf-8")


def figures(assembly: str, name: str) -> list[int]:
    """Return a figure of the metadata, once for each kernel of a file."""
    return [int(value) for value in re.findall(rf"^\s+\.{name}:\s+(\d+)$", assembly, re.MULTILINE)]


def label(value: object) -> str | None:
    if isinstance(value, dict):
        return "-".join(f"{name}={choice}" for name, choice in value.items()) or "default"
    return None


@pytest.fixture(scope="module")
def builds(
    request: pytest.FixtureRequest, amd_compiler: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[str]]]:
    """The assembly that each of the chosen tests looks at; as many are made at a time as there are processors."""

    # Made here: pytest's factory of folders is not for several threads.
    folder = tmp_path_factory.mktemp("builds")

    def build(kernel: str, defines: dict[str, object], card: str) -> str:
        effort = "-O1" if is_for_cpus(kernel) else "-O3"
        own = Path(tempfile.mkdtemp(dir=folder))
        return compile_for(amd_compiler, card, assemble(kernel), defines, own, effort)

    chosen = [item for item in request.session.items if getattr(item, "function", None) is test_kernel_compiles]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {item.nodeid: pool.submit(build, **item.callspec.params) for item in chosen}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(("kernel", "defines", "card"), variants(), ids=label)
def test_kernel_compiles(
    kernel: str, defines: dict[str, object], card: str, builds: dict[str, Future[str]], request: pytest.FixtureRequest
):
    try:
        assembly = builds[request.node.nodeid].result()
    except subprocess.CalledProcessError as refusal:
        pytest.fail(refusal.stderr)
    scratch = figures(assembly, "private_segment_fixed_size")
    spills = figures(assembly, "vgpr_spill_count")
    assert len(scratch) == len(spills) > 0
    if not defines and not is_for_cpus(kernel):
        assert max(scratch) <= SCRATCH_BYTES.get(kernel, 0)
        assert max(spills) == 0


def test_planted_error_is_refused(amd_compiler: str, tmp_path: Path):
    text = "__kernel void f(__global int *x) { x[0] = no_such_function(1); }"
    with pytest.raises(subprocess.CalledProcessError, match="non-zero"):
        compile_for(amd_compiler, "gfx1030", text, {}, tmp_path)


def test_planted_scratch_memory_is_seen(amd_compiler: str, tmp_path: Path):
    text = """__kernel void f(__global int *x) {
        int a[300];
        for (int i = 0; i < 300; i++) a[i] = x[i];
        x[0] = a[x[1]];
    }"""
    assembly = compile_for(amd_compiler, "gfx1030", text, {}, tmp_path)
    assert max(figures(assembly, "private_segment_fixed_size")) >= 1200

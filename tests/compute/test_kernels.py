"""The loader: includes pasted with right line numbers, no path handed to a driver, clear build errors."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from clalign.compute.opencl import kernels
from clalign.compute.opencl.discover import driver_device, driver_devices
from clalign.compute.opencl.kernels import FLUSH, KEEPS_SUBNORMAL, assemble, build, options, sources_digest
from clalign.errors import KernelBuildError
from clalign.values.devices import Device


@pytest.fixture(scope="module")
def context() -> cl.Context:
    devices = [handle for _, handle in driver_devices()]
    if not devices:
        pytest.fail("this test needs an OpenCL device; the CPU driver is part of the installation")
    return cl.Context(devices[:1])


def test_includes_are_pasted_once_and_lines_stay_right() -> None:
    text = assemble("viterbi_trace_vector")
    assert not re.search(r"^\s*#include", text, re.MULTILINE)
    assert text.count("plan7_specials_t plan7_specials_at_start(") == 1
    source = files("clalign.kernels_cl").joinpath("viterbi_trace_vector.cl").read_text("utf-8").splitlines()
    number, place = 0, ""
    for line in text.splitlines():
        jump = re.match(r'#line (\d+) "(.+)"', line)
        if jump:
            number, place = int(jump[1]) - 1, jump[2]
            continue
        number += 1
        if place == "viterbi_trace_vector.cl" and line.strip():
            assert source[number - 1] == line


def test_no_path_reaches_the_driver(context: cl.Context) -> None:
    """A folder with a space in its name, handed over as an include path, fails on some drivers."""
    program = build(context, "device", "viterbi_trace_item", {"SABOTAGE": 0})
    given = program.get_build_info(context.devices[0], cl.program_build_info.OPTIONS)
    assert "-DSABOTAGE=0" in given
    assert "-I" not in given.split()
    assert "/" not in given


def test_choices_come_in_a_fixed_order() -> None:
    assert options({"B": 2, "A": 1}) == options({"A": 1, "B": 2}) == ["-DA=1", "-DB=2", FLUSH]


def test_subnormal_numbers_are_kept_where_a_macro_says_so() -> None:
    assert options({KEEPS_SUBNORMAL: 1}) == [f"-D{KEEPS_SUBNORMAL}=1"]


def test_a_build_error_names_file_line_and_choices(
    context: cl.Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_fault = tmp_path / "kernels"
    shutil.copytree(str(files("clalign.kernels_cl")), with_fault)
    header = with_fault / "common" / "plan7.h"
    header.write_text(header.read_text() + "\nint broken( { }\n")
    n_lines = header.read_text().count("\n")
    monkeypatch.setattr(kernels, "files", lambda package: with_fault)
    monkeypatch.setattr(kernels, "assemble", assemble.__wrapped__)
    monkeypatch.setattr(kernels, "_header", kernels._header.__wrapped__)
    with pytest.raises(KernelBuildError) as found:
        build(context, "device", "viterbi_trace_item", {"SABOTAGE": 0})
    assert found.value.defines == {"SABOTAGE": 0}
    assert "viterbi_trace_item.cl" in str(found.value)
    assert found.value.log.strip()
    if "Portable Computing Language" in context.devices[0].platform.name:
        # Other drivers word their logs in their own way; this one, which every test machine has, obeys #line.
        assert f"common/plan7.h:{n_lines}" in str(found.value)


def test_a_compiler_has_nothing_to_remark(cpu_device: Device) -> None:
    """PoCL writes the number of its warnings where the user's own program writes its errors."""
    context = cl.Context([driver_device(cpu_device)])
    program = build(context, cpu_device.name, "viterbi_trace_vector", {"LANES": 8, "VECTORS": 1}, more=["-DNOT_KEPT"])
    assert program.get_build_info(context.devices[0], cl.program_build_info.LOG).strip() == ""


def test_digest_follows_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "kernels"
    shutil.copytree(str(files("clalign.kernels_cl")), copy)
    monkeypatch.setattr(kernels, "files", lambda package: copy)
    before: Any = sources_digest()
    header = copy / "common" / "plan7.h"
    header.write_text(header.read_text() + " ")
    assert sources_digest() != before

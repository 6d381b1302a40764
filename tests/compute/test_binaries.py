"""Compiled kernels are kept between runs; a damaged file, another source or another choice is compiled anew."""

from __future__ import annotations

from pathlib import Path

import pyopencl as cl
import pytest

from clalign.compute.opencl import binaries
from clalign.compute.opencl.discover import driver_devices
from clalign.compute.opencl.kernels import build
from clalign.databases import cache
from clalign.databases.cache import clear_cache, kernel_folder


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cl.Context:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    handle = next(iter(driver_devices()))[1]
    return cl.Context([handle])


def kept() -> list[Path]:
    return sorted(kernel_folder().glob("*"))


def is_compiled(program: cl.Program) -> bool:
    """A program made of a binary has no source."""
    return bool(program.get_info(cl.program_info.SOURCE))


def test_second_build_takes_the_binary(context: cl.Context) -> None:
    first = build(context, "device", "filters_item", {})
    assert is_compiled(first)
    assert len(kept()) == 1
    second = build(context, "device", "filters_item", {})
    assert not is_compiled(second)
    assert cl.Kernel(second, "after_msv").num_args == cl.Kernel(first, "after_msv").num_args


def test_other_choices_are_compiled(context: cl.Context) -> None:
    build(context, "device", "msv_vector", {"VECTORS": 2})
    assert is_compiled(build(context, "device", "msv_vector", {"VECTORS": 3}))
    assert len(kept()) == 2


def test_what_was_built_for_another_processor_is_not_taken(
    context: cl.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(context, "device", "filters_item", {})
    binaries._facts_of.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(binaries, "named", lambda device, version: f"{version}-another")
        assert is_compiled(build(context, "device", "filters_item", {}))
    binaries._facts_of.cache_clear()
    assert len(kept()) == 2


@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda data: b"x" * len(data), lambda data: b""])
def test_damaged_file_is_not_given_to_the_driver(context: cl.Context, damage: object) -> None:
    build(context, "device", "filters_item", {})
    (file,) = kept()
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    assert is_compiled(build(context, "device", "filters_item", {}))
    assert not is_compiled(build(context, "device", "filters_item", {}))


def test_oldest_go_first(context: cl.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_KERNELS", 3)
    for vectors in range(1, 5):
        build(context, "device", "msv_vector", {"VECTORS": vectors})
    assert len(kept()) == 2 + 1


def test_clearing_the_cache_removes_them(context: cl.Context) -> None:
    build(context, "device", "filters_item", {})
    assert clear_cache() > 0
    assert kept() == []


def test_folder_that_cannot_be_written(context: cl.Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "file"))
    assert is_compiled(build(context, "device", "filters_item", {}))

"""Bounds of the cores and of the memory of cards, which hold for every process that a command starts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clalign.cli import main, starting
from clalign.compute.opencl import discover
from clalign.compute.sessions import MAX_BUILDERS
from clalign.errors import ExitCode, OptionError
from clalign.execution.speed import n_compilers
from clalign.system.bounds import CORES_VARIABLES, DRIVERS_VARIABLES, MEMORY_VARIABLE, bounded, card_bytes, n_cores
from clalign.system.processes import own_command

N_CORES = 8


@pytest.fixture(autouse=True)
def without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*CORES_VARIABLES, *DRIVERS_VARIABLES, MEMORY_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(N_CORES)), raising=False)


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("words", "hmmer", "slurm", "expected"),
    [
        ([], "", "", N_CORES),
        (["--cpu", "3"], "", "", 3),
        (["--cpu=3", "a.hmm"], "2", "4", 3),
        (["--cpu", "0"], "", "", 1),
        (["--cpu", "99"], "", "", N_CORES),
        (["--cpu", "many"], "", "", N_CORES),
        (["--cpu"], "", "", N_CORES),
        ([], "2", "4", 2),
        ([], "two", "4", 4),
    ],
)
def test_cores_are_those_of_the_option_or_of_the_first_variable(
    words: list[str], hmmer: str, slurm: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip(CORES_VARIABLES, (hmmer, slurm), strict=True):
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with bounded(["hmmsearch", *words]):
        assert n_cores() == expected
        assert n_compilers("gpu", 99) == min(expected, MAX_BUILDERS)
    assert dict(os.environ) == before


def devices_listed() -> list[dict[str, Any]]:
    """Return the devices that a child lists."""
    done = subprocess.run(own_command("probe", "list"), capture_output=True, text=True, timeout=300, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return [one for one in found if one["kind"] == "cpu" and "Portable" in one["platform"]]


def test_a_processor_computes_with_as_many_threads() -> None:
    usual = devices_listed()
    with bounded(["hmmsearch", "--cpu", "1"]):
        assert [one["n_compute_units"] for one in devices_listed()] == [1 for _ in usual]


def test_the_worker_of_a_command_knows_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str | None, ...]] = []

    def note(command: list[str]) -> Any:
        seen.append((os.environ.get(CORES_VARIABLES[0]), os.environ.get(MEMORY_VARIABLE)))
        raise OSError

    monkeypatch.setattr(starting, "started", note)
    assert main(["hmmsearch", "--cpu", "1", "--gpu-memory", "0.25", "-o"]) == ExitCode.USAGE
    assert seen == [("1", "0.25")]
    assert (os.environ.get(CORES_VARIABLES[0]), os.environ.get(MEMORY_VARIABLE)) == (None, None)


@pytest.mark.parametrize(("words", "expected"), [("0.25", 20), ("1", 80), ("8", 8), ("8e9", 80)])
def test_memory_is_a_share_or_bytes(words: str, expected: int) -> None:
    with bounded(["--gpu-memory", words]):
        assert card_bytes(80) == expected
    assert card_bytes(80) == 80


@pytest.mark.parametrize("words", ["0", "-1", "half", "nan", "inf", " "])
def test_other_words_are_no_bound_of_the_memory(words: str) -> None:
    with bounded(["--gpu-memory", words]), pytest.raises(OptionError) as caught:
        card_bytes(80)
    assert repr(words) in caught.value.message


@pytest.mark.parametrize("words", ["0", "-1", "half"])
def test_the_option_takes_no_other_words(words: str, tmp_path: Path) -> None:
    given = ["--gpu-memory", words, str(tmp_path / "a.hmm"), str(tmp_path / "b.fa")]
    assert main(["hmmsearch", "--device", "reference", *given]) == ExitCode.INPUT


@pytest.mark.parametrize(("kind", "expected"), [("GPU", (200, 200)), ("CPU", (1000, 250))])
def test_a_card_has_no_more_memory_and_a_processor_all(kind: str, expected: tuple[int, int]) -> None:
    words = dict.fromkeys(("name", "vendor", "driver_version", "version", "extensions"), "1")
    limits = ("int_ptr", "max_compute_units", "max_clock_frequency", "local_mem_size", "max_work_group_size")
    memory = {"global_mem_size": 1000, "max_mem_alloc_size": 250}
    described = {**words, **dict.fromkeys(limits, 1), **memory, "platform": SimpleNamespace(name="", version="")}
    handle: Any = SimpleNamespace(type=getattr(discover.cl.device_type, kind), **described)
    with bounded(["--gpu-memory", "0.2"]):
        device = discover.describe("0:0", handle)
        assert (device.memory_bytes, device.max_buffer_bytes) == expected

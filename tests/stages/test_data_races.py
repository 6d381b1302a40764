"""Kernels whose work-items meet hold on a device where these run in no step, and have no data races: on a simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SIMULATOR_DRIVER
from tests.stages.on_simulator import CASES, PLANTED, TOGETHER

UNOPTIMIZED = ("msv_lanes", "viterbi_trace_lanes", "relay_lfs", "relay_ulfs", "filters_of_several", "filters_cut")
"""What the simulator's compiler otherwise makes an instruction of that the simulator does not know; the last two change
choices of their stages.
"""

OPTIMIZED = ("long_pair_in_strips",)
"""What it does not take otherwise."""

ON_SIMULATOR = Path(__file__).with_name("on_simulator.py")


def groups() -> Iterator[Any]:
    """Yield the cases of each process: those that are built alike. A plain run leaves out what takes more seconds."""
    optimized = [case for case in CASES if case not in UNOPTIMIZED]
    families = "relay", "bitonic_sort", "viterbi", "smith_waterman"
    quick = [case for case in optimized if case.startswith(families) and not case.endswith("_again")]
    slow = [case for case in optimized if case not in quick]
    together = [case for case in TOGETHER if case not in OPTIMIZED]
    yield pytest.param(quick, {}, id="quick")
    for number in range(2):
        yield pytest.param(slow[number::2], {}, id=f"slow-{number}", marks=pytest.mark.thorough)
    plain = {"PYOPENCL_BUILD_OPTIONS": "-cl-opt-disable"}
    waiting = {"OCLGRIND_DATA_RACES": "", "OCLGRIND_NUM_THREADS": "8"}
    yield pytest.param([*UNOPTIMIZED], plain, id="unoptimized", marks=pytest.mark.thorough)
    yield pytest.param(together, plain | waiting, id="together", marks=pytest.mark.thorough)
    yield pytest.param([*OPTIMIZED], waiting, id="together-optimized", marks=pytest.mark.thorough)


def run_on_simulator(
    cases: list[str], folder: Path, script: Path = ON_SIMULATOR, **changes: str
) -> subprocess.CompletedProcess[str]:
    (folder / "simulator.icd").write_text(f"{SIMULATOR_DRIVER}\n", encoding="ascii")
    environment = {
        **os.environ, "OCL_ICD_VENDORS": str(folder), "OCLGRIND_DATA_RACES": "1", "PYOPENCL_BUILD_OPTIONS": "",
        "CLALIGN_CACHE_DIR": str(folder / "cache"), **changes,
    }  # fmt: skip
    command = [sys.executable, str(script), *cases]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize(("cases", "changes"), [*groups()])
def test_work_items_in_no_step(cases: list[str], changes: dict[str, str], tmp_path: Path) -> None:
    """Groups that wait for each other have a thread each; that they do so the simulator cannot know."""
    done = run_on_simulator(cases, tmp_path, **changes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{case} 0" for case in cases]
    for fault in ("data race", "divergence"):
        assert fault not in done.stderr


@pytest.mark.usefixtures("simulator")
def test_a_race_is_reported(tmp_path: Path) -> None:
    assert "data race" in run_on_simulator([PLANTED], tmp_path).stderr

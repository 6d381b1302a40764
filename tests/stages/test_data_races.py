"""Kernels whose work-items meet hold on a device where these run in no step, and have no data races: on a simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SIMULATOR_DRIVER
from tests.stages.on_simulator import CASES, PLANTED, TOGETHER

UNOPTIMIZED = {
    "msv_lanes",
    "filters_of_several",
    "filters_cut",
    "viterbi_trace_lanes",
    "relay_lfs",
    "relay_ulfs",
}
"""What the simulator's compiler otherwise makes an instruction of that the simulator does not know."""


OPTIMIZED = {"long_pair_in_strips"}
"""What it does not take otherwise."""

ON_SIMULATOR = Path(__file__).with_name("on_simulator.py")


def run_on_simulator(
    case: str, folder: Path, script: Path = ON_SIMULATOR, **changes: str
) -> subprocess.CompletedProcess[str]:
    (folder / "simulator.icd").write_text(f"{SIMULATOR_DRIVER}\n", encoding="ascii")
    options = "-cl-opt-disable" if case in {*UNOPTIMIZED, *TOGETHER} - OPTIMIZED else ""
    environment = {
        **os.environ, "OCL_ICD_VENDORS": str(folder), "OCLGRIND_DATA_RACES": "1", "PYOPENCL_BUILD_OPTIONS": options,
        "CLALIGN_CACHE_DIR": str(folder / "cache"), **changes,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, str(script), case], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("case", CASES)
def test_work_items_in_no_step(case: str, tmp_path: Path) -> None:
    done = run_on_simulator(case, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["differing:", "0"]
    for told in ("data race", "divergence"):
        assert told not in done.stderr


@pytest.mark.usefixtures("simulator")
def test_a_race_is_told_of(tmp_path: Path) -> None:
    assert "data race" in run_on_simulator(PLANTED, tmp_path).stderr


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("case", TOGETHER)
def test_groups_that_wait_for_each_other(case: str, tmp_path: Path) -> None:
    done = run_on_simulator(case, tmp_path, OCLGRIND_DATA_RACES="", OCLGRIND_NUM_THREADS="8")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["differing:", "0"]

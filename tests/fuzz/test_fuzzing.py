"""Some hundred damaged files through every reader; ``fuzzing.py`` runs any number of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.thorough(n_cases=[60])
@pytest.mark.parametrize("n_cases", [60, 200])
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of the children are those of Linux")
def test_damaged_files_are_read_or_refused(n_cases: int) -> None:
    program = Path(__file__).with_name("fuzzing.py")
    command = [sys.executable, str(program), "--seed", "20", "--cases", str(n_cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{n_cases} cases, 0 findings\n"

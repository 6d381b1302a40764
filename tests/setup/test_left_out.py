"""Which tests a plain run leaves out, and that it says so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

SOME_TESTS = """\
import pytest

def test_short():
    pass

@pytest.mark.thorough
@pytest.mark.parametrize("number", range(3))
def test_long(number):
    pass

@pytest.mark.thorough(number=(1, 2), letter="a")
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("letter", "ab")
def test_sweep(number, letter):
    pass

@pytest.mark.thorough(number=[0])
@pytest.mark.exhaustive(number=[0, 1])
@pytest.mark.parametrize("number", range(5))
def test_seeds(number):
    pass

def test_real_files(data_folder):
    pass
"""


@pytest.mark.parametrize(
    ("words", "data", "passed", "messages"),
    [
        (("-n", "2"), "", 4, ["11 thorough tests", "1 acceptance tests"]),
        (("--thorough",), "here", 13, ["3 exhaustive tests"]),
        (("--exhaustive",), "here", 16, []),
        (("test_some.py::test_long",), "", 3, []),
    ],
)
def test_what_is_left_out_is_reported(
    tmp_path: Path, words: tuple[str, ...], data: str, passed: int, messages: list[str]
) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(SOME_TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  thorough\n  exhaustive\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:pytestqt", "-p", "no:hypothesispytest", *words]
    done = subprocess.run(
        command, cwd=tmp_path, env={**environment, "CLALIGN_DATA": data}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f" {passed} passed" in done.stdout
    assert re.findall(r"^\d+ \w+ tests(?= left out)", done.stdout, re.MULTILINE) == messages
    assert "skipped" not in done.stdout

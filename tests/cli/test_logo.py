"""``clalign logo`` from end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.cli.logo import node_range, profile_named
from clalign.databases.examples import load_examples
from clalign.errors import InputError, OptionError

pytestmark = pytest.mark.usefixtures("worker_here")

EXAMPLES = {example.id: str(example.profiles) for example in load_examples()}
HEADS = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}


@pytest.mark.parametrize("ending", HEADS)
def test_writes_a_picture_without_a_display(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"logo{ending}"
    words = ["logo", "--heights", "score", "--nodes", "3-60", EXAMPLES["globins4"], "-o", str(path)]
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run([sys.executable, "-m", "clalign", *words], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert path.read_bytes().startswith(HEADS[ending])


def test_an_svg_holds_title_and_numbers(qapp: Any, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.svg", tmp_path / "part.svg"
    assert main(["logo", EXAMPLES["rrm_1"], "-o", str(whole)]) == 0
    assert main(["logo", "--no-indel", "--nodes", "1-10", EXAMPLES["rrm_1"], "-o", str(part)]) == 0
    assert "RRM_1" in whole.read_text()
    assert "Occupancy" in whole.read_text()
    assert "Occupancy" not in part.read_text()
    assert whole.read_text().count("<path") > 3 * part.read_text().count("<path")


def test_profiles_by_name_and_accession() -> None:
    path = EXAMPLES["rrm_1"]
    assert profile_named(path, None).name == profile_named(path, "PF00076").name == "RRM_1"
    with pytest.raises(InputError):
        profile_named(path, "rrm_1")
    assert node_range("2-5", 9) == range(1, 5)
    with pytest.raises(OptionError):
        node_range("2-10", 9)

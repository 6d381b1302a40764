"""``clalign tune`` from end to end: trials, what is kept, going back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.compute.opencl.tunings import read_tunings
from clalign.errors import ExitCode
from clalign.tools import tuners
from clalign.values.devices import Device

pytestmark = pytest.mark.usefixtures("worker_here")


@pytest.mark.thorough
def test_choices_are_found_and_forgotten(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if device.kind != "cpu":
        pytest.skip("on a GPU the trials are many, and the reference has none")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path))
    for name, few in (("MIN_SEQUENCES", 4), ("TRIAL_SECONDS", 1e-5), ("RUNS", 1)):
        monkeypatch.setattr(tuners, name, few)  # which choice is the best is not asked here
    assert main(["tune", "-q", "--device", device.id]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("lanes per vector")
    assert f"Kept for {device.name}:" in lines
    kept = read_tunings()
    assert len(kept) == 1
    assert main(["tune", "-q", "--device", device.id, "--reset", "--json"]) == ExitCode.DONE
    messages = json.loads(capsys.readouterr().out)
    assert (messages["device"], messages["rows"]) == (device.name, [])
    assert read_tunings() == {}
    assert main(["tune", "-q", "--device", device.id, "--reset"]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith(device.name)

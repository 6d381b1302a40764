"""Commands that tell about devices, the installation, the cache and stored runs."""

from __future__ import annotations

import builtins
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import doctor, gui, main
from clalign.cli.devices import facts, table
from clalign.cli.progress import Bar, JsonLines, PlainLines, duration, progress_display, sentence
from clalign.common.amounts import size_text
from clalign.compute.opencl.discover import discover_devices
from clalign.databases.cache_root import cache_root
from clalign.errors import ExitCode
from clalign.jobs import Event
from clalign.jobs.course import Course
from clalign.runs.run_file import open_run
from clalign.system.processes import own_command
from clalign.values.devices import REFERENCE, Device

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
CARD = Device(id="0:0", name="Card X", kind="gpu", health="needs linker", problem="Install one.", memory_bytes=2**30)


@pytest.fixture
def kept_run(tmp_path: Path, worker_here: None) -> Path:
    run = tmp_path / "x.clalign"
    inputs = [str(GOLDEN / "profiles" / "katdna_ls.hmm"), str(GOLDEN / "sequences" / "kat.fa")]
    flags = ["-q", "--device", "reference", "-o", str(tmp_path / "x.txt"), "--run", str(run)]
    assert main(["hmmsearch", *flags, *inputs]) == 0
    return run


@pytest.mark.usefixtures("worker_here")
def test_devices_as_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert "Reference (NumPy)" in capsys.readouterr().out
    assert main(["devices", "-v"]) == 0
    assert "Compute units" in capsys.readouterr().out
    assert main(["devices", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1
    assert [Device.from_dict(device).id for device in data["devices"]][-1] == "reference"


def test_a_sick_device_says_why() -> None:
    lines = table([CARD, REFERENCE])
    assert "Install one." in lines[1]
    assert len(table([REFERENCE])) > 2, "that there is no device"
    assert " 1.1 GB " in lines[1]
    assert any("1.1 GB" in line for line in facts(CARD))


def test_verify_agrees_and_notices_a_changed_score(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(kept_run)]) == 0
    capsys.readouterr()
    with open_run(kept_run, writable=True) as run, run.connection:
        run.connection.execute(
            "UPDATE hits SET score = score + 0.001 WHERE row = (SELECT row FROM targets WHERE name = 's3')"
        )
    assert main(["verify", "--sample", "100", str(kept_run)]) == ExitCode.DIFFERENT
    messages = capsys.readouterr().out
    assert "2 differences" in messages
    assert "s3" in messages


@pytest.mark.thorough
def test_selftest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--device", "cpu"]) == 0
    assert "equal" in capsys.readouterr().out
    assert main(["selftest", "--device", "no such card"]) == ExitCode.NO_DEVICE


def cache_size() -> int:
    return sum(path.stat().st_size for path in cache_root().rglob("*") if path.is_file())


def test_cache_is_shown_and_cleared(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size, before, messages = cache_size(), -1, ""
    while size != before:  # a process of an earlier test may still be keeping what it compiled
        assert main(["cache"]) == 0
        messages = capsys.readouterr().out
        size, before = cache_size(), size
    names = re.findall(r" \d{4}-\d\d-\d\d  (.*)", messages)
    assert names, "the sequences of the run at least, perhaps by another file that has the same"
    assert f"Size:   {size_text(size)} of" in messages
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.startswith("Freed ")
    assert main(["cache"]) == 0
    assert not re.search(r" \d{4}-\d\d-\d\d  ", capsys.readouterr().out)


def test_doctor_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    code = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["variables"]["CUDA_VISIBLE_DEVICES"] == "7"
    assert report["versions"]["numpy"]
    kinds = {device["kind"] for device in report["devices"] if device["health"] == "ready"}
    assert code == (ExitCode.DONE if kinds - {"reference"} else ExitCode.NO_DEVICE)


def test_doctor_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "_devices", lambda: ([CARD.to_dict(), REFERENCE.to_dict()], ""))
    monkeypatch.setattr(doctor, "_window", lambda: "libGL.so.1 is missing")
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert main(["doctor"]) == ExitCode.NO_DEVICE
    messages = capsys.readouterr().out
    assert re.search(r"Card X \(0:0\) .*\n    Install one\.", messages)
    assert "apt-get install -y libegl1" in messages


def test_doctor_knows_every_package_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = {
        re.match(r"[\w-]+", line)[0]
        for line in (*project["dependencies"], *(line for name in extras if name != "dev" for line in extras[name]))
    }
    assert set(extras) == {"cluster", "parquet", "intel-cpu", "dev"}, "a new extra is told of by the doctor, too"
    assert named == {*doctor.PACKAGES, *doctor.OPTIONAL}


def test_doctor_tells_what_a_missing_package_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        if name in ("dask", "filelock"):
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "_devices", lambda: ([REFERENCE.to_dict()], ""))
    monkeypatch.setattr(doctor, "_window", lambda: "")
    main(["doctor"])
    messages = capsys.readouterr().out
    assert re.search(r"dask +not installed \(several machines: extra cluster\)\n", messages)
    assert "\n    pip install filelock\n" in messages, "only what is needed is missing"


def test_gui_without_display(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(["gui"]) == ExitCode.INPUT
    assert "DISPLAY" in capsys.readouterr().err


DEAD_DISPLAYS = [
    {"DISPLAY": ":64711"},
    {"QT_QPA_PLATFORM": "wayland", "WAYLAND_DISPLAY": "wayland-711"},
    {"QT_QPA_PLATFORM": "none-such"},
]


def on_display(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.thorough(variables=DEAD_DISPLAYS[:1])
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a display of their own")
@pytest.mark.parametrize("variables", DEAD_DISPLAYS)
def test_a_display_that_does_not_answer_is_reported(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    on_display(monkeypatch, variables)
    done = subprocess.run([*own_command("gui")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (ExitCode.INPUT, "")
    assert "\nclalign: " in f"\n{done.stderr}"  # libraries of displays may write before
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a display of their own")
@pytest.mark.parametrize(
    ("variables", "answers"), [(DEAD_DISPLAYS[0], False), ({"QT_QPA_PLATFORM": "offscreen"}, True)]
)
def test_doctor_connects_to_the_display(
    variables: dict[str, str], answers: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_display(monkeypatch, variables)
    monkeypatch.setattr(doctor, "_devices", lambda: ([REFERENCE.to_dict()], ""))
    monkeypatch.setattr(doctor, "_window", lambda: "")
    main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["display"] is answers
    assert any("display" in finding["text"] for finding in report["findings"]) is not answers


def test_doctor_tells_that_python_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "python").write_text("")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert main(["doctor", "--json"]) == ExitCode.NO_DEVICE
    report = json.loads(capsys.readouterr().out)
    assert report["window"]
    assert report["devices"] == []
    assert str(tmp_path / "python") in report["findings"][0]["text"]


@pytest.mark.parametrize("command", ["devices", "sw"])
def test_a_worker_that_the_system_does_not_start_is_reported(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.fa"
    path.write_text(">a\nMKVLAARTEW\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert main([command, *([str(path)] * 2 if command == "sw" else [])]) == ExitCode.ENGINE
    messages = capsys.readouterr().err
    assert messages.startswith("clalign: ")
    assert "Traceback" not in messages


@pytest.mark.parametrize("executable", [None, ""])
def test_discovery_without_a_python_lists_the_reference(
    executable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    messages: list[str] = []
    assert [device.id for device in discover_devices(True, messages.append)] == ["reference"]
    assert messages[0]


def test_gui_without_system_libraries(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = builtins.__import__

    def without_qt(name: str, *more: Any) -> Any:
        if name == "clalign.ui.shell.app":
            raise ImportError("libGL.so.1: cannot open shared object file: No such file or directory", name="QtGui")
        return real(name, *more)

    monkeypatch.setattr(gui, "has_display", lambda: True)
    monkeypatch.setattr(builtins, "__import__", without_qt)
    assert main(["gui"]) == ExitCode.INPUT
    messages = capsys.readouterr().err
    assert "libGL.so.1" in messages
    assert "apt-get install -y libegl1 libgl1" in messages


def progress(done: float) -> Event:
    return Event("progress", {"stage": "search", "done": done, "total": 1e9, "unit": "cells"})


def test_progress_in_words() -> None:
    course = Course()
    for second in range(11):
        course.take(progress(second * 5e7).value, float(second))
    assert sentence(course) == "Searching: 50 %, 0.0500 GCUPS, about 10 s left"
    reading = Course()
    reading.take({"stage": "read", "done": 1234567, "total": None, "unit": "bytes"}, 0.0)
    assert sentence(reading) == "Reading"
    assert [duration(s) for s in (0.02, 0.34, 9.97, 59, 200, 7500)] == [
        "0.1 s", "0.3 s", "10 s", "59 s", "3 min 20 s", "2 h 5 min",
    ]  # fmt: skip


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the displays of progress (s)."""
    time = [0.0]
    monkeypatch.setattr("clalign.cli.progress.time.monotonic", lambda: time[0])
    return time


def test_bar_wipes_itself(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar()
    for second in range(11):
        now[0] = float(second)
        bar.show(progress(second * 5e7))
    bar.message("Something to know.")
    bar.close()
    text = capsys.readouterr().err
    assert "[===============               ] Searching: 50 %, 0.0500 GCUPS" in text
    assert text.endswith("\rclalign: Something to know.\n")


def test_plain_lines_come_every_ten_seconds(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines()
    for second in range(31):
        now[0] = float(second)
        lines.show(progress(second * 2e7))
    messages = capsys.readouterr().err.splitlines()
    left = [int(line.rpartition("about ")[2].removesuffix(" s left")) for line in messages]
    assert [abs(seconds - expected) <= 1 for seconds, expected in zip(left, (40, 30, 20), strict=True)] == [True] * 3
    assert [line.partition(",")[0] for line in messages] == [f"Searching: {share} %" for share in (20, 40, 60)]


def test_displays(capsys: pytest.CaptureFixture[str]) -> None:
    progress_display("none").show(progress(1.0))
    progress_display("quiet").show(Event("warning", {"text": "No composition."}))
    assert capsys.readouterr().err == ""
    progress_display("none").show(Event("warning", {"text": "No composition."}))
    assert capsys.readouterr().err == "clalign: No composition.\n"
    display = progress_display("json")
    assert isinstance(display, JsonLines)
    display.message("Stopping.")
    assert json.loads(capsys.readouterr().err) == {"kind": "warning", "value": {"text": "Stopping."}}

"""Devices are found, judged in child processes, chosen by words, and bad drivers do no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clalign.compute.opencl import discover, register_intel_runtime, tunings
from clalign.compute.opencl.choice import all_devices, pick_device
from clalign.compute.opencl.discover import discover_devices, driver_device
from clalign.compute.opencl.discover import test_in_child as judge_in_child
from clalign.errors import DeviceNotFound, ExitCode
from clalign.formats.checksums import checked_json
from clalign.system import driver_marks
from clalign.values.devices import REFERENCE, Device, choose_device, choose_devices

CARD = Device("0:0", "Radeon", "gpu", vendor="AMD", platform="ROCm", bus="03:00.0", health="ready", gcups=90.0)
TWIN = replace(CARD, id="0:1", bus="04:00.0", gcups=80.0)
HOST = Device(
    "1:0", "Host 9000", "cpu", platform="Portable Computing Language", platform_version="OpenCL 3.0 PoCL 3.0-rc2",
    driver="3.0-rc2", health="ready", gcups=3.0,
)  # fmt: skip
BAD = Device("2:0", "Broken card", "gpu", health="self-test failed", problem="It gave other scores.")
EVERY = [HOST, CARD, TWIN, BAD, REFERENCE]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [("auto", CARD), ("gpu", CARD), ("cpu", HOST), ("reference", REFERENCE), ("0:1", TWIN), ("04:00", TWIN),
     ("pocl", HOST), ("HOST", HOST), ("host 9000", HOST), ("3.0-rc2", HOST), ("portable comp", HOST)],
)  # fmt: skip
def test_choice_by_words(wish: str, expected: Device) -> None:
    assert choose_device(wish, EVERY) == expected


@pytest.mark.parametrize(("wish", "named"), [("voodoo", "voodoo"), ("2:0", "Broken card"), ("radeon", "0:0.*0:1")])
def test_choice_that_cannot_be_made(wish: str, named: str) -> None:
    with pytest.raises(DeviceNotFound, match=named) as found:
        choose_device(wish, EVERY)
    assert found.value.exit_code == ExitCode.NO_DEVICE


SECOND_DRIVER = replace(CARD, id="3:0", platform="Rusticl", gcups=40.0)
SECOND_HOST = replace(HOST, id="4:0", gcups=2.0)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [("0:1,0:0", [TWIN, CARD]), ("gpus", [CARD, TWIN]), ("all", [CARD, TWIN, HOST]), ("gpus, cpu", [CARD, TWIN, HOST]),
     ("gpu,0:0,cpu,", [CARD, HOST]), ("reference,4:0", [REFERENCE, SECOND_HOST]), ("gpu", [CARD])],
)  # fmt: skip
def test_choice_of_several(wish: str, expected: list[Device]) -> None:
    """Each once, also where a second driver offers the same card or processor; the one for one job is the first."""
    usable = [one for one in [*EVERY, SECOND_DRIVER, SECOND_HOST] if one is not BAD]
    assert choose_devices(wish, usable) == (expected, [])
    assert choose_device(wish, usable) == expected[0]


def test_what_cannot_be_used_is_left_out_and_reported() -> None:
    found, (text,) = choose_devices("2:0,0:1", EVERY)
    assert found == [TWIN]
    assert text.startswith("Broken card (2:0) ")
    assert choose_devices("gpus", EVERY) == ([CARD, TWIN], [text])


@pytest.mark.parametrize(
    ("wish", "devices"),
    [("0:0,0:7", EVERY), ("2:0,2:0", EVERY), ("gpus", [HOST]), ("all", [BAD, REFERENCE]), ("radeon,cpu", EVERY),
     (",", EVERY)],
)  # fmt: skip
def test_choice_of_several_that_cannot_be_made(wish: str, devices: list[Device]) -> None:
    with pytest.raises(DeviceNotFound) as found:
        choose_devices(wish, devices)
    assert found.value.exit_code == ExitCode.NO_DEVICE


def test_without_opencl_the_reference_answers() -> None:
    assert choose_device("auto", [REFERENCE]) is REFERENCE
    with pytest.raises(DeviceNotFound):
        choose_device("gpu", [REFERENCE])
    assert choose_device("auto", [BAD, REFERENCE]) is REFERENCE


def test_this_machine() -> None:
    devices = all_devices()
    assert devices[-1] == REFERENCE
    assert len({device.id for device in devices}) == len(devices)
    assert pick_device("reference") is REFERENCE
    for device in devices[:-1]:
        assert device.health != "not tested"
        assert Device.from_dict(device.to_dict()) == device
        assert device.name in driver_device(device).name
        assert not device.name.startswith("pthread-"), "that is PoCL's word, not the processor's"


def test_a_device_is_the_same_however_much_memory_is_free() -> None:
    """PoCL tells what is free at the moment; other programs must not make another device of it."""
    busy = replace(HOST, memory_bytes=2**30, max_buffer_bytes=2**28)
    assert busy == HOST
    assert hash(busy) == hash(HOST)
    assert discover.device_key(busy) == discover.device_key(HOST)


def test_verdicts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = discover_devices()
    monkeypatch.setattr(discover, "test_in_child", lambda device: pytest.fail("tested again"))
    assert discover_devices() == before


def test_a_device_that_is_gone() -> None:
    with pytest.raises(DeviceNotFound, match=CARD.name):
        driver_device(replace(CARD, id="9:9"))


def child(monkeypatch: pytest.MonkeyPatch, *code: str) -> None:
    import sys

    monkeypatch.setattr(discover, "own_command", lambda *words: [sys.executable, "-c", *code])


def test_a_driver_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "import os; os.abort()")
    judged = judge_in_child(CARD)
    assert (judged.health, judged.is_usable) == ("not usable", False)
    assert "stopped during the self-test" in judged.problem


def test_a_driver_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "import time; time.sleep(60)")
    monkeypatch.setattr(discover, "TEST_SECONDS", 0.3)
    judged = judge_in_child(CARD)
    assert judged.health == "not usable"
    assert "did not answer" in judged.problem


def test_drivers_that_cannot_even_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "import os; os.abort()")
    texts: list[str] = []
    assert discover_devices(notify=texts.append) == [REFERENCE]
    assert "could not be listed" in " ".join(texts), "it is not that there are none"


def test_a_missing_linker_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pocl = replace(HOST, platform="Portable Computing Language", health="not tested")
    monkeypatch.setattr(discover, "_list_in_child", lambda: ([pocl], ""))
    monkeypatch.setattr(discover.shutil, "which", lambda name: None)
    judged = discover_devices(refresh=True)[0]
    assert judged.health == "needs linker"
    assert "gcc" in judged.problem


def test_a_wrong_score_switches_a_device_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from clalign.tools import device_probe as probe

    opencl = [device for device in all_devices() if device.kind != "reference" and device.is_usable]
    if not opencl:
        pytest.fail("this test needs an OpenCL device; the CPU driver is part of the installation")
    truth = probe.VITERBI.reference

    def lie(batch: Any, model: Any) -> Any:
        scores = truth(batch, model)
        return msgspec.structs.replace(scores, values=scores.values + 1)

    monkeypatch.setattr(type(probe.VITERBI), "reference", lambda self, batch, model: lie(batch, model))
    verdict = probe.quick_test(opencl[0].id)
    assert verdict["health"] == "self-test failed"
    assert "switched off" in verdict["problem"]


ANSWER = {"health": "ready", "problem": "", "gcups": 2.5}
WRONG_JSON = [None, True, 0, -1.5, "ready", [], ["ready"], {}, {"health": {}}, 10**400]


@pytest.mark.parametrize("printed", [*map(json.dumps, WRONG_JSON), "", "hello", "[" * 100_000])
def test_an_answer_that_is_none(monkeypatch: pytest.MonkeyPatch, printed: str) -> None:
    done = subprocess.CompletedProcess([], 0, printed, "")
    monkeypatch.setattr(discover, "ask", lambda *words, **more: done)
    judged = judge_in_child(CARD)
    assert (judged.health, judged.gcups) == ("not usable", 0.0)
    assert "stopped during the self-test" in judged.problem
    assert discover_devices() == [REFERENCE], "nor is it a list of devices"


def test_what_a_driver_prints_is_no_answer(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Before the answer, after it, and when the process ends: all that goes where nobody takes it for one."""
    from clalign.cli import main
    from clalign.tools import device_probe as probe

    def talkative(number: str) -> dict[str, Any]:
        os.write(1, b"warning: no license\n")
        return ANSWER

    monkeypatch.setattr(probe, "quick_test", talkative)
    kept = os.dup(1)
    try:
        assert main(["probe", "test", "0:0"]) == 0
        os.write(1, b"4 blocks still in use\n")
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    texts = capfd.readouterr()
    assert json.loads(texts.out) == ANSWER
    assert "no license" in texts.err
    assert "still in use" in texts.err


@pytest.mark.parametrize("place", ["all", "verdict", "health", "problem", "gcups"])
def test_a_wrong_file_of_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    """Whatever stands there in the place of a verdict, the device is tested again, and as it is."""
    monkeypatch.setattr(discover, "verdicts_path", lambda: tmp_path / "devices.json")
    monkeypatch.setattr(discover, "_list_in_child", lambda: ([CARD], ""))
    may_be = {"health": ["ready"], "problem": ["ready"], "gcups": [0]}.get(place, [])
    for wrong in [wrong for wrong in WRONG_JSON if wrong not in may_be or isinstance(wrong, bool)]:
        verdict = wrong if place == "verdict" else {**ANSWER, place: wrong}
        verdicts = wrong if place == "all" else {discover.device_key(CARD): verdict}
        discover.verdicts_path().write_text(json.dumps(verdicts))
        tested: list[Device] = []
        monkeypatch.setattr(discover, "test_in_child", lambda device, into=tested: into.append(device) or device)
        assert discover_devices() == [CARD, REFERENCE]
        assert tested == [CARD], wrong


def test_a_verdict_says_nothing_of_what_a_device_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(discover, "verdicts_path", lambda: tmp_path / "devices.json")
    monkeypatch.setattr(discover, "_list_in_child", lambda: ([CARD], ""))
    more = {"local_bytes": 7, "n_compute_units": -1, "kind": "cpu", "name": "Other", "nonsense": []}
    discover.verdicts_path().write_text(json.dumps({discover.device_key(CARD): {**ANSWER, **more}}))
    assert discover_devices() == [CARD.judged("ready", "", 2.5), REFERENCE]


@pytest.mark.parametrize("wrong", [*WRONG_JSON, {"key": None}, {"key": {"a": -1}}, {"key": {"a": 2**40}}])
def test_a_wrong_file_of_tunings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: Any) -> None:
    monkeypatch.setattr(tunings, "tunings_path", lambda: tmp_path / "tunings.json")
    for text in (json.dumps(wrong), json.dumps({"key": wrong}), json.dumps({"key": {"choice": wrong}})):
        (tmp_path / "tunings.json").write_text(checked_json(json.loads(text)))
        found = [value for one in tunings.read_tunings().values() for value in one.values()]
        assert all(0 <= value <= tunings.MAX_TUNING_VALUE for value in found), text


def test_probe_is_a_process_of_its_own() -> None:
    done = subprocess.run(discover.own_command("probe", "list"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    assert done.stdout.strip().startswith("[")


def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "ask", lambda *words, **more: pytest.fail("a child was started"))


def test_familiar_devices_need_no_child(monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path) -> None:
    devices = discover_devices()
    assert len(devices) > 1
    no_child(monkeypatch)
    assert discover.familiar_devices() == devices
    assert pick_device("auto") in devices
    assert [path.name for path in home_of_verdicts.iterdir()] == ["devices.json"]


def test_a_device_that_was_never_judged_is_tested_in_a_child(
    monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path
) -> None:
    monkeypatch.setattr(discover, "sources_digest", lambda: "other kernels")
    assert discover.familiar_devices() == []
    discover.verdicts_path().unlink()
    assert discover.familiar_devices() == []


def test_after_a_lost_listing_a_child_lists(monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path) -> None:
    """A driver that ends the process which lists its devices does so at few starts."""
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom clalign.compute.opencl import discover\n"
        "discover.verdicts_path = lambda: Path(sys.argv[1])\n"
        "discover.driver_devices = lambda: os.abort()\n"
        "discover.familiar_devices()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(discover.verdicts_path())]) as process:
        assert process.wait(60) != 0
    assert discover.familiar_devices() == []
    assert discover.familiar_devices() == [], "until a child has listed the devices"
    devices = discover_devices()
    no_child(monkeypatch)
    assert discover.familiar_devices() == devices


def test_a_process_that_is_ended_on_purpose_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path
) -> None:
    monkeypatch.setattr(driver_marks, "MAX_MARK_SECONDS", -1.0)
    with driver_marks.marked(home_of_verdicts):
        assert driver_marks.is_driver_lost(home_of_verdicts)
        driver_marks.forget(home_of_verdicts, os.getpid())
        assert not driver_marks.is_driver_lost(home_of_verdicts)
    driver_marks.forget(home_of_verdicts / "nowhere", os.getpid())


def test_a_listing_that_hangs_is_not_joined(home_of_verdicts: Path) -> None:
    mark = home_of_verdicts / "listing-1"
    mark.touch()
    assert len(discover.familiar_devices()) > 1, "another process is asking at the same time"
    os.utime(mark, (0, 0))
    assert discover.familiar_devices() == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems find drivers in another way")
def test_intels_processor_driver_is_found_where_pip_puts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its own file of registration names a folder that is nowhere; drivers of the system stay known."""
    system, prefix = tmp_path / "vendors", tmp_path / "venv"
    system.mkdir()
    (system / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    register_intel_runtime(str(prefix), system)
    assert "OCL_ICD_VENDORS" not in os.environ, "it is not installed"
    library = prefix / "lib" / "libintelocl.so"
    library.parent.mkdir(parents=True)
    library.touch()
    register_intel_runtime(str(prefix), system)
    found = {path.name: path.read_text().strip() for path in Path(os.environ["OCL_ICD_VENDORS"]).iterdir()}
    assert found == {"nvidia.icd": "libnvidia-opencl.so.1", "clalign-intel-cpu.icd": str(library)}
    monkeypatch.setenv("OCL_ICD_VENDORS", "/mine")
    register_intel_runtime(str(prefix), system)
    assert os.environ["OCL_ICD_VENDORS"] == "/mine", "what a user has chosen stays"
    monkeypatch.delenv("OCL_ICD_VENDORS")
    (system / "intel.icd").write_text("/opt/intel/libintelocl.so\n")
    register_intel_runtime(str(prefix), system)
    assert "OCL_ICD_VENDORS" not in os.environ, "the system knows it"


def test_an_error_of_a_test_is_not_lost(monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path) -> None:
    def fail(device: Device) -> Device:
        raise OSError("no more processes")

    monkeypatch.setattr(discover, "_list_in_child", lambda: ([replace(CARD, health="not tested")], ""))
    monkeypatch.setattr(discover, "test_in_child", fail)
    with pytest.raises(OSError, match="no more processes"):
        discover.discover_devices(refresh=True)

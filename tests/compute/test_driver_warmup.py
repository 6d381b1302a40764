"""What is done with drivers while a process loads its modules: they are woken, and a context is made ahead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from clalign.compute.opencl import contexts, discover, driver_warmup
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.discover import discover_devices, driver_device
from clalign.values.devices import needs_drivers


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they are woken when the devices are listed")
def test_drivers_are_woken_before_anything_else_is_loaded(home_of_verdicts: Path) -> None:
    """In a process that has just begun, whose pyopencl has seen to nothing yet; the devices are the same."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom clalign.compute.opencl import driver_warmup\n"
        "driver_warmup.wake_ahead(Path(sys.argv[1]))\n"
        "assert 'pyopencl' not in sys.modules\n"
        "with driver_warmup.LISTED:\n    pass\n"
        "from clalign.compute.opencl import discover\n"
        "discover.verdicts_path = lambda: Path(sys.argv[1])\n"
        "print([device.id for device in discover.familiar_devices()])\n"
    )
    command = [sys.executable, "-c", script, str(discover.verdicts_path())]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([device.id for device in discover_devices()])
    assert [path.name for path in home_of_verdicts.iterdir()] == ["devices.json"], "no mark is left"


def test_a_context_that_was_made_ahead_is_used_once() -> None:
    cpu = pick_device("cpu")
    contexts.announced(cpu)()
    handle = driver_device(cpu)
    first, second = contexts.context_of(cpu, handle), contexts.context_of(cpu, handle)
    assert first.devices == second.devices == [handle]
    assert first.int_ptr != second.int_ptr
    missing = replace(cpu, id="99:0")
    contexts.announced(missing)()  # where it fails one is made when it is wanted
    assert contexts.context_of(missing, handle).devices == [handle]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they are woken when the devices are listed")
@pytest.mark.parametrize(
    ("meant", "is_used"),
    [("cpu", True), ("elsewhere", False), ("nowhere", False), ("nonsense", False), ("renamed", False)],
)
def test_a_context_is_made_as_soon_as_the_drivers_are_awake(
    monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path, meant: str, is_used: bool
) -> None:
    """Of the device that the same words meant last time; where they mean another by now, it is let go of."""
    cpu = pick_device("cpu")
    handle = driver_device(cpu)
    driver_warmup.remember_meant(home_of_verdicts, "gpu", "0:7", "a card")
    number = {"nowhere": "99:0", "nonsense": "a"}.get(meant, cpu.id)
    driver_warmup.remember_meant(home_of_verdicts, "cpu", number, "another" if meant == "renamed" else cpu.name)
    marks = list[str]()

    def made(library: str, device: int) -> int | None:
        marks.extend(path.name for path in home_of_verdicts.glob("listing-*.mark"))
        return make(library, device)

    make = driver_warmup.made_context
    monkeypatch.setattr(driver_warmup, "made_context", made)
    monkeypatch.setenv("PYOPENCL_HOME", "")  # it sets that
    monkeypatch.setattr(driver_warmup, "_is_begun", False)
    driver_warmup.wake_ahead(discover.verdicts_path(), "cpu")
    (number,) = driver_warmup.untaken_contexts()
    address = driver_warmup._contexts[number].result(60)
    assert (address is not None) == (meant in ("cpu", "elsewhere"))
    assert marks == ([f"listing-{os.getpid()}-context.mark"] if address is not None else [])
    assert not driver_warmup.is_distrusted(home_of_verdicts)
    if meant == "elsewhere":  # what was the second device of its driver is the first by now
        monkeypatch.setattr(contexts, "driver_device", lambda device: object())
        monkeypatch.setattr(contexts, "_made", lambda handle: None)
    contexts.announced(cpu)()
    context = contexts.context_of(cpu, handle) if meant != "elsewhere" else None
    assert (context is not None and context.int_ptr == address) == is_used
    contexts.let_go_of_untaken()
    assert not driver_warmup.untaken_contexts()


def test_what_words_have_meant_is_no_more_than_a_hint(tmp_path: Path) -> None:
    for text in ("", "[]", "{", '{"cpu": 1}', '{"cpu": "0:0"}', '{"cpu": ["0:0", "one"]}'):
        (tmp_path / "meant.json").write_text(text)
        assert driver_warmup.meant_last(tmp_path, "cpu") == (("0:0", "one") if "one" in text else ("", ""))
    for number in range(2 * driver_warmup.MAX_MEANT):
        driver_warmup.remember_meant(tmp_path, f"word {number}", str(number), "one")
    assert driver_warmup.meant_last(tmp_path, f"word {number}") == (str(number), "one")
    assert driver_warmup.meant_last(tmp_path, "cpu") == ("", "")
    driver_warmup.remember_meant(tmp_path / "nowhere", "cpu", "0:0", "one")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no context is made ahead")
def test_a_driver_that_crashes_as_it_opens_a_device_is_distrusted(home_of_verdicts: Path) -> None:
    """Unless its process was ended on purpose, by whoever says so."""
    cpu = pick_device("cpu")
    driver_warmup.remember_meant(home_of_verdicts, "cpu", cpu.id, cpu.name)
    script = (
        "import os, signal, sys, threading\n"
        "from pathlib import Path\nfrom clalign.compute.opencl import driver_warmup\n"
        "driver_warmup.made_context = lambda *words: os.kill(os.getpid(), signal.SIGKILL)\n"
        "driver_warmup.wake_ahead(Path(sys.argv[1]), 'cpu')\nthreading.Event().wait()\n"
    )
    command = [sys.executable, "-c", script, str(discover.verdicts_path())]
    for is_on_purpose in (True, False):
        with subprocess.Popen(command) as process:
            assert process.wait(120) == -signal.SIGKILL
        if is_on_purpose:
            driver_warmup.forget_marks(home_of_verdicts, process.pid)
        assert driver_warmup.is_distrusted(home_of_verdicts) != is_on_purpose
    driver_warmup.trust_again(home_of_verdicts)


def test_a_process_that_is_just_done_with_the_drivers_was_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may look for marks at any moment, also between the steps in which they are removed."""
    unlink, verdicts = Path.unlink, list[bool]()

    def looked_at(path: Path, missing_ok: bool = False) -> None:
        monkeypatch.setattr(Path, "unlink", unlink)
        verdicts.append(driver_warmup.is_distrusted(tmp_path))
        unlink(path, missing_ok)
        verdicts.append(driver_warmup.is_distrusted(tmp_path))
        monkeypatch.setattr(Path, "unlink", looked_at)

    monkeypatch.setattr(Path, "unlink", looked_at)
    with driver_warmup.marked(tmp_path):
        assert not driver_warmup.is_distrusted(tmp_path)
    monkeypatch.undo()
    assert len(verdicts) >= 2
    assert not any(verdicts)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "are_needed"),
    [("auto", True), ("", True), ("reference", False), ("reference, reference", False), ("reference,cpu", True),
     ("reference@local:2", False), ("auto@local:2", True), ("auto@/reference/here.json", True)],
)  # fmt: skip
def test_words_need_drivers_unless_they_mean_the_reference_alone(words: str, are_needed: bool) -> None:
    assert needs_drivers(words) == are_needed


def test_a_context_comes_for_who_wants_it_before_it_is_begun() -> None:
    """Who looks for the devices may be held up between telling of them and making the context."""
    cpu, found = pick_device("cpu"), list[object]()
    handle, make = driver_device(cpu), contexts.announced(cpu)
    wanting = threading.Thread(target=lambda: found.append(contexts.context_of(cpu, handle)), daemon=True)
    wanting.start()
    wanting.join(0.2)
    assert not found
    make()
    wanting.join(60)
    assert found

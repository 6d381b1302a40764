"""Finding devices, and judging each in a child process, because a bad driver may hang or crash."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

import pyopencl as cl

from clalign.common.plain_data import Json
from clalign.compute.opencl import processor_target
from clalign.compute.opencl.kernels import sources_digest
from clalign.compute.opencl.tunings import read_tunings
from clalign.databases.cache_root import cache_root, make_folder, write_whole
from clalign.errors import DeviceError, DeviceNotFound
from clalign.system import driver_marks
from clalign.system.bounds import card_bytes
from clalign.system.processes import ProcessNotStarted, ask, own_command
from clalign.values.devices import REFERENCE, Device, DeviceKind, Health

log = logging.getLogger(__name__)

LIST_SECONDS = 20
"""Timeout for a child process that lists the devices (s)."""

TEST_SECONDS = 120

NEXT_SECONDS = 1.0
"""Time for which the test of a device has the machine to itself (s); most of a longer test is its driver's compiler."""

SLOW_TEST_SECONDS = 5.0
"""Time after which the test of a driver is reported as slow (s)."""

LINKER_HINT = (
    "This CPU driver needs a linker. Install one with: sudo apt-get install -y gcc libc6-dev"
    " (or your system's C compiler package)."
)

SILENT = "did not answer within"
"""What is said of a driver whose test had to be ended."""

FINAL = ("ready", "self-test failed")
"""Verdicts that are kept."""

MAX_GCUPS = 1e9

Verdict = Json
"""``health``, ``problem`` and ``gcups`` of a device."""

POCL = "Portable Computing Language"
"""The platform of the driver that comes along."""

_HIDDEN_PLATFORMS = ("Oclgrind",)
"""Simulators that a developer may have installed; far too slow to offer."""


@cache
def _first_process() -> int:
    """Return the process that was the first to use drivers; a fork of it inherits the answer."""
    return os.getpid()


def check_process() -> None:
    """Refuse to use drivers in a fork of a process that has used them: their threads are not in it, and it would hang.

    Raises
    ------
    DeviceNotFound
    """
    if _first_process() != os.getpid():
        raise DeviceNotFound(
            "This process was forked from one that has used OpenCL devices already, whose drivers do not work in it.",
            'Start processes with multiprocessing.get_context("spawn"), or fork before a device is used; the device'
            ' "reference" works everywhere.',
        )


def driver_devices() -> Iterator[tuple[str, cl.Device]]:
    """Yield id and driver handle of every OpenCL device of this process."""
    try:
        platforms = cl.get_platforms()
    except cl.LogicError:  # the loader's way of saying that there is no platform
        return
    except cl.Error as error:
        log.warning("the OpenCL drivers could not be listed: %s", error)
        return
    for p, platform in enumerate(platforms):
        try:
            devices = [] if platform.name in _HIDDEN_PLATFORMS else platform.get_devices()
            for device in devices if platform.name == POCL else ():
                processor_target.named(device.int_ptr, device.version)
        except cl.Error as error:
            log.warning("platform %d lists no devices: %s", p, error)
            continue
        for d, device in enumerate(devices):
            yield f"{p}:{d}", device


def driver_device(device: Device) -> cl.Device:
    """Return the driver handle of a device.

    Raises
    ------
    DeviceNotFound
        If it is gone, or another one has its place now.
    DeviceError
        If its driver does not report it.
    """
    try:
        for number, handle in driver_devices():
            if number == device.id and product_name(handle) == device.name:
                return handle
    except cl.Error as error:
        raise DeviceError(
            f"The driver of {device.name} does not report its name ({error}).",
            "Continue on another device, or update this driver.",
        ) from error
    raise DeviceNotFound(f"The device {device.name} ({device.id}) is not there any more.", "See: clalign devices")


def described_devices() -> list[Device]:
    """Return the plain description of every device that its driver can describe."""
    found = []
    for number, handle in driver_devices():
        try:
            found.append(describe(number, handle))
        except cl.Error as error:
            log.warning("device %s cannot be described: %s", number, error)
    return found


def describe(number: str, handle: cl.Device) -> Device:
    """Return the plain description of a driver's device."""
    kinds: dict[int, DeviceKind] = {cl.device_type.GPU: "gpu", cl.device_type.CPU: "cpu"}
    kind: DeviceKind = next((word for flag, word in kinds.items() if handle.type & flag), "accelerator")
    extensions = tuple(handle.extensions.split())
    memory_bytes = handle.global_mem_size if kind == "cpu" else card_bytes(handle.global_mem_size)
    return Device(
        id=number,
        name=product_name(handle),
        kind=kind,
        vendor=handle.vendor.strip(),
        driver=handle.driver_version.strip(),
        platform=handle.platform.name.strip(),
        platform_version=handle.platform.version.strip(),
        opencl_version=processor_target.named(handle.int_ptr, handle.version.strip()),
        bus=_bus_address(handle, extensions),
        compute_capability=_compute_capability(handle, extensions),
        n_compute_units=handle.max_compute_units,
        clock_mhz=handle.max_clock_frequency,
        memory_bytes=memory_bytes,
        max_buffer_bytes=min(handle.max_mem_alloc_size, memory_bytes),
        local_bytes=handle.local_mem_size,
        max_work_group=handle.max_work_group_size,
        extensions=extensions,
    )


def product_name(handle: cl.Device) -> str:
    """Return the name of a device as it is sold; PoCL puts words of its own before that of a processor."""
    name: str = handle.name.strip()
    sold = _processor_name()
    return sold if sold and sold in name else name.removeprefix("pthread-")


@cache
def _processor_name() -> str:
    """Return the name of this machine's processor; empty where the system does not provide it."""
    with contextlib.suppress(OSError):
        found = re.search(
            r"^model name\s*:\s*(.+?)\s*$", Path("/proc/cpuinfo").read_text("utf-8", "replace"), re.MULTILINE
        )
        return found[1] if found else ""
    return ""


def _bus_address(handle: cl.Device, extensions: tuple[str, ...]) -> str:
    if "cl_nv_device_attribute_query" not in extensions:
        return ""
    try:
        slot = handle.pci_slot_id_nv
        return f"{handle.pci_bus_id_nv:02x}:{slot >> 3:02x}.{slot & 7:x}"
    except (cl.Error, AttributeError):
        return ""


def _compute_capability(handle: cl.Device, extensions: tuple[str, ...]) -> int:
    if "cl_nv_device_attribute_query" not in extensions:
        return 0
    return int(handle.compute_capability_major_nv) * 10 + int(handle.compute_capability_minor_nv)


def verdicts_path() -> Path:
    """Return the file that keeps the verdicts of self-tests."""
    return cache_root() / "devices.json"


def discover_devices(refresh: bool = False, notify: Callable[[str], None] = lambda text: None) -> list[Device]:
    """Return every device, each judged, the reference last.

    Devices are listed in one child process and tested in a child of their own with a time limit.
    Verdicts are kept; a change of driver, device or kernels asks for new ones.

    Parameters
    ----------
    refresh : bool
        Test again, whatever is known.
    notify : callable
        Called with a message for a driver whose test takes long, or that could not be queried.
    """
    listed, problem = _list_in_child()
    known = {} if refresh else _read_verdicts()
    judged = _judged(listed, known, notify)
    if judged:
        _write_verdicts({**known, **{device_key(device): _verdict(device) for device in judged if _is_final(device)}})
    if problem:
        log.warning("%s", problem)
        notify(problem)
    else:
        driver_marks.forget_all(verdicts_path().parent)
    return [*_tuned(judged), REFERENCE]


def familiar_devices() -> list[Device]:
    """Return every device, listed in this process; nothing unless all of them were judged before.

    Nor if an earlier process has not come back from this, because its driver hung or crashed, and
    no child process has listed the devices since.
    """
    known, folder = _read_verdicts(), verdicts_path().parent
    if not known or driver_marks.is_driver_lost(folder):
        return []
    try:
        with driver_marks.marked(folder):
            listed = described_devices()
    except OSError:
        return []
    if not listed or any(device_key(device) not in known for device in listed):
        return []
    return [*_tuned([_judge(device, known) for device in listed]), REFERENCE]


def _tuned(devices: list[Device]) -> list[Device]:
    """Return the devices with the tunings that were found for them."""
    found = read_tunings()
    return [replace(device, tuning=found.get(device_key(device), {})) for device in devices]


def _list_in_child() -> tuple[list[Device], str]:
    try:
        done = ask(own_command("probe", "list"), LIST_SECONDS)
    except subprocess.TimeoutExpired:
        return [], f"The OpenCL drivers did not answer within {LIST_SECONDS} s and were skipped."
    except ProcessNotStarted as error:
        return [], f"The OpenCL drivers could not be listed. {error}"
    try:
        done.check_returncode()
        found = [Device.from_dict(data) for data in json.loads(done.stdout)]
        why = " ".join(done.stderr.split())[-500:]
        return found, "" if found or not why else f"No OpenCL device can be used: {why}"
    except (subprocess.CalledProcessError, ValueError, TypeError, KeyError, RecursionError):
        return [], f"The OpenCL drivers could not be listed (code {done.returncode}). {done.stderr[-500:]}"


def _judged(devices: list[Device], known: dict[str, Verdict], notify: Callable[[str], None]) -> list[Device]:
    """Judge devices, one after the other but for those that take long: a driver that hangs keeps no other waiting."""
    answers: list[tuple[Future[Device], float]] = []
    for device in devices:
        answers.append((Future(), time.monotonic() + SLOW_TEST_SECONDS))
        # A test must not keep the process from ending.
        threading.Thread(target=_answer, args=(answers[-1][0], device, known), daemon=True).start()
        with contextlib.suppress(TimeoutError):
            answers[-1][0].exception(NEXT_SECONDS)
    for device, (answer, until) in zip(devices, answers, strict=True):
        try:
            answer.exception(max(0.0, until - time.monotonic()))
        except TimeoutError:
            notify(f"Testing {device.name} ({device.platform}): only once, for up to {TEST_SECONDS} s.")
    return [answer.result() for answer, _ in answers]


def _answer(answer: Future[Device], device: Device, known: dict[str, Verdict]) -> None:
    try:
        answer.set_result(_judge(device, known))
    except BaseException as error:
        answer.set_exception(error)


def _judge(device: Device, known: dict[str, Verdict]) -> Device:
    if device.platform == POCL and shutil.which("ld") is None:
        return device.judged("needs linker", LINKER_HINT)
    verdict = known.get(device_key(device))
    return replace(device, **verdict) if verdict else test_in_child(device)


def test_in_child(device: Device) -> Device:
    """Return the device with the verdict of its self-test, run in a child process."""
    try:
        done = ask(own_command("probe", "test", device.id), TEST_SECONDS)
    except subprocess.TimeoutExpired:
        text = f'The driver "{device.platform}" {SILENT} {TEST_SECONDS} s and was skipped.'
        return device.judged("not usable", f"{text} Other devices work. To test it again: clalign devices --refresh")
    except ProcessNotStarted as error:
        return device.judged("not tested", f"It could not be tested. {error}")
    verdict = None
    if done.returncode == 0:
        with contextlib.suppress(ValueError, RecursionError):
            verdict = _checked_verdict(json.loads(done.stdout))
    return device.judged("not usable", _crash_text(device, done)) if verdict is None else replace(device, **verdict)


def _crash_text(device: Device, done: subprocess.CompletedProcess[str]) -> str:
    if "ld" in done.stderr and "Executable" in done.stderr:
        return LINKER_HINT
    last = done.stderr.strip().splitlines()[-1:] or [""]
    return f'The driver "{device.platform}" stopped during the self-test (code {done.returncode}). {last[0][:200]}'


def _is_final(device: Device) -> bool:
    return _is_kept(device.health, device.problem)


def _is_kept(health: str, problem: str) -> bool:
    """Return whether a verdict holds until somebody asks for another; nobody waits twice for a driver that hangs."""
    return health in FINAL or (health == "not usable" and SILENT in problem)


def device_key(device: Device) -> str:
    """Return the key of a device: itself, its driver and our kernels."""
    driver = (device.platform, device.platform_version, device.driver, device.opencl_version)
    return " | ".join([*driver, device.id, device.name, device.bus, str(device.n_compute_units), sources_digest()])


def _verdict(device: Device) -> Verdict:
    return {"health": device.health, "problem": device.problem, "gcups": device.gcups}


def _checked_verdict(data: object) -> Verdict | None:
    """Return a value that was read as a verdict; None if it is none."""
    if not isinstance(data, dict):
        return None
    health, problem, gcups = (data.get(name) for name in ("health", "problem", "gcups"))
    is_number = isinstance(gcups, int | float) and not isinstance(gcups, bool) and 0 <= gcups <= MAX_GCUPS
    if health not in get_args(Health) or not isinstance(problem, str) or not is_number:
        return None
    return {"health": health, "problem": problem, "gcups": gcups}


def _read_verdicts() -> dict[str, Verdict]:
    """Return the verdicts that are kept; what a device that is known would not have is asked for again."""
    try:
        data = json.loads(verdicts_path().read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    found = {key: _checked_verdict(value) for key, value in data.items()} if isinstance(data, dict) else {}
    return {
        key: verdict for key, verdict in found.items() if verdict and _is_kept(verdict["health"], verdict["problem"])
    }


def _write_verdicts(verdicts: dict[str, Verdict]) -> None:
    path = verdicts_path()
    try:
        make_folder(path.parent)
        write_whole(path, json.dumps(verdicts, indent=1))
    except OSError as error:
        log.warning("the verdicts of the self-tests could not be kept: %s", error)

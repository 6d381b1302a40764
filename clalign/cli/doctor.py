"""``clalign doctor``: check this installation, and show what is wrong and how to mend it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

import clalign
from clalign.cli.gui import has_display
from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.common.amounts import size_text
from clalign.common.plain_data import Json
from clalign.errors import ClalignError, ExitCode
from clalign.system.processes import (
    ProcessNotStarted,
    ask,
    own_command,
)
from clalign.tools.painting import LIBRARIES

DESCRIPTION = (
    "Check versions, devices, folders and libraries, and show what is missing and how to get it. The"
    " exit code is 7 if only the slow reference is usable."
)

EXAMPLES = ("clalign doctor", "clalign doctor --json")

PACKAGES = (
    "pyopencl", "numpy", "msgspec", "biopython", "xopen", "zstandard", "platformdirs", "filelock", "shtab",
    "PySide6-Essentials", "pyqtgraph", "QtAwesome",
)  # fmt: skip
"""Packages that clalign always needs."""

OPTIONAL = {
    "pocl-binary-distribution": "a driver for the processor",
    "intel-opencl-rt": "Intel's driver for the processor: extra intel-cpu",
    "intel-cmplr-lib-rt": "goes with it",
    "dask": "several machines: extra cluster",
    "distributed": "goes with it",
    "cloudpickle": "goes with it",
    "cryptography": "goes with it",
    "pyarrow": "tables as Parquet: extra parquet",
}
"""Optional packages, and what each is for."""

VARIABLES = (
    "CLALIGN_DEVICE", "CLALIGN_CACHE_DIR", "CLALIGN_CACHE_LIMIT", "CLALIGN_CONFIG", "CLALIGN_GPU_MEMORY", "CLALIGN_LOG",
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ONEAPI_DEVICE_SELECTOR", "OCL_ICD_VENDORS",
    "OCL_ICD_FILENAMES", "PYOPENCL_CTX", "PYOPENCL_NO_CACHE", "PYOPENCL_COMPILER_OUTPUT", "POCL_DEVICES",
    "POCL_CACHE_DIR", "POCL_MAX_PTHREAD_COUNT", "HMMER_NCPU", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK",
    "TMPDIR", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "NO_COLOR",
)  # fmt: skip
"""Environment variables that may explain why something is missing or elsewhere."""

MIN_FREE_BYTES = 2 * 10**9
"""Free space of the cache's disk below which there is a finding (bytes)."""

QT_SECONDS, DISPLAY_SECONDS = 120, 30
"""Timeouts for loading Qt and for an answer of the display (s)."""


class Finding(Struct, frozen=True):
    """A problem, and what to do about it."""

    text: str
    remedy: str


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument_group("Output").add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    report = examine()
    if arguments.json:
        show(json.dumps({"schema": 1, **report}, indent=1))
    else:
        show("\n".join(report_lines(report)))
    usable = [device for device in report["devices"] if device["health"] == "ready" and device["kind"] != "reference"]
    return ExitCode.DONE if usable else ExitCode.NO_DEVICE


def examine() -> Json:
    """Return the content of the report as plain data."""
    devices, problem = _devices()
    window = _window()
    silent = _probed("display", DISPLAY_SECONDS) if has_display() and not window else ""
    found = {
        "versions": versions(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "devices": devices,
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "cache": _cache(),
        "linker": shutil.which("ld") or "",
        "display": has_display() and not silent,
        "display_problem": silent,
        "window": window,
    }
    return {**found, "findings": [asdict(finding) for finding in _findings(found, problem)]}


def versions() -> dict[str, str]:
    """Return the versions of clalign, Python and its packages; an empty text for a package that is missing."""
    found = {"clalign": clalign.__version__, "python": platform.python_version()}
    for name in (*PACKAGES, *OPTIONAL):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


def version_lines() -> list[str]:
    """Return the versions as lines of text."""
    found = {name: number for name, number in versions().items() if name != "clalign"}
    absent = {name: f"not installed ({purpose})" for name, purpose in OPTIONAL.items()}
    return [f"  {name:<25s} {number or absent.get(name, 'not installed')}" for name, number in found.items()]


def _devices() -> tuple[list[dict[str, object]], str]:
    from clalign.cli.devices import all_devices

    try:
        return [device.to_dict() for device in all_devices()], ""
    except ClalignError as error:
        return [], str(error)


def _cache() -> dict[str, object]:
    from clalign.databases.cache import sizes
    from clalign.databases.cache_root import cache_limit, cache_root

    folder = cache_root()
    existing = next(place for place in (folder, *folder.parents) if os.path.isdir(place))
    return {
        "folder": str(folder),
        "bytes": sum(sizes().values()),
        "limit": cache_limit(),
        "free": shutil.disk_usage(existing).free,
        "writable": os.access(existing, os.W_OK),
    }


def _window() -> str:
    """Return why Qt cannot be loaded; an empty text if it can."""
    if importlib.util.find_spec("PySide6") is None:
        return "PySide6 is not installed"
    return _probed("window", QT_SECONDS)


def _probed(what: str, seconds: int) -> str:
    """Return the problem of a part of the window, tested in a process of its own because it may crash or hang."""
    try:
        done = ask(own_command("probe", what), seconds)
        return str(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds} s"
    except ProcessNotStarted as error:
        return error.message.removesuffix(".")
    except ValueError:
        return (done.stderr.strip().splitlines() or ["it crashed"])[-1]


def _findings(found: Json, problem: str) -> list[Finding]:
    findings = []
    if problem:
        findings.append(Finding(f"The devices could not be listed: {problem}", "Try: clalign devices --refresh"))
    drivers = [device for device in found["devices"] if device["kind"] != "reference"]
    if not drivers and not problem:
        findings.append(
            Finding("No OpenCL device was found; only the slow reference is available.", _driver_hint(found))
        )
    findings += [
        Finding(f"{device['name']} ({device['id']}) is not ready: {device['health']}.", device["problem"])
        for device in drivers
        if device["health"] != "ready"
    ]
    if not found["linker"] and found["versions"]["pocl-binary-distribution"]:
        findings.append(
            Finding("There is no linker (ld), which the CPU driver needs.", "sudo apt-get install -y gcc libc6-dev")
        )
    missing = [name for name in PACKAGES if not found["versions"][name]]
    if missing:
        findings.append(Finding(f"Not installed: {', '.join(missing)}.", f"pip install {' '.join(missing)}"))
    cache = found["cache"]
    if not cache["writable"]:
        findings.append(
            Finding(
                f"The cache folder {cache['folder']} cannot be written.", "Set CLALIGN_CACHE_DIR to another folder."
            )
        )
    if cache["free"] < MIN_FREE_BYTES:
        findings.append(
            Finding(
                f"Only {size_text(cache['free'])} are free for the cache.", "Free space, or run: clalign cache --clear"
            )
        )
    if found["display_problem"]:
        remedy = (
            f"Check DISPLAY and WAYLAND_DISPLAY; over ssh use ssh -X. Qt needs: sudo apt-get install -y {LIBRARIES}"
        )
        findings.append(Finding(f"The display does not answer: {found['display_problem']}.", remedy))
    if found["window"]:
        remedy = f"sudo apt-get install -y {LIBRARIES}"
        findings.append(Finding(f"The window cannot be opened: {found['window']}.", remedy))
    return findings


def _driver_hint(found: Json) -> str:
    if found["versions"]["pocl-binary-distribution"]:
        return (
            "The driver pocl-binary-distribution is installed but shows no device. It needs a writable folder: set"
            " CLALIGN_CACHE_DIR to one. Unset OCL_ICD_VENDORS and POCL_DEVICES."
        )
    if sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64"):
        return "For the CPU: pip install pocl-binary-distribution. For a GPU: install its vendor's OpenCL driver."
    return "Install an OpenCL driver for this machine's CPU or GPU."


def report_lines(report: Json) -> list[str]:
    """Return the report as text."""
    from clalign.cli.devices import table
    from clalign.values.devices import Device

    lines = [f"clalign {report['versions']['clalign']} on {report['system']}", "", "Versions"]
    lines += version_lines()
    lines += ["", "Devices", *(f"  {line}" for line in table([Device.from_dict(d) for d in report["devices"]]))]
    lines += ["", "Environment variables"]
    lines += [f"  {name}={value}" for name, value in report["variables"].items()] or ["  none that matters is set"]
    cache = report["cache"]
    lines += [
        "",
        f"Cache    {Path(cache['folder'])}: {size_text(cache['bytes'])} used, {size_text(cache['free'])} free",
        f"Linker   {report['linker'] or 'not found'}",
        f"Display  {report['display_problem'] or ('yes' if report['display'] else 'none')}",
        f"Window   {report['window'] or 'Qt can be loaded'}",
        "",
    ]
    if not report["findings"]:
        return [*lines, "Everything is in order."]
    lines.append("What to do")
    for finding in report["findings"]:
        lines += [f"  {finding['text']}", f"    {finding['remedy']}" if finding["remedy"] else ""]
    return [line for line in lines if line.strip() or line == ""]

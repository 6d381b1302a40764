"""``clalign devices``: list the devices that clalign can run on."""

from __future__ import annotations

import argparse
import json

from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.common.amounts import rate_text, size_text
from clalign.values.devices import Device

DESCRIPTION = "List the devices that clalign can run on, and test new ones."

EXAMPLES = (
    "clalign devices",
    "clalign devices -v --refresh   # all details; test again",
    "clalign devices --json",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    group = parser.add_argument_group("Output")
    group.add_argument("-v", dest="verbose", action="store_true", help="show all details from the drivers")
    group.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument_group("Test").add_argument(
        "--refresh", action="store_true", help="test every device again instead of using the last result"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the devices."""
    devices = all_devices(arguments.refresh)
    if arguments.json:
        show(json.dumps({"schema": 1, "devices": [device.to_dict() for device in devices]}, indent=1))
        return 0
    show("\n".join(table(devices)))
    if arguments.verbose:
        for device in devices:
            show("\n".join(["", *facts(device)]))
    return 0


def all_devices(refresh: bool = False) -> list[Device]:
    """Return all devices, each tested in a process of its own."""
    from clalign.cli.processes import run_job

    return [Device.from_dict(data) for data in run_job({"job": "devices", "refresh": refresh})["devices"]]


def table(devices: list[Device]) -> list[str]:
    """Return the lines of a short table."""
    width = max([4, *(len(device.name) for device in devices)])
    lines = [f"{'Id':<10s} {'Name':<{width}s} {'Kind':<11s} {'Memory':>9s} {'GCUPS':>7s}  Health"]
    for device in devices:
        memory = size_text(device.memory_bytes) if device.memory_bytes else "-"
        speed = rate_text(device.gcups).split()[0] if device.gcups else "-"
        health = device.health if not device.problem else f"{device.health}: {device.problem}"
        lines.append(f"{device.id:<10s} {device.name:<{width}s} {device.kind:<11s} {memory:>9s} {speed:>7s}  {health}")
    if all(device.kind == "reference" for device in devices):
        lines += [
            "",
            "No OpenCL device was found. clalign still runs on the slow reference.",
            "See what is missing: clalign doctor",
        ]
    return lines


def facts(device: Device) -> list[str]:
    """Return all that is known of a device."""
    rows = [
        ("Vendor", device.vendor),
        ("Driver", device.driver),
        ("Platform", f"{device.platform} ({device.platform_version})" if device.platform else ""),
        ("OpenCL", device.opencl_version),
        ("Bus", device.bus),
        ("Compute units", str(device.n_compute_units)),
        ("Clock", f"{device.clock_mhz} MHz" if device.clock_mhz else ""),
        ("Memory", size_text(device.memory_bytes) if device.memory_bytes else ""),
        ("Largest buffer", size_text(device.max_buffer_bytes) if device.max_buffer_bytes else ""),
        ("Local memory", size_text(device.local_bytes) if device.local_bytes else ""),
        ("Largest group", str(device.max_work_group)),
        ("Extensions", " ".join(device.extensions)),
    ]
    return [f"{device.id}  {device.name}", *(f"  {name:<15s} {value}" for name, value in rows if value)]

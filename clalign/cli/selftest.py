"""``clalign selftest``: check that a device computes the right scores."""

from __future__ import annotations

import argparse

from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.errors import DeviceNotFound, ExitCode

DESCRIPTION = "Search the bundled examples and compare the results with stored ones. The exit code is 8 if any differs."

EXAMPLES = ("clalign selftest", "clalign selftest --device gpu")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument_group("Device").add_argument(
        "--device", metavar="D", help="an id, part of a name, gpu, cpu or reference [all devices]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Test the chosen devices."""
    from clalign.cli.devices import all_devices
    from clalign.cli.processes import run_job

    wanted = (arguments.device or "").lower()
    devices = [d for d in all_devices() if not wanted or wanted in (d.id, d.kind) or wanted in d.name.lower()]
    if not devices:
        raise DeviceNotFound(f"There is no device {arguments.device}.", "List devices with: clalign devices")
    wrong = 0
    for device in devices:
        value = run_job({"job": "selftest", "of": "search", "device": device.id})
        show(f"{device.id}  {device.name}: {value['health']}")
        if value["problem"]:
            show(f"  {value['problem']}")
        for check in value["checks"]:
            verdict = "equal" if check["equal"] else "differs"
            show(f"  {check['name']}: {verdict}{', ' + check['detail'] if check['detail'] else ''}")
            wrong += not check["equal"]
    return ExitCode.DIFFERENT if wrong else ExitCode.DONE

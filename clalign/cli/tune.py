"""``clalign tune``: find the fastest settings for a device."""

from __future__ import annotations

import argparse
import json

from clalign.cli.options import add_device_option, add_progress_options, device_of, progress_mode
from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.errors import ExitCode
from clalign.jobs import Event

DESCRIPTION = (
    "Time the kernels of the profile search and of Smith-Waterman in different sizes on a device, and"
    " keep the fastest for this device and driver. Results of searches do not change: a size that changes a score"
    " is never kept."
)

EXAMPLES = ("clalign tune", "clalign tune --device gpu", "clalign tune --device gpu --reset")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("--reset", action="store_true", help="return to the built-in settings")
    parser.add_argument("--json", action="store_true", help="print every trial as JSON")
    add_device_option(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show each trial, and what is kept."""
    from clalign.cli.watch import watch_job
    from clalign.tools.tuning import WORDS

    job = {"job": "tune", "device": device_of(arguments), "reset": arguments.reset}

    def take(event: Event) -> None:
        if not arguments.json:
            row = event.value["row"]
            rate = row["problem"] or f"{row['gcups']:8.2f} GCUPS"
            show(f"{WORDS[row['choice']]:<54s} {row['value']:4d}  {row['shape']:<7s} {rate}", flush=True)

    finished = watch_job(job, progress_mode(arguments), "Stopped. The settings were not changed.", take)
    if arguments.json:
        show(json.dumps(finished, indent=1))
        return ExitCode.DONE
    if arguments.reset:
        show(f"{finished['device']} has the built-in settings again.")
    else:
        show(f"Kept for {finished['device']}:")
    tried, before = {row["choice"] for row in finished["rows"]}, finished["before"]
    for name, value in finished["tuning"].items():
        if name in tried or before[name] != value:
            show(f"  {WORDS[name]:<54s} {value}" + (f" (was {before[name]})" if before[name] != value else ""))
    return ExitCode.DONE

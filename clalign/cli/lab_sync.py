"""``clalign lab sync``: work-groups that wait for each other, in every way, on a device."""

from __future__ import annotations

import argparse
import contextlib
import json
from typing import Any

from clalign.cli.options import device_of, progress_mode
from clalign.cli.parser import CommandParser
from clalign.cli.streams import enough_read, show
from clalign.errors import ExitCode
from clalign.jobs import Event
from clalign.values.typed_numbers import count

OPTIONS = ("program", "groups", "group_size", "methods", "sets", "size")
"""Fields of its spec that the ladders do not have."""

STOPPED = "Stopped. Nothing was written, because the measurement is not whole."


def add_options(parser: CommandParser) -> None:
    """Add its flags."""
    group = parser.add_argument_group("Waiting groups (sync)")
    group.add_argument(
        "--program",
        metavar="P",
        help="what the groups compute: sort (keys), sw (one pair of sequences), or relay (next to nothing) [sort]",
    )
    group.add_argument(
        "--groups",
        metavar="N",
        help="numbers of groups, as in 7-60 or 1,2,8-12 [7-60; on a processor 1 to twice its cores]",
    )
    group.add_argument("--group-size", type=count, metavar="N", help="work-items of a group [32]")
    group.add_argument(
        "--methods",
        metavar="A,B",
        help="ways to wait: launch, lbs, ilbs, lfs, ulfs, discovered (lbs of the groups that are found to run), or"
        " discovered-ilbs, -lfs, -ulfs [all but the last three]",
    )
    group.add_argument("--sets", type=count, metavar="G", help="of ILBS [6]")
    group.add_argument("--size", type=count, metavar="N", help="keys, or rounds of relay [as suits the device]")


def run(arguments: argparse.Namespace) -> int:
    """Measure, show a line for each number of groups, and keep the document."""
    from clalign.cli.progress import progress_display
    from clalign.cli.watch import watch_job
    from clalign.formats.writers import check_writable, whole_file
    from clalign.labs.synchronization import USUAL_WAYS, SynchronizationSpec, wrong_cells
    from clalign.labs.synchronization_tables import below, line

    methods = arguments.methods.split(",") if arguments.methods else None
    given = {name: getattr(arguments, name) for name in (*OPTIONS, "runs", "seed")}
    request = {"device": device_of(arguments), **given, "methods": methods}
    SynchronizationSpec.from_dict(request)  # what makes no sense is told of before a worker starts
    if arguments.json:
        check_writable(arguments.json)
    display = progress_display(progress_mode(arguments))
    shown: list[dict[str, Any]] = []

    def take(event: Event) -> None:
        row = event.value["row"]
        if arguments.json != "-":
            display.close()
            with enough_read() if arguments.json else contextlib.nullcontext():  # the file is wanted all the same
                heads = [] if shown else [line(None, methods or USUAL_WAYS)]
                show("\n".join([*heads, line(row, methods or USUAL_WAYS)]), flush=True)
            shown.append(row)

    document = watch_job({"job": "synchronization", **request}, display, STOPPED, take)["synchronization"]
    if arguments.json is not None:
        with whole_file(arguments.json) as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    if arguments.json != "-":
        show("\n" + below(document))
    return ExitCode.DIFFERENT if wrong_cells(document) else ExitCode.DONE

"""``clalign bench``: the same job on several devices, and comparisons of other machines."""

from __future__ import annotations

import argparse
import json

from clalign.cli.options import add_progress_options, progress_mode
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser
from clalign.cli.streams import enough_read, show
from clalign.common.plain_data import Json
from clalign.errors import ExitCode, OptionError
from clalign.values.typed_numbers import count

DESCRIPTION = (
    "Score the same random sequences with the same random profile on several devices. Shows whether the"
    " scores are identical, the speed with and without copies, the share of a measured peak, the cost of starting,"
    " and which device is fastest for which size of database. The exit code is 8 if any score differs."
)

EXAMPLES = (
    "clalign bench",
    "clalign bench --device gpu --device cpu --residues 200000000 --json here.json",
    "clalign bench --import here.json --import there.json   # one table of both machines",
    "clalign bench --device gpu --import there.json         # the job of there.json, here",
)

STOPPED = "Stopped. Nothing was written, because the comparison is incomplete."


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    group = parser.add_argument_group("Devices")
    group.add_argument(
        "--device", action="append", metavar="D",
        help="an id or part of a name from `clalign devices`, gpu, cpu or reference (which computes only a sample);"
        " repeatable [all that are ready]",
    )  # fmt: skip
    group = parser.add_argument_group("Job")
    group.add_argument("--nodes", type=count, metavar="N", help="nodes of the profile [200]")
    group.add_argument("--residues", type=count, metavar="N", help="residues of the database [20000000]")
    group.add_argument("--seed", type=count, metavar="S", help="seed of both [1]")
    group = parser.add_argument_group("Files")
    group.add_argument("--json", metavar="F", help="write the comparison as JSON to F; - is standard output")
    group.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="F",
        help="add the devices of a comparison of the same job, written by --json; repeatable. Nothing is measured"
        " without --device",
    )  # fmt: skip
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, put comparisons together, and show them."""
    from clalign.formats.writers import whole_file
    from clalign.labs.comparison_documents import merge_comparisons, read_comparison
    from clalign.labs.comparison_results import comparison_text

    if arguments.json:
        check_places((arguments.json,), arguments.imports)
    documents = [read_comparison(path) for path in arguments.imports]
    merge_comparisons(documents) if documents else None  # refuses different jobs before anything is measured
    if arguments.device or not documents:
        documents.insert(0, _measured(arguments, documents))
    document = merge_comparisons(documents)
    if arguments.json:
        with enough_read(), whole_file(arguments.json) as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    if arguments.json != "-":
        show(comparison_text(document))
    if any(row["identical"] is False for row in document["devices"]):
        return ExitCode.DIFFERENT
    return ExitCode.ENGINE if all(row["error"] for row in document["devices"]) else ExitCode.DONE


def _measured(arguments: argparse.Namespace, imported: list[Json]) -> Json:
    from clalign.cli.watch import watch_job

    sizes = {"nodes": arguments.nodes, "residues": arguments.residues, "seed": arguments.seed}
    if imported:
        job = imported[0]["job"]
        given = {"nodes": job["nodes"], "residues": job["n_residues"], "seed": job["seed"]}
        other = [name for name, value in sizes.items() if value not in (None, given[name])]
        if other:
            raise OptionError(
                f"The imported comparison is of another job: its {other[0]} is {given[other[0]]:,}.",
                "Leave out the options of the job to run the same one here.",
            )
        sizes = given
    request = {"job": "bench", "devices": arguments.device or [], **sizes}
    document: dict[str, object] = watch_job(request, progress_mode(arguments), STOPPED)["comparison"]
    return document

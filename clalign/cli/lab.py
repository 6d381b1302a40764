"""``clalign lab``: published ladders of kernels, measured on a device."""

from __future__ import annotations

import argparse
import json
from typing import Any

from clalign.cli.options import add_device_option, add_progress_options, device_of, progress_mode
from clalign.cli.parser import CommandParser, count
from clalign.errors import ExitCode
from clalign.jobs import Event

EXAMPLES = (
    "clalign lab ladder viterbi",
    "clalign lab ladder viterbi --device gpu --json ladder.json",
    "clalign lab ladder viterbi --variants private-rows,1+2+3+4,work-group --hmm globins.hmm --db proteins.fasta",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "lab",
        examples=EXAMPLES,
        description="Measure a published ladder of kernels on a device: every rung is compared with the reference"
        " first, then timed. The exit code is 8 if the scores of any rung differ.",
    )
    parser.add_argument("laboratory", choices=("ladder",), metavar="ladder", help="the laboratory")
    parser.add_argument("engine", choices=("viterbi",), metavar="viterbi", help="the algorithm")
    what = parser.add_argument_group("Measuring")
    what.add_argument(
        "--variants", metavar="A,B", help="only these rungs (basic always) and experiments; an unknown name lists them"
    )
    what.add_argument("--hmm", metavar="F", help="measure on the first model of F instead of a random one")
    what.add_argument("--db", metavar="F", help="measure on sequences of F instead of synthetic ones")
    what.add_argument("--runs", type=count, metavar="N", help="how often to time each rung; the median is shown [5]")
    what.add_argument("--sequences", type=count, metavar="N", help="how many sequences [as suits the device]")
    what.add_argument("--nodes", type=count, metavar="N", help="length of the random model [270]")
    what.add_argument("--seed", type=count, metavar="N", help="of the random model and sequences [1]")
    parser.add_argument_group("Output").add_argument(
        "--json", metavar="F", help="write everything as JSON to F; - is standard output, in place of the table"
    )
    add_device_option(parser)
    add_progress_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, show row after row, and keep the document."""
    from clalign.cli.progress import progress_display
    from clalign.cli.watch import watch_job
    from clalign.formats.writers import check_writable

    job = _job(arguments)
    if arguments.json:
        check_writable(arguments.json)
    display = progress_display(progress_mode(arguments))

    def take(event: Event) -> None:
        if arguments.json != "-":
            display.close()
            _show_row(event.value["row"])

    finished = watch_job(job, display, "Stopped. Nothing was written, because the ladder is not whole.", take)
    return _finish(finished["ladder"], arguments.json)


def _job(arguments: argparse.Namespace) -> dict[str, Any]:
    from pathlib import Path

    from clalign.errors import InputError
    from clalign.labs.ladder_rungs import chosen

    variants = arguments.variants.split(",") if arguments.variants else None
    chosen(variants)  # a wrong name is told of before a worker starts
    files = {}
    for name in ("hmm", "db"):
        path = getattr(arguments, name)
        if path is not None and not Path(path).exists():
            raise InputError(path, "the file does not exist.", "Check the name.")
        files[name] = path and str(Path(path).absolute())
    sizes = {name: getattr(arguments, name) for name in ("runs", "sequences", "nodes", "seed")}
    return {"job": "ladder", "device": device_of(arguments), "variants": variants, **files, **sizes}


def _show_row(row: dict[str, Any]) -> None:
    from clalign.labs.ladder_tables import text_line

    if row["name"] == "basic":
        print(text_line(None))
    print(text_line(row), flush=True)


def _finish(document: dict[str, Any], path: str | None) -> int:
    """Show the experiments, write the document, and tell whether every rung was right."""
    from clalign.formats.writers import whole_file
    from clalign.labs.ladder_tables import experiment_text, heading

    if path is not None:
        with whole_file(path) as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    if path != "-":
        experiments = experiment_text(document)
        print("\n".join([*([experiments] if experiments else []), "", heading(document)]))
    measured = [*document["rows"], *(row for rows in document["experiments"].values() for row in rows)]
    wrong = [row for row in measured if row.get("status") == "done" and not row["equal"]]
    return ExitCode.DIFFERENT if wrong else ExitCode.DONE

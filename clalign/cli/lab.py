"""``clalign lab``: published experiments, measured on a device: ladders of kernels, and groups that wait."""

from __future__ import annotations

import argparse
import contextlib
import json
from typing import Any

from clalign.cli import lab_sync
from clalign.cli.inputs import in_files, there
from clalign.cli.options import add_device_option, add_progress_options, device_of, progress_mode
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import show
from clalign.errors import ExitCode, OptionError
from clalign.jobs import Event
from clalign.values.typed_numbers import count

EXAMPLES = (
    "clalign lab ladder viterbi",
    "clalign lab ladder viterbi --device gpu --json ladder.json",
    "clalign lab ladder viterbi --variants private-rows,1+2+3+4,work-group --hmm globins.hmm --db proteins.fasta",
    "clalign lab ladder sw --device gpu --pairs 1000 --length 512",
    "clalign lab ladder pairhmm --device gpu --x 1949 --y 2205",
    "clalign lab sync --device gpu --groups 7-60 --group-size 32 --json groups.json",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "lab",
        examples=EXAMPLES,
        description="Measure a published experiment on a device: a ladder of kernels, or work-groups that wait for each"
        " other in every known way. Everything is compared with the reference first, then timed. The exit code is 8 if"
        " any result differs.",
    )
    parser.add_argument("laboratory", choices=("ladder", "sync"), metavar="ladder|sync", help="the laboratory")
    parser.add_argument(
        "engine",
        nargs="?",
        choices=("viterbi", "sw", "pairhmm"),
        metavar="viterbi|sw|pairhmm",
        help="which ladder: Plan7 Viterbi, Smith-Waterman of many pairs, or the pair HMM of statistical alignment",
    )
    what = parser.add_argument_group("Measuring")
    what.add_argument(
        "--variants",
        metavar="A,B",
        help="only these rungs (the first always) and experiments; an unknown name lists them",
    )
    what.add_argument("--runs", "--repeats", type=count, metavar="N", help="how often to time each rung; the median is"
                      " shown, of waiting groups the mean [5]")  # fmt: skip
    what.add_argument("--seed", type=count, metavar="N", help="of the random model and sequences [1]")
    viterbi = parser.add_argument_group("Plan7 Viterbi")
    viterbi.add_argument("--hmm", metavar="F", help="measure on the first model of F instead of a random one")
    viterbi.add_argument("--db", metavar="F", help="measure on sequences of F instead of synthetic ones")
    viterbi.add_argument("--sequences", type=count, metavar="N", help="how many sequences [as suits the device]")
    viterbi.add_argument("--nodes", type=count, metavar="N", help="length of the random model [270]")
    pairs = parser.add_argument_group("Pairs")
    pairs.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help="how many pairs; of the pair HMM, for what does all at once [1000; 849]",
    )
    pairs.add_argument("--length", type=count, metavar="N", help="Smith-Waterman: nucleotides of each sequence [512]")
    pairs.add_argument("--x", type=count, metavar="N", help="pair HMM: residues of the first sequences [1417]")
    pairs.add_argument("--y", type=count, metavar="N", help="pair HMM: residues of the second sequences [1460]")
    lab_sync.add_options(parser)
    parser.add_argument_group("Output").add_argument(
        "--json", metavar="F", help="write everything as JSON to F; - is standard output, in place of the table"
    )
    add_device_option(parser)
    add_progress_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure in the laboratory that is asked for."""
    from clalign.labs.ladder import LADDERS

    is_ladder = arguments.laboratory == "ladder"
    if is_ladder != (arguments.engine is not None):
        raise UsageError("clalign lab", f"missing: {'|'.join(LADDERS)}" if is_ladder else "too many arguments")
    ladders_own = {"variants", *(name for ladder in LADDERS.values() for name in ladder.options)}
    for name in lab_sync.OPTIONS if is_ladder else sorted(ladders_own):
        if getattr(arguments, name) is not None:
            other = "sync" if is_ladder else "ladder"
            raise OptionError(
                f"The laboratory {arguments.laboratory} has no --{name.replace('_', '-')}.", f"It is for {other}."
            )
    return _run_ladder(arguments) if is_ladder else lab_sync.run(arguments)


def _run_ladder(arguments: argparse.Namespace) -> int:
    """Measure, show row after row, and keep the document."""
    from clalign.cli.progress import progress_display
    from clalign.cli.streams import enough_read
    from clalign.cli.watch import watch_job
    from clalign.formats.writers import check_writable

    job = _job(arguments)
    if arguments.json:
        check_writable(arguments.json)
    display = progress_display(progress_mode(arguments))
    shown: list[str] = []

    def take(event: Event) -> None:
        row = event.value["row"]
        if arguments.json != "-":
            display.close()
            with enough_read() if arguments.json else contextlib.nullcontext():  # the file is wanted all the same
                _show_row(row, arguments.engine, is_first=not shown)
            shown.append(row["name"])

    inputs = {name: there(path) for name in ("hmm", "db") if (path := job.get(name)) is not None}
    with in_files(*inputs.values()) as given:
        job |= dict(zip(inputs, given, strict=True))
        finished = watch_job(job, display, "Stopped. Nothing was written, because the ladder is not whole.", take)
    return _finish(finished[job["job"]], arguments.engine, arguments.json)


def _job(arguments: argparse.Namespace) -> dict[str, Any]:
    from clalign.labs.ladder import LADDERS

    ladder = LADDERS[arguments.engine]
    for engine, other in LADDERS.items():
        for name in other.options:
            if name not in ladder.options and getattr(arguments, name) is not None:
                raise OptionError(f"The ladder of {arguments.engine} has no --{name}.", f"It is for that of {engine}.")
    variants = arguments.variants.split(",") if arguments.variants else None
    ladder.part("chosen")(variants)  # a wrong name is told of before a worker starts
    named = {name: getattr(arguments, name) for name in ("runs", "seed", *ladder.options)}
    return {"job": ladder.job, "device": device_of(arguments), "variants": variants, **named}


def _show_row(row: dict[str, Any], engine: str, is_first: bool) -> None:
    from clalign.labs.ladder import LADDERS
    from clalign.labs.ladder_tables import text_line

    columns = LADDERS[engine].part("columns")
    if is_first:
        show(text_line(None, columns))
    show(text_line(row, columns), flush=True)


def _finish(document: dict[str, Any], engine: str, path: str | None) -> int:
    """Show what belongs below the rungs, write the document, and tell whether every rung was right."""
    from clalign.formats.writers import whole_file
    from clalign.labs.ladder import LADDERS
    from clalign.labs.ladder_tables import experiment_text

    if path is not None:
        with whole_file(path) as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    experiments = document.get("experiments", {})
    if path != "-":
        below = experiment_text(document) if experiments else ""
        told = LADDERS[engine].part("heading")(document)
        show("\n".join([*([below] if below else []), "", told]))
    measured = [*document["rows"], *(row for rows in experiments.values() for row in rows)]
    wrong = [row for row in measured if row.get("status") == "done" and not row["equal"]]
    return ExitCode.DIFFERENT if wrong else ExitCode.DONE

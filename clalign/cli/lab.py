"""``clalign lab``: measure published experiments: ladders of kernels, groups that wait, tables by their numbers."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clalign.cli.inputs import in_files, input_path
from clalign.cli.options import add_device_option, add_progress_options, device_of, progress_mode
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import enough_read, show
from clalign.common.amounts import seconds_text
from clalign.errors import ExitCode, OptionError, OutputError
from clalign.jobs import Event
from clalign.values.documents import JobRequest
from clalign.values.typed_numbers import count

if TYPE_CHECKING:
    from clalign.labs.laboratory import Document
    from clalign.labs.publication_lab import PublicationLab
    from clalign.values.text_columns import Row

OF_WAITING_GROUPS = ("program", "groups", "group_size", "methods", "sets", "size")
"""Options that the ladders do not have."""

FILES = ("hmm", "db")
"""Options with files, of ladders and of whole runs."""

OF_ITEMS = ("table", "figure", "item")
"""Words before the number of what is repeated."""

DESCRIPTION = (
    "Measure a published experiment on a device: a ladder of kernels, work-groups that wait for each"
    " other in every known way, or any table and figure of the four sources by its number, beside the published"
    " figures. Each result is compared with the reference, then timed. The exit code is 8 if any differs, except"
    " where an option of the compiler is tried. If the device fails at a table or figure, the others are measured"
    " all the same, and the exit code is that of the failure."
)

EXAMPLES = (
    "clalign lab list 004",
    "clalign lab table 004:8.6 --device gpu",
    "clalign lab all --device gpu --output repeated",
    "clalign lab ladder viterbi",
    "clalign lab ladder viterbi --device gpu --json ladder.json",
    "clalign lab ladder viterbi --variants private-rows,1+2+3+4,work-group --hmm globins.hmm --db proteins.fasta",
    "clalign lab ladder sw --device gpu --pairs 1000 --length 512",
    "clalign lab ladder pairhmm --device gpu --x 1949 --y 2205",
    "clalign lab sync --device gpu --groups 7-60 --group-size 32 --json groups.json",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "laboratory",
        choices=("ladder", "sync", "list", *OF_ITEMS, "all"),
        metavar="ladder|sync|list|table|figure|item|all",
        help="a ladder; waiting groups; the list of tables and figures; one of these; or all of them",
    )
    parser.add_argument(
        "what",
        nargs="?",
        metavar="viterbi|sw|pairhmm|SOURCE:NUMBER",
        help="the ladder: Plan7 Viterbi, Smith-Waterman of many pairs, or the pair HMM of statistical alignment; of"
        " list and all a source, 001 to 004 [every one]; of table, figure and item a source and a number: 004:8.6",
    )
    what = parser.add_argument_group("Measuring")
    what.add_argument(
        "--variants",
        metavar="A,B",
        help="only these rungs (and always the first) and experiments; an unknown name lists them",
    )
    what.add_argument(
        "--runs",
        "--repeats",
        type=count,
        metavar="N",
        help="how often to time each rung; shown is the median, for waiting groups the mean [5]",
    )
    what.add_argument("--seed", type=count, metavar="N", help="seed of the random model and sequences [1]")
    viterbi = parser.add_argument_group("Plan7 Viterbi")
    viterbi.add_argument("--hmm", metavar="F", help="measure on the first model of F, or whole runs with all of it")
    viterbi.add_argument("--db", metavar="F", help="measure on sequences of F instead of synthetic or bundled ones")
    viterbi.add_argument("--sequences", type=count, metavar="N", help="how many sequences [as suits the device]")
    viterbi.add_argument("--nodes", type=count, metavar="N", help="length of the random model [270]")
    pairs = parser.add_argument_group("Pairs")
    pairs.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help="how many pairs; for the pair HMM, where all are computed at once [1000; 849]",
    )
    pairs.add_argument("--length", type=count, metavar="N", help="Smith-Waterman: nucleotides of each sequence [512]")
    pairs.add_argument("--x", type=count, metavar="N", help="pair HMM: residues of the first sequences [1417]")
    pairs.add_argument("--y", type=count, metavar="N", help="pair HMM: residues of the second sequences [1460]")
    _add_waiting_groups(parser)
    output = parser.add_argument_group("Output")
    output.add_argument(
        "--json", metavar="F", help="write everything as JSON to F; - is standard output, which replaces the table"
    )
    output.add_argument(
        "--output", metavar="DIR", help="of all: write report.md, report.html and pictures to the folder DIR"
    )
    output.add_argument(
        "--small", action="store_true", help="of tables and figures: everything as small as can be, to try it out"
    )
    output.add_argument(
        "--full", action="store_true", help="of tables and figures: whole runs as large as published, if it takes hours"
    )
    output.add_argument(
        "--minutes",
        type=count,
        metavar="N",
        help="of all: be done in about N minutes; what would not begin in time is left out [no limit]",
    )
    add_device_option(parser)
    add_progress_options(parser)


def _add_waiting_groups(parser: CommandParser) -> None:
    group = parser.add_argument_group("Inter-group synchronization (sync)")
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
    group.add_argument("--sets", type=count, metavar="G", help="sets of ILBS [6]")
    group.add_argument("--size", type=count, metavar="N", help="keys, or rounds of relay [as suits the device]")


def run(arguments: argparse.Namespace) -> int:
    """Measure in the chosen laboratory."""
    from clalign.labs.register import LADDERS

    asked = arguments.laboratory
    of_ladders = {"variants": "ladder", **{name: "ladder" for one in LADDERS.values() for name in one.options}}
    if asked in (*OF_ITEMS, "all"):
        of_ladders = {name: other for name, other in of_ladders.items() if name not in FILES}
    of_others = {**dict.fromkeys(OF_WAITING_GROUPS, "sync"), "output": "all", "minutes": "all"}
    for name, other in {**of_ladders, **of_others}.items():
        if other != asked and getattr(arguments, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"`lab {asked}` has no {flag}.", f"It is for `lab {other}`.")
    for flag in ("small", "full"):
        if getattr(arguments, flag) and asked not in (*OF_ITEMS, "all"):
            raise OptionError(f"`lab {asked}` has no --{flag}.", "It is for tables and figures.")
    if arguments.small and arguments.full:
        raise OptionError("--small and --full are contrary.", "Leave out one of the two.")
    if arguments.json and asked == "list":
        raise OptionError("`lab list` has no --json.", "It is for what is measured.")
    if asked == "ladder":
        if arguments.what is None:
            raise UsageError("clalign lab", f"missing: {'|'.join(LADDERS)}")
        if arguments.what not in LADDERS:
            raise UsageError("clalign lab", f"no ladder {arguments.what!r}; there are: {', '.join(LADDERS)}")
        return _run_ladder(arguments)
    if asked == "sync":
        if arguments.what is not None:
            raise UsageError("clalign lab", "too many arguments")
        return _run_waiting_groups(arguments)
    return _list(arguments) if asked == "list" else _repeat(arguments)


def _sources(arguments: argparse.Namespace) -> list[str]:
    """Return the numbers of the sources that are asked for."""
    from clalign.labs.register import PUBLICATIONS

    if arguments.what not in (None, *PUBLICATIONS):
        raise OptionError(f'"{arguments.what[:40]}" names no source.', f"Give one of {', '.join(PUBLICATIONS)}.")
    return [arguments.what] if arguments.what else list(PUBLICATIONS)


def _list(arguments: argparse.Namespace) -> int:
    """List the tables and figures of the sources, and what repeats them."""
    from clalign.labs.register import PUBLICATIONS

    for key in _sources(arguments):
        laboratory = PUBLICATIONS[key]
        show(f"{key}: {laboratory.source.title}. {laboratory.source.about} Times are those on two processor cores.\n")
        for row in laboratory.known:
            how = f"{row['by']}, about {seconds_text(row['takes'])}" if row["by"] else row["reason"].rstrip(".")
            show(f"  {row['name']}: {row['text']} ({row['kind']}; {how})")
        show("")
    return ExitCode.DONE


def _repeat(arguments: argparse.Namespace) -> int:
    """Repeat one table or figure, or all of them, source after source."""
    from clalign.labs.publications import found_item
    from clalign.labs.register import PUBLICATIONS

    if arguments.laboratory == "all":
        asked: dict[str, list[str] | None] = dict.fromkeys(_sources(arguments))
    elif arguments.what is None:
        raise UsageError("clalign lab", "missing: SOURCE:NUMBER, as in 004:8.6")
    else:
        source, item = found_item(arguments.what, "" if arguments.laboratory == "item" else arguments.laboratory)
        asked = {source.key: [item.name]}
    outputs = _Repeated(arguments.output, arguments.json)
    ends = time.monotonic() + 60 * (arguments.minutes or 0)
    try:
        for place, (key, names) in enumerate(asked.items(), 1):
            left = max(0.0, ends - time.monotonic()) / 60 if arguments.minutes else None
            laboratory = PUBLICATIONS[key]
            named = {
                "runs": arguments.runs,
                "seed": arguments.seed,
                "is_small": arguments.small,
                "is_full": arguments.full,
                "minutes": left,
                "later": list(asked)[place:],
            }
            job = {"job": laboratory.job, "device": device_of(arguments), "variants": names, **named}
            with _files(arguments) as given:
                outputs.add(laboratory, _measured(job | given, arguments, laboratory.printed))
    finally:
        outputs.finish()
    codes = [laboratory.exit_code(found) for laboratory, found in outputs.measured]
    return ExitCode.DIFFERENT if ExitCode.DIFFERENT in codes else next(filter(None, codes), ExitCode.DONE)


class _Repeated:
    """What was repeated, and where it is written: source after source, should the rest be stopped.

    Parameters
    ----------
    folder : str or None
        Of the report.
    path : str or None
        Of the JSON.

    Raises
    ------
    OutputError
        If one cannot be written.
    """

    def __init__(self, folder: str | None, path: str | None) -> None:
        from clalign.formats.writers import check_writable

        self.measured: list[tuple[PublicationLab, Document]] = []
        self._folder, self._path = folder, path
        if folder:
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise OutputError(
                    f"{folder} cannot hold the report: {error.strerror}.", "Name another folder."
                ) from error
            check_writable(os.path.join(folder, "report.html"))
            check_writable(os.path.join(folder, "report.md"))

    def add(self, laboratory: PublicationLab, document: Document) -> None:
        """Add what was repeated of a source, and write the report."""
        self.measured.append((laboratory, document))
        if self._folder:
            from pathlib import Path

            from clalign.labs.publication_report import write_report

            write_report(Path(self._folder), self.measured)

    def finish(self) -> None:
        """Write the documents of the sources by their numbers; nothing if nothing was measured."""
        if not self.measured:
            return
        documents = {laboratory.source.key: found for laboratory, found in self.measured}
        summaries = [laboratory.summary(found) for laboratory, found in self.measured]
        _finish({"kind": "publications", "sources": documents}, self._path, summaries)


@contextlib.contextmanager
def _files(arguments: argparse.Namespace) -> Iterator[JobRequest]:
    """Yield the files that are asked for by their options."""
    inputs = {name: input_path(path) for name in FILES if (path := getattr(arguments, name)) is not None}
    with in_files(*inputs.values()) as given:
        yield dict(zip(inputs, given, strict=True))


def _run_ladder(arguments: argparse.Namespace) -> int:
    from clalign.labs.laboratory import row_text
    from clalign.labs.register import LADDERS

    ladder = LADDERS[arguments.what]
    for engine, other in LADDERS.items():
        for name in other.options:
            if name not in ladder.options and getattr(arguments, name) is not None:
                raise OptionError(f"The ladder of {arguments.what} has no --{name}.", f"It is for that of {engine}.")
    variants = _split(arguments.variants)
    ladder.chosen(variants)  # a wrong name is refused before a worker starts
    named = {name: getattr(arguments, name) for name in ("runs", "seed", *ladder.options)}
    job = {"job": ladder.job, "device": device_of(arguments), "variants": variants, **named}
    with _files(arguments) as given:
        rungs, *experiments = ladder.experiments
        document = _measured(job | given, arguments, lambda row: row_text(rungs.columns, row))
    tables = ["\n".join(["", *lines]) for one in experiments if (lines := one.text(document))]
    _finish(document, arguments.json, [*tables, "", ladder.described(document)])
    return ExitCode.DIFFERENT if ladder.wrong(document) else ExitCode.DONE


def _run_waiting_groups(arguments: argparse.Namespace) -> int:
    from clalign.labs.synchronization import USUAL_WAYS, SynchronizationSpec, wrong_cells
    from clalign.labs.synchronization_results import below, row_text

    methods = _split(arguments.methods)
    given = {name: getattr(arguments, name) for name in (*OF_WAITING_GROUPS, "runs", "seed")}
    job = {"job": "synchronization", "device": device_of(arguments), **given, "methods": methods}
    SynchronizationSpec.from_dict(job)  # what makes no sense is refused before a worker starts
    document = _measured(job, arguments, lambda row: row_text(row, methods or USUAL_WAYS))
    _finish(document, arguments.json, ["", below(document)])
    return ExitCode.DIFFERENT if wrong_cells(document) else ExitCode.DONE


def _split(names: str | None) -> Sequence[str] | None:
    return names.split(",") if names else None


def _measured(job: JobRequest, arguments: argparse.Namespace, text_of: Callable[[Row | None], str]) -> Document:
    """Return the document of a job; each row is shown as soon as it is measured."""
    from clalign.cli.watch import watch_job
    from clalign.formats.writers import check_writable

    if arguments.json:
        check_writable(arguments.json)
    titles = [text_of(None)]

    def take(event: Event) -> None:
        if arguments.json == "-":
            return
        with enough_read() if arguments.json else contextlib.nullcontext():  # the file is still to be written
            show("\n".join([*titles, text_of(event.value["row"])]), flush=True)
        titles.clear()

    stopped = "Stopped. Nothing was written of this measurement, because it is incomplete."
    found: Document = watch_job(job, progress_mode(arguments), stopped, take)[job["job"]]
    return found


def _finish(document: Document, path: str | None, below: Sequence[str]) -> None:
    """Write the document, and show the text below its rows."""
    from clalign.formats.writers import whole_file

    if path is not None:
        with whole_file(path) as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    if path != "-":
        show("\n".join(below))

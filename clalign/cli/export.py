"""``clalign export``: write the results of a run."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clalign.cli.engine_command import add_outputs
from clalign.cli.options import NO_TEXT, add_locate_option, add_text_options, locate_inputs
from clalign.cli.outputs import SHAPES, Outputs, outputs_of
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import enough_read, tell
from clalign.engines.commands import Command, Output
from clalign.engines.engine import Engine, engines
from clalign.errors import OptionError
from clalign.jobs import WarningContext
from clalign.values.typed_numbers import number, whole_number

COMMAND = "clalign export"

EXAMPLES = (
    "clalign export search.clalign | less",
    "clalign export search.clalign --fasta hits.fasta",
    "clalign export search.clalign --evalue 1e-10 --stockholm family.sto",
    "clalign export search.clalign --significant --tsv - | head",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "export",
        examples=EXAMPLES,
        description="Write what a run has found; with no output named the text, to standard output. Nothing is computed"
        " again.",
    )
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    add_locate_option(parser)
    add_run_outputs(parser)
    chosen = parser.add_argument_group("Which hits")
    chosen.add_argument("-E", "--evalue", type=number, metavar="X", help="only sequences with at most this E-value")
    chosen.add_argument(
        "-T",
        "--score",
        type=number,
        metavar="X",
        help="only sequences with at least this score (as in the search)",
    )
    chosen.add_argument("--query", metavar="Q", help="only hits of this query, of a run of hmmscan a sequence: its"
                        " name, its accession, or its number in the file counted from 1")  # fmt: skip
    chosen.add_argument("--target", metavar="T", help="only hits of this target, of a run of hmmscan a profile")
    chosen.add_argument("--significant", action="store_true", help="only what the search called significant")
    parser.set_defaults(run=run)


def all_outputs(of: Iterable[Engine] | None = None) -> list[Output]:
    """Return what runs, those `of` some engines or all, can be written as.

    An export of several engines has the flags of all, and the first's words.
    """
    found: dict[str, list[tuple[Engine, str, Output]]] = {}
    asked = list(engines() if of is None else of)
    for engine in asked:
        for program, command in engine.part("commands").items():
            for one in (*command.outputs, *command.later):
                found.setdefault(one.export, []).append((engine, program, one))
    return [_joined(entries, len(asked)) for entries in found.values()]


def _joined(entries: list[tuple[Engine, str, Output]], n_asked: int) -> Output:
    flags = dict.fromkeys(flag for _, _, one in entries for flag in one.flag.split())
    is_general = len({engine.name for engine, _, _ in entries}) == n_asked
    tables = entries[0][0].part("tables") if "tables" in entries[0][0].at else {}
    columns = ", ".join(column.file for column in tables.get(entries[0][2].export, ()))
    of = "" if is_general else f"of a run of {' or '.join(program for _, program, _ in entries)}: "
    return replace(
        entries[0][2], flag=" ".join(flags), help=f"{of}{entries[0][2].help}{columns and '; columns: '}{columns}"
    )


def add_run_outputs(parser: CommandParser, of: Iterable[Engine] | None = None) -> None:
    """Add the flags that name output files, whatever the run is of, or of runs `of` some engines."""
    group = parser.add_argument_group("Output")
    add_outputs(group, all_outputs(of))
    parser.set_defaults(**NO_TEXT)
    asked = engines() if of is None else of
    commands: list[Command] = [one for engine in asked for one in engine.part("commands").values() if one.has_hits]
    if commands:
        group.add_argument(
            "--html-hits", type=whole_number, metavar="N", help="with --html: list at most N hits of each query, the"
            " best; 0 for all, up to 50,000 [200; of many queries 5,000 in all]"
        )  # fmt: skip
        group.add_argument(
            "--with-matched-by", action="store_true", help="with --fasta-matched: end each description with the"
            " profile, or the query of sw, that the part was matched by: [matched_by=NAME]"
        )  # fmt: skip
        shapes = {shape for one in commands for shape in one.shapes}
        add_text_options(group, shapes, max(one.least_width for one in commands))


def run(arguments: argparse.Namespace) -> int:
    """Write the files that the flags name."""
    from clalign.engines.export import export

    outputs = outputs_of_run(arguments, COMMAND)
    check_known(arguments.run_file, outputs, COMMAND)
    locate_inputs(arguments.run_file, arguments.locate)
    hits, asked = _chosen(arguments)
    outputs.check((arguments.run_file,), of=arguments.run_file)
    context = WarningContext(lambda text: tell(f"clalign: {text}"))
    for what, path in outputs.files:
        with enough_read():
            how = {**outputs.shape, "significant": arguments.significant, "asked": asked}
            export(arguments.run_file, what, path, hits, context, **how)
    return 0


def outputs_of_run(arguments: argparse.Namespace, command: str, of: Iterable[Engine] | None = None) -> Outputs:
    """Return the outputs that the flags name; the text, to standard output, only if they name none.

    `of` is as it was for `add_run_outputs`.
    """
    known = all_outputs(of)
    is_text_wanted = getattr(arguments, "outfmt", None) is not None or not any(
        getattr(arguments, f"out_{one.export}") for one in known
    )
    return outputs_of(arguments, command, known, is_text_wanted)


def flags_of(outputs: Outputs) -> list[str]:
    """Return the flags by which `clalign resume` writes some outputs."""
    known = {one.export: one.flag.split()[0] for one in all_outputs()}
    words = ["--outfmt", outputs.columns] if outputs.columns else []
    is_alone = [path for _, path in outputs.files] == ["-"]
    for what, path in outputs.files:
        flag = known["text" if what == "outfmt" else what]
        words += [] if is_alone and what in ("text", "outfmt") else [flag, path]
    for field, value in outputs.shaped.items():
        flag, _ = SHAPES[field]
        words += [flag] if isinstance(value, bool) else [flag, str(value)]
    return words


def check_known(path: str, outputs: Outputs, command: str) -> None:
    """Refuse outputs that a run has not, and what shapes none of them, in the words of the command line.

    Raises
    ------
    OptionError
        If there is one that it has not.
    UsageError
        If a flag would have no effect.
    """
    from clalign.engines.engine import engine_of, spec_of
    from clalign.runs.run_file import open_run

    with open_run(Path(path)) as found:
        program, known = spec_of(found).command, engine_of(found).writers
    flags = {one.export: one.flag.replace(" ", ", ") for one in all_outputs()} | {"outfmt": "--outfmt"}
    unknown = next((flags[what] for what, _ in outputs.files if what not in known), None)
    if unknown is not None:
        others = ", ".join(flag for name, flag in flags.items() if name in known)
        raise OptionError(f"A run of `clalign {program}` has no {unknown}.", f"Choose among {others}.")
    outputs.check_shapes(command, {name: flag.split(",")[0] for name, flag in flags.items() if name in known})


def _chosen(arguments: argparse.Namespace) -> tuple[list[int] | None, str]:
    """Return the ids of the hits within the limits, None for all, and the options that choose them.

    Raises
    ------
    OptionError
        If the run calls no hits significant.
    UsageError
        If it has no hits.
    """
    from clalign.engines.engine import engine_of, spec_of
    from clalign.runs.queries import HitQueries
    from clalign.runs.run_file import open_run

    with open_run(Path(arguments.run_file)) as found:
        engine, spec = engine_of(found), spec_of(found)
        limits = {
            "-E": arguments.evalue, "-T": arguments.score, "--query": arguments.query, "--target": arguments.target,
        }  # fmt: skip
        limits = {flag: value for flag, value in limits.items() if value is not None}
        given = [*limits, *(["--significant"] if arguments.significant else [])]
        if given and not engine.finds_hits:
            words = f"a run of `clalign {spec.command}` has no hits to choose among: leave out {given[0]}"
            raise UsageError(COMMAND, words)
        if arguments.significant and not engine.judges:
            raise OptionError(f"A run of `clalign {spec.command}` calls no hits significant.", "Choose with -E or -T.")
        if not limits:
            return None, ""
        is_raw = engine.score_of_option == "raw"
        hits = HitQueries(found.connection)
        if spec.is_scan:  # the cards of a run are of its profiles, which are targets there
            of_cards, of_rows, noun = arguments.target, arguments.query, "query"
        else:
            of_cards, of_rows, noun = arguments.query, arguments.target, "target"
        query = None if of_cards is None else hits.query_named(of_cards, engine.query)
        more = f"A {engine.query} is chosen with {spec.choosing_flag}."
        rows = None if of_rows is None else hits.targets_named(of_rows, noun, more)
        asked = [str(one) for pair in limits.items() for one in pair]
        return hits.within(arguments.evalue, arguments.score, is_raw, query, rows), shlex.join(asked)

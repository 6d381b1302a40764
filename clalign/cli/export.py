"""``clalign export``: write the results of a run."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from msgspec.structs import asdict

from clalign.cli.options import add_locate_option, locate_inputs
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.run_outputs import add_run_outputs, outputs_of_its_engine, outputs_of_run
from clalign.cli.streams import enough_read, write_stderr
from clalign.errors import OptionError
from clalign.jobs import WarningContext
from clalign.values.typed_numbers import number

COMMAND = "clalign export"

DESCRIPTION = (
    "Write the results of a run. If no output is named, the text goes to standard output. Nothing is computed again."
)

EXAMPLES = (
    "clalign export search.clalign | less",
    "clalign export search.clalign --fasta hits.fasta",
    "clalign export search.clalign --evalue 1e-10 --stockholm family.sto",
    "clalign export search.clalign --significant --tsv - | head",
    "clalign export two_proteomes.clalign --best both --tsv orthologs.tsv",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    add_locate_option(parser)
    add_run_outputs(parser)
    chosen = parser.add_argument_group("Which hits")
    chosen.add_argument("-E", "--evalue", type=number, metavar="X", help="only sequences with at most this E-value")
    chosen.add_argument(
        "-T", "--score", type=number, metavar="X", help="only sequences with at least this score (as in the search)"
    )
    chosen.add_argument(
        "--query",
        metavar="Q",
        help="only hits of this query (in a run of hmmscan a sequence): its name, accession, or number in the file,"
        " counted from 1",
    )
    chosen.add_argument("--target", metavar="T", help="only hits of this target (in a run of hmmscan a profile)")
    chosen.add_argument(
        "--best",
        choices=("query", "target", "both"),
        help="only the best hit of each query, of each target, or of both (reciprocal best hits); ties are all kept",
    )
    chosen.add_argument("--significant", action="store_true", help="only hits that the search called significant")


def run(arguments: argparse.Namespace) -> int:
    """Write the files that the flags name."""
    from clalign.engines.export import export
    from clalign.engines.export_source import KeptHits

    kept = KeptHits()
    outputs = outputs_of_its_engine(arguments.run_file, outputs_of_run(arguments, COMMAND), COMMAND)
    locate_inputs(arguments.run_file, arguments.locate)
    hits, asked = _chosen(arguments)
    outputs.check(of=arguments.run_file)
    context = WarningContext(lambda text: write_stderr(f"clalign: {text}"))
    how = {**asdict(outputs.shape), "significant": arguments.significant, "asked": asked}
    for one, path in outputs.files:
        with enough_read():
            export(arguments.run_file, one.name, path, hits, context, kept=kept, **how)
    return 0


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
            "--best": arguments.best,
        }  # fmt: skip
        limits = {flag: value for flag, value in limits.items() if value is not None}
        given = [*limits, *(["--significant"] if arguments.significant else [])]
        if given and not engine.finds_hits:
            words = f"a run of `clalign {spec.command}` has no hits to choose among: leave out {given[0]}"
            raise UsageError(COMMAND, words)
        if arguments.significant and not engine.calls_significant:
            raise OptionError(f"A run of `clalign {spec.command}` has no significant hits.", "Choose with -E or -T.")
        if not limits:
            return None, ""
        is_raw = engine.score_of_option == "raw"
        hits = HitQueries(found.connection)
        if spec.is_scan:  # the cards of a run are of its profiles, which are targets there
            of_cards, of_rows, noun = arguments.target, arguments.query, "query"
            best = {"query": "target", "target": "query"}.get(arguments.best, arguments.best)
        else:
            of_cards, of_rows, noun, best = arguments.query, arguments.target, "target", arguments.best
        query = None if of_cards is None else hits.query_named(of_cards, engine.query)
        more = f"A {engine.query} is chosen with {spec.choosing_flag}."
        rows = None if of_rows is None else hits.targets_named(of_rows, noun, more)
        asked = [str(one) for pair in limits.items() for one in pair]
        return hits.within(arguments.evalue, arguments.score, is_raw, query, rows, best), shlex.join(asked)

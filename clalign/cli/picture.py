"""``clalign picture``: draw the hits of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser
from clalign.values.typed_numbers import number

DESCRIPTION = "Draw a picture of the hits of a run, or write its numbers as a table. Nothing is computed again."

EXAMPLES = (
    "clalign picture search.clalign --kind coverage -o coverage.svg",
    "clalign picture proteome.clalign --kind score-length -o hits.png --width 120",
    "clalign picture search.clalign --kind species --taxonomy lineage.tsv --column phylum -o phyla.pdf",
    "clalign picture search.clalign --kind qq -o qq.tsv     # its numbers",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    from clalign.engines.pictures import KINDS
    from clalign.tools.painting import WIDTH

    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="OUT",
        required=True,
        help="write to OUT: .svg, .pdf or .png; .tsv for the numbers",
    )
    meanings = "; ".join(f"{name}: {kind.meaning[0].lower()}{kind.meaning[1:]}" for name, kind in KINDS.items())
    parser.add_argument(
        "--kind", choices=tuple(KINDS), default="coverage", help=f"kind of picture [coverage]. {meanings}"
    )
    parser.add_argument(
        "--profile",
        "--query",
        dest="query",
        metavar="P",
        help="only hits of this profile, or query of sw: its name, accession, or number counted from 1 [all]",
    )
    parser.add_argument(
        "--taxonomy",
        metavar="TABLE",
        help="with species: a table whose lines have a name, an accession, an OX number or an OS name, a tab, and the"
        " species; more columns may follow",
    )
    parser.add_argument(
        "--column", metavar="C", default="", help="name or number of the column of that table that is counted [2]"
    )
    parser.add_argument("--width", type=number, default=WIDTH, metavar="MM", help=f"width in millimeters [{WIDTH:g}]")


def run(arguments: argparse.Namespace) -> int:
    """Draw the picture."""
    from clalign.engines.engine import engine_of
    from clalign.engines.pictures import PictureRequest, check_has_hits
    from clalign.runs.queries import HitQueries
    from clalign.runs.run_file import open_run
    from clalign.tools.painting import ENDINGS, TABLE, check_ending, write_picture

    check_ending(arguments.output, (*ENDINGS, TABLE))
    check_places((arguments.output,), (arguments.run_file, arguments.taxonomy or ""))
    _check(arguments)
    with open_run(Path(arguments.run_file)) as found:
        check_has_hits(found)
        hits, noun = HitQueries(found.connection), engine_of(found).query
        query = None if arguments.query is None else hits.query_named(arguments.query, noun)
        request = PictureRequest(arguments.kind, query, arguments.taxonomy or "", arguments.column)
        write_picture(found, request, arguments.output, arguments.width)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    from clalign.errors import OptionError
    from clalign.tools.painting import check_width

    check_width(arguments.width, "--width")
    if arguments.taxonomy and arguments.kind != "species":
        raise OptionError("--taxonomy is only for the picture of species.", "Add --kind species.")
    if arguments.column and not arguments.taxonomy:
        raise OptionError("--column needs a table of taxonomy.", "Name one with --taxonomy.")

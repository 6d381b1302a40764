"""``clalign picture``: draw the hits of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from clalign.cli.painting import ENDINGS, check_ending, painter_of, writing
from clalign.cli.parser import CommandParser
from clalign.values.typed_numbers import number

TABLE = ".tsv"

EXAMPLES = (
    "clalign picture search.clalign --kind coverage -o coverage.svg",
    "clalign picture proteome.clalign --kind score-length -o hits.png --width 120",
    "clalign picture search.clalign --kind species --taxonomy lineage.tsv --column phylum -o phyla.pdf",
    "clalign picture search.clalign --kind qq -o qq.tsv     # the numbers behind it",
)

WIDTH = 180.0
"""Millimeters: about the width of a page."""

LEAST, MOST = 20.0, 2000.0


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    from clalign.engines.pictures import KINDS

    parser: CommandParser = subparsers.add_parser(
        "picture",
        examples=EXAMPLES,
        description="Draw the hits of a run as a picture, or write the numbers behind it as a table. Nothing is"
        " computed again.",
    )
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    parser.add_argument("-o", dest="output", metavar="OUT", required=True,
                        help="write to OUT: .svg, .pdf or .png; .tsv for the numbers")  # fmt: skip
    meanings = "; ".join(f"{name}: {kind.meaning[0].lower()}{kind.meaning[1:]}" for name, kind in KINDS.items())
    parser.add_argument("--kind", choices=tuple(KINDS), default="coverage", help=f"which one [coverage]. {meanings}")
    parser.add_argument("--query", metavar="Q", help="of the hits of this query: its name, its accession, or its number"
                        " counted from 1; of all without it")  # fmt: skip
    parser.add_argument("--taxonomy", metavar="TABLE", help="with species: a table whose lines have a name, an"
                        " accession, an OX number or an OS name, a tab, and the species; more may follow")  # fmt: skip
    parser.add_argument("--column", metavar="C", default="", help="which column of that table is counted: its name, or"
                        " its number [2]")  # fmt: skip
    parser.add_argument("--width", type=number, default=WIDTH, metavar="MM", help="width in millimeters [180]")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Draw the picture."""
    from clalign.engines.pictures import Asked, picture_of, write_rows
    from clalign.runs.queries import HitQueries
    from clalign.runs.run_file import open_run

    check_ending(arguments.output, (*ENDINGS, TABLE))
    _check(arguments)
    is_table, is_svg = (arguments.output.lower().endswith(ending) for ending in (TABLE, ".svg"))
    with open_run(Path(arguments.run_file)) as found:
        query = None if arguments.query is None else HitQueries(found.connection).query_named(arguments.query)
        asked = Asked(arguments.kind, query, arguments.taxonomy or "", arguments.column)
        picture = picture_of(found, asked)
        with writing(arguments.output):
            if is_table:
                write_rows(picture, arguments.output)
            elif is_svg:
                _write_svg(picture, arguments.output, arguments.width)
            else:
                painter = painter_of("clalign.ui.views.painting")
                painter.write_drawing(picture.whole(), arguments.output, arguments.width)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    from clalign.errors import OptionError

    if not LEAST <= arguments.width <= MOST:
        raise OptionError(f"--width is {arguments.width:g}.", f"Give {LEAST:g} to {MOST:g} millimeters.")
    if arguments.taxonomy and arguments.kind != "species":
        raise OptionError("--taxonomy is for the picture of species.", "Add --kind species.")
    if arguments.column and not arguments.taxonomy:
        raise OptionError("--column is of a table of taxonomy.", "Name the table with --taxonomy.")


def _write_svg(picture: Any, path: str, millimeters: float) -> None:
    from clalign.formats.drawing_svg import drawing_svg
    from clalign.formats.writers import replaced_file

    with replaced_file(path) as file:
        file.write(drawing_svg(picture.whole(), millimeters))

"""``clalign realign``: align a block of columns again."""

from __future__ import annotations

import argparse
import re

from clalign.cli.changes import ALIGNMENT_HELP, add_change_options, run_change
from clalign.cli.parser import CommandParser
from clalign.errors import OptionError

DESCRIPTION = "Realign a block of columns on its own and put it back; everything outside the block is kept."

EXAMPLES = (
    "clalign realign --columns 120-180 family.afa > better.afa",
    "clalign realign --columns 120-180 --gapfactor 0 -o family.afa family.afa",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("alignment", metavar="ALIGNMENT", help=ALIGNMENT_HELP)
    parser.add_argument_group("Columns").add_argument(
        "--columns", metavar="A-B", required=True, help="from column A to column B, counted from 1"
    )
    add_change_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Align the block and write the alignment."""
    found = re.fullmatch(r"([1-9]\d{0,8})-([1-9]\d{0,8})", arguments.columns)
    if not found:
        raise OptionError(f"--columns is {arguments.columns}.", "Give two columns, such as 120-180.")
    columns = {"first": int(found[1]) - 1, "last": int(found[2])}
    return run_change(arguments, {"job": "realign", **columns}, {"alignment": arguments.alignment})

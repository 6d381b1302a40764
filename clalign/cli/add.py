"""``clalign add``: add sequences to a finished alignment."""

from __future__ import annotations

import argparse

from clalign.cli.changes import ALIGNMENT_HELP, add_change_options, run_change
from clalign.cli.parser import CommandParser

DESCRIPTION = (
    "Add sequences to a finished alignment. Its columns are kept, and new ones are inserted between"
    " them; the new sequences are aligned by posterior probabilities of pair HMMs, which compare them with the"
    " aligned sequences and with each other."
)

EXAMPLES = (
    "clalign add family.afa new.fasta > larger.afa",
    "clalign add --fast -o family.afa family.afa hits.fasta   # fewer comparisons; replaces the alignment",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("alignment", metavar="ALIGNMENT", help=ALIGNMENT_HELP)
    parser.add_argument("sequences", metavar="SEQS", help="the sequences to add, in any format; gaps are removed")
    add_change_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Add the sequences and write the alignment."""
    files = {"alignment": arguments.alignment, "sequences": arguments.sequences}
    return run_change(arguments, {"job": "add"}, files)

"""``clalign hmmscan``: look sequences up in a library of profiles."""

from __future__ import annotations

import argparse
from typing import Any

from clalign.cli.hmmsearch import add_search_options, submit
from clalign.cli.parser import CommandParser

COMMAND = "clalign hmmscan"

EXAMPLES = (
    "clalign hmmscan families.hmm proteins.fasta",
    "clalign hmmscan --cut_ga --domtblout domains.tbl --noali families.hmm proteins.fasta",
    "zcat *.fa.gz | clalign hmmscan -E 1e-3 --device gpu families.hmm -",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "hmmscan",
        examples=EXAMPLES,
        description="Find the profiles of a library that match each sequence (hmmpfam in HMMER2). E-values count the"
        " profiles of the library. Names and meanings of the options are those of HMMER.",
    )
    parser.add_argument(
        "profiles", metavar="HMMDB", help="profiles (HMMER2 or HMMER3 text, or .h3m); - is standard input"
    )
    parser.add_argument("targets", metavar="SEQFILE", help="sequences, also compressed; - is standard input")
    add_search_options(parser, "scan")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Scan and write the outputs."""
    return submit(arguments, COMMAND, "scan")

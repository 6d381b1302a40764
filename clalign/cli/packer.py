"""``clalign packer``: packs segments of a large file for a worker, in a process of its own."""

from __future__ import annotations

import argparse
import sys

from clalign.cli.parser import CommandParser
from clalign.cli.streams import private_stdout
from clalign.databases.packing import serve
from clalign.errors import ExitCode


def add_arguments(parser: CommandParser) -> None:
    """Add nothing."""


def run(arguments: argparse.Namespace) -> int:
    """Pack what standard input asks for, until it ends."""
    serve(sys.stdin, private_stdout())
    return ExitCode.DONE

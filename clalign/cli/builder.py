"""``clalign builder``: builds programs for a worker, in a process of its own."""

from __future__ import annotations

import argparse
import sys

from clalign.cli.parser import CommandParser
from clalign.cli.streams import private_stdout
from clalign.errors import ExitCode


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("device", help="its id")


def run(arguments: argparse.Namespace) -> int:
    """Build what standard input asks for, until it ends."""
    answers = private_stdout()
    from clalign.compute.opencl.builder_process import serve
    from clalign.compute.opencl.choice import pick_device

    serve(pick_device(arguments.device), sys.stdin, answers)
    return ExitCode.DONE

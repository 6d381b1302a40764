"""``clalign builder``: builds programs for a worker, in a process of its own."""

from __future__ import annotations

import argparse
import sys

from clalign.cli.parser import Commands
from clalign.cli.streams import private_stdout
from clalign.errors import ExitCode


def add_parser(subparsers: Commands) -> None:
    """Add the hidden sub-command."""
    parser = subparsers.add_parser("builder")
    parser.add_argument("device", help="its id")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Build what standard input asks for, until it ends."""
    answers = private_stdout()
    from clalign.compute.opencl.builder_process import serve
    from clalign.compute.opencl.choice import pick_device

    serve(pick_device(arguments.device), sys.stdin, answers)
    return ExitCode.DONE

"""``clalign probe``: lists or tests devices in a process of its own, where a driver may crash."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the hidden sub-command."""
    parser: argparse.ArgumentParser = subparsers.add_parser("probe")
    parser.add_argument("what", choices=["list", "test"])
    parser.add_argument("device", nargs="?", default="")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the devices, or the verdict of one's self-test, as one line of JSON."""
    from clalign.opencl.probe import list_devices, quick_test

    data = list_devices() if arguments.what == "list" else quick_test(arguments.device)
    sys.stdout.write(json.dumps(data) + "\n")
    return 0

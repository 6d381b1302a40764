"""``clalign probe``: tests what may crash in a process of its own: devices, Qt, or the display."""

from __future__ import annotations

import argparse
import importlib
import json
import os
from collections.abc import Callable

from clalign.cli.parser import CommandParser
from clalign.cli.streams import private_stdout
from clalign.system.processes import end_when_left, settle_child


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", choices=["list", "test", "window", "display"])
    parser.add_argument("device", nargs="?", default="")


def run(arguments: argparse.Namespace) -> int:
    """Print the devices, the result of a self-test, or why there can be no window, as one line of JSON."""
    settle_child()
    end_when_left()
    with private_stdout() as answer:

        def send(data: object) -> None:
            answer.write(json.dumps(data) + "\n")
            answer.flush()

        if arguments.what == "display":
            _connect(send)
        else:
            send(_window() if arguments.what == "window" else _devices(arguments))
    return 0


def _devices(arguments: argparse.Namespace) -> object:
    from clalign.tools.device_probe import list_devices, quick_test

    return list_devices() if arguments.what == "list" else quick_test(arguments.device)


def _window() -> str:
    try:
        importlib.import_module("PySide6.QtWidgets")
    except ImportError as error:
        return str(error)
    return ""


def _connect(send: Callable[[str], None]) -> None:
    """Send why the display does not answer; an empty text if it does."""
    from clalign.ui.shell.app import make_application  # noqa: TID251 - as in `gui`

    def refuse(reason: str) -> None:
        send(reason)
        os._exit(0)

    make_application(["clalign"], refuse)
    send("")

"""``clalign executor``: computes with one device for a worker, in a process of its own."""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from clalign import tracing
from clalign.cli.environment import begin_loading, end_loading, log_level
from clalign.cli.parser import CommandParser
from clalign.cli.preloading import Preloading
from clalign.cli.starting import forget_mark
from clalign.cli.streams import private_stdout
from clalign.errors import ExitCode

if TYPE_CHECKING:
    from clalign.execution.remote.client import Order


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("engine", help="by its name")
    parser.add_argument("device", help="its id")


def run(arguments: argparse.Namespace) -> int:
    """Compute units from standard input until no more come."""
    begin_loading()
    faulthandler.enable(all_threads=False)
    for name in ("SIGINT", "SIGHUP"):  # the worker handles them
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    logging.basicConfig(stream=sys.stderr, level=log_level("ERROR"))  # the worker logs the same warnings
    answers = private_stdout()
    preloading = Preloading()
    preloading.load(arguments.engine, arguments.device)
    preloading.join()  # modules that load each other must not be loaded by two threads
    from clalign.engines.engine import engine_named
    from clalign.execution.remote.server import Pipe, serve
    from clalign.values.devices import Device

    engine = engine_named(arguments.engine)
    load, spec_of = engine.parts.load.get(), engine.spec.from_dict
    end_loading()
    pipe = Pipe(sys.stdin.buffer, answers.buffer, partial(_leave, ExitCode.STOPPED))
    order: Order = pipe.receive()
    if order.is_traced:
        tracing.begin(f"clalign executor {arguments.device}")
    device, spec, devices = Device.from_dict(order.device), spec_of(order.spec), preloading.devices
    serve(pipe, device, order.n_devices, Path(order.run), spec, load, devices.pick, devices.open)
    sys.stderr.flush()
    _leave(ExitCode.DONE)


def _leave(code: int) -> NoReturn:
    """End at once: everything is sent, or nobody reads it, and drivers take time to end."""
    forget_mark(os.getpid())
    os._exit(code)

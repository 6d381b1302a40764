"""``clalign executor``: computes with one device for a worker, in a process of its own."""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clalign.cli.environment import begin_loading, end_loading, leave_threads_out
from clalign.cli.streams import private_stdout
from clalign.errors import ExitCode

if TYPE_CHECKING:
    from clalign.execution.apart.home import Order


def add_parser(subparsers: Any) -> None:
    """Add the hidden sub-command."""
    parser: argparse.ArgumentParser = subparsers.add_parser("executor")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compute what comes in by standard input, until there is no more."""
    begin_loading()
    faulthandler.enable(all_threads=False)
    for name in ("SIGINT", "SIGHUP"):  # the worker decides what they mean
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    answers = private_stdout()
    leave_threads_out()
    from clalign.compute.opencl.choice import pick_device
    from clalign.engines.engine import engine_of
    from clalign.execution.apart.there import Link, own_run, serve
    from clalign.values.devices import Device

    link = Link(sys.stdin.buffer, answers.buffer)
    order: Order = link.hear()
    with own_run(Path(order.run)) as file:
        engine = engine_of(file)
    spec = engine.spec.from_dict(order.spec)
    load = engine.part("load")
    end_loading()
    serve(link, Device.from_dict(order.device), partial(own_run, Path(order.run)), spec, load, pick_device)
    sys.stderr.flush()
    os._exit(ExitCode.DONE)  # all is told; what drivers do in the end takes time

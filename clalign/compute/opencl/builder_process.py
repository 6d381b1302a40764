"""Both sides of a child process that builds programs into the cache.

Each line to the child is a program as JSON; its first line says that it is ready, each further one that a program is
done. It ends when its input ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
from typing import TextIO

import pyopencl as cl

from clalign.compute.opencl.discover import driver_device
from clalign.compute.opencl.kernels import build
from clalign.compute.sessions import ProgramChoice
from clalign.errors import KernelBuildError
from clalign.system.processes import own_command
from clalign.values.devices import Device

log = logging.getLogger(__name__)

READY, DONE = "ready", "done"


class BuilderProcess:
    """A child process that builds programs for a device; a context manager that ends it.

    Parameters
    ----------
    device : Device
    """

    def __init__(self, device: Device) -> None:
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                own_command("builder", device.id), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, encoding="utf-8",
            )  # fmt: skip
        self._is_ready: bool | None = None

    def is_ready(self) -> bool:
        """Wait until it can build, and return whether it can."""
        if self._is_ready is None:
            self._is_ready = self._answer() == READY
        return self._is_ready

    def _answer(self) -> str:
        try:
            return self._process.stdout.readline().strip() if self._process and self._process.stdout else ""
        except (OSError, ValueError):
            return ""

    def build(self, choice: ProgramChoice) -> None:
        """Build a program and wait; whether that succeeded shows when the program is taken from the cache."""
        try:
            assert self._process is not None
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"source": choice.source, "macros": choice.macros}) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            self._is_ready = False
            return
        self._is_ready = self._answer() == DONE

    def __enter__(self) -> BuilderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def end(self) -> None:
        """End the process; may be called by any thread."""
        if self._process is not None:
            self._process.kill()


def serve(device: Device, given: TextIO, answers: TextIO) -> None:
    """Build the requested programs, one for each line, until there are no more."""
    context = cl.Context([driver_device(device)])
    answers.write(f"{READY}\n")
    answers.flush()
    for line in given:
        request = json.loads(line)
        with contextlib.suppress(KernelBuildError, cl.Error):  # the error is raised where the program is needed
            for _ in range(2):  # once more from the cache, since a driver may also store what it makes of that
                build(context, device.name, request["source"], dict(request["macros"]))
        answers.write(f"{DONE}\n")
        answers.flush()

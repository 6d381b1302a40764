"""The processes that compute: started ahead where words meant several cards last time, and ended after the job.

This module is loaded at the start of a worker, and so imports little.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

from clalign.compute.opencl.driver_warmup import (
    forget_marks,
    meant_last,
    remember_meant,
)
from clalign.databases.cache_root import cache_root
from clalign.jobs.processes import own_command

_ahead: dict[str, subprocess.Popen[bytes]] = {}
"""Processes that are not taken yet, by the ids of their devices."""

_taken: list[subprocess.Popen[bytes]] = []
"""Processes that are taken, until they are ended."""

_gone: list[subprocess.Popen[bytes]] = []
"""Processes that have done everything, and may still be ending."""

END_SECONDS = 5.0
"""Timeout for the end of a killed process, whose driver may hang (s)."""


def started(engine: str, device: str) -> subprocess.Popen[bytes]:
    """Start a process that opens a device, given by its id, and waits for its order."""
    return subprocess.Popen(own_command("executor", engine, device), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def start_ahead(engine: str, words: str) -> None:
    """Start processes for the devices that words of the user meant last time, if this engine computed in processes."""
    ids, _ = meant_last(cache_root(), _remembered(engine, words))
    with suppress(OSError):  # they are started when they are needed
        for device in filter(None, ids.split(",")):
            _ahead[device] = started(engine, device)


def remember(engine: str, words: str, devices: Sequence[str]) -> None:
    """Remember the ids of the devices that words mean and that compute in processes."""
    remember_meant(cache_root(), _remembered(engine, words), ",".join(devices), "")


def _remembered(engine: str, words: str) -> str:
    return f"{engine} processes: {words}"


def take(engine: str, device: str) -> subprocess.Popen[bytes]:
    """Take the process that was started ahead for a device, or start one."""
    wait_for_gone()  # of an earlier job
    process = _ahead.pop(device, None) or started(engine, device)
    _taken.append(process)
    return process


def end_ahead() -> None:
    """End the processes that are not taken."""
    while _ahead:
        _, process = _ahead.popitem()
        end(process)
        assert process.stdout is not None
        process.stdout.close()  # nothing else reads it


def let_go(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has done everything, without waiting for its end: drivers may take a while."""
    process.kill()
    with suppress(ValueError):  # another thread has ended it
        _taken.remove(process)
        _gone.append(process)


def wait_for_gone() -> None:
    """Wait for the end of processes that were let go."""
    with suppress(IndexError):
        while True:
            end(_gone.pop())


def end_all() -> None:
    """End all processes, taken ones first: they hold the run open."""
    left = list(_taken)
    for process in left:
        process.kill()  # all at once, so that they go together
    for process in left:
        end(process)
    end_ahead()


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and wait for its end."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    with suppress(ValueError):  # another thread has ended it
        _taken.remove(process)
    with suppress(OSError):  # a message that it did not read any more
        assert process.stdin is not None
        process.stdin.close()
    with suppress(OSError):
        forget_marks(cache_root(), process.pid)

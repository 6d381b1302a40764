"""Starting the processes that compute: where words meant several cards last time, before it is known what they will do.

It loads nothing that a worker does not need to begin.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

from clalign.children import own_command
from clalign.compute.opencl.waking import forget_marks, meant_last, remember_meant
from clalign.databases.cache_root import cache_root

_ahead: dict[str, subprocess.Popen[bytes]] = {}
"""Processes that nobody has taken, by the ids of their devices."""

_taken: list[subprocess.Popen[bytes]] = []
"""Those that somebody has, until they are ended."""

_gone: list[subprocess.Popen[bytes]] = []
"""Those that have nothing to do any more."""

END_SECONDS = 5.0
"""So long it is waited for a process that was killed: one whose driver hangs may never go."""


def started(engine: str, device: str) -> subprocess.Popen[bytes]:
    """Return a process that makes itself familiar with the device of this id, and waits for its order."""
    return subprocess.Popen(own_command("executor", engine, device), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def start_ahead(engine: str, words: str) -> None:
    """Start processes for the devices that a user's words meant last time, if they computed in some for this engine."""
    ids, _ = meant_last(cache_root(), _remembered(engine, words))
    with suppress(OSError):  # they are started when they are needed
        for device in filter(None, ids.split(",")):
            _ahead[device] = started(engine, device)


def remember(engine: str, words: str, devices: Sequence[str]) -> None:
    """Remember that words mean devices, by their ids, that compute in processes of their own."""
    remember_meant(cache_root(), _remembered(engine, words), ",".join(devices), "")


def _remembered(engine: str, words: str) -> str:
    return f"{engine} apart: {words}"


def taken(engine: str, device: str) -> subprocess.Popen[bytes]:
    """Return the process that was started ahead for a device, or a new one; it is the caller's from now on."""
    wait_for_gone()  # of an earlier job
    process = _ahead.pop(device, None) or started(engine, device)
    _taken.append(process)
    return process


def end_ahead() -> None:
    """End what nobody has taken."""
    while _ahead:
        _, process = _ahead.popitem()
        end(process)
        assert process.stdout is not None
        process.stdout.close()  # nobody else reads it


def let_go(process: subprocess.Popen[bytes]) -> None:
    """Let a process go that has done everything, and holds nothing open; drivers may take a while at that."""
    process.kill()
    with suppress(ValueError):  # another thread has ended it
        _taken.remove(process)
        _gone.append(process)


def wait_for_gone() -> None:
    """Wait for what was let go."""
    with suppress(IndexError):
        while True:
            end(_gone.pop())


def end_all() -> None:
    """End all that there are, those that somebody still has first: they hold the run open."""
    left = list(_taken)
    for process in left:
        process.kill()  # all at once, so that they go together
    for process in left:
        end(process)
    end_ahead()


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it does; who reads what it says sees the end of that."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    with suppress(ValueError):  # another thread has ended it
        _taken.remove(process)
    with suppress(OSError):  # what it was not told any more
        assert process.stdin is not None
        process.stdin.close()
    with suppress(OSError):
        forget_marks(cache_root(), process.pid)

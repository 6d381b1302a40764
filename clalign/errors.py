"""Errors that a user can meet.

Each says what happened and carries a hint: what to do about it. Everything else that is raised is
a fault of the program and shows its traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

from clalign.common.escapes import escaped

MAX_QUOTE = 60
"""Characters of a file that a message quotes at most."""

MAX_NUMBERS = 5
"""Numbers that a message lists at most."""


def typed(words: Sequence[str]) -> str:
    """Return a command with the quotation marks of this system's shell."""
    if sys.platform == "win32":
        from subprocess import list2cmdline

        return list2cmdline(words)
    import shlex

    return shlex.join(words)


def named(path: str) -> str:
    """Return a path as a word of a command that is not taken for an option; ``-`` is kept."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def command_for(name: str, path: object, *more: str) -> str:
    """Return a command of clalign for a file, with further words before the file, as it is typed in a shell."""
    return typed(["clalign", name, *more, named(str(path))])


def quoted(text: str, most: int = MAX_QUOTE) -> str:
    """Return a part of a user's input as a message shows it: in quotation marks, and shortened."""
    return f'"{text}"' if len(text) <= most else f'"{text[: most - 3]}..."'


class ExitCode(IntEnum):
    """Exit codes of the command line, the same for every sub-command."""

    DONE = 0
    INPUT = 1
    UNREADABLE = 2
    ENGINE = 3
    MEMORY = 4
    CANNOT_WRITE = 6
    NO_DEVICE = 7
    DIFFERENT = 8
    STOPPED = 9
    USAGE = 64
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class ClalignError(Exception):
    """An error with a cause the user can act on.

    Both texts may quote files: control characters in them are written as escapes.

    Parameters
    ----------
    message : str
        What happened, in one sentence.
    hint : str
        What to do about it.
    """

    exit_code = ExitCode.ENGINE

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = escaped(message)
        self.hint = escaped(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class OptionError(ClalignError):
    """An option or a combination of options that makes no sense."""

    exit_code = ExitCode.INPUT


def several_named(where: object, what: str, name: str, numbers: Sequence[int]) -> OptionError:
    """Return the error for a name that several profiles or queries have; `numbers` count from 0."""
    some = ", ".join(f"{number + 1:,}" for number in numbers[:MAX_NUMBERS]) + ", ..." * (len(numbers) > MAX_NUMBERS)
    plural = "queries" if what == "query" else f"{what}s"
    return OptionError(f"{where} has {len(numbers):,} {plural} named {quoted(name)}.", f"Choose by number: {some}.")


class InputError(ClalignError):
    """A file that cannot be read, or is of the wrong kind.

    Parameters
    ----------
    path : str or Path
        The file; ``-`` is standard input.
    reason : str
        What is wrong with it.
    hint : str
        What to do about it.
    line : int, optional
        Number of the offending line, counted from 1.
    """

    exit_code = ExitCode.UNREADABLE

    def __init__(self, path: str | Path, reason: str, hint: str = "", line: int | None = None) -> None:
        self.path = str(path)
        self.reason = reason
        self.line = line
        name = "standard input" if self.path == "-" else self.path
        place = f"{name}, line {line:,}" if line is not None else name
        super().__init__(f"{place}: {reason}", hint)


class NoSuchFile(InputError):
    """A file that does not exist."""

    def __init__(self, path: str | Path, hint: str = "Check the name.") -> None:
        super().__init__(path, "the file does not exist.", hint)


class DamagedRun(InputError):
    """A run file with content that clalign does not write: it is damaged, or made to do harm."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(
            path, f"this run file is damaged ({reason}).", "Search again, or restore the file from a backup."
        )


class OutputError(ClalignError):
    """A file that cannot be written."""

    exit_code = ExitCode.CANNOT_WRITE


class RunExists(OutputError):
    """A new run file whose path already exists."""

    def __init__(self, path: str | Path) -> None:
        hint = f"Choose another name, or continue it with: {command_for('resume', path)}"
        super().__init__(f"{path} already exists.", hint)


class RunBusy(OutputError):
    """A run file that another worker is writing."""


class DeviceError(ClalignError):
    """A device or its driver that failed."""

    exit_code = ExitCode.ENGINE


class DeviceNotFound(DeviceError):
    """An error for words that mean no device."""

    exit_code = ExitCode.NO_DEVICE


class KernelBuildError(DeviceError):
    """A kernel that a driver's compiler refused.

    Parameters
    ----------
    device, source : str
        Name of the device and of the kernel file.
    defines : dict
        Definitions that the kernel was built with.
    log : str
        Messages of the compiler.
    """

    def __init__(self, device: str, source: str, defines: dict[str, object], log: str) -> None:
        self.device = device
        self.source = source
        self.defines = defines
        self.log = log
        super().__init__(
            f"The driver of {device} could not compile {source}.",
            f"Choose another device, or update this driver. Messages of the compiler: {log.strip()[:2000]}",
        )


class GroupsNotConcurrent(DeviceError):
    """Work-groups that were to wait for each other and did not all run at once."""


class OutOfDeviceMemory(DeviceError):
    """An allocation that the device refused; smaller batches are tried before this reaches a user."""

    exit_code = ExitCode.MEMORY


class WorkerLost(ClalignError):
    """The process of a job ended without a last event: its driver crashed, or it was killed."""

    exit_code = ExitCode.STOPPED


class Cancelled(Exception):
    """The user stopped a job; not an error: results so far are kept."""

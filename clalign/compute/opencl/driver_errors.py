"""Errors of drivers, and their translation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import pyopencl as cl

_OUT_OF_MEMORY = {
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.INVALID_BUFFER_SIZE,
}


class Translated:
    """A context manager that translates errors; not a generator, since it is entered several times for every kernel.

    Parameters
    ----------
    translate : callable
        Raises another error in place of those that it knows.
    """

    __slots__ = ("_translate",)

    def __init__(self, translate: Callable[[BaseException], None]) -> None:
        self._translate = translate

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._translate(error)


def is_out_of_memory(error: cl.Error | MemoryError, launched: Iterable[cl.Event]) -> bool:
    """Return whether memory was short; if an error only says that a command failed, by the status of `launched`."""
    if isinstance(error, cl.MemoryError | MemoryError):
        return True
    codes = {error.code}
    if error.code == cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        with contextlib.suppress(cl.Error):
            codes |= {event.command_execution_status for event in launched}
    return bool(codes & _OUT_OF_MEMORY)

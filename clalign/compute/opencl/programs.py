"""The programs of an opened device: each built once, when it is asked for or ahead of that, several at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import pyopencl as cl

from clalign.compute.opencl.kernels import build
from clalign.compute.sessions import ProgramChoice
from clalign.errors import KernelBuildError

MOST_BUILDERS = 8
"""Threads that build ahead; drivers that compile one program at a time leave them waiting, which costs little."""


class Programs:
    """Builds programs and keeps them. Threads may ask at the same time.

    Parameters
    ----------
    context : pyopencl.Context
    device_name : str
        For errors.
    """

    def __init__(self, context: cl.Context, device_name: str) -> None:
        self._context, self._device_name = context, device_name
        self._lock = threading.Lock()
        self._futures: dict[ProgramChoice, Future[cl.Program]] = {}
        self._builders: ThreadPoolExecutor | None = None
        self._is_closed = False

    def build_ahead(self, choices: Iterable[ProgramChoice]) -> None:
        """Begin to build programs in the background, in this order; those that are there or on their way are not."""
        with self._lock:
            for choice in choices:
                if self._is_closed or choice in self._futures:
                    continue
                if self._builders is None:
                    self._builders = ThreadPoolExecutor(min(MOST_BUILDERS, os.cpu_count() or 1), "builder")
                self._futures[choice] = self._builders.submit(self._built, choice)

    def get(self, choice: ProgramChoice) -> cl.Program:
        """Return a program; wait for it if it is being built, else build it now.

        Raises
        ------
        KernelBuildError
            With the compiler's log.
        """
        with self._lock:
            future = self._futures.get(choice)
            # It is needed before those that are ahead of it; what memory was short for may be built this time.
            is_mine = future is None or future.cancel() or _is_to_be_repeated(future)
            if is_mine:
                future = self._futures[choice] = Future()
                future.set_running_or_notify_cancel()
        assert future is not None
        if is_mine:
            try:
                future.set_result(self._built(choice))
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def _built(self, choice: ProgramChoice) -> cl.Program:
        return build(self._context, self._device_name, choice.source, choice.defines)

    @property
    def counts(self) -> tuple[int, int]:
        """How many of the programs are built, and how many were asked for."""
        futures = list(self._futures.values())
        return sum(future.done() for future in futures), len(futures)

    def close(self) -> None:
        """Begin no more builds. Those that are going on hold the context until they are done; nobody waits for them."""
        with self._lock:
            self._is_closed = True
        if self._builders is not None:
            self._builders.shutdown(wait=False, cancel_futures=True)
        self._futures.clear()


def _is_to_be_repeated(future: Future[cl.Program]) -> bool:
    """Return whether a build failed for another reason than its source."""
    error = future.exception() if future.done() else None
    return error is not None and not isinstance(error, KernelBuildError)

"""The programs of an opened device: each built once, when it is asked for or ahead of that, several at a time.

Drivers compile one program of a process at a time (measured on NVIDIA: eight threads take two thirds of the time of
one, eight processes a third, their start included), and PoCL holds up all of Python in the meantime. So children build,
into the cache of programs, and of this process one thread at a time asks the driver to build anything.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future

import pyopencl as cl

from clalign.compute.opencl.binaries import can_keep
from clalign.compute.opencl.builder_process import BuilderProcess
from clalign.compute.opencl.kernels import build, is_kept
from clalign.compute.sessions import (
    MAX_BUILDERS,
    MAX_COMPILERS,
    MIN_NEW_PROGRAMS,
    Building,
    ProgramChoice,
    no_build_report,
)
from clalign.errors import KernelBuildError
from clalign.system.bounds import n_cores

SLOW_BUILD_SECONDS = 0.5
"""Time after which a compilation is reported, and again as often (s)."""

IDLE_SECONDS = 2
"""A child that has had nothing to do for so long ends: each holds a context, and with it memory of the card."""


class Programs:
    """Builds programs and keeps them. Threads may ask at the same time.

    Parameters
    ----------
    context : pyopencl.Context
    device_name : str
        For errors.
    child_for : callable
        Starts a child that builds for the same device.
    compiles_first : bool
        Whether this process compiles ahead until the first child can. PoCL's compiler holds up all of Python.
    there : mapping
        Programs of this context that were built before.
    """

    def __init__(
        self,
        context: cl.Context,
        device_name: str,
        child_for: Callable[[], BuilderProcess],
        compiles_first: bool = True,
        there: Mapping[ProgramChoice, cl.Program] | None = None,
    ) -> None:
        self._context, self._device_name, self._child_for = context, device_name, child_for
        self._compiles_first = compiles_first
        self._changed = threading.Condition()
        self._is_building = False
        self._n_needed = 0  # of the threads that wait to build what is needed now
        self._futures: dict[ProgramChoice, Future[cl.Program]] = {}
        self._waiting: deque[ProgramChoice] = deque()  # those that are in the cache
        self._new: deque[ProgramChoice] = deque()  # those that no cache knows
        self._later: deque[ProgramChoice] = deque()  # those of them that are built when there is nothing else
        self._n_threads = self._n_children = self._n_ready = 0
        self._children: list[BuilderProcess] = []
        self._is_left = self._is_closed = False
        for choice, program in (there or {}).items():
            self._futures[choice] = Future()
            self._futures[choice].set_result(program)
        self._foreseen: dict[ProgramChoice, None] = {}  # those that are new

    def build_ahead(self, choices: Iterable[ProgramChoice], can_wait: bool = False) -> None:
        """Begin to build programs in the background, in this order; those that are there or on their way are not.

        Those that can wait are compiled after all others, even such as are asked for later; for a card by children, or
        when they are needed: a process that is done could not leave its driver's compiler.
        """
        for choice in choices:
            is_new = not is_kept(self._context, choice.source, choice.defines)
            with self._changed:
                if self._is_closed or choice in self._futures:
                    continue
                if is_new:
                    self._foreseen[choice] = None
                self._futures[choice] = Future()
                (self._waiting if not is_new else self._later if can_wait else self._new).append(choice)
                self._changed.notify_all()
                self._add_builder()

    def _add_builder(self) -> None:
        """Start a thread that builds, unless there are enough: one beside those that listen to a child."""
        most = min(MAX_BUILDERS if self._compiles_first else MAX_COMPILERS, n_cores())
        if not self._n_threads:
            self._start_thread(self._build_here)
        while self._n_children < min(most, len(self._new) + len(self._later) - MIN_NEW_PROGRAMS) and can_keep():
            self._n_children += 1
            self._start_thread(self._build_in_child)

    def _start_thread(self, target: Callable[[], None]) -> None:
        self._n_threads += 1
        threading.Thread(target=target, name=f"builder {self._n_threads}", daemon=True).start()

    def _taken(self, in_child: bool) -> ProgramChoice | None:
        """Wait for the next program for a child, or for this process; return None if it is to wait no longer."""
        is_idle = False
        with self._changed:
            while not (self._is_closed or (self._is_left and not in_child)):
                is_for_new = in_child or not (self._n_ready if self._compiles_first else self._n_children)
                new = [self._new, self._later] if in_child or not self._compiles_first else [self._new]
                for queue in [*([] if in_child else [self._waiting]), *(new if is_for_new else [])]:
                    if queue:
                        return queue.popleft()
                if is_idle:
                    break
                is_idle = not self._changed.wait(IDLE_SECONDS if in_child else None)
        return None

    def _build_here(self) -> None:
        while (choice := self._taken(in_child=False)) is not None:
            self._build(choice)

    def _build_in_child(self) -> None:
        """Have a child build what is new; another thread takes it from the cache, or builds it if there was no way."""
        is_ready = False
        try:
            with self._child_for() as child:
                self._children.append(child)
                is_ready = child.is_ready()
                with self._changed:
                    self._n_ready += is_ready
                while child.is_ready() and (choice := self._taken(in_child=True)) is not None:
                    child.build(choice)
                    with self._changed:
                        self._waiting.append(choice)
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._n_children -= 1
                self._n_ready -= is_ready
                self._changed.notify_all()

    @contextlib.contextmanager
    def _alone(self, is_needed: bool) -> Iterator[None]:
        """Wait until nobody else builds, nor waits to build what is needed sooner."""
        with self._changed:
            self._n_needed += is_needed
            try:
                self._changed.wait_for(lambda: not self._is_building and (is_needed or not self._n_needed))
            finally:  # Ctrl-C may come meanwhile
                self._n_needed -= is_needed
                self._changed.notify_all()
            self._is_building = True
        try:
            yield
        finally:
            with self._changed:
                self._is_building = False
                self._changed.notify_all()

    def _build(self, choice: ProgramChoice, is_needed: bool = False) -> None:
        future = self._futures[choice]
        try:
            with self._alone(is_needed):
                program = build(self._context, self._device_name, choice.source, choice.defines)
            future.set_result(program)
        except BaseException as error:
            future.set_exception(error)

    def get(self, choice: ProgramChoice) -> cl.Program:
        """Return a program; wait for it if it is being built, else build it now.

        Raises
        ------
        KernelBuildError
            With the compiler's log.
        """
        with self._changed:
            future = self._futures.get(choice)
            is_mine = future is None or _is_to_be_repeated(future)
            if is_mine:
                future = self._futures[choice] = Future()
            for queue in (self._waiting, self._new, self._later):
                if choice in queue:  # it is needed before those that are ahead of it
                    queue.remove(choice)
                    is_mine = True
        assert future is not None
        if is_mine:
            self._build(choice, is_needed=True)
        return future.result()

    def is_built(self, choice: ProgramChoice) -> bool:
        """Return whether a program need not be waited for."""
        future = self._futures.get(choice)
        return future is not None and future.done()

    def is_far(self, choice: ProgramChoice) -> bool:
        """Return whether a program is neither there nor in a cache, or not yet taken from it by who is at that."""
        future = self._futures.get(choice)
        if future is None:
            return not is_kept(self._context, choice.source, choice.defines)
        return not future.done() or future.exception() is not None

    @contextlib.contextmanager
    def reported(self, choice: ProgramChoice, building: Building) -> Iterator[None]:
        """Report that a program is being compiled, if it takes long, and when it is over: some drivers need minutes."""
        is_done = threading.Event()

        def report() -> None:
            is_reported = False
            while not is_done.wait(SLOW_BUILD_SECONDS):
                with self._changed:
                    self._foreseen[choice] = None  # also one of the cache that takes long
                building(*self.counts, True)
                is_reported = True
            if is_reported:
                building(*self.counts, False)

        if building is no_build_report or self.is_built(choice):
            yield
            return
        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield
        finally:
            is_done.set()
            reporter.join()  # a report from now on says that the compiler is done

    def foresee(self, choices: Iterable[ProgramChoice]) -> None:
        """Count programs among those that have to be compiled, if they do."""
        for choice in choices:
            if choice not in self._futures and not is_kept(self._context, choice.source, choice.defines):
                with self._changed:
                    self._foreseen[choice] = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many of the programs that were foreseen and not in the cache are built, and how many there are."""
        with self._changed:
            return sum(self.is_built(choice) for choice in self._foreseen), len(self._foreseen)

    def left(self) -> dict[ProgramChoice, cl.Program]:
        """Begin no more builds in this process, while children go on until `close`; return the programs there are."""
        with self._changed:
            self._is_left = True
            self._changed.notify_all()
            done = [(choice, future) for choice, future in self._futures.items() if future.done()]
        return {choice: future.result() for choice, future in done if future.exception() is None}

    def close(self) -> None:
        """Begin no more builds; end the children. What this process builds holds the context until it is done."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for child in self._children:
            child.end()


def _is_to_be_repeated(future: Future[cl.Program]) -> bool:
    """Return whether a build failed for another reason than its source, such as memory that was short."""
    error = future.exception() if future.done() else None
    return error is not None and not isinstance(error, KernelBuildError)

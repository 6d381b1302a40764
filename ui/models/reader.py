"""A thread for slow reads, such as sorting a million hits."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar
from weakref import WeakSet

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal
from shiboken6 import isValid

from clalign.errors import Cancelled
from clalign.jobs import Event, Job, JobContext

Answer = TypeVar("Answer")

SWITCH_SECONDS = 0.0005
"""Switching interval of threads; Python's default of 5 ms adds up to stalls of the window.

This is one setting of the whole interpreter: the first reader changes it, the last one puts it back.
"""


class Reader(QObject):
    """Answers questions in a thread; only the latest question of each key counts.

    Answers are delivered in the thread of the reader object, which is the window's.
    """

    _answered = Signal(object, object, object)
    _event_posted = Signal(object, object)
    _open: ClassVar[WeakSet[Reader]] = WeakSet()
    _usual_seconds: ClassVar[float]

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(1, "clalign-reader")
        self._busy: set[Hashable] = set()
        self._waiting: dict[Hashable, tuple[Callable[[], object], Callable[..., None]]] = {}
        self._answers: deque[tuple[Hashable, Callable[..., None], object]] = deque()
        self._long: dict[Hashable, list[Job]] = {}
        self._is_closed = False
        self._next = QTimer(self, singleShot=True, interval=0)
        self._next.timeout.connect(self._deliver)
        self._answered.connect(self._take, Qt.ConnectionType.QueuedConnection)
        self._event_posted.connect(self._deliver_event, Qt.ConnectionType.QueuedConnection)
        if not Reader._open:
            Reader._usual_seconds = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_SECONDS)
        Reader._open.add(self)

    def ask(self, key: Hashable, question: Callable[[], Answer], answer: Callable[[Answer | Exception], None]) -> None:
        """Call `question` in the thread, then `answer` with its result in this one.

        While a question with this key is being answered, the next one waits, and a newer one takes
        its place. A result that is an exception is handed over like any other.
        """
        if key in self._busy:
            self._waiting[key] = (question, answer)
            return
        self._busy.add(key)
        self._pool.submit(self._work, key, question, answer)

    def ask_slowly(
        self,
        key: Hashable,
        question: Callable[[JobContext], Answer],
        answer: Callable[[Answer | Exception], None],
        handler: Callable[[Event], None] | None = None,
    ) -> None:
        """Ask a question that may take minutes: its context stops it when it is superseded.

        Events of the question are passed to `handler` in this thread.
        """
        job = Job(lambda event: self._post_event(handler, event))
        self._long.setdefault(key, []).append(job)
        self.ask(key, lambda: question(job), answer)

    def forget(self, key: Hashable) -> None:
        """Drop the waiting question of a key, and stop a running one that was asked with `ask_slowly`."""
        self._waiting.pop(key, None)
        for job in self._long.pop(key, ()):
            job.cancel()

    def forget_all(self, first: object) -> None:
        """Forget every question whose key is a tuple with this first entry."""
        for key in [key for key in (*self._waiting, *self._long) if isinstance(key, tuple) and key[0] == first]:
            self.forget(key)

    def is_asked(self, key: Hashable) -> bool:
        """Whether a question with this key is not answered yet."""
        return key in self._busy

    @property
    def is_idle(self) -> bool:
        """Whether every question is answered."""
        return not self._busy

    def close(self) -> None:
        """End the thread."""
        self._waiting.clear()
        for key in list(self._long):
            self.forget(key)
        try:
            self._pool.shutdown(wait=True, cancel_futures=True)
        finally:
            self._take_usual_turns()
        self._is_closed = True
        # The last answers: a run file that one of them holds open is let go.
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)
        self._next.stop()
        for _, _, result in self._answers:
            if hasattr(result, "close"):
                result.close()
        self._answers.clear()

    def _take_usual_turns(self) -> None:
        if self in Reader._open:
            Reader._open.remove(self)
            if not Reader._open:
                sys.setswitchinterval(Reader._usual_seconds)

    def _work(self, key: Hashable, question: Callable[[], object], answer: Callable[..., None]) -> None:
        try:
            result = question()
        except Exception as error:
            result = error
        # The window may have closed meanwhile, and its objects with it.
        with contextlib.suppress(RuntimeError):
            self._answered.emit(key, answer, result)

    def _post_event(self, handler: Callable[[Event], None] | None, event: Event) -> None:
        if handler is not None:
            with contextlib.suppress(RuntimeError):
                self._event_posted.emit(handler, event)

    def _take(self, key: Hashable, answer: Callable[..., None], result: object) -> None:
        self._answers.append((key, answer, result))
        self._next.start()

    def _deliver_event(self, handler: Callable[[Event], None], event: Event) -> None:
        if not self._is_closed:
            handler(event)

    def _deliver(self) -> None:
        """Deliver one answer; several in one turn would stall the window."""
        key, answer, result = self._answers.popleft()
        if self._answers:
            self._next.start()
        self._busy.discard(key)
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self.ask(key, *waiting)
        else:
            self._long.pop(key, None)
        owner = getattr(answer, "__self__", None)
        if isinstance(owner, QObject) and not isValid(owner):  # its page was closed meanwhile
            if hasattr(result, "close"):
                result.close()
        elif not isinstance(result, Cancelled):  # else it was forgotten
            answer(result)

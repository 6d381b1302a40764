"""The thread that reads for the window leaves the interpreter as it was."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QObject
from shiboken6 import delete

from clalign.jobs import JobContext
from clalign.ui.models.reader import SWITCH_SECONDS, Reader

USUAL_SECONDS = 0.008


@pytest.fixture
def usual() -> Iterator[float]:
    """A switch interval that is neither Python's nor the reader's."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(USUAL_SECONDS)
    yield pytest.approx(USUAL_SECONDS)
    sys.setswitchinterval(before)


def test_the_last_reader_puts_the_switch_interval_back(qtbot: Any, usual: float) -> None:
    first, second = Reader(), Reader()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    first.close()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS), "the second one still reads"
    first.close()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS), "closing twice counts once"
    second.close()
    assert sys.getswitchinterval() == usual
    third = Reader()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    third.close()
    assert sys.getswitchinterval() == usual


def test_the_switch_interval_is_put_back_after_a_question_that_fails(qtbot: Any, usual: float) -> None:
    reader = Reader()
    came: list[Any] = []
    reader.ask("key", lambda: 1 // 0, came.append)
    qtbot.waitUntil(lambda: len(came) == 1)
    assert isinstance(came[0], ZeroDivisionError)
    reader.close()
    assert sys.getswitchinterval() == usual


def endless(started: threading.Event) -> Callable[[JobContext], None]:
    """Return a question without an answer."""

    def question(context: JobContext) -> None:
        started.set()
        while True:
            context.check()
            time.sleep(0.001)

    return question


def test_a_long_question_ends_when_it_is_forgotten_or_its_reader_closes(qtbot: Any) -> None:
    reader = Reader()
    came: list[Any] = []
    for end in (lambda: reader.forget(("run", "dots")), lambda: reader.forget_all("run")):
        started = threading.Event()
        reader.ask_slowly(("run", "dots"), endless(started), came.append)
        assert started.wait(60)
        end()
        qtbot.waitUntil(lambda: reader.is_idle)
    for _ in range(2):
        reader.ask_slowly("other", lambda context: context.check(), came.append)
    qtbot.waitUntil(lambda: reader.is_idle)
    assert came == [None, None], "what was forgotten is not answered"
    started = threading.Event()
    reader.ask_slowly("key", endless(started), came.append)
    assert started.wait(60)
    reader.close()
    assert len(came) == 2


class Asker(QObject):
    def take(self, answer: Any) -> None:
        self.setObjectName(str(answer))


def test_nothing_is_handed_to_what_is_gone(qtbot: Any) -> None:
    """A page may be closed while its question is being answered; what it would have got is closed, too."""
    reader, asker, goes_on, closed = Reader(), Asker(), threading.Event(), []

    def question() -> Any:
        assert goes_on.wait(60)
        return SimpleNamespace(close=lambda: closed.append(True))

    with qtbot.captureExceptions() as faults:
        reader.ask("key", question, asker.take)
        delete(asker)
        goes_on.set()
        qtbot.waitUntil(lambda: bool(closed))
    assert not faults
    reader.close()


def test_what_was_answered_but_not_delivered_is_closed_with_the_reader(qtbot: Any) -> None:
    """A list of hits holds its run file open, which would keep its log for ever."""
    closed: list[str] = []
    reader = Reader()
    reader.ask("hits", lambda: SimpleNamespace(close=lambda: closed.append("hits")), lambda _: closed.append("taken"))
    reader.close()
    qtbot.wait(1)
    assert closed == ["hits"]

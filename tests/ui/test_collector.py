"""Garbage is collected between events, and nowhere else."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QObject

from clalign.ui.shell.collector import MAX_OBJECTS, YOUNG, Collector
from clalign.ui.shell.main_window import MainWindow


class Knot:
    """Refers to itself, so that only a collection ends it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collector(qtbot: Any) -> Iterator[Collector]:
    parent = QObject()
    made = Collector(parent)
    yield made
    made.stop()


def test_knots_go_between_events_only(qtbot: Any, collector: Collector) -> None:
    knots = [weakref.ref(Knot()) for _ in range(20 * YOUNG)]
    assert all(knot() is not None for knot in knots)
    qtbot.waitUntil(lambda: all(knot() is None for knot in knots))


def test_a_sweep_does_not_look_at_what_has_settled(collector: Collector) -> None:
    knot = weakref.ref(Knot())
    collector.settle()
    gc.collect()
    assert knot() is not None
    collector.stop()
    gc.collect()
    assert knot() is None


def test_a_million_objects_are_not_looked_through_again(collector: Collector) -> None:
    collector.sweep()
    before = gc.get_freeze_count()
    kept: list[list[int]] = [[] for _ in range(MAX_OBJECTS + 1)]
    collector.sweep()
    assert gc.get_freeze_count() - before > len(kept)
    knot = weakref.ref(Knot())
    kept.extend([] for _ in range(YOUNG))
    collector.sweep()
    assert knot() is None, "what comes later is swept as before"
    kept.clear()
    collector.settle()


def test_python_collects_again_after_the_window(real_window: MainWindow) -> None:
    assert not gc.isenabled()
    real_window.close()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0

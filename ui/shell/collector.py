"""Garbage collection in the window's thread, between events."""

from __future__ import annotations

import gc
import time

from PySide6.QtCore import QObject, QTimer

SWEEP_MS = 200
YOUNG, MIDDLE, OLD = 700, 10, 10
"""New objects, or sweeps of the younger generation, before the next sweep; as in Python itself."""

MAX_OBJECTS = 100_000
"""Objects of a sweep: some 20 to 50 ms."""

FULL_SECONDS = 30.0
"""Least time between two full sweeps."""


class Collector(QObject):
    """Replaces Python's collector, which would run at arbitrary moments.

    That may be the reader's thread, where an object of Qt must not be destroyed, or the middle of making a
    page; and it would look each time through all that was imported, which takes 50 ms and more.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self.settle()
        self._last_full = time.monotonic()
        self._n_met: int
        """Objects of sweeps since they were counted."""

        self._timer = QTimer(self, interval=SWEEP_MS)
        self._timer.timeout.connect(self.sweep)
        self._timer.start()

    def settle(self) -> None:
        """Freeze the present objects: they are not swept again."""
        gc.freeze()
        self._n_met = 0

    def sweep(self) -> None:
        """Collect the generations that are due."""
        young, middle, old = gc.get_count()
        self._n_met += young if young > YOUNG else 0
        if self._n_met > MAX_OBJECTS and (n := len(gc.get_objects())) <= MAX_OBJECTS:
            self._n_met = n
        if self._n_met > MAX_OBJECTS:
            # A million hits on their sequences: to look at each would stall the window. They go when nobody has them
            # any more; what little garbage was among them stays.
            self.settle()
        elif old > OLD and time.monotonic() - self._last_full > FULL_SECONDS:
            gc.collect()
            self._last_full = time.monotonic()
        elif middle > MIDDLE:
            gc.collect(1)
        elif young > YOUNG:
            gc.collect(0)

    def stop(self) -> None:
        """Restore Python's collector."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

"""Decides when results of many hits, which may take minutes to read, are read again."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from .run_view import RunView

STALE_MS = 1500
"""Least interval of updates while a search runs."""


class HitChanges(QObject):
    """Emits signals when a run has new hits, and when another query is in view."""

    hits_changed = Signal()
    """Emitted some time after the first of several changes, and after the last one."""

    query_changed = Signal()
    """The hits of the query in view are counted."""

    def __init__(self, run: RunView, parent: QObject) -> None:
        super().__init__(parent)
        self._run, self._query = run, run.profile
        self._counted: dict[int, int] = {}
        self._is_growing = self._is_other = False
        self._soon = QTimer(self, singleShot=True, interval=STALE_MS)
        self._soon.timeout.connect(self.hits_changed)
        run.hits.shown_changed.connect(self._look)
        run.facts_changed.connect(self._look)

    @property
    def is_due(self) -> bool:
        """Whether a signal is pending."""
        return bool(self._soon.isActive())

    def _look(self) -> None:
        run, was_growing = self._run, self._is_growing
        self._is_growing = run.is_live or run.state == "elsewhere"
        is_new = self._is_growing or was_growing  # queries that are not in view may have new hits, too
        if run.hits.shown_query is not None:
            query, n_hits = run.hits.shown_query.number, run.hits.n_all
            is_new |= self._counted.get(query, n_hits) != n_hits
            self._counted[query] = n_hits
        if is_new and not self._soon.isActive():
            self._soon.start()
        self._is_other |= run.profile != self._query
        self._query = run.profile
        if self._is_other and not run.hits.is_busy:
            self._is_other = False
            self.query_changed.emit()

"""An annealing is reported while it goes on, without being slowed down."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from clalign.engines.msa import annealing_progress
from clalign.engines.msa.annealing_progress import MergeReports, reported_alignment
from clalign.jobs import Event, Job
from clalign.values.multiple_alignments import ColumnMerges


@pytest.mark.parametrize(("takes", "n_reports"), [(0.0001, 20), (0.04, 3), (2.0, 1)])
def test_reports_take_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch, takes: float, n_reports: int) -> None:
    now = [100.0]
    monkeypatch.setattr(annealing_progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    events: list[Event] = []
    lengths, none = np.array([2, 2]), np.zeros(0, np.int32)

    def merges() -> ColumnMerges:
        now[0] += takes
        return ColumnMerges(lengths, none, none, none.astype(np.float32), np.arange(4, dtype=np.int32))

    report = MergeReports(Job(events.append), 4)
    while now[0] < 110:
        report(merges)
        now[0] += 0.01
    assert len(events) == pytest.approx(n_reports, abs=1)
    assert reported_alignment(events[-1].value, lengths).n_columns == 4

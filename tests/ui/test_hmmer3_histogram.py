"""The histogram of a HMMER3 profile: all MSV scores with the model's curve, and never a fit to what filters left."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from clalign.engines.plan7.hmmer3.funnel import hits_with_score
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import open_run
from clalign.ui.engines.plan7.histogram import read_profile_histogram
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.results_page import ResultsPage


@pytest.mark.parametrize("kind", ["msv", "forward"])
def test_nothing_is_fitted(hmmer3_run: Callable[..., Path], kind: str) -> None:
    data = read_profile_histogram(hmmer3_run(), 0, kind)
    assert data.fit is None
    assert [name for name, _ in data.legend()] == ["calibration"]
    assert data.has_thresholds == (kind == "forward")


def test_msv_scores_are_those_of_all_sequences(hmmer3_run: Callable[..., Path]) -> None:
    data = read_profile_histogram(hmmer3_run(), 0, "msv")
    assert data.counts.sum() == data.n_scores == data.n_random == 1000
    assert data.cutoffs == {"f1": -2.4}
    middle = (data.edges[:-1] + data.edges[1:]) / 2
    expected = data.expected(data.calibration, middle)
    assert expected.sum() == pytest.approx(1000, rel=0.02)
    assert np.abs(expected - data.counts)[data.counts > 0].sum() < 400, "the made-up scores are of that distribution"


def test_forward_scores_are_of_those_that_got_that_far(hmmer3_run: Callable[..., Path]) -> None:
    data = read_profile_histogram(hmmer3_run(), 0, "forward")
    assert data.counts.sum() == data.n_scores == 12
    assert data.n_random == 1000
    assert set(data.cutoffs) == {"f3", "ga"}
    # An exponential tail: by chance the whole database has this many above a score.
    beyond = np.arange(10.0, 60.0, data.bar_width) + data.bar_width / 2
    assert data.expected(data.calibration, beyond).sum() == pytest.approx(1000 * data.pvalue(10.0), rel=0.1)
    assert data.evalue(14.0) == pytest.approx(1000 * np.exp(-0.7 * 18.0))


@pytest.mark.parametrize("kind", ["msv", "forward"])
def test_each_hit_is_in_one_bar(hmmer3_run: Callable[..., Path], kind: str) -> None:
    path = hmmer3_run()
    data = read_profile_histogram(path, 0, kind)
    with open_run(path) as run:
        every = sorted(key.id for key in HitQueries(run.connection).of_query(0))
        found = [hits_with_score(run, 0, kind, low, high) for low, high in pairwise(data.edges.tolist())]
    assert len(every) == 5
    assert sorted(key for ids in found for key in ids) == every
    assert all(len(ids) <= n for ids, n in zip(found, data.counts, strict=True)), "a bar has no more hits than targets"


@pytest.fixture
def page(qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path]) -> ResultsPage:
    window.controller.sources.open_paths([str(hmmer3_run())])
    made = window.controller.page
    qtbot.waitUntil(lambda: made.run.hits.n_shown == 5 and made.run.histogram is not None)
    return made


def test_the_page_says_what_is_shown_and_switches(qtbot: Any, page: ResultsPage) -> None:
    page.show_tab("histogram")
    view = page.histogram
    assert view.kinds.isVisible()
    assert view.sentence.text().startswith("Only the 12 sequences"), "hits are judged by their Forward scores"
    page.run.facts["spec"]["without_filters"] = True
    assert page.run.sentence().startswith("Forward scores of all 12 sequences;")
    assert all(line.isVisible() for line in view.plot.lines.values())
    QTest.keyClick(view.kinds, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: page.run.histogram.kind == "msv")
    shown = view.sentence.text()
    assert shown.startswith(
        "MSV filter scores of all 1,000 sequences; the curve is the model's calibration, not fitted"
    )
    assert not any(line.isVisible() for line in view.plot.lines.values()), "no threshold is about these scores"
    QTest.keyClick(view.kinds, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: page.run.histogram.kind == "forward")
    view.plot.lines["report"].setValue(30.0)
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 2 and not page.run.hits.is_busy)
    assert "false hits expected by chance" in page.run.tag("significant", short=False)

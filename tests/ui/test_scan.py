"""Scans: the hits of all profiles, one sequence after the other."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from clalign.ui.engines.plan7.columns import COLUMNS
from clalign.ui.models.charts.histogram import HitHistogram
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.results_page import ResultsPage

pytestmark = pytest.mark.thorough

PROFILE = next(place for place, column in enumerate(COLUMNS) if column.key == "profile")


@pytest.fixture
def scan(qtbot: Any, loaded: MainWindow, searched: Callable[[MainWindow], Any]) -> ResultsPage:
    """The results of a scan that was chosen by keys in the sheet."""
    box = loaded.controller.search.sheet.direction
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Down)
    sheet = loaded.controller.search.sheet
    assert sheet.command.text().startswith("clalign hmmscan")
    return searched(loaded)


def rows_of(page: ResultsPage) -> list[Any]:
    return [page.run.hits.row_at(place) for place in range(page.run.hits.n_shown)]


def test_a_scan_shows_the_profiles_of_each_sequence(scan: ResultsPage) -> None:
    assert scan.run.shows_all
    assert scan.queries.all.isChecked()
    rows = rows_of(scan)
    assert len(rows) == 600
    assert [row.name for row in rows] == sorted(row.name for row in rows)
    here = [row for row in rows if row.name == rows[0].name]
    assert [row.score for row in here] == sorted((row.score for row in here), reverse=True)
    assert {row.profile for row in rows} == {0, 1, 2}
    table = scan.hits.table
    assert not table.isColumnHidden(PROFILE)
    assert table.visible_columns()[2] == PROFILE
    assert table.model().index(0, PROFILE).data() == f"Made-up-{rows[0].profile + 1}"
    rules = [place for place in range(len(rows)) if scan.run.hits.rule(place) == "group"]
    assert rules == [place for place in range(1, len(rows)) if rows[place].name != rows[place - 1].name]
    assert "scanned with 3 profiles" in scan.run.summary()
    assert scan.run.counts["significant"] == sum(row.score >= 10.0 for row in rows)


def test_a_hit_of_a_scan_is_aligned_to_its_profile(scan: ResultsPage) -> None:
    place = next(place for place, row in enumerate(rows_of(scan)) if row.profile == 2)
    scan.hits.table.choose_row(place)
    assert scan.hit.alignment.profile == "Made-up-3"
    scan.run.set_least_score(50.0)
    assert not scan.run.thresholds_moved, "of all profiles together there is no threshold"


def test_all_profiles_of_a_scan_have_a_histogram_and_each_its_own(qtbot: Any, scan: ResultsPage) -> None:
    scan.show_tab("histogram")
    qtbot.waitUntil(lambda: scan.histogram.plot.data is not None)
    assert isinstance(scan.histogram.plot.data, HitHistogram)
    assert scan.histogram.plot.data.counts.sum() == 600
    QTest.keyClick(scan.queries.table, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: scan.run.hits.n_all == 200 and scan.run.histogram is not None)
    assert not isinstance(scan.histogram.plot.data, HitHistogram)
    assert scan.hits.table.isColumnHidden(PROFILE)
    QTest.mouseClick(scan.queries.all, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: scan.run.hits.n_all == 600)
    qtbot.waitUntil(lambda: isinstance(scan.run.histogram, HitHistogram))


def test_the_filter_of_a_scan_finds_profiles(qtbot: Any, scan: ResultsPage) -> None:
    scan.hits.filter_box.setText("made-up-2")
    qtbot.waitUntil(lambda: scan.run.hits.n_shown == 200)
    assert {row.profile for row in rows_of(scan)} == {1}
    scan.hits.filter_box.clear()
    qtbot.waitUntil(lambda: scan.run.hits.n_shown == 600)
    scan.hits.table.sort_column(PROFILE)
    qtbot.waitUntil(lambda: not scan.run.hits.is_busy)
    assert [row.profile for row in rows_of(scan)] == [0] * 200 + [1] * 200 + [2] * 200

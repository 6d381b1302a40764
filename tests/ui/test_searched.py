"""What was not searched (yet) is not told to have no hits, anywhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt

from clalign.engines.overview import read_overview
from clalign.runs.pages import QueryFound
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import create_run, open_run
from clalign.ui.engines.plan7.page import SearchPage
from clalign.ui.shell.main_window import MainWindow


@pytest.fixture
def stopped(families: Path) -> Path:
    """A run of three profiles that ended after half of the second one."""
    with open_run(families, writable=True) as run:
        run.connection.execute("DELETE FROM batches WHERE query = 2")
        run.connection.execute("UPDATE batches SET last = last / 2 WHERE query = 1")
        run.connection.commit()
        run.set_facts(state="stopped")
    return families


@pytest.fixture
def page(qtbot: Any, window: MainWindow, stopped: Path) -> SearchPage:
    window.controller.open_run_page(str(stopped))
    made = window.controller.page
    assert isinstance(made, SearchPage)
    qtbot.waitUntil(lambda: made.run.hits.n_all == 5 and not made.run.hits.is_busy)
    return made


def test_the_share_that_each_query_was_compared_with_is_known(stopped: Path) -> None:
    with open_run(stopped) as run:
        questions = HitQueries(run.connection)
        assert questions.shares_searched() == {0: 1.0, 1: pytest.approx(0.5, abs=0.01), 2: 0.0}
        assert questions.shares_searched(2) == {2: 0.0}
    with open_run(stopped, writable=True) as run:
        run.set_facts(database=None)
    with open_run(stopped) as run:
        unknown = HitQueries(run.connection).shares_searched()
        assert math.isnan(unknown[0])
        assert unknown[2] == 0.0
    with open_run(stopped, writable=True) as run:
        run.set_facts(state="done")
    with open_run(stopped) as run:
        assert set(HitQueries(run.connection).shares_searched().values()) == {1.0}
    assert [line.searched for line in read_overview(stopped).lines] == [1.0, 1.0, 1.0]


def test_the_overview_tells_what_is_not_searched(qtbot: Any, page: SearchPage) -> None:
    page.show_tab("overview")
    view: Any = page.part_widgets["overview"].content
    qtbot.waitUntil(lambda: view.content is not None)
    assert view.words.text().startswith("2 of 3 profiles have reported hits · 1 not searched yet · 1 only in part")
    qtbot.waitUntil(lambda: len(page.run.found) == 3)
    model = page.queries.model
    assert [model.index(row, 1).data() for row in range(3)] == ["4", "1", "—"], "the significant ones"
    tips = [str(model.index(row, 0).data(Qt.ItemDataRole.ToolTipRole)) for row in range(3)]
    assert "50\u202f% of the targets searched" in tips[1]
    assert tips[2].endswith("Not searched yet")
    assert "so far · 1 of 3 profiles searched" in page.summary.text()


def test_a_profile_that_was_not_searched_is_marked(qtbot: Any, page: SearchPage) -> None:
    page.run.set_profile(2)
    for tab in ("hits", "pictures", "aligned", "funnel"):
        page.show_tab(tab)
        place: Any = page.part_widgets[tab]
        view = {"hits": page, "funnel": page.funnel}.get(tab) or place.content
        qtbot.waitUntil(lambda view=view: view.empty.heading.text() == "Not searched yet")
        assert "Continue it" in view.empty.words.text()
        if tab == "pictures":
            view.choose_kind("scores")  # needs no hits
            qtbot.waitUntil(lambda view=view: page.run.hits.n_all == 0 and view.picture is None)
            assert view.empty.heading.text() == "Not searched yet"


def test_of_a_search_that_runs_the_next_query_is_not_called_a_later_one(
    page: SearchPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = page.run
    monkeypatch.setattr(run, "share_searched", lambda: 0.0)
    run.is_live = True
    run.found = {0: QueryFound(5, 1e-9, (), 1.0)}
    for number, heading in ((1, "No hits yet"), (2, "Not searched yet")):
        run.profile = number
        words = run.unsearched_words()
        assert words is not None
        assert words[0] == heading


def test_what_is_said_of_a_query_without_hits_stays_while_they_are_read_again(qtbot: Any, page: SearchPage) -> None:
    page.run.set_profile(2)
    qtbot.waitUntil(page.empty.isVisible)
    page.run.hits.refresh()
    page.show_counts()
    assert page.run.hits.is_busy
    assert page.empty.isVisible()
    assert page.hit.empty.words.text(), "the place of the alignment is not blank"


@pytest.mark.thorough
def test_a_query_that_was_not_searched_has_neither_histogram_nor_numbers_of_hits(qtbot: Any, page: SearchPage) -> None:
    page.run.set_profile(2)
    qtbot.waitUntil(page.strip_holder.isHidden)
    qtbot.waitUntil(lambda: page.scope.text() == "Not searched yet")
    page.run.set_profile(0)
    qtbot.waitUntil(lambda: not page.strip_holder.isHidden())
    qtbot.waitUntil(lambda: "significant" in page.scope.text())


@pytest.mark.thorough
def test_a_run_that_ended_before_its_queries_were_read_is_shown(qtbot: Any, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "begun.clalign"
    create_run(path, engine="pairwise", spec={"queries": "q.fa", "targets": "t.fa"}, state="stopped").close()
    window.controller.open_run_page(str(path))
    page: Any = window.controller.page
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    page.run.refresh()
    assert page.run.share_searched() == 0.0
    assert page.empty.heading.text()

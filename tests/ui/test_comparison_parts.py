"""What parts of results say of comparisons of sequences: in their own words, and where nothing was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from clalign.engines.pictures import PictureRequest, picture_of
from clalign.engines.pictures.points import Points
from clalign.runs.run_file import open_run
from clalign.ui.controllers.results_controller import names_with_query
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.views.alignment.rows_painter import shown_name
from clalign.ui.views.widgets.parts import IconButton


def test_without_any_hit_each_part_says_why(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    page = opened("empty")
    page.show_tab("overview")
    view: Any = page.part_widgets["overview"].content
    qtbot.waitUntil(lambda: view.content is not None)
    assert not any(part.isEnabled() for part in view.map_tools)
    page.show_tab("hits")
    qtbot.waitUntil(lambda: page.empty.heading.text() == "No hits at E ≤ 1e-200")
    assert not page.hit.empty.heading.text(), "it is said once"
    assert not page.hit.schemes.isVisible()
    assert page.hit.empty.words.text()
    tools = page.hit.findChildren(IconButton)
    assert [found.isEnabled() for found in page.hit._of_hit] == [False] * 5
    assert set(page.hit._of_hit) <= set(tools)
    page.show_tab("domains")
    domains: Any = page.part_widgets["domains"].content
    qtbot.waitUntil(lambda: domains.empty.heading.text() == "No alignments")
    assert domains.significant.isHidden()


@pytest.mark.thorough
def test_alignments_of_a_comparison_are_no_domains_of_families(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    page.show_tab("domains")
    view: Any = page.part_widgets["domains"].content
    qtbot.waitUntil(lambda: bool(view.canvas.shown))
    line = [view.words.text(), view.filter_box.placeholderText(), *map(view.rules.itemText, range(view.rules.count()))]
    QTest.mouseClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 60))
    line += [view.words.text(), *(found.text() for found in view.findChildren(IconButton) if found.isVisible())]
    assert not [text for text in line if any(word in text.lower() for word in ("domain", "famil", "clan"))]
    assert "Sequence or query" in line


@pytest.mark.thorough
def test_the_query_is_distinguished_from_its_hits_where_all_are_aligned(
    qtbot: Any, opened: Callable[[str], PairPage]
) -> None:
    page = opened("proteins")
    page.show_tab("aligned")
    view: Any = page.part_widgets["aligned"].content
    qtbot.waitUntil(lambda: view.panel is not None)
    rows = view.panel.view
    assert shown_name(rows, 0) == "query one/1-60"
    assert not shown_name(rows, 1).startswith("query")
    assert rows.orders()["input"] == "Best first"
    canvas, overview = view.panel.canvas, view.panel.overview
    canvas.names = 0.9 * overview.width()
    assert overview.area().left() == canvas.names
    card = {"name": "a|b"}
    assert names_with_query(["a|b/1-9", "a|b_2/1-9", "c/1-9"], card) == {0: "query a|b/1-9", 1: "a|b/1-9"}
    assert names_with_query(["c/1-9"], card) == {}


def test_a_few_very_high_scores_do_not_press_the_others_into_one_line(pair_runs: dict[str, Path]) -> None:
    with open_run(pair_runs["proteins"]) as run:
        picture = picture_of(run, PictureRequest("score-coverage"))
        assert picture.title == "All 2 queries: score against coverage of the query"
        assert isinstance(picture, Points)
        picture.y = np.full(len(picture.y), 25.0)
        assert not picture._scales(0, 1, 0, 1)[1].log
        picture.y[0] = 500.0
        assert picture._scales(0, 1, 0, 1)[1].log

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest

from clalign.engines.columns import Column
from clalign.engines.plan7.tables import RUNS
from clalign.jobs import JobContext
from clalign.runs.pages import VALUES, HitQuery
from clalign.runs.run_file import create_run, open_run
from clalign.ui.engines.plan7.columns import COLUMNS, PROFILE_TABLE
from clalign.ui.models.reader import Reader
from clalign.ui.models.results import hits_model
from clalign.ui.models.results.hit_filter import parse_filter
from clalign.ui.models.results.hit_pages import HitPages
from clalign.ui.models.results.hits_model import HitsModel, shown
from clalign.ui.views.results import hits_table
from clalign.ui.views.results.hits_table import HitsPanel, HitsTable

MANY = 30_000

CARDS = [{"name": "Made-up", "length": 60, "include_score": 10.0}]


@pytest.fixture
def model(qtbot: Any, made_run: Callable[..., Path], reader: Reader) -> Iterator[HitsModel]:
    made = HitsModel(made_run(), reader, PROFILE_TABLE)
    made.set_profile(0, CARDS)
    qtbot.waitUntil(lambda: made.n_shown == 200)
    yield made
    made.close()


@pytest.fixture
def checked_model(model: HitsModel) -> Iterator[HitsModel]:
    """The model, and Qt's own test of models, which looks at all of it after every change."""
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    yield model
    tester.deleteLater()


CARD = {
    "name": "p", "accession": "", "description": "", "length": 3, "alphabet": "amino", "origin": "hmmer2",
    "consensus": "acg", "reference": "", "structure": "", "cutoffs": {}, "calibration": None, "facts": {},
}  # fmt: skip


def scores(model: HitsModel) -> list[float]:
    return [model.row_at(place).score for place in range(model.n_shown)]


def settled(qtbot: Any, model: HitsModel) -> None:
    qtbot.waitUntil(lambda: not model.is_busy)


def test_every_order_sorts_all_rows(qtbot: Any, model: HitsModel) -> None:
    ids = {model.row_at(place).id for place in range(200)}
    for key in (*VALUES, *RUNS.values):
        model.set_order(key, False)
        settled(qtbot, model)
        first = [model.row_at(place) for place in range(200)]
        assert {row.id for row in first} == ids, key
        if not callable(getattr(first[0], key, len)):
            values = [getattr(row, key) for row in first]
            values = [v.lower() if isinstance(v, str) else v for v in values if v is not None]
            assert values == sorted(values), key
        model.set_order(None, False)
        settled(qtbot, model)
        assert scores(model) == sorted(scores(model), reverse=True)


def test_a_column_without_an_order_restores_the_first_one(qtbot: Any, model: HitsModel) -> None:
    model.table = replace(model.table, columns=(*model.table.columns, structs.replace(model.table.columns[0], sort="")))
    model.sort(0, Qt.SortOrder.DescendingOrder)
    model.sort(len(model.table.columns) - 1, Qt.SortOrder.DescendingOrder)
    assert (model.query.sort, model.query.descending) == (None, False)


def test_filter_and_threshold_together(qtbot: Any, checked_model: HitsModel) -> None:
    model = checked_model
    model.set_filter("kinase len>200")
    model.set_min_score(30.0)
    settled(qtbot, model)
    rows = [model.row_at(place) for place in range(model.n_shown)]
    assert 0 < len(rows) < 200
    assert all("kinase" in row.description and row.length > 200 and row.score >= 30 for row in rows)
    assert model.n_all == 200
    assert model.is_filtered


def test_a_filter_that_is_not_understood_changes_nothing(qtbot: Any, model: HitsModel) -> None:
    assert model.set_filter("score>x").problem
    settled(qtbot, model)
    assert model.n_shown == 200


def test_the_kept_hit_is_found_again(qtbot: Any, checked_model: HitsModel) -> None:
    model = checked_model
    hit = model.row_at(17).id
    model.keep(hit)
    model.set_order("name", True)
    settled(qtbot, model)
    assert model.kept_row is not None
    assert model.row_at(model.kept_row).id == hit


def test_the_rule_stands_where_significant_ends(model: HitsModel) -> None:
    rules = [place for place in range(model.n_shown) if model.has_rule_above(place)]
    assert len(rules) == 1
    assert model.status(model.row_at(rules[0] - 1)) == "significant"
    assert model.status(model.row_at(rules[0])) == "reported"


def test_cells_are_words(model: HitsModel) -> None:
    texts = {column.key: model.index(0, place).data() for place, column in enumerate(COLUMNS)}
    assert texts["status"] == "significant"
    assert texts["name"].startswith("SEQ_")
    assert texts["verified"] == "—"
    assert int(texts["coverage"]) == 47
    start, end = texts["from_to"].split("–")
    assert int(start) == 6
    assert int(end) > 30
    assert model.headerData(PROFILE_TABLE.place("evalue"), Qt.Orientation.Horizontal) == "E-value"


def test_copying_has_a_header_and_plain_numbers(model: HitsModel) -> None:
    columns = [PROFILE_TABLE.place(key) for key in ("name", "evalue", "score")]
    lines = model.tsv([0, 1], columns).splitlines()
    assert lines[0].split("\t") == ["Name", "E-value", "Score (bits)"]
    assert float(lines[1].split("\t")[2]) == pytest.approx(model.row_at(0).score, rel=1e-5)


def test_no_copied_cell_is_a_formula(qtbot: Any, model: HitsModel) -> None:
    with open_run(model.query.path, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET name = '=1+2'")
    model.set_order("name", False)
    qtbot.waitUntil(lambda: model.row_at(0) is not None and model.row_at(0).name == "=1+2")
    columns = [PROFILE_TABLE.place(key) for key in ("name", "score")]
    cells = [line.split("\t") for line in model.tsv([0, 1], columns).splitlines()]
    assert [row[0] for row in cells] == ["Name", "'=1+2", "'=1+2"]
    assert float(cells[1][1]) == pytest.approx(model.row_at(0).score, rel=1e-5)


def test_new_hits_arrive_while_a_job_writes(qtbot: Any, checked_model: HitsModel, fake: ModuleType) -> None:
    model = checked_model
    with open_run(model.query.path, writable=True) as run:
        fake.add_batch(run, 7, 25)
    model.refresh()
    qtbot.waitUntil(lambda: model.n_shown == 225)


def test_ids_are_of_the_rows_that_are_shown(qtbot: Any, model: HitsModel) -> None:
    """Though other rows are on their way."""
    shown = [model.row_at(place).id for place in range(200)]
    model.set_order("name", False)
    assert model.ids([range(20, 60), range(3)]) == shown[20:60] + shown[:3]
    assert model.places_of([shown[40], shown[7], 10**6]).tolist() == [7, 40]
    settled(qtbot, model)
    assert model.ids() != shown
    assert sorted(model.ids()) == sorted(shown)


def test_only_picked_hits_are_selected_together(qtbot: Any, model: HitsModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is listed in their place: something that was asked for since, or what was there where they failed."""
    monkeypatch.setattr(hits_table, "MAX_RANGES", 1)
    panel = HitsPanel(model)
    qtbot.addWidget(panel)
    places = np.array([0, 2, 4])
    picked = np.array([model.row_at(place).id for place in places])
    assert panel.choose_hits(picked, places)
    model.set_profile(0, CARDS)
    settled(qtbot, model)
    assert (model.n_shown, panel.table.n_chosen()) == (200, 0)

    def refuse(*asked: Any) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(hits_model, "HitPages", refuse)
        assert panel.choose_hits(picked, places)
        settled(qtbot, model)
        assert (model.n_shown, panel.table.n_chosen()) == (200, 0)
    model.refresh()
    qtbot.waitUntil(lambda: model.n_shown == 3)
    assert panel.table.n_chosen() == 0
    assert panel.choose_hits(picked, places)
    qtbot.waitUntil(lambda: panel.table.n_chosen() == 3)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.clalign"
    with create_run(path, engine="plan7", spec={}) as run:
        run.set_cards([CARD])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {MANY})"
        " INSERT INTO targets SELECT i, printf('SEQ_%07d', (i * 7919) % 1000003), printf('A%07d', i),"
        " CASE i % 50 WHEN 0 THEN 'protein kinase' ELSE 'a protein of some other family' END, 50 + (i * 31) % 2000"
        " FROM n"
    )
    connection.execute(
        "INSERT INTO hits SELECT row + 1, 0, row, row, ((row * 104729) % 1000003) / 4000.0, 0.1, row * 1e-6, row, 1,"
        " 10.0, row * 1e-6, '', ((row * 104729) % 1000003) / 4000.0, NULL, NULL, 1 FROM targets"
    )
    connection.commit()
    connection.close()
    return path


@pytest.mark.thorough
@pytest.mark.parametrize(
    "query",
    [
        {},
        {"sort": "evalue"},
        {"sort": "length", "descending": True},
        {"sort": "name"},
        {"conditions": parse_filter('E<0.5 len>200 "kinase"').conditions},
        {"least_score": 100.0},
    ],
    ids=["plain", "evalue", "length", "name", "filter", "threshold"],
)
def test_many_hits_sort_and_filter(many: Path, query: dict[str, Any]) -> None:
    """The pages hold what one plain query gives; how long a million takes is measured in the benchmarks."""
    pages = HitPages(HitQuery(many, 0, **query))
    rows = [row for first in range(0, pages.n_rows, 997) for row in pages.rows(first, min(997, pages.n_rows - first))]
    n_rows = pages.n_rows
    pages.close()
    assert len(rows) == n_rows == len({row.id for row in rows})
    column = query.get("sort", "score")
    values = [getattr(row, column) for row in rows]
    descending = query.get("descending", column == "score")
    assert values == sorted(values, reverse=descending)
    assert 0 < n_rows <= MANY
    assert (n_rows < MANY) == bool({"conditions", "least_score"} & set(query))


def test_the_numbers_of_the_rows_are_as_wide_as_the_last_one(model: HitsModel) -> None:
    table = HitsTable(model)
    header = table.verticalHeader()
    asked: list[int] = []
    title = model.headerData
    model.headerData = lambda section, *rest: asked.append(section) or title(section, *rest)
    wide = header.sizeHint().width()
    assert wide >= header.fontMetrics().horizontalAdvance(str(model.n_shown))
    assert set(asked) <= {model.n_shown - 1}


def test_a_hit_chosen_while_a_question_is_on_its_way_is_found_again(qtbot: Any, model: HitsModel) -> None:
    chosen = model.row_at(7).id
    model.refresh()
    model.keep(chosen)
    settled(qtbot, model)
    assert model.kept_row == 7
    model.refresh()
    model.keep(None)
    settled(qtbot, model)
    assert model.kept_row is None


def test_what_is_wrong_with_a_filter_stands_below_it_and_leaves_it_its_room(qtbot: Any, model: HitsModel) -> None:
    panel = HitsPanel(model)
    qtbot.addWidget(panel)
    panel.resize(600, 400)
    panel.show()
    qtbot.waitUntil(lambda: model.n_shown == 200)
    width = panel.filter_box.width()
    QTest.keyClicks(panel.filter_box, "nonsense>3")
    qtbot.waitUntil(panel.none.isVisible)
    assert "“nonsense” is not known here. Known: E, score," in panel.none.words.text()
    assert not panel.counts.text(), "a count would be that of the filter before"
    assert panel.filter_box.width() == width
    words = panel.none.words
    assert words.height() >= words.heightForWidth(words.width())
    QTest.keyClick(panel.filter_box, Qt.Key.Key_Escape)
    assert not panel.filter_box.text()
    qtbot.waitUntil(lambda: not panel.none.isVisible())
    QTest.keyClicks(panel.filter_box, "score>1e6")
    qtbot.waitUntil(panel.none.isVisible)


def test_a_slow_order_is_reported_and_can_be_given_up(
    qtbot: Any, made_run: Callable[..., Path], reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While hits are put in order, a sign and a way back appear; the table stays as it is until then."""
    slow = threading.Event()

    class Slow(hits_model.HitPages):
        def __init__(self, query: HitQuery, context: JobContext) -> None:
            while query.sort == "name" and not slow.wait(0.01):
                context.check()
            super().__init__(query, context)

    monkeypatch.setattr(hits_model, "HitPages", Slow)
    model = HitsModel(made_run(), reader, PROFILE_TABLE)
    panel = HitsPanel(model)
    qtbot.addWidget(panel)
    panel.show()
    model.set_profile(0, CARDS)
    qtbot.waitUntil(lambda: model.n_shown == 200)
    first, column = model.row_at(0), panel.table.kind.place("name")
    panel.table.sort_column(column)
    qtbot.waitUntil(panel.waiting.isVisible)
    assert model.row_at(0) is first
    panel.waiting.stop.click()
    assert not panel.waiting.isVisible()
    assert panel.counts.text() == "200 hits"
    assert panel.table.horizontalHeader().sortIndicatorSection() == -1
    assert model.query.sort is None
    qtbot.waitUntil(lambda: reader.is_idle)
    assert model.row_at(0) is first
    panel.table.sort_column(column)
    slow.set()
    qtbot.waitUntil(lambda: not model.is_busy)
    assert panel.table.horizontalHeader().sortIndicatorSection() == column
    assert model.row_at(0).name == min(model.row_at(place).name for place in range(200))
    assert not panel.waiting.isVisible()
    model.close()


def test_a_column_that_the_window_knows_nothing_of_shows_its_value() -> None:
    column = Column("new", "New", "Something new", "whole number", value=lambda row: row + 1)
    (new,) = shown([column], {}, lambda hit, hits: 6)
    assert (new.text(None, None), new.shown) == ("7", False)  # type: ignore[arg-type]

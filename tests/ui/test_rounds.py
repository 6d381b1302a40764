"""A search in rounds in the window: its rounds, what is new in each, and a run that goes on."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

import clalign
from clalign.engines.overview import read_overview
from clalign.engines.plan7.round_of_run import RoundOfRun, found_by_round
from clalign.engines.plan7.rounds import stop_after
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.rounds import done_words, lost_words
from clalign.errors import Cancelled, DamagedRun, OptionError
from clalign.runs.run_file import open_run
from clalign.ui.engines.plan7.sheet import SearchForm, SequencesSheet
from clalign.ui.models.reader import Reader
from clalign.ui.models.results.queries_model import QueriesModel
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.pictures_view import PicturesView
from tests.search.pairwise_cases import Watching

BUILT = Path(__file__).parents[1] / "golden" / "sequences" / "built.fa"

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rounds of two queries, and one of a third."""
    folder = tmp_path_factory.mktemp("rounds")
    records = {record.split()[0]: record for record in BUILT.read_text().split(">")[1:]}
    queries, path = folder / "queries.fasta", folder / "rounds.clalign"
    chosen = "".join(f">{records[name]}" for name in ("globin1_cut", "rrm2_pair"))
    queries.write_text(f"{chosen}>lonely of no family\nWWCCHHWWPPCCWWHHMMCCWW\n")
    with clalign.jackhmmer(queries, BUILT, path, iterations=3) as rounds:
        assert sum(1 for _ in rounds) > 4
    return path


@pytest.fixture
def run_file(made: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copyfile(made, tmp_path / made.name))


def shown(page: Any) -> list[list[str]]:
    """Return the cells of the list of rounds."""
    model = page.queries.model
    return [[model.index(row, column).data() for column in range(3)] for row in range(len(model.rows))]


def open_page(qtbot: Any, window: MainWindow, path: Path) -> Any:
    """Return the page of a run, with all of it read."""
    window.controller.open_run_page(str(path))
    page: Any = window.controller.page
    qtbot.waitUntil(lambda: bool(page.run.query_hits) and page.run.hits.n_all > 0 and not page.run.hits.is_busy)
    return page


def click(page: Any, row: int) -> None:
    """Click into a row of the list of rounds."""
    table = page.queries.table
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(page.queries.model.index(row, 0)).center())


def test_rounds_stand_below_their_queries(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    with open_run(run_file) as run:
        rounds = [RoundOfRun(run, number) for number in range(run.n_queries())]
    wanted = []
    for query in ("globin1_cut", "rrm2_pair", "lonely"):
        wanted.append([query, "", ""])
        with open_run(run_file) as run:
            of_query = [RoundOfRun(run, n) for n, one in enumerate(rounds) if one.query == query]
            wanted += [[f"Round {one.number}", str(one.n_significant), str(one.n_new)] for one in of_query]
    assert shown(page) == wanted
    last = max(n for n, one in enumerate(rounds) if one.query == "globin1_cut")
    assert page.run.profile == last, "the last round of the first query"
    assert page.queries.model.rows[page.queries.table.currentIndex().row()]["number"] == last
    assert [column.title for column in page.queries.model.copied] == ["Round", "Hits", "New", "Best E"]
    assert not page.queries.table.isColumnHidden(2)
    assert page.queries.all.isHidden()


def test_a_round_is_chosen_and_its_query_is_no_round(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    before = page.run.profile
    click(page, 0)
    assert page.run.profile == before, "a name is no round"
    click(page, 1)
    qtbot.waitUntil(lambda: page.run.profile == 0 and not page.run.hits.is_busy)
    page.run.refresh()
    assert page.run.profile == 0, "the person has chosen it"
    QTest.keyClick(page.queries.table, Qt.Key.Key_Down)
    assert page.run.cards[page.run.profile]["round"] == 2
    header = page.queries.table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(1) + 5, header.height() // 2)
    QTest.mouseClick(header.viewport(), LEFT, pos=place)
    heads = [row["name"] for row in page.queries.model.rows if row["number"] is None]
    assert heads == ["globin1_cut", "rrm2_pair", "lonely"]
    assert page.queries.model.rows[0]["number"] is None
    counts = [row["found"].n_hits for row in page.queries.model.rows[1:4]]
    assert counts == sorted(counts, reverse=True)
    page.queries.model.narrow("rrm2")
    assert {row["group"][0] for row in page.queries.model.rows} == {1}


def test_the_head_tells_of_the_last_rounds(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    found = found_by_round(run_file)
    cards = page.run.cards
    last = {card["first"]: number for number, card in enumerate(cards)}
    significant, hits, n_converged = (
        sum(getattr(found[n], key) for n in last.values()) for key in ("n_significant", "n_hits", "has_converged")
    )
    assert 0 < n_converged < len(last)
    end = f"of 3 queries after up to 3 rounds, {n_converged} of them converged"
    assert page.summary.text().startswith(f"{significant} significant hits ({hits} reported) {end}")
    more = {number: one._replace(n_hits=one.n_hits + 2) for number, one in found.items()}
    assert done_words(cards, more, True) == f"{significant} significant hits ({hits + 6} reported) {end}"
    assert sum(page.run.query_hits.values()) > hits
    assert not any(one.has_converged for number, one in found.items() if number not in last.values())


@pytest.mark.parametrize("has_rounds", [True, False])
def test_a_profile_that_was_made_of_a_sequence_is_shown(
    qtbot: Any, window: MainWindow, run_file: Path, made: Path, tmp_path: Path, has_rounds: bool
) -> None:
    path = run_file
    if not has_rounds:
        path = tmp_path / "sequences.clalign"
        with clalign.phmmer(made.with_name("queries.fasta"), BUILT, path):
            pass
    page = open_page(qtbot, window, path)
    assert page.run.is_of_rounds == has_rounds
    page.show_tab("query")
    qtbot.waitUntil(lambda: page.profile.profile is not None)
    shown_hmm, card = page.profile.profile.hmm, page.run.card
    assert (shown_hmm.name, shown_hmm.length) == (card["name"], card["length"])


def test_families_are_the_last_rounds_under_the_names_of_their_queries(run_file: Path) -> None:
    seen, found = read_overview(run_file), found_by_round(run_file)
    with open_run(run_file) as run:
        last = {card["first"]: number for number, card in enumerate(run.cards())}
        named = {number: run.card(first)["name"] for first, number in last.items()}
    assert {line.number: line.name for line in seen.lines} == named
    assert max(last.values()) >= len(last), "there are earlier rounds"
    assert all(line.n_hits == found[line.number].n_hits for line in seen.lines)
    assert set(seen.matrix.queries.tolist()) == {number for number in named if found[number].n_hits}
    assert len(seen.matrix.hits) == sum(line.n_hits for line in seen.lines)


def test_new_hits_are_marked_and_filtered(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    click(page, 2)
    qtbot.waitUntil(lambda: page.run.profile != 0 and page.run.hits.n_all > 0 and not page.run.hits.is_busy)
    with open_run(run_file) as run:
        one = RoundOfRun(run, page.run.profile)
        new, names = one.new, [hit.name for hit in one]
    assert one.number == 2
    assert 0 < len(new) < len(names)
    hits = page.run.hits
    place = hits.table.place("status")
    rows = [(hits.row_at(row).name, hits.index(row, place).data()) for row in range(hits.n_shown)]
    assert sorted(name for name, status in rows if status == "new") == sorted(new)
    assert {status for _, status in rows} == {"new", "significant"}
    qtbot.waitUntil(lambda: page.scope.text().startswith(f"{len(names)} significant, {len(new)} of them new"))
    for text, wanted in (("new=1", sorted(new)), ("new=0", sorted(set(names) - set(new)))):
        page.hits.filter_box.selectAll()
        QTest.keyClicks(page.hits.filter_box, text)
        qtbot.waitUntil(lambda wanted=wanted: hits.n_shown == len(wanted) and not hits.is_busy)
        assert sorted(hits.row_at(row).name for row in range(hits.n_shown)) == wanted
    click(page, 1)
    page.hits.filter_box.clear()
    qtbot.waitUntil(lambda: page.run.profile == 0 and hits.n_shown == hits.n_all > 0 and not hits.is_busy)
    assert {hits.index(row, place).data() for row in range(hits.n_shown)} <= {"significant", "reported"}, "the first"


def test_a_list_of_rounds_grows(made: Path) -> None:
    with open_run(made) as run:
        cards = run.cards()
    model = QueriesModel("Round")
    model.show_queries(cards[:3])
    assert [row["short"] for row in model.rows] == [
        "globin1_cut", "Round 1", "rrm2_pair", "Round 1", "lonely", "Round 1"
    ]  # fmt: skip
    model.narrow("globin")
    model.show_queries(cards)
    assert [row["short"] for row in model.rows] == ["globin1_cut", "Round 1", "Round 2", "Round 3"], "still narrowed"


def test_lost_names_are_reported(made: Path) -> None:
    found = found_by_round(made)[0]
    assert lost_words(found) == ""
    assert lost_words(found._replace(lost=("a", "b"))) == "Lost: a, b"
    assert lost_words(found._replace(lost=tuple("abcdefghij"))) == "Lost: a, b, c, d, e, f, g, h and 2 more"


@pytest.mark.thorough
def test_a_stopped_search_is_continued_and_its_last_round_followed(
    qtbot: Any, real_window: MainWindow, made: Path, tmp_path: Path, press: Any
) -> None:
    path = tmp_path / "stopped.clalign"
    with (
        contextlib.suppress(Cancelled),
        clalign.jackhmmer(made.with_name("queries.fasta"), BUILT, path, iterations=3, context=Watching(1)) as rounds,
    ):
        list(rounds)
    with open_run(path) as run, open_run(made) as whole:
        assert run.state == "stopped"
        assert run.n_queries() < whole.n_queries()
    real_window.controller.workspace.choose_device("reference")
    page = open_page(qtbot, real_window, path)
    before, seen = page.run.profile, set[int]()
    page.run.facts_changed.connect(lambda: seen.add(page.run.profile))
    assert page.unfinished_bar.isVisible()
    press(page.unfinished_bar, "Continue")
    qtbot.waitUntil(lambda: page.run.state == "done" and len(page.run.query_hits) > 3 and not page.run.hits.is_busy)
    assert before != page.run.profile in seen
    other = QueriesModel("Round")
    with open_run(made) as whole:
        other.show_queries(whole.cards())
    other.show_found(found_by_round(made))
    wanted = {(row["name"], row["found"].n_hits, len(row["found"].new)) for row in other.rows}
    qtbot.waitUntil(lambda: page.run.found == found_by_round(path))
    rows = page.queries.model.rows
    assert {(row["name"], row["found"].n_hits, len(row["found"].new)) for row in rows} == wanted
    assert page.run.card["round"] == max(card["round"] for card in page.run.cards if card["first"] == 0)
    assert page.queries.model.rows[page.queries.table.currentIndex().row()]["number"] == page.run.profile


@pytest.mark.thorough
def test_a_hit_is_searched_with_in_rounds(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    page.hits.table.choose_row(2)
    window.actions_.update()
    window.actions_.by_id["search.search_with_hit:rounds"].trigger()
    written = window.controller.queue.current
    assert written is not None
    assert written.spec["hits"] == [page.run.hit.id]
    qtbot.waitUntil(lambda: isinstance(window.controller.search.sheet, SequencesSheet))
    qtbot.waitUntil(lambda: window.controller.workspace.queries_path == written.spec["path"])
    sheet = window.controller.search.sheet
    assert "iterations" in sheet.form.editors.keys() - SearchForm("sequence").editors.keys()


def test_rounds_that_do_not_follow_each_other_are_refused(run_file: Path, qtbot: Any, reader: Reader) -> None:
    with open_run(run_file, writable=True) as run:
        last = run.n_queries() - 1
        run.connection.execute("UPDATE queries SET card = json_set(card, '$.first', 9) WHERE id = ?", (last,))
        run.connection.commit()
    with pytest.raises(DamagedRun):
        found_by_round(run_file)


def test_rounds_begin_with_a_profile(qtbot: Any, window: MainWindow, files: dict[str, str], press: Any) -> None:
    window.controller.sources.open_quietly([files["made.fasta"], files["made.hmm"], files["new.hmm"]])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    window.dock.show()
    window.details.show_source(window.controller.workspace.sources[files["new.hmm"]])
    press(window, "Search in rounds…")
    sheet = window.controller.search.sheet
    assert isinstance(sheet, SequencesSheet)
    qtbot.waitUntil(sheet.run_button.isEnabled)
    assert sheet.spec is not None
    assert (sheet.spec.command, sheet.spec.paths) == ("jackhmmer", (files["new.hmm"], files["made.fasta"]))
    assert sheet.queries.currentData() == files["new.hmm"]
    box = sheet.queries
    box.setCurrentIndex(box.findData(files["made.hmm"]))
    box.activated.emit(box.currentIndex())
    assert not sheet.run_button.isEnabled(), "a profile of HMMER2"
    window.controller.workspace.choose_queries(files["new.hmm"])
    press(sheet, "Run search")
    queue = window.controller.queue
    assert queue.current is not None
    assert queue.current.spec["spec"]["profiles"] == files["new.hmm"]


def test_hits_by_round_are_drawn(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    page.show_tab("pictures")
    view = page.findChild(PicturesView)
    box = view.kinds
    box.setCurrentIndex(box.findData("rounds"))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(lambda: view.picture is not None and "by round" in view.picture.title)
    with open_run(run_file) as run:
        rounds = [one for one in (RoundOfRun(run, n) for n in range(run.n_queries())) if one.query == "globin1_cut"]
        wanted = [(one.number, 1, len(one), one.n_significant, one.n_new, len(one.lost)) for one in rounds]
    assert list(view.picture.rows()) == wanted


def tick(page: Any, name: str) -> None:
    """Click into the tick box of a hit."""
    hits, table = page.run.hits, page.hits.table
    row = next(row for row in range(hits.n_shown) if hits.row_at(row).name == name)
    index = hits.index(row, hits.table.place("status"))
    table.scrollTo(index)
    area = table.visualRect(index)
    QTest.mouseClick(table.viewport(), LEFT, pos=QPoint(area.left() + 10, area.center().y()))


def states(page: Any) -> dict[str, tuple[Any, str]]:
    """Return tick and word of each hit in view."""
    hits = page.run.hits
    place = hits.table.place("status")
    cells = {hits.row_at(row).name: hits.index(row, place) for row in range(hits.n_shown)}
    return {name: (one.data(Qt.ItemDataRole.CheckStateRole), one.data()) for name, one in cells.items()}


def test_hits_of_the_last_round_are_ticked(qtbot: Any, window: MainWindow, run_file: Path) -> None:
    page = open_page(qtbot, window, run_file)
    assert page.more.isVisible()
    assert page.more.isEnabled(), "the first query has not converged"
    assert not page.stop.isVisible()
    before = states(page)
    assert {ticked for ticked, _ in before.values()} == {Qt.CheckState.Checked}
    name = next(iter(before))
    tick(page, name)
    qtbot.waitUntil(lambda: states(page).get(name) == (Qt.CheckState.Unchecked, "dropped"))
    with open_run(run_file) as run:
        assert run.card(page.run.profile)["dropped"] == [
            hit.row for hit in run.hits(page.run.profile) if hit.name == name
        ]
    tick(page, name)
    qtbot.waitUntil(lambda: states(page) == before)
    with open_run(run_file) as run:
        assert "dropped" not in run.card(page.run.profile)
    click(page, 1)
    qtbot.waitUntil(lambda: page.run.profile == 0 and not page.run.hits.is_busy and bool(states(page)))
    assert {ticked for ticked, _ in states(page).values()} == {None}, "its next round has begun"
    QTest.mouseClick(page.more, LEFT)
    started = window.controller.queue.current
    assert started is not None
    assert (started.spec["job"], started.spec["run"], started.spec["one_more"]) == ("resume", str(run_file), {})


@pytest.mark.thorough
def test_one_more_round_is_searched_with_ticked_hits(
    qtbot: Any, real_window: MainWindow, made: Path, tmp_path: Path, press: Any
) -> None:
    path, query = tmp_path / "one.clalign", tmp_path / "q.fa"
    query.write_text(">" + (made.with_name("queries.fasta")).read_text().split(">")[1])
    with clalign.jackhmmer(query, BUILT, path, iterations=2) as rounds:
        assert sum(1 for _ in rounds) == 2
    page = open_page(qtbot, real_window, path)
    name = next(iter(states(page)))
    tick(page, name)
    qtbot.waitUntil(lambda: states(page).get(name) == (Qt.CheckState.Unchecked, "dropped"))
    press(page, "One more round")
    qtbot.waitUntil(lambda: len(page.run.cards) == 3 and page.run.state == "done", timeout=60_000)
    with open_run(path) as run:
        assert not any(one.startswith(f"{name}/") for one in RoundOfRun(run, 1).alignment().names)


def test_a_search_ends_after_a_round(made: Path, run_file: Path) -> None:
    with open_run(run_file, writable=True) as run:
        stop_after(run)
        assert run.spec(SearchSpec).iterations == 3
        run.set_facts(spec={**(run.facts.spec or {}), "iterations": 9})
        stop_after(run)
        assert run.spec(SearchSpec).iterations == 3
        run.set_cards([])
        with pytest.raises(OptionError):
            stop_after(run)


def test_a_job_that_writes_is_waited_for_only_shortly(
    qtbot: Any, window: MainWindow, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, kinds = open_page(qtbot, window, run_file), list[str]()
    name = next(iter(states(page)))
    monkeypatch.setattr(window.controller, "notify", lambda kind, *more, **facts: kinds.append(kind))
    with open_run(run_file, writable=True) as run:
        run.set_facts(spec={**(run.facts.spec or {}), "iterations": 9})
    with contextlib.closing(sqlite3.connect(run_file)) as worker:
        worker.execute("BEGIN IMMEDIATE")
        window.controller.search.stop_after_round()
        tick(page, name)
        worker.rollback()
    assert kinds == ["stop", "stop"]
    with open_run(run_file) as run:
        assert run.spec(SearchSpec).iterations == 9
        assert "dropped" not in run.card(page.run.profile)
    window.controller.search.stop_after_round()
    with open_run(run_file) as run:
        assert (run.spec(SearchSpec).iterations, kinds) == (3, ["stop", "stop", "good"])

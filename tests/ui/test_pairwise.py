"""Comparisons of sequences: what the window makes of their run files."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.formats.pairwise_rows import PairRow
from clalign.runs.pages import HitQuery
from clalign.ui.engines.pairwise import histogram
from clalign.ui.engines.pairwise.columns import PAIR_TABLE
from clalign.ui.engines.pairwise.dot_plot import MAX_DOTS, WORDS, DotPlot, dotted, path_of, read_dot_plot
from clalign.ui.engines.pairwise.histogram import read_pair_histogram
from clalign.ui.engines.pairwise.layout import PairLines, pair_fasta
from clalign.ui.engines.pairwise.notices import compares_bases, pair_notices, reason_not_to_compare
from clalign.ui.engines.pairwise.run_view import PairRunView
from clalign.ui.engines.pairwise.sheet import PairForm
from clalign.ui.models.alignment.alignment_layout import as_text
from clalign.ui.models.reader import Reader
from clalign.ui.models.results.hit_pages import ALL_QUERIES, HitPages
from clalign.ui.models.results.hits_model import HitsModel
from clalign.ui.models.results.scripts import as_command, as_python
from clalign.ui.models.workspace import Source, Workspace

LEFT = Qt.MouseButton.LeftButton

HitsOf = Callable[..., tuple[dict[str, Any], list[Any]]]


@pytest.fixture
def view_of(pair_runs: dict[str, Path], reader: Reader, qtbot: Any) -> Iterator[Callable[[str], PairRunView]]:
    """Reads a run; nothing is asked any more when the test ends."""
    made: list[PairRunView] = []

    def read(name: str) -> PairRunView:
        view = PairRunView(pair_runs[name], reader)
        made.append(view)
        view.refresh()
        qtbot.waitUntil(lambda: reader.is_idle and not view.hits.is_busy)
        return view

    yield read
    qtbot.waitUntil(lambda: reader.is_idle)
    for view in made:
        view.close()


# --- models ---


def test_cells_say_what_the_tables_of_the_command_line_say(
    hits_of: HitsOf, pair_runs: dict[str, Path], reader: Reader, qtbot: Any
) -> None:
    card, hits = hits_of(pair_runs["proteins"])
    model = HitsModel(pair_runs["proteins"], reader, PAIR_TABLE)
    model.set_profile(0, [card])
    qtbot.waitUntil(lambda: model.n_shown == len(hits))
    for place, hit in enumerate(hits):
        row = PairRow(card, hit, hit.domains[0])
        cells = {c.key: model.data(model.index(place, i)) for i, c in enumerate(PAIR_TABLE.columns)}
        assert cells["name"] == hit.name
        assert cells["identity"] == f"{row.identity:.0f}"
        assert cells["positives"] == f"{row.positives:.0f}"
        assert cells["query_coverage"] == f"{row.query_coverage:.0f}"
        assert cells["target_coverage"] == f"{row.target_coverage:.0f}"
        assert cells["cigar"] == hit.domains[0].cigar
        assert cells["raw"] == str(hit.raw)
        ranking = row.query_coverage / 2 + row.identity / 4 + row.positives / 4
        assert cells["ranking"] == f"{ranking:.1f}"
    model.close()


@pytest.mark.parametrize("key", ["identity", "positives", "query_coverage", "target_coverage", "ranking", "gaps"])
def test_the_database_sorts_as_the_cells_say(hits_of: HitsOf, pair_runs: dict[str, Path], key: str) -> None:
    card, hits = hits_of(pair_runs["proteins"])
    rows = [PairRow(card, hit, hit.domains[0]) for hit in hits]
    values = {
        "ranking": lambda r: r.query_coverage / 2 + r.identity / 4 + r.positives / 4,
        "gaps": lambda r: r.pair.n_gaps,
    }.get(key, lambda r: getattr(r, key))
    pages = HitPages(HitQuery(pair_runs["proteins"], 0, sort=key, descending=True, together="query"))
    order = [row.name for row in pages.rows(0, 100)]
    pages.close()
    worth = {row.hit.name: values(row) for row in rows}
    assert [worth[name] for name in order] == pytest.approx(sorted(worth.values(), reverse=True))


def test_filters_know_identity_and_coverage(
    hits_of: HitsOf, pair_runs: dict[str, Path], reader: Reader, qtbot: Any
) -> None:
    card, hits = hits_of(pair_runs["proteins"])
    model = HitsModel(pair_runs["proteins"], reader, PAIR_TABLE)
    model.set_profile(0, [card])
    wanted = sum(PairRow(card, hit, hit.domains[0]).identity >= 60 for hit in hits)
    assert 0 < wanted < len(hits)
    assert not model.set_filter("id>=60").problem
    qtbot.waitUntil(lambda: not model.is_busy and model.n_shown == wanted)
    assert "Known: E, bits" in model.set_filter("bias>3").problem
    model.close()


def test_hits_of_all_queries_stand_together(hits_of: HitsOf, pair_runs: dict[str, Path]) -> None:
    pages = HitPages(HitQuery(pair_runs["proteins"], ALL_QUERIES, together="query"))
    found = [(row.profile, row.name) for row in pages.rows(0, 100)]
    pages.close()
    assert found == [(number, hit.name) for number in (0, 1) for hit in hits_of(pair_runs["proteins"], number)[1]]
    assert {number for number, _ in found} == {0, 1}


def test_a_bar_expects_what_the_curve_says_of_its_scores(hits_of: HitsOf, pair_runs: dict[str, Path]) -> None:
    card, hits = hits_of(pair_runs["proteins"])
    data = read_pair_histogram(pair_runs["proteins"], 0)
    assert card["statistics"]["kind"] == "published"
    curve = data.curve("calibration")
    assert curve is not None
    assert data.curve("fit") is None
    first, counts = card["curve"]["first"], card["curve"]["counts"]
    for score, expected in zip(*curve, strict=True):
        low, high = round(score - data.bar_width / 2), round(score + data.bar_width / 2)
        assert expected == pytest.approx(sum(counts[max(0, low - first) : max(0, high - first)]))
    for hit in hits:  # also where the curve has ended
        assert data.by_chance(hit.raw) == pytest.approx(hit.evalue, rel=0.2 if hit.evalue > 1 else 0.02)
    assert hits[0].raw > first + len(counts)
    assert data.by_chance(0) == pytest.approx(data.n_searched, rel=1e-3)
    assert data.n_scores == 31
    assert f"lambda {card['statistics']['lambda']:.3f}" in data.legend()[0][1]
    assert data.bar_width == 1
    assert data.report_score < data.last_shown < data.edges[-1]
    assert data.n_beyond == sum(hit.raw >= data.last_shown for hit in hits) > 0
    assert "with a score of" in data.bar_at(float(data.edges[0]) + 0.5)


def test_joined_bars_do_not_change_how_many_reach_a_score(
    hits_of: HitsOf, pair_runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "MAX_BARS", 4)
    _, hits = hits_of(pair_runs["proteins"])
    data = read_pair_histogram(pair_runs["proteins"], 0)
    assert len(data.counts) <= 4
    for hit in hits:
        assert data.n_from(hit.raw) == sum(other.raw >= hit.raw for other in hits)


def test_without_statistics_there_is_no_curve_and_no_line(
    pair_runs: dict[str, Path], view_of: Callable[[str], PairRunView]
) -> None:
    data = read_pair_histogram(pair_runs["scores"], 0)
    assert data.legend() == []
    assert data.curve("calibration") is data.curve("fit") is None
    assert data.by_chance(5) is None
    assert data.last_shown == data.edges[-1]
    view = view_of("scores")
    assert view.thresholds["report"] == -np.inf
    assert view.tag("report", True) == ""
    assert "No E-values" in view.statistics_words()
    assert view.summary().startswith("5 hits for query 1 of 2 (the requested maximum)")


def test_given_pairs_have_no_histogram_and_say_so(view_of: Callable[[str], PairRunView]) -> None:
    view = view_of("pairs")
    assert view.shows_all
    assert view.histogram is None
    heading, text = view.no_histogram_words() or ("", "")
    assert heading == "Only pairs were aligned"
    assert "no sample" in text
    assert view.summary().startswith("2 pairs aligned")


def test_moving_the_threshold_filters_by_raw_score(
    hits_of: HitsOf, pair_runs: dict[str, Path], view_of: Callable[[str], PairRunView], qtbot: Any
) -> None:
    _, hits = hits_of(pair_runs["proteins"])
    view = view_of("proteins")
    least = hits[1].raw
    view.set_least_score(least)
    wanted = sum(hit.raw >= least for hit in hits)
    assert 0 < wanted < len(hits)
    qtbot.waitUntil(lambda: view.hits.n_shown == view.counts["report"] == wanted)
    assert view.tag("report", True).startswith(f"≥ {least} · {wanted} hits · ")
    assert view.thresholds_moved
    view.reset_thresholds()
    assert view.thresholds["report"] == view.card["histogram_report_score"]


def test_targets_that_were_not_kept_are_counted(
    hits_of: HitsOf, pair_runs: dict[str, Path], view_of: Callable[[str], PairRunView]
) -> None:
    n_targets = len(hits_of(pair_runs["proteins"])[1])  # the same search with room for all
    assert f" · {n_targets} targets, 2 kept · " in view_of("few").tag("report", True)
    assert f" · {n_targets} hits · " in view_of("proteins").tag("report", True)


def test_one_score_makes_no_histogram(view_of: Callable[[str], PairRunView], pair_runs: dict[str, Path]) -> None:
    view = view_of("single")
    assert view.histogram is None
    assert "Only one target" in (view.no_histogram_words() or "")
    assert read_pair_histogram(pair_runs["single"], 0).legend() == []


def test_an_empty_result_names_the_best_target(view_of: Callable[[str], PairRunView]) -> None:
    heading, text = view_of("empty").empty_words()
    assert heading == "No hits at E ≤ 1e-200"
    assert "like1_0 with E = " in text


def test_recomputed_scores_are_counted(view_of: Callable[[str], PairRunView]) -> None:
    view = view_of("proteins")
    view.facts["finished"].update(n_in_16_bits=0, n_in_32_bits=12)
    assert ("Recomputed", "12 sequences recomputed in 32 bits") in view.scoring_rows()


@pytest.mark.parametrize("name", ["proteins", "dna", "pairs"])
def test_lines_hold_the_alignment_as_the_query_runs(hits_of: HitsOf, pair_runs: dict[str, Path], name: str) -> None:
    card, hits = hits_of(pair_runs[name])
    for hit in hits:
        lines = PairLines(hit, card, 25)
        for place, domain in enumerate(hit.domains):
            row = PairRow(card, hit, domain)
            for kind, text, ends in (("model", row.rows[0], row.query_ends), ("target", row.rows[2], row.target_ends)):
                own = [line for line in lines if (line.kind, line.domain) == (kind, place)]
                assert "".join(line.text for line in own) == text
                numbered = [line for line in own if line.first is not None]
                assert (numbered[0].first, numbered[-1].last) == ends
                assert [line.begin for line in own] == list(range(0, len(text), 25))


def test_both_strands_are_distinguished(hits_of: HitsOf, pair_runs: dict[str, Path]) -> None:
    card, hits = hits_of(pair_runs["dna"])
    by_name = {hit.name: hit for hit in hits}
    assert by_name["minus"].domains[0].pair.strand == -1
    assert {domain.pair.strand for domain in by_name["both"].domains} == {1, -1}
    text = as_text(PairLines(by_name["minus"], card, 60))
    assert "minus strand" in text
    assert "target 74–5" in text
    assert pair_fasta(card, by_name["minus"]).startswith(">minus/74-5 ")
    plus, minus = (pair_fasta(card, by_name[name]).split(">")[1].splitlines() for name in ("plus", "minus"))
    assert (plus[0], minus[0]) == ("plus/5-74 made up", "minus/74-5 made up")
    assert plus[1:] == minus[1:]


# --- dot plots ---


@pytest.mark.parametrize("name", ["proteins", "dna"])
def test_dots_are_dark_along_the_path(hits_of: HitsOf, pair_runs: dict[str, Path], name: str) -> None:
    card, hits = hits_of(pair_runs[name])
    for hit in hits[:3]:
        plot = read_dot_plot(pair_runs[name], 0, hit)
        assert plot.dots.shape == (card["length"], hit.length)
        path = path_of(hit.domains[0])
        assert tuple(sorted((int(path[0][1]), int(path[-1][1])))) == hit.domains[0].target_range
        assert (int(path[0][0]), int(path[-1][0])) == hit.domains[0].query_range
        steps = np.abs(np.diff(path, axis=0)).sum(axis=1) == 2
        corners = np.minimum(path[:-1], path[1:])[steps][8:-8]
        along = plot.dots[corners[:, 0], corners[:, 1]]
        assert along.mean() > 5 * plot.dots.mean()


def test_words_give_the_same_dots_as_single_letters(
    hits_of: HitsOf, pair_runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, hits = hits_of(pair_runs["dna"])
    plots = [read_dot_plot(pair_runs["dna"], 0, hits[0])]
    for size in (1, 4):
        monkeypatch.setitem(WORDS, True, size)
        plots.append(read_dot_plot(pair_runs["dna"], 0, hits[0]))
    assert all(np.array_equal(plot.dots, plots[0].dots) for plot in plots)
    assert plots[0].dots.any()


def test_a_click_finds_the_nearest_column(hits_of: HitsOf, pair_runs: dict[str, Path]) -> None:
    _, hits = hits_of(pair_runs["dna"])
    hit = next(hit for hit in hits if len(hit.domains) == 2)
    plot = read_dot_plot(pair_runs["dna"], 0, hit)
    for number, path in enumerate(plot.paths):
        for column in (0, len(path) // 2, len(path) - 2):
            place = plot.place_of(number, column)
            assert place is not None
            assert plot.nearest(*place) == (number, column)
    assert plot.says(0, 0).startswith(f"query {plot.query[0]} 1 · target {plot.target[0]} 1")
    assert plot.says(-1, 0) == ""


def test_long_sequences_are_binned(pair_runs: dict[str, Path]) -> None:
    from clalign.formats.matrices import load_matrix
    from clalign.values.sequences import Sequence

    codes = np.random.default_rng(3).integers(0, 20, 3000).astype(np.uint8)
    sequence = Sequence("long", "", codes)
    plot = dotted(DotPlot("a", "b", 3000, 3000, ()), sequence, sequence, [codes], load_matrix("BLOSUM62"), 11)
    assert max(plot.dots.shape) == MAX_DOTS
    assert np.diag(plot.dots)[4:-4].min() > 150
    assert np.median(plot.dots) < 100


def test_without_its_files_a_dot_plot_has_only_the_path(
    hits_of: HitsOf, pair_runs: dict[str, Path], tmp_path: Path
) -> None:
    _, hits = hits_of(pair_runs["proteins"])
    queries = pair_runs["proteins"].parent / "queries.fasta"
    kept = queries.rename(tmp_path / "away.fasta")
    try:
        gone = read_dot_plot(pair_runs["proteins"], 0, hits[0])
        queries.write_text(">another\nMKVLAAGIVLMKVLAAGIVL\n")
        other = read_dot_plot(pair_runs["proteins"], 0, hits[0])
    finally:
        kept.rename(queries)
    for plot, words in ((gone, "not there any more"), (other, "have changed")):
        assert plot.dots is None
        assert "Only the path is drawn" in plot.problem
        assert words in plot.problem
        assert len(plot.paths[0]) > 10


# --- forms and scripts ---


def test_the_form_has_every_option_and_asks_for_whole_numbers(qtbot: Any) -> None:
    form = PairForm()
    qtbot.addWidget(form)
    values, problem = form.values()
    assert not problem
    assert PairwiseSpec("a", "b", **values) == PairwiseSpec("a", "b")
    assert not values.keys() & {"alphabet", "query_format", "sequence_format"}
    form.editors["gap_first"].setText("1.5")
    assert "whole number of at least 0" in form.values()[1]
    form.editors["gap_first"].setText("")
    form.editors["mismatch"].setText("-4")
    assert form.values()[0]["mismatch"] == -4
    form.editors["evalue"].setText("0")
    assert "above 0" in form.values()[1]


def test_matrices_and_strands_fit_the_sequences(qtbot: Any) -> None:
    form = PairForm()
    qtbot.addWidget(form)
    box = form.editors["matrix"]
    assert box.findData("BLOSUM45") > 0
    assert not form.editors["strand"].isEnabled()
    form.offer_matrices(True)
    assert box.findData("BLOSUM45") < 0
    assert box.findData("NUC.4.4") > 0
    form.set_values({"strand": "plus"})
    assert form.values()[0]["strand"] == "plus"
    form.offer_matrices(False)
    assert form.values()[0]["strand"] == "auto"


def test_a_comparison_as_command_and_program() -> None:
    spec = PairwiseSpec("my query.fasta", "b.fasta", mode="global", gap_first=10, gap_next=2)
    assert as_command(spec) == "clalign sw --gap-first 10 --gap-next 2 --mode global 'my query.fasta' b.fasta"
    assert "mode='global'" in as_python(spec)
    compile(as_python(spec), "program", "exec")
    assert PairwiseSpec.from_dict(spec.to_dict()) == spec


def sequences(name: str, alphabet: str = "amino", n: int = 500, **more: Any) -> Source:
    report = {"alphabet": alphabet, "n_sequences": n, "n_residues": 300 * n}
    return Source(name, "sequences", "ready", report=report, **more)


def test_notices_about_two_files() -> None:
    assert pair_notices(sequences("a"), sequences("b"), None) == []
    assert "look like DNA" in pair_notices(sequences("a", "dna"), sequences("b"), None)[0].text
    assert "Only 3 targets" in pair_notices(sequences("a"), sequences("b", n=3), None)[0].text
    both = pair_notices(sequences("a", alphabet="amino"), sequences("b"), None)
    assert not any(notice.blocks for notice in both)


def test_a_doubtful_guess_yields_as_in_the_search() -> None:
    short, bases, proteins = sequences("short", "dna"), sequences("bases", "dna"), sequences("proteins")
    short.report["is_doubtful"] = True
    (notice,) = pair_notices(short, proteins, None)
    assert not notice.blocks
    assert notice.text.startswith("short: Taken for protein")
    assert not compares_bases(short, proteins)
    assert compares_bases(short, bases)
    (refused,) = pair_notices(bases, proteins, None)
    assert refused.blocks
    assert refused.text.endswith("choose the alphabet of its file.")
    assert compares_bases(replace(bases, alphabet="dna"), proteins), "what is said of one file holds for both"


def test_the_smallest_file_is_proposed_as_query(qtbot: Any) -> None:
    space = Workspace()
    assert reason_not_to_compare(space) == "Choose queries and targets first."
    space.put(sequences("small", n=2))
    space.propose_queries()
    assert space.queries is None
    space.put(sequences("large"))
    space.propose_queries()
    assert (space.queries_path, space.sequences_path) == ("small", "large")
    assert reason_not_to_compare(space) == ""
    space.remove("small")
    assert space.queries is None

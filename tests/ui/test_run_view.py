import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from clalign.runs.batches import joined_bins
from clalign.runs.pages import hits_between
from clalign.runs.run_file import create_run, open_run
from clalign.ui.engines.plan7.histogram import read_profile_histogram
from clalign.ui.engines.plan7.run_view import ProfileRunView
from clalign.ui.models.charts.histogram import (
    MAX_BARS,
    grouped_cutoffs,
)
from clalign.ui.models.reader import Reader
from clalign.ui.models.results.run_view import RunView
from clalign.values.evalues import hmmer2_pvalue
from clalign.values.profiles import Calibration


@pytest.fixture
def view(qtbot: Any, made_run: Callable[..., Path], reader: Reader) -> Any:
    made = ProfileRunView(made_run(profiles=2), reader)
    made.refresh()
    qtbot.waitUntil(lambda: made.hits.n_shown == 200 and made.histogram is not None and reader.is_idle)
    yield made
    made.close()


def test_the_summary_counts_what_is_significant(qtbot: Any, view: RunView) -> None:
    with open_run(view.path) as run:
        n = run.connection.execute("SELECT count(*) FROM hits WHERE query = 0 AND score >= 10").fetchone()[0]
    assert view.summary().startswith(f"{n} significant · {200 - n} more reported")
    assert "Made-up GPU" in view.summary()
    assert view.title == "made x made"


def test_thresholds_refilter_and_never_go_below_what_was_kept(qtbot: Any, view: RunView, reader: Reader) -> None:
    significant = view.counts["significant"]
    words = view.summary()
    view.set_least_score(50.0)
    qtbot.waitUntil(lambda: not view.hits.is_busy and reader.is_idle)
    assert 0 < view.hits.n_shown < 200
    assert view.counts["report"] == view.hits.n_shown
    assert all(view.hits.row_at(place).score >= 50 for place in range(view.hits.n_shown))
    assert view.counts["significant"] == significant > view.hits.n_shown, "the search decides"
    assert view.summary() == words
    assert view.threshold_hint(), "it is above the other"
    view.set_least_score(-500.0)
    assert view.thresholds["report"] == -2.0
    assert view.threshold_hint(), "it is not where it was put"
    view.set_least_score(5.0)
    assert view.thresholds_moved
    assert not view.threshold_hint()
    view.set_least_score(6e4)
    drawn, above = view.histogram, view.threshold_hint()
    assert above, "no score is so high"
    for other in ({"kind": "msv"}, {"edges": np.zeros(1), "counts": np.zeros(0, np.int64)}):
        view.histogram = replace(drawn, **other)
        assert view.threshold_hint() not in ("", above), "these scores are no bound"
    view.histogram = drawn
    view.reset_thresholds()
    assert not view.threshold_hint()
    assert not view.thresholds_moved
    qtbot.waitUntil(lambda: not view.hits.is_busy and reader.is_idle)
    assert view.hits.n_shown == 200


def test_the_place_of_the_chosen_hit_is_that_of_its_bar(qtbot: Any, view: RunView, reader: Reader) -> None:
    assert math.isnan(view.hit_place()), "none is chosen"
    for place in (0, 20, 199):
        row = view.hits.row_at(place)
        view.choose(row)
        low, high = view.histogram.bounds_at(view.hit_place())
        assert row.id in hits_between(view.path, 0, view.plotted, low, high)
    view.set_profile(1)
    view.choose(row)
    assert math.isnan(view.hit_place()), "it is not in this histogram"


def test_the_tag_has_the_numbers_of_the_statistics(view: RunView) -> None:
    view.set_least_score(12.5)
    pvalue = hmmer2_pvalue(np.float32(12.5), Calibration("gumbel", -10.0, 0.5))
    assert view.histogram.evalue(12.5) == pytest.approx(pvalue * 1500)
    assert "12.5 bits" in view.tag("report", short=False)
    assert "expected by chance" in view.tag("report", short=False)


def test_another_profile_has_its_own_hits(qtbot: Any, view: RunView) -> None:
    best = view.hits.row_at(0).score
    view.set_profile(1)
    qtbot.waitUntil(lambda: not view.hits.is_busy)
    assert view.hits.row_at(0).score != best
    assert view.card["name"] == "Made-up-2"


def test_a_chosen_hit_is_read_with_its_domains(view: RunView) -> None:
    view.choose(view.hits.row_at(3))
    assert len(view.hit.domains) == len(view.hits.row_at(3).domains)


def test_a_run_that_is_not_there_yet_is_waited_for(
    qtbot: Any, tmp_path: Path, reader: Reader, fake: ModuleType
) -> None:
    path = tmp_path / "later.clalign"
    view = ProfileRunView(path, reader)
    view.is_live = True
    view.refresh()
    assert not view.cards
    with create_run(path, engine="plan7", spec={"profiles": "a.hmm", "targets": "b.fasta"}, state="new") as run:
        view.refresh()
        assert not view.cards
        fake.prepare(run, {"profiles": "a.hmm", "targets": "b.fasta"}, 3)
        view.note_change()
        qtbot.waitUntil(lambda: bool(view.cards))
        fake.add_batch(run, 0, 10)
        view.note_change()
        qtbot.waitUntil(lambda: view.hits.n_shown == 10)
    qtbot.waitUntil(lambda: "so far" in view.summary())
    qtbot.waitUntil(lambda: "The first 300 of 900" in view.sentence().replace("\u202f", ""))
    view.is_live = False
    assert view.state == "stopped"
    view.facts["state"] = "stopped"
    view.is_live = True
    assert view.state == "running", "a job continues it"
    view.close()


@pytest.mark.parametrize(
    ("profiles", "messages"),
    [
        (1, "900 of 1,500 sequences searched so far on"),
        (3, "for profile 1 of 3 · 900 of 1,500 sequences searched with it"),
    ],
)
def test_what_is_said_of_one_profile_is_not_taken_for_the_whole_search(
    qtbot: Any, made_run: Callable[..., Path], reader: Reader, profiles: int, messages: str
) -> None:
    view = ProfileRunView(made_run(complete=False, profiles=profiles), reader)
    view.refresh()
    qtbot.waitUntil(lambda: view.histogram is not None and reader.is_idle)
    assert messages in view.summary().replace("\u202f", "")
    assert ("so far" in view.summary()) == (profiles == 1)
    view.close()


def test_no_hits_name_the_best_sequence(view: RunView) -> None:
    with open_run(view.path, writable=True) as run:
        run.set_bests([(0, {"name": "Q9XYZ1", "evalue": 38.0, "score": 9.2})])
    heading, text = view.empty_words()
    assert heading == "No hits at E ≤ 10"
    assert "Q9XYZ1 with E = 38 (score 9.2)" in text


def test_bars_are_joined_but_no_score_is_lost() -> None:
    left = np.array([-100.0, -3.25, -3.0, 0.0, 700.0])
    counts = np.array([1, 2, 3, 4, 5], np.int64)
    edges, sums = joined_bins(left, counts, 0.25, MAX_BARS)
    assert len(sums) <= MAX_BARS
    assert len(edges) == len(sums) + 1
    assert sums.sum() == 15
    assert edges[0] <= -100
    assert edges[-1] > 700


def test_empty_sequences_are_not_drawn(made_run: Callable[..., Path]) -> None:
    path = made_run()
    with open_run(path, writable=True) as run:
        asked = "SELECT first, bins FROM batches WHERE query = 0"
        first, bins = run.connection.execute(asked).fetchone()
        more = bins + np.array([-3950618, 7], "<i4").tobytes()
        run.connection.execute("UPDATE batches SET bins = ? WHERE query = 0 AND first = ?", (more, first))
        run.connection.commit()
    data = read_profile_histogram(path, 0)
    assert data.n_scores == 1500
    assert data.edges[0] > -1000


def test_the_bar_under_the_pointer_is_named(view: RunView) -> None:
    data = view.histogram
    place = int(data.counts.argmax())
    words = data.bar_at(float(data.edges[place]) + data.bar_width / 2)
    assert f"{data.counts[place]} sequences" in words
    assert data.bar_at(1e6) == ""


def test_thresholds_snap_to_cutoffs(view: RunView) -> None:
    assert view.histogram.snapped(12.1, 0.5) == 12.0
    assert view.histogram.snapped(20.0, 0.5) == 20.0
    assert grouped_cutoffs({"ga": 12.0, "tc": 12.2, "nc": 40.0}, 1.0) == [(12.0, "GA 12 · TC 12.2"), (40.0, "NC 40")]


def test_scores_without_a_limit_are_no_line(view: RunView) -> None:
    view.cards[0] = {**view.cards[0], "include_score": None}
    view.set_profile(0)
    assert view.thresholds["significant"] == -math.inf
    assert view.tag("significant", short=True) == ""

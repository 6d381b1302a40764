"""How SQLite finds the hits of a page: without sorting, or fetching, a million rows where an index tells all."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import get_args

import pytest

from clalign.errors import Cancelled
from clalign.jobs import QuietContext
from clalign.runs import connection
from clalign.runs.pages import ALL_ORDERS, ALL_QUERIES, Condition, HitPages, HitQuery, count_hits
from clalign.runs.queries import BestOf, HitQueries, is_significant
from clalign.runs.run_file import create_run, open_run
from clalign.values.hits import Hit
from clalign.values.sequences import short_name

BEST_OF: tuple[BestOf, ...] = get_args(BestOf)

CARD = {
    "origin": "hmmer2",
    "name": "q",
    "accession": "",
    "description": "",
    "length": 1,
    "alphabet": "amino",
    "consensus": "A",
    "reference": None,
    "structure": None,
    "facts": {},
    "cutoffs": {},
    "calibration": None,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create_run(tmp_path / "run.clalign", engine="plan7").close()
    return tmp_path / "run.clalign"


def test_a_hit_is_significant_as_the_search_has_it(path: Path) -> None:
    """By rule and by count, whether one query is asked for or all are."""
    hits = [
        Hit(row, row, f"s{row}", "", "", 30, float(score), 0.0, 1.0, score, (), 0, is_significant=score > 4)
        for row, score in enumerate((9, 7, 5, 4, 4, 2))
    ]
    with open_run(path, writable=True) as run:
        run.set_cards([CARD])
        run.set_hits(0, hits)
        stored = list(run.hits())
    assert sum(map(is_significant, stored)) == 3
    for query in (0, ALL_QUERIES):
        assert count_hits(HitQuery(path, query, least_score=3.0)) == (5, 3)
        assert count_hits(HitQuery(path, query, least_score=8.0)) == (1, 3)
    assert count_hits(HitQuery(path, 1)) == (0, 0)


def named_run(path: Path, names: list[str]) -> None:
    with open_run(path, writable=True) as run:
        run.set_cards([CARD])
        run.set_hits(0, [Hit(row, row, name, "", "", 30, 1.0, 0.0, 1.0, 1, (), 0) for row, name in enumerate(names)])


def test_names_are_sorted_by_what_tables_show_of_them(path: Path) -> None:
    names = ["tr|A0|beta_X", "sp|P9|Alpha", "gamma", "gi|38|gb|AAC7.1|", "sp|P1|delta | "]
    named_run(path, names)
    pages = HitPages(HitQuery(path, 0, sort="name"))
    shown = [listed.hit.name for listed in pages.listed(0, 10)]
    pages.close()
    assert shown == sorted(names, key=lambda name: short_name(name).casefold())
    assert [short_name(name) for name in shown] == ["AAC7.1", "Alpha", "beta_X", "delta", "gamma"]


def test_what_nobody_waits_for_any_more_is_not_listed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STEPS_AT_ONCE", 20)
    named_run(path, [f"s{n}" for n in range(200)])
    asked = []

    class Left(QuietContext):
        def check(self) -> None:
            asked.append(1)
            if len(asked) > 5:
                raise Cancelled

    with pytest.raises(Cancelled):
        HitPages(HitQuery(path, 0, sort="name"), Left())
    assert len(asked) == 6, "it ends at once"
    waited = HitPages(HitQuery(path, 0, sort="name"), QuietContext())
    assert waited.n_rows == 200
    assert len(waited.listed(0, 200)) == 200, "what comes later is not stopped"
    waited.close()


def test_hits_of_all_queries_stand_as_they_are_asked_for(path: Path) -> None:
    """By E-value, then by score, those without an E-value last; or by target, or by query."""
    evalues = {0: (1e-5, None, 0.0, 1e-5), 1: (1e-9, 0.0, 1e-5, 3.0)}
    scores = {0: (20.0, 90.0, 50.0, 30.0), 1: (40.0, 60.0, 30.0, 1.0)}
    with open_run(path, writable=True) as run:
        run.set_cards([CARD, CARD])
        for query in (0, 1):
            run.set_hits(query, [
                Hit(row, row, f"s{row}", "", "", 30, score, 0.0, evalue, 1, (), 0)
                for row, (score, evalue) in enumerate(zip(scores[query], evalues[query], strict=True))
            ])  # fmt: skip
    listed = {}
    for together in ALL_ORDERS:
        pages = HitPages(HitQuery(path, ALL_QUERIES, together=together))
        listed[together] = [(found.query, found.hit.row) for found in pages.listed(0, 10)]
        pages.close()
    assert listed["best"] == [(1, 1), (0, 2), (1, 0), (1, 2), (0, 3), (0, 0), (1, 3), (0, 1)]
    assert [row for _, row in listed["target"]] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [query for query, _ in listed["query"]] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_hits_are_those_that_a_look_at_all_finds(path: Path, seed: int) -> None:
    """Scores and E-values are few, so that many hits are equally good."""
    rng, scores = random.Random(seed), [10.0, 20.0, 30.0, 40.0]
    with open_run(path, writable=True) as run:
        run.set_cards([CARD] * 6)
        for query in range(6):
            run.set_hits(query, [
                Hit(row, row, f"s{row}", "", "", 30, rng.choice(scores), 0.0, rng.choice([None, 0.0, 1e-9]), 1, (), 0)
                for row in range(8) if rng.random() < 0.6
            ])  # fmt: skip
        everything = HitQueries(run.connection).scores_of_all()
        found = {of: set(HitQueries(run.connection).within(None, None, False, best=of)) for of in BEST_OF}
    hits = [
        (int(key), query, row, score, math.inf if math.isnan(evalue) else evalue)
        for key, query, row, score, evalue in zip(
            everything.ids, everything.queries, everything.rows, everything.scores, everything.evalues, strict=True
        )
    ]
    of_query = {key for key, query, _, score, _ in hits if not any(q == query and s > score for _, q, _, s, _ in hits)}
    of_target = {
        key for key, _, row, score, evalue in hits
        if not any(r == row and (e, -s) < (evalue, -score) for _, _, r, s, e in hits)
    }  # fmt: skip
    assert found == {"query": of_query, "target": of_target, "both": of_query & of_target}
    assert len(hits) > len(of_query) > len(of_query & of_target) > 0
    for of in BEST_OF:
        condition = Condition("best", "has", of)
        listed = HitPages(HitQuery(path, ALL_QUERIES, conditions=(condition,)))
        others = HitPages(HitQuery(path, 0, conditions=(condition._replace(is_negated=True),)))
        assert set(listed.ids()) == found[of]
        assert set(others.ids()) == {key for key, query, *_ in hits if query == 0} - found[of]
        listed.close()
        others.close()

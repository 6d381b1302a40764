"""How SQLite finds the hits of a page: without sorting, or fetching, a million rows where an index tells all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from clalign.runs import pages
from clalign.runs.pages import HitPages, HitQuery, count_hits
from clalign.runs.run_file import create_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create_run(tmp_path / "run.clalign", engine="plan7").close()
    return tmp_path / "run.clalign"


def plan_of(path: Path, question: str) -> list[str]:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TEMP TABLE shown (place INTEGER PRIMARY KEY, id INTEGER)")
    found = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {question}")]
    connection.close()
    return found


@pytest.mark.parametrize("least", [None, 20.0])
def test_the_original_order_is_that_of_an_index(
    path: Path, monkeypatch: pytest.MonkeyPatch, least: float | None
) -> None:
    asked: list[str] = []
    opened = pages.open_connection

    def watched(path: Path) -> sqlite3.Connection:
        connection = opened(path)
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr(pages, "open_connection", watched)
    HitPages(HitQuery(path, 0, least_score=least)).close()
    (question,) = (text for text in asked if text.startswith("INSERT INTO shown"))
    assert plan_of(path, question) == ["SEARCH hits USING COVERING INDEX hits_by_rank (query=?)"]


def test_hits_are_counted_with_an_index(path: Path) -> None:
    question = "SELECT count(*) FROM hits WHERE query = 0 AND score >= 1"
    assert plan_of(path, question) == ["SEARCH hits USING COVERING INDEX hits_by_rank (query=?)"]
    assert count_hits(path, [[(0, 1.0)], []]) == [0, 0]

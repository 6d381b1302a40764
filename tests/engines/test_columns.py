"""The tables, their documents and the window say the same of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

from clalign.engines.architectures import TABLE
from clalign.engines.columns import Column, table_lines
from clalign.engines.engine import engine_named
from clalign.engines.overview import TABLE as QUERIES
from clalign.engines.pairwise import columns as pairwise
from clalign.engines.plan7 import columns as plan7
from clalign.runs.pages import VALUES
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, Hit

ROOT = Path(__file__).parents[2]
PLAN7 = {"tsv": plan7.TABLES["hits"], "domtsv": plan7.TABLES["domains"]}
PAIRWISE = {"sw": pairwise.TABLES["hits"]}


def documentation(tables: dict[str, tuple[Column, ...]]) -> Iterable[str]:
    """Yield the lines of the table of columns of some files, by their names, as the documents have it."""
    yield "| column | in | holds | unit | meaning |"
    yield "|---|---|---|---|---|"
    for column in dict.fromkeys(column for table in tables.values() for column in table):
        names = ", ".join(f"`{name}`" for name, table in tables.items() if column in table)
        kind = "whole number" if column.kind == "picture" else column.kind
        meaning = column.meaning or f"{column.tip[0].lower()}{column.tip[1:]}"
        yield f"| `{column.file}` | {names} | {kind} | {column.unit} | {meaning} |"


def test_the_documents_list_the_columns() -> None:
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    for tables in (PLAN7, PAIRWISE, {"architecture": TABLE}, {"queries": QUERIES}):
        assert "\n".join(documentation(tables)) in text, "put what documentation() yields there"


@pytest.mark.parametrize("engine", [plan7, pairwise])
def test_names_are_of_one_column(engine: ModuleType) -> None:
    for table in engine.TABLES.values():
        names = [column.file for column in table]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
    keys = [column.key for column in engine.HITS]
    assert len(set(keys)) == len(keys)
    words = [word for column in engine.HITS for word in column.filter.split()]
    assert len({word.lower() for word in words}) == len(words)
    assert all(column.sort in {**VALUES, **engine_named(engine.__name__.split(".")[-2]).parts.runs.get().values}
               for column in engine.HITS if column.sort)  # fmt: skip


def line(is_scan: bool) -> dict[str, str]:
    def domain(number: int, nodes: tuple[int, int], residues: tuple[int, int], states: str, match: str) -> Domain:
        text = AlignmentText("a" * len(states), match, "A" * len(states))
        return Domain(number, 9.0, 0.5, 1e-5, nodes, residues, residues, 9500, states, text, accuracy=0.75)

    domains = domain(1, (0, 6), (10, 15), "MMMDMM", "aa+  a"), domain(2, (4, 10), (20, 28), "MMMIIMMM", "aaa++ aa")
    hit = Hit(0, 0, "t", "T1", "text", 100 if not is_scan else 20, 20.0, 0.5, 1e-9, 0, domains, 2)
    card = {"name": "q", "accession": "Q1", "length": 20 if not is_scan else 100, "origin": "hmmer3"}
    header, found = table_lines(PLAN7["tsv"], [plan7.Row(card, hit, domains, None, 2, is_scan)])
    return dict(zip(header.split("\t"), found.split("\t"), strict=True))


@pytest.mark.parametrize("is_scan", [False, True])
def test_coverage_and_identity_are_of_all_domains(is_scan: bool) -> None:
    cells = line(is_scan)
    profile, sequence = ("target", "query") if is_scan else ("query", "target")
    assert cells[f"{profile}_coverage"] == "50.00"  # nodes 1 to 10 of 20, those of both domains counted once
    assert cells[f"{sequence}_coverage"] == "13.00"
    assert cells["identity"] == f"{100 * 8 / 14:.2f}"
    assert (cells["n_domains"], cells["score"], cells["expected_domains"]) == ("2", "20", "")

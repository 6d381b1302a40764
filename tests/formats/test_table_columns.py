"""The tables, their documents and the window say the same of the columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clalign.formats.table_columns import COLUMNS, TableRow, columns_of_table, documentation, meaning_of, table_lines
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, Hit

ROOT = Path(__file__).parents[2]


def test_the_documents_list_the_columns() -> None:
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    assert "\n".join(documentation()) in text, "put what clalign.formats.table_columns.documentation() yields there"


def test_names_are_of_one_column() -> None:
    names = [column.name for column in COLUMNS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
    assert meaning_of("bits") == "Score in bits, comparable between matrices"


def line(is_scan: bool) -> dict[str, str]:
    def domain(number: int, nodes: tuple[int, int], residues: tuple[int, int], states: str, match: str) -> Domain:
        text = AlignmentText("a" * len(states), match, "A" * len(states))
        return Domain(number, 9.0, 0.5, 1e-5, nodes, residues, residues, 9500, states, text, accuracy=0.75)

    domains = domain(1, (0, 6), (10, 15), "MMMDMM", "aa+  a"), domain(2, (4, 10), (20, 28), "MMMIIMMM", "aaa++ aa")
    hit = Hit(0, 0, "t", "T1", "text", 100 if not is_scan else 20, 20.0, 0.5, 1e-9, 0, domains, 2)
    card = {"name": "q", "accession": "Q1", "length": 20 if not is_scan else 100, "origin": "hmmer3"}
    (found,) = table_lines("tsv", [TableRow(card, hit, domains, None, 2, is_scan)])
    return dict(zip((column.name for column in columns_of_table("tsv")), found.split("\t"), strict=True))


@pytest.mark.parametrize("is_scan", [False, True])
def test_coverage_and_identity_are_of_all_domains(is_scan: bool) -> None:
    cells = line(is_scan)
    profile, sequence = ("target", "query") if is_scan else ("query", "target")
    assert cells[f"{profile}_coverage"] == "50.00"  # nodes 1 to 10 of 20, those of both domains counted once
    assert cells[f"{sequence}_coverage"] == "13.00"
    assert cells["identity"] == f"{100 * 8 / 14:.2f}"
    assert (cells["n_domains"], cells["score"], cells["expected_domains"]) == ("2", "20", "")

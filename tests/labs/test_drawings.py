"""Drawings of the sources show what the program computes with."""

from __future__ import annotations

import re

import numpy as np
import pytest

from clalign.compute.opencl.kernels import assemble
from clalign.engines.pictures.charts import chart_drawing, chart_height
from clalign.labs.drawings import LENGTHS, PICTURES, owner
from clalign.labs.publications import publications
from clalign.values.charts import Cell, CellChart


def cells(name: str) -> list[Cell]:
    return [cell for cell in PICTURES[name].chart().cells if cell.is_framed]


@pytest.mark.parametrize("name", PICTURES)
def test_drawings_have_room(name: str) -> None:
    chart = PICTURES[name].chart()
    drawing = chart_drawing(chart, 700.0, 0.0)
    assert drawing.height == chart_height(chart)
    places = drawing.picks.places
    assert len(places) == len(cells(name))
    assert places[:, 2].max() <= drawing.width
    assert places[:, 3].max() <= drawing.height
    at = [(cell.x, cell.y) for cell in cells(name)]
    assert len(set(at)) == len(at)
    framed = set(at)
    assert all(end in framed for ends in chart.links for end in ends)
    assert any(item.drawing == name for source in publications().values() for item in source.items)


def test_the_worked_example_has_the_published_cells() -> None:
    at = {(cell.x, cell.y): cell for cell in cells("example")}
    published = publications()["004"].item("table 3.2").published
    for number, letter in enumerate("AYPPQ", 1):
        for node, value in published[f"M, {number} {letter}"].items():  # type: ignore[union-attr]
            assert at[int(node), 2 + number].text == str(int(value))
        for node, value in published[f"D, {number} {letter}"].items():  # type: ignore[union-attr]
            assert at[int(node), 11 + number].text == str(int(value))
    assert [cell.text for cell in at.values() if cell.is_marked] == ["-6110", "-1783", "2552", "6887", "10374"]


def test_owners_of_cells_are_those_of_the_kernel() -> None:
    text = assemble("smith_waterman_ladder_lanes")
    assert "first = diagonal > n ? diagonal - n : 1" in text
    assert re.search(r"for \(int i = first \+ own; i <= end; i \+= GROUP\)", text)
    m, n = 4, 6
    for diagonal in range(2, m + n + 1):
        rows = [i for i in range(1, m + 1) if 1 <= diagonal - i <= n]
        assert [owner(i, diagonal - i, n) for i in rows] == list(range(len(rows)))


def test_launches_of_both_directions_mirror_each_other() -> None:
    at = {(cell.x, cell.y): int(cell.text) for cell in cells("sweeps")}
    forward = np.array([[at[j + 1, i + 2] for j in range(7)] for i in range(5)])
    backward = np.array([[at[j + 10, i + 2] for j in range(7)] for i in range(5)])
    assert (forward == np.add.outer(np.arange(5), np.arange(7)) + 1).all()
    assert (backward == forward[::-1, ::-1]).all()


def test_everybody_in_the_tree_has_one_observer() -> None:
    chart = PICTURES["tree"].chart()
    assert [sum(cell.y == y for cell in cells("tree")) for y in (6, 4, 2, 0)] == [20, 5, 2, 1]
    watched = [start for start, _ in chart.links]
    assert len(watched) == len(set(watched)) == 27
    observers = [end for _, end in chart.links]
    assert max(observers.count(end) for end in observers) == 4


def test_residues_lie_where_the_kernel_reads_them() -> None:
    every = [f"{row + 1}.{i + 1}" for row, length in enumerate(LENGTHS) for i in range(length)]
    lines = {y: [cell.text for cell in cells("residues") if cell.y == y and cell.text] for y in (1, 4, 7)}
    assert lines[1] == every
    assert lines[4] == sorted(every, key=lambda name: name.split(".")[::-1])
    assert lines[7][:8] == ["1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "2.3", "2.4"]
    assert sorted(lines[7]) == sorted(every)


def test_a_sum_by_halves_ends_with_the_sum() -> None:
    assert [cell.text for cell in cells("sum")][-1] == str(sum(range(1, 9)))


def test_emissions_are_the_same_in_both_orders() -> None:
    lines = [[cell.text for cell in cells("emissions") if cell.y == y] for y in (1, 4)]
    assert np.array(lines[0]).reshape(5, 4).T.ravel().tolist() == lines[1]


def test_tips_tell_of_the_cell_in_view() -> None:
    drawing = chart_drawing(CellChart("x", (Cell(0, 0, "a"), Cell(1, 0, "b", tip="second"))), 300.0, 0.0)
    left, top, right, bottom = drawing.picks.places[1]
    assert drawing.picks.at((left + right) / 2, (top + bottom) / 2) == 1
    assert [drawing.picks.tip(part) for part in (0, 1)] == ["a", "second"]

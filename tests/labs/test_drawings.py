"""Drawings of the sources show what the program computes with."""

from __future__ import annotations

import re

import numpy as np
import pytest

from clalign.compute.opencl.kernels import assemble
from clalign.engines.pictures.charts import chart_drawing, chart_height
from clalign.labs.drawings import LENGTHS, PICTURES, owner
from clalign.labs.formulas import example_model
from clalign.labs.publications import publications
from clalign.values.charts import Cell, CellChart
from clalign.values.drawings import Line


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


def test_every_step_of_the_model_is_drawn() -> None:
    chart, model = PICTURES["plan7"].chart(), example_model()
    at = {cell.text: cell for cell in cells("plan7")}
    n = model.length
    of_matches_and_inserts, of_deletes = 4 * (n - 1), 2 * (n - 2)  # without those of inserts to themselves
    assert len(chart.links) == of_matches_and_inserts + of_deletes + 2 * n + 4
    assert {name for name, cell in at.items() if cell.is_marked} == {
        "N",
        "B",
        "E",
        "C",
        *(f"M{k}" for k in range(1, 6)),
    }
    assert at["M1"].tip == "M1-E -13314, M1-M2 -4, M1-I1 -8135, M1-D2 -9181"
    assert at["D5"].tip == ""


def test_steps_of_a_pair_sum_to_one() -> None:
    rows: dict[float, list[float]] = {}
    for cell in cells("pair-states"):
        rows.setdefault(cell.y, []).append(float(cell.text or 0))
    assert [len(row) for row in rows.values()] == [4] * 3 + [6] * 5
    assert [sum(row) for row in rows.values()] == pytest.approx([1] * 8, abs=3e-4)


def test_deletes_of_all_lanes_arrive() -> None:
    text = assemble("viterbi_lanes")
    assert "shuffle_up(leaving, 1u << step, IMPOSSIBLE, lane, scratch)" in text
    lines = {y: [cell.text for cell in cells("deletes") if cell.y == y] for y in (2, 4, 6)}
    assert lines[2][-1] == "6-7"
    assert lines[4][-1] == "4-7"
    assert lines[6] == [f"0-{lane}" for lane in range(8)]


def test_lanes_follow_each_other() -> None:
    steps = np.array([int(cell.text) for cell in cells("systolic")]).reshape(5, 4)
    assert (np.diff(steps, axis=0) == 1).all()
    assert (np.diff(steps, axis=1) == 1).all()
    assert steps.max() == 8


def test_modes_of_alignment() -> None:
    lines = {y: "".join(cell.text[0] for cell in cells("modes") if cell.y == y) for y in (2, 5, 8, 11)}
    assert list(lines.values()) == ["MMMMM", "NNMMMMMCC", "MMM", "MMMMMJJMMMMM"]
    assert [cell.text for cell in cells("modes") if cell.y == 8] == ["M2", "M3", "M4"]


def test_a_global_alignment_has_one_gap() -> None:
    lines = ["".join(cell.text for cell in cells("pair") if cell.y == y) for y in (0, 1)]
    assert lines == ["A-CGTACGTACG", "ATCGTACGTACG"]
    assert PICTURES["pair"].chart().title.startswith("A global alignment, score 9")


def test_links_leave_words_alone() -> None:
    """They end within the cells that they join, and not in their middle."""
    chart = CellChart("x", (Cell(0, 0, "a"), Cell(3, 2, "b")), (((0, 0), (3, 2)),))
    drawing = chart_drawing(chart, 400.0, 0.0)
    link = next(shape for shape in drawing.shapes if isinstance(shape, Line) and len(shape.points) == 2)
    for (left, top, right, bottom), (x, y) in zip(drawing.picks.places, link.points, strict=True):
        assert left < x < right
        assert top < y < bottom
        assert abs(x - (left + right) / 2) + abs(y - (top + bottom) / 2) > 5


def test_tips_tell_of_the_cell_in_view() -> None:
    drawing = chart_drawing(CellChart("x", (Cell(0, 0, "a"), Cell(1, 0, "b", tip="second"))), 300.0, 0.0)
    left, top, right, bottom = drawing.picks.places[1]
    assert drawing.picks.at((left + right) / 2, (top + bottom) / 2) == 1
    assert [drawing.picks.tip(part) for part in (0, 1)] == ["a", "second"]

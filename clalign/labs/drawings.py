"""Drawings of the sources, made of what the program computes with: matrices, owners of cells, trees, layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct

from clalign.compute.group_barriers import GroupBarrier
from clalign.labs.formulas import EXAMPLE, WARP, example_model
from clalign.reference.viterbi import viterbi_rows
from clalign.reference.viterbi_trace import viterbi_trace
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.stages.plan7.viterbi_ladder import LadderChoices, arranged, model_tables
from clalign.values.alphabets import encode
from clalign.values.charts import Cell, CellChart, Point
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, TO_END, transitions_of
from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM
from clalign.values.scoring import GapCosts, Scoring, SubstitutionMatrix
from clalign.values.sequences import SequenceBatch

COLORS = 5
LENGTHS = (5, 4, 4, 2)
"""Residues of the sequences of a layout."""

Line = list[tuple[str, int | None, str]]

SIZES = 4, 6
"""Residues of both sequences of a matrix whose cells have owners."""


class Picture(Struct, frozen=True):
    """A drawing, and why it looks as it does."""

    title: str
    about: str
    chart: Callable[[], CellChart]


def _words(x: float, y: float, text: str, width: float = 6) -> Cell:
    return Cell(x, y, text, width, is_framed=False)


def _block(x: float, y: float, title: str, rows: Iterable[str], columns: Iterable[str]) -> Iterator[Cell]:
    """Yield the title and the names of the rows and columns of a matrix whose first cell is at x + 1, y + 2."""
    yield _words(x, y, title)
    yield from (_words(x + 1 + place, y + 1, name, 1) for place, name in enumerate(columns))
    yield from (_words(x, y + 2 + place, name, 1) for place, name in enumerate(rows))


def worked_example() -> CellChart:
    """Return the matrices of 004's example, its best path, and what M of a cell is made of."""
    model = example_model()
    rows = list(viterbi_rows(encode(EXAMPLE), model))
    places = {
        place
        for path in viterbi_trace(encode(EXAMPLE), model) or []
        for place in zip(path.states, (path.residues() + 1).tolist(), (path.nodes() + 1).tolist(), strict=True)
    }
    names, nodes = [f"{i} {letter}" for i, letter in enumerate(f"-{EXAMPLE}")], range(1, model.length + 1)
    cells: list[Cell] = []
    for place, state in enumerate("MID"):
        x, y = 7 * (place % 2), 9 * (place // 2)
        cells += _block(x, y, f"{state}, by node", names, map(str, nodes))
        for i, row in enumerate(rows):
            values = {"M": row.m, "I": row.i, "D": row.d}[state]
            cells += [
                Cell(x + k, y + 2 + i, _score(int(values[k])), color=place + 1, is_marked=(state, i, k) in places)
                for k in nodes
            ]
    cells += _block(7, 9, "special states", names, "NBEJC")
    for i, row in enumerate(rows):
        cells += [
            Cell(8 + k, 11 + i, _score(value), color=0) for k, value in enumerate((row.n, row.b, row.e, row.j, row.c))
        ]
    to = (3.0, 5.0)  # M of node 3 in row 3
    links = ((2.0, 4.0), (9.0, 4.0), (2.0, 13.0), (9.0, 13.0))
    title = f"Viterbi matrices of {EXAMPLE}: the best path is framed, lines show what M of node 3 in row 3 is made of"
    return CellChart(title, tuple(cells), tuple((start, to) for start in links))


def _score(value: int) -> str:
    return str(value) if value > IMPOSSIBLE // 2 else "-∞"


def owner(i: int, j: int, n: int) -> int:
    """Return the work-item that computes a cell of `smith_waterman_ladder_lanes.cl`, from 0, with n columns."""
    return i - max(1, i + j - n)


def diagonals() -> CellChart:
    """Return a small matrix of 001, each cell with its work-item, colored by anti-diagonals."""
    m, n = SIZES
    cells = list(_block(0, 0, "work-items", (f"i {i + 1}" for i in range(m)), (f"j {j + 1}" for j in range(n))))
    for i, j in np.ndindex(m, n):
        tip = f"step {i + j + 1}, work-item {owner(i + 1, j + 1, n)}"
        cells.append(Cell(j + 1, i + 2, str(owner(i + 1, j + 1, n)), color=(i + j) % COLORS, tip=tip))
    links = tuple((start, (4.0, 4.0)) for start in ((3.0, 3.0), (3.0, 4.0), (4.0, 3.0)))
    return CellChart("Cells by the work-item that computes them; a color is a step", tuple(cells), links)


def sweeps() -> CellChart:
    """Return a small matrix of 003 in both directions, each cell with its launch."""
    (m, n), cells, links = SIZES, list[Cell](), list[tuple[Point, Point]]()
    for place, name in enumerate(("Forward", "Backward")):
        x, step = (n + 3) * place, 1 - 2 * place
        cells += _block(x, 0, f"{name}: launches", map(str, range(m + 1)), map(str, range(n + 1)))
        for i, j in np.ndindex(m + 1, n + 1):
            launch = i + j if step > 0 else m + n - i - j
            cells.append(Cell(x + j + 1, i + 2, str(launch + 1), color=launch % COLORS, tip=f"cell {i}, {j}"))
        to = x + 4.0, 4.0
        links += [((to[0] - step * a, to[1] - step * b), to) for a, b in ((1, 0), (0, 1), (1, 1))]
    return CellChart(
        "A launch computes an anti-diagonal; lines lead from what a cell needs", tuple(cells), tuple(links)
    )


def tree() -> CellChart:
    """Return 002's tree of blocks of four work-items, three levels above all groups."""
    barrier, cells, links = GroupBarrier(20, 4, "ulfs"), list[Cell](), list[tuple[Point, Point]]()
    places, levels = np.arange(barrier.n_groups) + 2.0, barrier.level_sizes
    for height, n in enumerate(levels):
        y = 2.0 * (len(levels) - 1 - height)
        cells.append(_words(0, y, f"level {len(levels) - height}", 2))
        cells += [Cell(x, y, f"B{group + 1}", color=height) for group, x in enumerate(places.tolist())]
        if n > 1:
            watchers = np.arange(n) // barrier.size
            above = np.bincount(watchers, places) / np.bincount(watchers)
            links += [((x, y), (float(above[who]), y - 2)) for x, who in zip(places.tolist(), watchers, strict=True)]
            places = above
    title = f"{barrier.n_groups} groups of {barrier.size} work-items: who is watched by whom"
    return CellChart(title, tuple(cells), tuple(links))


def halving() -> CellChart:
    """Return the steps of 003's parallel sum of eight numbers, as ``add_up_in_group`` takes them."""
    sums, cells, links = list(range(1, 9)), list[Cell](), list[tuple[Point, Point]]()
    cells += [Cell(place, 0.0, str(value), color=0) for place, value in enumerate(sums)]
    apart, y = len(sums) // 2, 2.0
    while apart:
        sums = [sums[own] + sums[own + apart] for own in range(apart)]
        cells += [Cell(own, y, str(value), color=1, tip=f"work-item {own}") for own, value in enumerate(sums)]
        links += [((float(own + more), y - 2), (float(own), y)) for own in range(apart) for more in (0, apart)]
        apart, y = apart // 2, y + 2
    return CellChart("A sum by halves: each work-item adds what is half as far as before", tuple(cells), tuple(links))


def _lines(title: str, lines: Mapping[str, Line], wide: int = 1000) -> CellChart:
    """Return named lines of cells, folded at a width: the text, color and tip of each."""
    cells, y = list[Cell](), 0
    for name, line in lines.items():
        cells.append(_words(0, y, name))
        for at, (text, color, tip) in enumerate(line):
            cells.append(Cell(at % wide, y + 1 + at // wide, text, color=color, tip=tip))
        y = int(cells[-1].y) + 2
    return CellChart(title, tuple(cells))


def residues() -> CellChart:
    """Return where the residues of four sequences lie, by 004's choices."""
    lengths = np.array(LENGTHS, np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
    symbols, lines = np.arange(1, lengths.sum() + 1, dtype=np.uint8), dict[str, Line]()
    for name in ("concatenated", "interleaved", "packed"):
        found = np.ascontiguousarray(arranged(name, symbols, offsets, lengths)[0]).view(np.uint8)
        rows = np.searchsorted(offsets, found.astype(np.int64) - 1, side="right") - 1
        lines[name] = [
            (f"{row + 1}.{symbol - offsets[row]}", row, f"byte {byte}") if symbol else ("", None, f"byte {byte}")
            for byte, (symbol, row) in enumerate(zip(found.tolist(), rows.tolist(), strict=True))
        ]
    return _lines("Residues in memory: sequence.residue, a color for each sequence", lines)


def score_rows() -> CellChart:
    """Return where the scores of a row lie for three work-items, by 004's choices."""
    n, slots = 3, ("M1", "M2", "I1", "I2", "D1", "D2")
    side_by_side: Line = [(text, item, f"work-item {item}") for text in slots for item in range(n)]
    padding: Line = [("", None, "padding")]
    lines: dict[str, Line] = {
        "global": [(text, item, f"work-item {item}") for item in range(n) for text in slots],
        "interleaved": side_by_side,
        "padded": [cell for place in range(len(slots)) for cell in [*side_by_side[n * place :][:n], *padding]],
    }
    return _lines("Scores in memory: a color for each work-item", lines)


def emissions() -> CellChart:
    """Return how the match emissions of 004's example lie in memory, by its choices."""
    model, letters, lines = example_model(), encode("APQY").astype(np.int64), dict[str, Line]()
    for name in ("global", "transposed"):
        values = model_tables(LadderChoices(emissions=name), model, letters, 1)[1]
        places = [place if name == "transposed" else place[::-1] for place in np.ndindex(values.shape)]
        lines[name] = [
            (str(value), letter, f"{'APQY'[letter]} at node {node + 1}")
            for value, (letter, node) in zip(values.ravel().tolist(), places, strict=True)
        ]
    return _lines("Match emissions in memory: a color for each residue, by nodes or by residues", lines)


def work_items() -> CellChart:
    """Return the sequences of the work-items of two groups (004, figure 7.1)."""
    lines: dict[str, Line] = {
        f"group {group}": [(f"S{group * WARP + item + 1}", group + 1, f"work-item {item}") for item in range(WARP)]
        for group in range(2)
    }
    return _lines(f"Sequences and their work-items, groups of {WARP}", lines, WARP // 2)


def plan7() -> CellChart:
    """Return the states of 004's example model, each step that it allows, and the best path of its sequence."""
    model = example_model()
    at: dict[str, Point] = {"N": (0.0, 7.0), "B": (1.0, 6.0), "J": (9.0, 8.0), "E": (17.0, 6.0), "C": (18.0, 7.0)}
    for node in range(1, model.length + 1):
        at |= {f"M{node}": (3.0 * node, 4.0), f"I{node}": (3.0 * node + 1.5, 2.0), f"D{node}": (3.0 * node, 0.0)}
    kinds = {MM: "MM", MI: "MI", MD: "MD", IM: "IM", II: "II", DM: "DM", DD: "DD"}
    steps: dict[tuple[str, str], int] = {("N", "B"): model.special.n_move, ("J", "B"): model.special.j_move}
    steps |= {("E", "J"): model.special.e_loop, ("E", "C"): model.special.e_move}
    for node in range(1, model.length + 1):
        steps |= {("B", f"M{node}"): int(model.begin[node]), (f"M{node}", "E"): int(model.end[node])}
        for which, ends in kinds.items() if node < model.length else ():
            to = f"{ends[1]}{node + (ends[1] != 'I')}"
            steps[f"{ends[0]}{node}", to] = int(model.transitions[which, node])
    allowed = {ends: score for ends, score in steps.items() if score > IMPOSSIBLE // 2 and "D1" not in ends}
    used = {name for ends in allowed for name in ends}
    path = {"N", "B", "E", "C"} | {
        f"{state}{node + 1}"
        for one in viterbi_trace(encode(EXAMPLE), model) or []
        for state, node in zip(one.states, one.nodes().tolist(), strict=True)
    }
    tips = {name: ", ".join(f"{a}-{b} {score}" for (a, b), score in allowed.items() if a == name) for name in used}
    colors = {"M": 1, "I": 2, "D": 3}
    cells = (
        Cell(*at[name], name, color=colors.get(name[0], 0), tip=tips[name], is_marked=name in path)
        for name in at
        if name in used
    )
    links = tuple((at[a], at[b]) for a, b in allowed if a != b)
    return CellChart(
        f"States of the example's model: those of the best path of {EXAMPLE} are framed", tuple(cells), links
    )


def pair_states() -> CellChart:
    """Return the steps of 003's pair HMM with three and five states, from rows to columns, before it learns."""
    cells: list[Cell] = []
    for place, n_sets in enumerate((1, 2)):
        t, y = transitions_of(SEED_GAPS[False, n_sets]), 6 * place
        gaps = [(way, which) for which in range(n_sets) for way in ("insert", "delete")]
        names = ["match", *(f"{way} {which + 1}" if n_sets > 1 else way for way, which in gaps)]
        cells.append(_words(0, y, f"{len(names)} states"))
        cells += [_words(2 + 1.5 * column, y + 1, name, 1.5) for column, name in enumerate([*names, "end"])]
        for row, name in enumerate(names):
            cells.append(_words(0, y + 2 + row, name, 2))
            which = gaps[row - 1][1] if row else 0
            stay = float(t.match_match if not row else t.closes[which])
            steps = [stay, *(float(t.opens[of]) if not row else 0.0 for _, of in gaps), TO_END]
            if row:
                steps[row] = float(t.extends[which])
            for column, value in enumerate(steps):
                cells.append(
                    Cell(2 + 1.5 * column, y + 2 + row, f"{value:.4f}" if value else "", 1.5, row if value else None)
                )
    return CellChart("Probabilities of the steps of a pair, before they are learned", tuple(cells))


def systolic() -> CellChart:
    """Return when each lane of 004's array has each residue, as the skewed form of ``viterbi_lanes.cl`` goes."""
    n_residues, lanes = len(EXAMPLE), 4
    names = (f"s{i + 1}" for i in range(n_residues))
    cells = list(_block(0, 0, "steps", names, (f"lane {lane + 1}" for lane in range(lanes))))
    for i, lane in np.ndindex(n_residues, lanes):
        cells.append(Cell(lane + 1, i + 2, str(i + lane + 1), color=(i + lane) % COLORS, tip=f"step {i + lane + 1}"))
    links = tuple(((float(lane), 4.0), (lane + 1.0, 4.0)) for lane in range(1, lanes))
    return CellChart("Each lane is a residue behind its left neighbor; a color is a step", tuple(cells), links)


def delete_chain() -> CellChart:
    """Return how deletes cross eight lanes, as ``delete_prefix.h`` takes them: neighbors 1, 2 and 4 lanes before."""
    lanes, cells, links = 8, list[Cell](), list[tuple[Point, Point]]()
    cells += [
        Cell(lane, 0.0, f"D{2 * lane + 1}-{2 * lane + 2}", color=lane % COLORS, tip=f"lane {lane}")
        for lane in range(lanes)
    ]
    first, step = list(range(lanes)), 1
    while step < lanes:
        y = 2.0 * step.bit_length()
        first = [first[max(0, lane - step)] for lane in range(lanes)]
        cells += [
            Cell(lane, y, f"{begin}-{lane}", color=lane % COLORS, tip=f"lanes whose deletes have come to lane {lane}")
            for lane, begin in enumerate(first)
        ]
        links += [
            ((float(lane - back), y - 2), (float(lane), y))
            for lane in range(lanes)
            for back in {0, step if lane >= step else 0}
        ]
        step *= 2
    return CellChart(
        "Deletes over partitions of a row, two nodes each: which lanes have reached which", tuple(cells), tuple(links)
    )


ALIGNED = "ACGTACGTACG", "ATCGTACGTACG"
"""Sequences of 004's figure 2.1."""


def global_pair() -> CellChart:
    """Return the best global alignment of `ALIGNED`, as the reference finds it."""
    batch = PairBatch.in_step(*(SequenceBatch.from_texts([encode(text)]) for text in ALIGNED))
    scoring = Scoring(SubstitutionMatrix.match_mismatch(1, -1), GapCosts(2, 2), "global")
    (found,) = SMITH_WATERMAN_TRACE.reference(batch, scoring)
    query, target = (iter(text) for text in ALIGNED)
    columns = [(next(query) if way != "D" else "-", next(target) if way != "I" else "-") for way in found.path]
    cells = [
        Cell(x, y, letter, color=int(len(set(column)) == 1))
        for x, column in enumerate(columns)
        for y, letter in enumerate(column)
    ]
    return CellChart(f"A global alignment, score {found.score}: equal residues in another color", tuple(cells))


MODES = {
    "global": "AYPPQ", "local in the sequence": "YYAYPPQYY", "local in the model": "YPP", "multi-hit": "AYPPQYYAYPPQ",
}  # fmt: skip
"""Sequences that 004's example model aligns in its four modes."""


def modes() -> CellChart:
    """Return the best path of each of `MODES`, a state for each residue."""
    model, cells = example_model(), list[Cell]()
    for place, (mode, text) in enumerate(MODES.items()):
        states = ["N"] * len(text)
        for domain in viterbi_trace(encode(text), model) or []:
            names = [f"{state}{node + 1}" for state, node in zip(domain.states, domain.nodes().tolist(), strict=True)]
            first, last = int(domain.residues()[0]), int(domain.residues()[-1])
            states[first:] = [*names, *["C"] * (len(text) - last - 1)]
            states[:first] = ["J" if state == "C" else state for state in states[:first]]
        cells.append(_words(0, 3 * place, mode))
        for i, (letter, state) in enumerate(zip(text, states, strict=True)):
            cells.append(Cell(i, 3 * place + 1, letter))
            cells.append(Cell(i, 3 * place + 2, state, color=1 if state[0] == "M" else 0, is_marked=state[0] == "M"))
    return CellChart("Residues and the states of their best path; those of nodes are framed", tuple(cells))


PICTURES = {
    "example": Picture("Worked example", "matrices cell by cell, as the reference computes them", worked_example),
    "diagonals": Picture("Diagonals", "cells and the work-items that compute them", diagonals),
    "sweeps": Picture("Sweeps", "anti-diagonals in both directions", sweeps),
    "tree": Picture("Tree of groups", "as the kernel walks it", tree),
    "sum": Picture("Sum", "steps of the sum of a work-group", halving),
    "residues": Picture("Residues", "as the kernel's layouts have them", residues),
    "scores": Picture("Rows of scores", "words by their work-items", score_rows),
    "emissions": Picture("Emissions", "as the kernel's tables have them", emissions),
    "plan7": Picture("Plan7", "states and steps of the worked example's model", plan7),
    "pair-states": Picture("Pair HMM", "states and their steps, as kernels begin with them", pair_states),
    "systolic": Picture("Systolic array", "which lane has which residue at which step", systolic),
    "deletes": Picture("Chain of deletes", "as the kernel's lanes scan it", delete_chain),
    "modes": Picture("Modes of alignment", "states of the best paths of four sequences", modes),
    "pair": Picture("Pair", "a global alignment of two sequences", global_pair),
    "work-items": Picture("Work-items", "which sequences they have", work_items),
}
"""By the names that items have for them."""

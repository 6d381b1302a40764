"""Sequence annealing: columns of one residue each are merged, the most certain ones first.

A merge of two columns is worth twice the posteriors of the pairs of residues that it aligns, over the gap
posteriors that it gives up (all sums in single precision). Merges that are worth less than the gap factor
are not made, nor those after which no order of the columns would have the residues of each sequence in
theirs. That is kept track of by an order of all columns, in which each merge moves as few as can be (Pearce
and Kelly 2006, ACM J. Exp. Algorithmics 11, 1.7).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers, offsets_of
from clalign.values.sparse_posteriors import SparsePosteriors

_TWO = np.float32(2)


class _Edge(Struct):
    """Two columns that may be merged, what that is worth, and how many residues they had when it was computed."""

    weight: float
    source: int
    target: int
    size: int


class _Heap:
    """A binary heap that keeps equal weights in the order of that of the GNU C++ library, on which ties hang."""

    def __init__(self) -> None:
        self.edges: list[_Edge] = []

    def push(self, edge: _Edge) -> None:
        self.edges.append(edge)
        self._rise(len(self.edges) - 1, edge)

    def pop(self) -> _Edge:
        edges, last = self.edges, self.edges.pop()
        if not edges:
            return last
        top, hole = edges[0], 0
        while 2 * hole + 1 < len(edges):
            child = 2 * hole + 2
            if child == len(edges) or edges[child].weight < edges[child - 1].weight:
                child -= 1
            edges[hole] = edges[child]
            hole = child
        self._rise(hole, last)
        return top

    def _rise(self, hole: int, edge: _Edge) -> None:
        edges = self.edges
        while hole and edges[(hole - 1) // 2].weight < edge.weight:
            edges[hole] = edges[(hole - 1) // 2]
            hole = (hole - 1) // 2
        edges[hole] = edge


class _Columns:
    """The columns, named by their creation number, and an order of them that agrees with every sequence."""

    def __init__(self, posteriors: SparsePosteriors, begin: ColumnMerges | None) -> None:
        numbers, offsets = creation_numbers(posteriors.lengths).tolist(), offsets_of(posteriors.lengths).tolist()
        self.of = [numbers[a:b] for a, b in itertools.pairwise(offsets)]
        """The column that each residue of each sequence begins as."""
        self.members: list[dict[int, int]] = [{} for _ in numbers]
        """Sequence and position of the residues of each column, by rising sequence."""
        for sequence, columns in enumerate(self.of):
            for position, column in enumerate(columns):
                self.members[column][sequence] = position
        self.index = list(range(len(numbers)))
        self.merged = list(range(len(numbers)))
        if begin is not None:
            for index, column in enumerate(begin.order.tolist()):
                self.index[column] = index
            for survivor, victim in zip(begin.survivors.tolist(), begin.victims.tolist(), strict=True):
                self._join(survivor, victim)

    def now(self, column: int) -> int:
        """Return the column that a column has become part of."""
        while self.merged[column] != column:
            column = self.merged[column]
        return column

    def share_a_sequence(self, one: int, other: int) -> bool:
        return not self.members[one].keys().isdisjoint(self.members[other])

    def reached(self, start: int, step: int, low: int, high: int) -> set[int] | None:
        """Return the columns between two indices that are before or after a column; None if one at the end is met."""
        found, stack = {start}, [start]
        while stack:
            for sequence, position in self.members[stack.pop()].items():
                if not 0 <= position + step < len(self.of[sequence]):
                    continue
                column = self.now(self.of[sequence][position + step])
                if self.index[column] == (high if step > 0 else low):
                    return None
                if low < self.index[column] < high and column not in found:
                    found.add(column)
                    stack.append(column)
        return found

    def merge(self, source: int, target: int) -> tuple[int, int] | None:
        """Merge two columns, if some order allows it; return the one that stays and the one that is gone."""
        first, last = sorted((source, target), key=self.index.__getitem__)
        low, high = self.index[first], self.index[last]
        after = self.reached(first, 1, low, high)
        if after is None:
            return None
        before = self.reached(last, -1, low, high) or set()
        survivor, victim = source, target
        if len(after) == 1:
            survivor, victim = last, first
        elif len(before) == 1:
            survivor, victim = first, last
        else:
            ordered = [*sorted(before, key=self.index.__getitem__), *sorted(after, key=self.index.__getitem__)]
            for column, index in zip(ordered, sorted(self.index[column] for column in ordered), strict=True):
                self.index[column] = index
        self._join(survivor, victim)
        return survivor, victim

    def _join(self, survivor: int, victim: int) -> None:
        together = {**self.members[survivor], **self.members[victim]}
        self.members[survivor] = dict(sorted(together.items()))
        self.members[victim] = {}
        self.merged[victim] = survivor

    def order(self) -> list[int]:
        left = [column for column, merged in enumerate(self.merged) if column == merged]
        return sorted(left, key=self.index.__getitem__)


class _Weights:
    """What merges are worth."""

    def __init__(self, posteriors: SparsePosteriors) -> None:
        self.numbers = posteriors.pair_numbers().tolist()
        self.pairs = [pair for _, _, pair in posteriors.each()]
        self.entries = [
            dict(zip(zip(pair.rows.tolist(), pair.columns.tolist(), strict=True), pair.probabilities, strict=True))
            for pair in self.pairs
        ]

    def of(self, one: dict[int, int], other: dict[int, int]) -> float:
        """Return the worth of the merge of two columns with these residues."""
        matched = gapped = np.float32(0)
        for i, a in one.items():
            for j, b in other.items():
                number = self.numbers[i][j]
                if number >= 0:
                    x, y = (a, b) if i < j else (b, a)
                    matched += self.entries[number].get((x, y), np.float32(0))
                    gapped += self.pairs[number].x_gaps[x] + self.pairs[number].y_gaps[y]
        return float(_TWO * matched / gapped)


def candidates(posteriors: SparsePosteriors, gap_factor: float) -> Iterator[tuple[float, int, int]]:
    """Yield weight and columns of every merge of two residues that is worth the gap factor."""
    residues, offsets = creation_numbers(posteriors.lengths), offsets_of(posteriors.lengths)
    for x, y, pair in posteriors.each():
        rows, columns = pair.rows, pair.columns
        weights = _TWO * pair.probabilities / (pair.x_gaps[rows] + pair.y_gaps[columns])
        kept = weights >= np.float32(gap_factor)
        sources, targets = residues[offsets[x] + rows[kept]], residues[offsets[y] + columns[kept]]
        yield from zip(weights[kept].tolist(), sources.tolist(), targets.tolist(), strict=True)


def anneal(
    posteriors: SparsePosteriors,
    gap_factor: float = 1.0,
    is_dynamic: bool = True,
    check: Callable[[], None] = lambda: None,
    begin: MultipleAlignment | None = None,
) -> ColumnMerges:
    """Return the merges that make an alignment of posteriors.

    Parameters
    ----------
    posteriors : SparsePosteriors
    gap_factor : float
        A merge must be worth as much.
    is_dynamic : bool
        Whether what a merge is worth is computed again for columns that have grown.
    check : callable
        Called often; may raise an exception.
    begin : MultipleAlignment, optional
        What the columns are in the beginning; by default each is a residue.
    """
    before = None if begin is None else ColumnMerges.into(begin)
    weights, columns, heap = _Weights(posteriors), _Columns(posteriors, before), _Heap()
    least = float(np.float32(gap_factor))
    for weight, source, target in candidates(posteriors, gap_factor):
        heap.push(_Edge(weight, source, target, 2))
    known: dict[tuple[int, int], _Edge | None] = {}
    """The edge between two columns that is in the heap for them; None where they can't be merged."""
    merges: list[tuple[int, int]] = []
    worths: list[float] = []
    if before is not None:
        merges += zip(before.survivors.tolist(), before.victims.tolist(), strict=True)
        worths += before.weights.tolist()
    while heap.edges:
        check()
        edge = heap.pop()
        edge.source, edge.target = source, target = columns.now(edge.source), columns.now(edge.target)
        key, size = (min(source, target), max(source, target)), len(columns.members[source])
        size += len(columns.members[target])
        other = known.get(key, edge)
        if source == target or other is None or (other is not edge and other.size == size):
            continue
        if other is not edge:
            known[key] = edge
        if is_dynamic and edge.size != size:
            if columns.share_a_sequence(source, target):
                known[key] = None
                continue
            edge.weight, edge.size = weights.of(columns.members[source], columns.members[target]), size
            if heap.edges and edge.weight < heap.edges[0].weight:
                known.setdefault(key, edge)
                heap.push(edge)
                continue
        if edge.weight < least:
            break
        merged = columns.merge(source, target)
        if merged is None:
            known[key] = None
            continue
        merges.append(merged)
        worths.append(edge.weight)
    survivors, victims = np.array(merges, np.int32).reshape(-1, 2).T
    order = np.array(columns.order(), np.int32)
    return ColumnMerges(posteriors.lengths, survivors, victims, np.array(worths, np.float32), order)

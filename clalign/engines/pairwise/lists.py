"""Given pairs of sequences, aligned in batches of bounded size: in step, or from a list of names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Session
from clalign.engines.pairwise.hits import checked, domain_of, most_cells, portions
from clalign.engines.pairwise.inputs import PairwiseInputs
from clalign.engines.pairwise.long_pairs import align_long
from clalign.engines.pairwise.query import hit_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import InputError, quoted
from clalign.execution.units import ALL, Plan, Scored, UnitProgress
from clalign.formats.sources import TextReader, decoded, opened
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.devices import Device
from clalign.values.documents import TargetFacts
from clalign.values.hits import Domain, Hit, Scores
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import PairwiseQuery
from clalign.values.sequences import SequenceBatch, SequenceDatabase

PORTION = 4096
"""Pairs that are stored together at most."""

Pairs = npt.NDArray[np.int64]
"""Number of the query and row of the target of each pair (int64[n, 2])."""


def plan_of_pairs(spec: PairwiseSpec, inputs: PairwiseInputs) -> tuple[Plan, list[str]]:
    """Return given pairs as what is to be computed, and what to say of them."""
    pairs, repeated = pairs_of(spec, inputs)
    lengths = np.diff(inputs.queries.offsets)[inputs.query_rows[pairs[:, 0]]]
    cells = lengths * np.diff(inputs.targets.offsets)[pairs[:, 1]]
    search, n_strands = PairSearch(inputs), len(inputs.strands)

    def cutter_for(device: Device) -> PairCutter:
        are_long = cells > (0 if spec.long else most_cells(device.kind))
        return PairCutter(pairs, cells * n_strands, are_long, device.kind, PORTION)

    plan = Plan([ALL], len(pairs), float(cells.sum()) * n_strands, lambda run, number: search, cutter_for, start=_start)
    return plan, repeated


class PairRows(Struct, frozen=True):
    """Pairs that follow each other, from number `first`, and the cells of all; or a long one, which is alone."""

    first: int
    pairs: Pairs
    cells: int
    is_long: bool = False

    def __len__(self) -> int:
        return len(self.pairs)

    def n_cells(self, model_length: int) -> int:
        """Return the cells of all; each has its own query."""
        return self.cells * model_length


class PairCutter(Struct):
    """Cuts a list of pairs by the cells of each (int64[n]); long ones (bool[n]) are alone."""

    pairs: Pairs
    cells: npt.NDArray[np.int64]
    are_long: npt.NDArray[np.bool_]
    device_kind: str
    most: int

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where the pairs end that take a device about the time of a batch, or a share of these."""
        if self.are_long[first]:
            return first + 1
        if share < 1.0:
            last = max(first + 1, first + int(share * (self.end(first, last) - first)))
        last = min(last, first + self.most)
        long_ones = np.flatnonzero(self.are_long[first:last])
        last = first + int(long_ones[0]) if len(long_ones) else last
        return first + int(next(portions(self.cells[first:last], self.device_kind)).stop)

    def batch(self, first: int, last: int) -> PairRows:
        """Return some pairs."""
        cells, is_long = int(self.cells[first:last].sum()), bool(self.are_long[first])
        return PairRows(first, self.pairs[first:last], cells, is_long)

    def measure(self, cells: float, seconds: float) -> None:
        """Do nothing: their number is what it is."""

    def shrink(self, first: int, last: int) -> bool:
        """Cut half as many from now on."""
        self.most = (last - first) // 2
        return self.most > 0


class PairSearch(Struct, frozen=True):
    """Aligns given pairs on every strand, and keeps the better alignments."""

    inputs: PairwiseInputs
    length = 1  # the cells of a batch are counted already

    def start_scoring(self, session: Session, batch: PairRows) -> Callable[[], Scored[None]]:
        """Return a callable that aligns them: tracing takes memory, so only one strand of one batch at a time."""
        return lambda: self._align(session, batch)

    def _align(self, session: Session, batch: PairRows) -> Scored[None]:
        inputs, (numbers, rows) = self.inputs, batch.pairs.T.tolist()
        targets = [inputs.targets.residues(row) for row in rows]
        best: list[Domain] = []
        stranded = {number: inputs.stranded(number) for number in set(numbers)}
        for which, strand in enumerate(inputs.strands):
            queries = [stranded[number][which] for number in numbers]
            both = PairBatch.in_step(
                SequenceBatch.from_texts([q.sequence.codes for q in queries]), SequenceBatch.from_texts(targets)
            )
            found = []
            for alignment, query, row in zip(
                session.run(SMITH_WATERMAN_TRACE, both, inputs.chosen.scoring), queries, rows, strict=True
            ):
                session.check()
                found.append(self._domain(alignment, query, row, strand))
            best = [max(pair, key=lambda domain: domain.raw) for pair in zip(best or found, found, strict=True)]
        return self._make_scored(batch, best)

    def align_long(self, session: Session, batch: PairRows, progress: UnitProgress) -> Scored[None]:
        """Align the only pair of a batch with all of the device."""
        inputs, (number, row) = self.inputs, batch.pairs[0].tolist()
        queries, target = inputs.stranded(number), inputs.targets.residues(row)
        names = f"{queries[0].sequence.name} and {inputs.targets.header(row)[0]}"
        found = align_long(session, queries, target, names, progress)
        domains = map(self._domain, found, queries, [row] * len(queries), inputs.strands)
        return self._make_scored(batch, [max(domains, key=lambda domain: domain.raw)])

    def _domain(self, alignment: PairAlignment, query: PairwiseQuery, row: int, strand: int) -> Domain:
        target = self.inputs.targets.residues(row)
        checked(alignment, alignment.score, query, target, (query.sequence.name, self.inputs.targets.header(row)[0]))
        return domain_of(alignment, query, target, strand, None)

    def _make_scored(self, batch: PairRows, best: list[Domain]) -> Scored[None]:
        hits = [
            (number, hit_of(self.inputs.targets, row, place, [domain]))
            for place, ((number, row), domain) in enumerate(zip(batch.pairs.tolist(), best, strict=True), batch.first)
        ]
        scores = Scores(
            np.arange(batch.first, batch.first + len(batch), dtype=np.int64),
            np.array([hit.raw for _, hit in hits], np.int32),
        )
        return Scored(scores, None, bin_width=1, hits_of=hits)

    def start_hits(self, session: Session, scored: Scored[None]) -> Callable[[], tuple[Hit, ...]]:
        """Return no further hits."""
        return tuple

    def described(self, raw: int, row: int) -> TargetFacts:
        """Return nothing: no query has all pairs."""
        return {}


def _start(search: PairSearch, session: Session, batch: PairRows, progress: UnitProgress) -> Callable[[], Scored[None]]:
    if batch.is_long:
        return lambda: search.align_long(session, batch, progress)
    return search.start_scoring(session, batch)


def pairs_of(spec: PairwiseSpec, inputs: PairwiseInputs) -> tuple[Pairs, list[str]]:
    """Return the pairs, each once, in their order, and what to say about those that come again.

    Raises
    ------
    InputError
        If the two files are not in step, or the list names a sequence that is not there.
    """
    if spec.pair_list is None:
        n_queries, n_targets = len(inputs.queries), len(inputs.targets)
        is_one_with_each = spec.long and not spec.in_step and 1 in (n_queries, n_targets)
        if n_queries != n_targets and not is_one_with_each:
            one = ", or one of them holds one" if spec.long and not spec.in_step else ""
            raise InputError(
                spec.targets,
                f"it holds {n_targets:,} sequences, but {spec.queries} holds {n_queries:,}.",
                f"Files in step hold as many, in the same order{one}; or name the pairs with --pair-list.",
            )
        both = np.broadcast_arrays(np.arange(n_queries), np.argsort(inputs.targets.order))
        return np.stack(both, 1).astype(np.int64), []
    rows = np.array(list(_listed(spec.pair_list, spec, inputs)), np.int64).reshape(-1, 2)
    if not len(rows):
        raise InputError(spec.pair_list, "there are no pairs in this file.", "Give lines of query, tabulator, target.")
    _, first = np.unique(rows, axis=0, return_index=True)
    n_again = len(rows) - len(first)
    texts = [f"Pairs that are listed more than once are aligned once: {n_again:,}."] if n_again else []
    return rows[np.sort(first)], texts


def _listed(path: str, spec: PairwiseSpec, inputs: PairwiseInputs) -> Iterator[tuple[int, int]]:
    queries = {row: number for number, row in enumerate(inputs.query_rows.tolist())}
    query_rows, target_rows = _rows_by_name(inputs.queries), _rows_by_name(inputs.targets)
    with opened(path) as source:
        for number, raw in TextReader(source).kept_lines():
            line = decoded(raw)
            if not line.strip() or line.startswith("#"):
                continue
            names = line.split("\t") if "\t" in line else line.split()
            if len(names) < 2:
                raise InputError(path, "two names were expected.", "Write query, tabulator, target.", number)
            query = _row_of(query_rows, names[0].strip(), (path, number, spec.queries))
            yield queries[query], _row_of(target_rows, names[1].strip(), (path, number, spec.targets))


def _rows_by_name(database: SequenceDatabase) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row in range(len(database)):
        rows.setdefault(database.header(row)[0], []).append(row)
    return rows


def _row_of(rows: dict[str, list[int]], name: str, place: tuple[str, int, str]) -> int:
    path, number, where = place
    found = rows.get(name, [])
    if not found:
        raise InputError(path, f"there is no sequence named {quoted(name)} in {where}.", "Correct the name.", number)
    if len(found) > 1:
        raise InputError(
            path, f"{len(found)} sequences in {where} are named {quoted(name)}.", "Rename all but one.", number
        )
    return found[0]

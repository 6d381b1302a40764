"""Given pairs of sequences, aligned in batches of bounded size: in step, or from a list of names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Session
from clalign.engines.pairwise.hits import checked, domain_of, portions
from clalign.engines.pairwise.inputs import PairwiseInputs
from clalign.engines.pairwise.query import hit_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import InputError
from clalign.execution.units import ALL, Plan, Scored
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.hits import Domain, Hit, Scores
from clalign.values.pair_batches import PairBatch
from clalign.values.sequences import SequenceBatch, SequenceDatabase

PORTION = 4096
"""Pairs that are stored together at most."""

Pairs = npt.NDArray[np.int64]
"""Number of the query and row of the target of each pair (int64[n, 2])."""


def plan_of_pairs(spec: PairwiseSpec, inputs: PairwiseInputs) -> tuple[Plan[PairRows], list[str]]:
    """Return given pairs as what is to be computed, and what to say of them."""
    pairs, repeated = pairs_of(spec, inputs)
    lengths = np.diff(inputs.queries.offsets)[inputs.query_rows[pairs[:, 0]]]
    cells = lengths * np.diff(inputs.targets.offsets)[pairs[:, 1]] * len(inputs.strands)
    search = PairSearch(inputs)
    plan = Plan(
        [ALL], len(pairs), float(cells.sum()), lambda run, number: search,
        lambda device: PairCutter(pairs, cells, device.kind, PORTION),
    )  # fmt: skip
    return plan, repeated


@dataclass(frozen=True, slots=True)
class PairRows:
    """Pairs that follow each other, from number `first`, and the cells of all."""

    first: int
    pairs: Pairs
    cells: int

    def __len__(self) -> int:
        return len(self.pairs)

    def n_cells(self, model_length: int) -> int:
        """Return the cells of all; each has its own query."""
        return self.cells * model_length


@dataclass
class PairCutter:
    """Cuts a list of pairs by the cells of each (int64[n])."""

    pairs: Pairs
    cells: npt.NDArray[np.int64]
    device_kind: str
    most: int

    def end(self, first: int, last: int) -> int:
        """Return where the pairs end that take a device about the time of a batch."""
        return first + next(portions(self.cells[first : min(last, first + self.most)], self.device_kind))[1]

    def batch(self, first: int, last: int) -> PairRows:
        """Return some pairs."""
        return PairRows(first, self.pairs[first:last], int(self.cells[first:last].sum()))

    def measure(self, cells: float, seconds: float) -> None:
        """Do nothing: their number is what it is."""

    def shrink(self, batch: PairRows) -> bool:
        """Cut half as many from now on."""
        self.most = len(batch) // 2
        return self.most > 0


@dataclass(frozen=True, slots=True)
class PairSearch:
    """Aligns given pairs on every strand, and keeps the better alignments."""

    inputs: PairwiseInputs
    length = 1  # the cells of a batch are counted already

    def start_scoring(self, session: Session, batch: PairRows) -> Callable[[], Scored[None]]:
        """Return what aligns them: tracing takes memory, so only one strand of one batch at a time."""
        return lambda: self._aligned(session, batch)

    def _aligned(self, session: Session, batch: PairRows) -> Scored[None]:
        inputs, numbers, rows = self.inputs, batch.pairs[:, 0].tolist(), batch.pairs[:, 1].tolist()
        targets = [inputs.targets.residues(row) for row in rows]
        best: list[Domain] = []
        stranded = {number: inputs.stranded(number) for number in set(numbers)}
        for which, strand in enumerate(inputs.strands):
            queries = [stranded[number][which] for number in numbers]
            both = PairBatch.in_step(_batch([q.sequence.codes for q in queries]), _batch(targets))
            found = []
            for alignment, query, target, row in zip(
                session.run(SMITH_WATERMAN_TRACE, both, inputs.chosen.scoring), queries, targets, rows, strict=True
            ):
                session.check()
                names = query.sequence.name, inputs.targets.header(row)[0]
                checked(alignment, alignment.score, query, target, names)
                found.append(domain_of(alignment, query, target, strand, None))
            best = [max(pair, key=lambda domain: domain.raw) for pair in zip(best or found, found, strict=True)]
        hits = [
            (number, hit_of(inputs.targets, row, place, [domain]))
            for place, (number, row, domain) in enumerate(zip(numbers, rows, best, strict=True), batch.first)
        ]
        scores = Scores(
            np.arange(batch.first, batch.first + len(batch), dtype=np.int64),
            np.array([hit.raw for _, hit in hits], np.int32),
        )
        return Scored(scores, None, bin_width=1, hits_of=hits)

    def start_hits(self, session: Session, scored: Scored[None]) -> Callable[[], tuple[Hit, ...]]:
        """Return no further hits."""
        return tuple

    def described(self, raw: int, row: int) -> dict[str, Any]:
        """Return nothing: no query has all pairs."""
        return {}


def _batch(codes: list[npt.NDArray[np.uint8]]) -> SequenceBatch:
    return SequenceBatch.from_texts(codes)


def pairs_of(spec: PairwiseSpec, inputs: PairwiseInputs) -> tuple[Pairs, list[str]]:
    """Return the pairs, each once, in their order, and what to say about those that come again.

    Raises
    ------
    InputError
        If the two files are not in step, or the list names a sequence that is not there.
    """
    if spec.pair_list is None:
        n_queries, n_targets = len(inputs.queries), len(inputs.targets)
        if n_queries != n_targets:
            raise InputError(
                spec.targets,
                f"it holds {n_targets:,} sequences, but {spec.queries} holds {n_queries:,}.",
                "Files in step hold as many, in the same order; or name the pairs with --pair-list.",
            )
        return np.stack([np.arange(n_queries), np.argsort(inputs.targets.order)], 1).astype(np.int64), []
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
    try:
        text = Path(path).read_text("utf-8", errors="replace")
    except OSError as error:
        raise InputError(path, f"the file could not be read ({error.strerror}).", "Check the name.") from error
    for number, line in enumerate(text.splitlines(), 1):
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
        raise InputError(path, f'there is no sequence named "{name}" in {where}.', "Correct the name.", number)
    if len(found) > 1:
        raise InputError(path, f'{len(found)} sequences in {where} are named "{name}".', "Rename all but one.", number)
    return found[0]

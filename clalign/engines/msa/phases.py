"""What a device computes of some pairs: the counts of a round of training, or their own models and posteriors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, Session
from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.packing import pack_array, pack_counts, pack_entries
from clalign.engines.msa.reading import Blocks
from clalign.engines.msa.splitting import posteriors, selected, together
from clalign.engines.msa.tables import COUNTS, POSTERIORS
from clalign.engines.msa.training import (
    CPU_CELLS,
    GPU_CELLS,
    WINDOW_PAIRS,
    TrainingOptions,
    batch_rows,
    cells_of,
    summed_counts,
    train_pairs,
)
from clalign.execution.units import Scored
from clalign.runs.batches import Kept
from clalign.runs.tables import SqlRow
from clalign.stages.pairhmm.posteriors import PosteriorsStage
from clalign.values.devices import Device
from clalign.values.documents import TargetFacts
from clalign.values.hits import Hit, Scores
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import Numbers, PairHmm, PairHmms, PosteriorBatch
from clalign.values.profiles import IMPOSSIBLE
from clalign.values.sparse_posteriors import SparsePosteriors

UNIT = 1e-3
"""Unit of stored scores (nats): logarithms of likelihoods for each residue."""

USUAL_ROUNDS = 2
"""Rounds that the training of a pair takes: hardly any needs three."""

Computed = tuple[Callable[[], Kept], Numbers]
"""What returns the rows of the tables of pieces; logarithms of likelihoods of all pairs."""


class Span(Struct, frozen=True):
    """Some pairs that follow each other, and the cells of their matrices."""

    first: int
    last: int
    cells: int

    def __len__(self) -> int:
        return self.last - self.first

    def n_cells(self, model_length: int) -> int:
        """Return the cells of this many passes."""
        return self.cells * model_length


class BlockCutter(Struct):
    """Cuts whole blocks of pairs, as many as suit a device.

    Attributes
    ----------
    blocks : Blocks
    cells : int64[n_blocks + 1]
        Of all pairs before each block, and of all.
    wanted : int
        Cells of a unit.
    """

    blocks: Blocks
    cells: npt.NDArray[np.int64]
    wanted: int

    @classmethod
    def of(cls, device: Device, blocks: Blocks, cells: npt.NDArray[np.int64]) -> BlockCutter:
        """Return the cutter of blocks for a device, given the cells before each."""
        return cls(blocks, cells, CPU_CELLS if device.kind in ("cpu", "reference") else GPU_CELLS)

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a unit ends that begins with a pair; it has a share of the cells that it may have."""
        begin, end = self.blocks.of_pair(first), self.blocks.of_pair(last)
        most = self.cells[begin] + share * self.wanted
        n_fitting = int(np.searchsorted(self.cells[begin + 1 : end + 1], most, side="right"))
        return int(self.blocks.ends[begin + max(1, n_fitting) - 1])

    def batch(self, first: int, last: int) -> Span:
        """Return some pairs."""
        return Span(first, last, int(self.cells[self.blocks.of_pair(last)] - self.cells[self.blocks.of_pair(first)]))

    def measure(self, cells: float, seconds: float) -> None:
        """Do nothing: what is computed together is cut smaller than a unit anyway."""

    def shrink(self, first: int, last: int) -> bool:
        """Cut half as much from now on; return False if these pairs are one block."""
        self.wanted = self.batch(first, last).cells // 2
        return int(np.searchsorted(self.blocks.ends, last)) > self.blocks.of_pair(first)


def cells_before(batch: PairBatch, ends: npt.NDArray[np.int64], check: Check) -> npt.NDArray[np.int64]:
    """Return the cells of all pairs before each block of pairs, and of all pairs (int64[n_blocks + 1]).

    Parameters
    ----------
    batch : PairBatch
    ends : int64[n_blocks]
        Where each block ends.
    check : callable
        Called at least some times a second.
    """
    sums, first = [np.zeros(1, np.int64)], 0
    for part in np.array_split(ends, -(-len(batch) // WINDOW_PAIRS) or 1):
        check()
        if len(part):
            begins = np.concatenate([[first], part[:-1]]) - first
            sums.append(np.add.reduceat(cells_of(batch, slice(first, int(part[-1]))), begins))
            first = int(part[-1])
    return np.cumsum(np.concatenate(sums))


class PairSearch(Struct, frozen=True, eq=False):
    """Computes something of pairs; the parts of it say what.

    Attributes
    ----------
    given : AlignmentInput
    blocks : Blocks
    batch : PairBatch
        All pairs.
    compute : callable
        Returns what is kept of some pairs, see `Computed`.
    length : int
        Passes over the matrices.
    """

    given: AlignmentInput
    blocks: Blocks
    batch: PairBatch
    compute: Callable[[Session, Part], Computed]
    length: int = 1

    def start_scoring(self, session: Session, batch: Span) -> Callable[[], Scored[None]]:
        """Return a callable that computes some pairs."""
        return lambda: self._score(session, batch)

    def _score(self, session: Session, span: Span) -> Scored[None]:
        rows = np.arange(span.first, span.last)
        block = self.blocks.of_pair(span.first)
        ends = self.blocks.ends[block : self.blocks.of_pair(span.last - 1) + 1] - span.first
        part = Part(selected(self.batch, rows), span.first, block, ends)
        kept, likelihoods = self.compute(session, part)
        sizes = part.batch.queries.lengths[part.batch.query_rows] + part.batch.targets.lengths[part.batch.target_rows]
        known = np.isfinite(likelihoods) & (sizes > 0)
        scores = np.full(len(span), IMPOSSIBLE, np.int32)
        scores[known] = np.round(likelihoods[known] / sizes[known] / UNIT).astype(np.int32)
        return Scored(Scores(rows.astype(np.int64), scores), None, bin_width=BIN_WIDTH, kept=kept)

    def start_hits(self, session: Session, scored: Scored[None]) -> Callable[[], tuple[Hit, ...]]:
        """Return no hits: there are none."""
        return tuple

    def described(self, raw: int, row: int) -> TargetFacts:
        """Return the names of the sequences of a pair."""
        first, second = (self.given.names[number] for number in self.blocks.pairs[row])
        return {"name": f"{first} and {second}", "score": raw * UNIT, "evalue": None}


BIN_WIDTH = 10
"""Width of the bars of the histogram of scores (`UNIT`)."""


class Part(Struct, frozen=True, eq=False):
    """Some of the pairs.

    Attributes
    ----------
    batch : PairBatch
    first, block : int
        Number of the first pair, and of the first block.
    ends : int64[n_blocks]
        Where their blocks end, counted from the first pair.
    """

    batch: PairBatch
    first: int
    block: int
    ends: npt.NDArray[np.int64]


class CountPairs(Struct, frozen=True, eq=False):
    """Sums the expected counts of blocks of pairs up, under one model."""

    model: PairHmm

    def __call__(self, session: Session, part: Part) -> Computed:
        """Return the sums, and the likelihoods."""
        sums, likelihoods = summed_counts(session, part.batch, self.model, part.ends)
        rows = [(part.block + block, one) for block, one in sums.items()]
        return lambda: {COUNTS.name: [(block, pack_counts(one)) for block, one in rows]}, likelihoods


class ComparePairs(Struct, frozen=True, eq=False):
    """Trains the model of each pair, and keeps the posteriors that it gives.

    Attributes
    ----------
    common, seed : PairHmm
        The model that training begins with, and the one that pseudocounts are of.
    lengths : int64[N]
        Of all sequences.
    options : TrainingOptions
    stage : PosteriorsStage
    """

    common: PairHmm
    seed: PairHmm
    lengths: npt.NDArray[np.int64]
    options: TrainingOptions
    stage: PosteriorsStage

    def __call__(self, session: Session, part: Part) -> Computed:
        """Return the posteriors, and the likelihoods."""
        models, found = self.compared(session, part.batch)
        gaps = np.stack([models.gaps.opens, models.gaps.extends], axis=1)
        return lambda: {POSTERIORS.name: _blocks(part, found, gaps)}, found.log_likelihoods

    def compared(self, session: Session, batch: PairBatch) -> tuple[PairHmms, PosteriorBatch]:
        """Return the models of pairs, and the posteriors."""
        models = train_pairs(session, batch, self.common, self.seed, self.lengths, self.options)
        found = [
            posteriors(session, self.stage, selected(batch, rows), models.select(rows))
            for rows in batch_rows(batch, session.device, np.arange(len(batch)))
        ]
        return models, together(found)


class TakePairs(Struct, frozen=True, eq=False):
    """Takes posteriors that are known already, of all pairs."""

    known: SparsePosteriors

    def __call__(self, session: Session, part: Part) -> Computed:
        """Return posteriors; likelihoods are not known."""
        n, known = len(part.batch), self.known
        rows, others = (offsets[part.first : part.first + n + 1] for offsets in (known.row_offsets, known.y_offsets))
        starts = known.starts[rows[0] : rows[-1] + 1]
        first, last = int(starts[0]), int(starts[-1])
        owners = np.repeat(np.arange(rows[0], rows[-1]), np.diff(starts))
        offsets = known.starts[rows] - first
        x = owners - np.repeat(rows[:-1], np.diff(offsets))
        impossible = np.full(n, -np.inf)
        found = PosteriorBatch(
            offsets, x.astype(np.int32), known.columns[first:last], known.probabilities[first:last], rows - rows[0],
            others - others[0], known.x_gaps[rows[0] : rows[-1]], known.y_gaps[others[0] : others[-1]], impossible,
        )  # fmt: skip
        return lambda: {POSTERIORS.name: _blocks(part, found, np.zeros((n, 0)))}, impossible


def _blocks(part: Part, found: PosteriorBatch, gaps: Numbers) -> list[SqlRow]:
    """Return posteriors and gap parameters of each block as the table has them."""
    spans = zip([0, *part.ends[:-1].tolist()], part.ends.tolist(), strict=True)
    rows = []
    for number, (first, last) in enumerate(spans, part.block):
        n_entries, entries = pack_entries(found, first, last)
        likelihoods = pack_array(found.log_likelihoods[first:last], "<f8")
        rows.append((number, n_entries, likelihoods, pack_array(gaps[first:last], "<f8"), entries))
    return rows


def batch_of(given: AlignmentInput, pairs: npt.NDArray[np.int32]) -> PairBatch:
    """Return pairs of sequences as kernels take them."""
    codes = given.codes()
    return PairBatch(codes, codes, pairs[:, 0], pairs[:, 1])


def n_passes(options: TrainingOptions) -> int:
    """Return the passes over the matrices that the comparison of a pair takes, usually."""
    return 1 + (USUAL_ROUNDS if options.gaps or options.emissions == "pair" else 0)

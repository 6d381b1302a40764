"""Sequence annealing on a device: one work-item, so that a CPU is best at it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, Check, KernelSession, ProgramChoice, Stage, no_check
from clalign.errors import OutOfDeviceMemory
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers, offsets_of
from clalign.values.sparse_posteriors import SparsePosteriors

SOURCE = "annealing_item"

EDGES_PER_LAUNCH = 1 << 16
"""Edges that a launch takes from the heap: some tenths of a second."""

HEAP_SIZE, N_MERGES, _, STATUS, _, N_TAKEN, N_STATE = range(7)
RUNNING, IS_DONE, IS_FULL = range(3)

_FIELDS = ("sequence", "position", "before", "after", "index", "merged", "first", "size", "next", "mark")
_RESIDUE = np.dtype([(name, np.int32) for name in _FIELDS])
_EDGE_BYTES, _HEAP_BYTES, _KNOWN_BYTES = 12, 8, 12


class AnnealingChoice(Struct, frozen=True):
    """What alignments are made.

    Attributes
    ----------
    gap_factor : float
        What merges must be worth: 0 for as many as can be, more than 1 for few that are certain.
    is_dynamic : bool
        Whether what a merge is worth is found again for columns that have grown.
    report : callable
        Called now and then with the number of merges made, that of the candidates left, and what returns those merges.
    begin : MultipleAlignment, optional
        What the columns are in the beginning; by default each is a residue. Those that share a sequence stay apart, so
        all do if one sequence has a residue in each.
    """

    gap_factor: float = 1.0
    is_dynamic: bool = True
    report: Callable[[int, int, Callable[[], ColumnMerges]], None] = lambda made, left, merges: None
    begin: MultipleAlignment | None = None


class AnnealingStage(Stage[SparsePosteriors, AnnealingChoice, ColumnMerges]):
    """The merges that make an alignment of the posteriors of pairs.

    Parameters
    ----------
    capacity : int, optional
        Edges that there is room for in the first table of known ones, a power of two.
    defines : dict, optional
        Compile-time choices.
    """

    name = "annealing"

    def __init__(self, capacity: int | None = None, **defines: int) -> None:
        super().__init__(None, **defines)
        self.capacity = capacity

    def programs(self) -> list[ProgramChoice]:
        """Return the programs that any input needs."""
        return [ProgramChoice.of(SOURCE, self.defines)]

    def reference(self, batch: SparsePosteriors, model: AnnealingChoice, check: Check = no_check) -> ColumnMerges:
        from clalign.reference.annealing import anneal

        return anneal(batch, model.gap_factor, model.is_dynamic, check, model.begin)

    def start(
        self, session: KernelSession, batch: SparsePosteriors, model: AnnealingChoice
    ) -> Callable[[], ColumnMerges]:
        batch.check()
        if model.begin is not None and not _is_sound(model.begin, batch):
            raise ValueError("no alignment of these sequences")

        def collect() -> ColumnMerges:
            return self._anneal(session, batch, model)

        return collect

    def _anneal(self, session: KernelSession, batch: SparsePosteriors, model: AnnealingChoice) -> ColumnMerges:
        numbers, n_residues = creation_numbers(batch.lengths), int(batch.lengths.sum())
        begin = model.begin or MultipleAlignment(offsets_of(batch.lengths), numbers, n_residues)
        before, members = ColumnMerges.into(begin), _residues(begin)
        n, least = len(members), np.float32(model.gap_factor)
        if not n:
            return before
        residues, posteriors = session.loaded(members), shared(session, batch)
        edges, heap = (session.allocate(size * len(batch.columns)) for size in (_EDGE_BYTES, _HEAP_BYTES))
        state, scratch = session.loaded(np.array([0, len(before), 0, 0, 0, 0], np.int32)), session.allocate(12 * n)
        merges, weights = (session.loaded(filled) for filled in _with_room(before, n))
        session.launch(
            SOURCE, "annealing_begin", self.defines, 1, 1, *posteriors[2:], session.upload(batch.pairs),
            session.upload(offsets_of(batch.lengths).astype(np.int32)), session.upload(numbers),
            np.int32(len(batch)), least, edges, heap, state,
        )  # fmt: skip
        capacity = self.capacity or 1 << max(10, (len(batch.columns) // 4).bit_length())
        known, status, facts = session.zeros(_KNOWN_BYTES * capacity), RUNNING, np.zeros(N_STATE, np.int32)
        while status != IS_DONE:
            if status == IS_FULL:
                known, capacity = self._enlarged(session, residues, known, capacity, state), 2 * capacity
            session.launch(
                SOURCE, "annealing", self.defines, 1, 1, *posteriors, residues, np.int32(n), edges, heap, known,
                np.int32(capacity), least, np.int32(model.is_dynamic), np.int32(EDGES_PER_LAUNCH), scratch, state,
                merges, weights,
            )  # fmt: skip
            facts = session.download(state, N_STATE, np.int32)
            status = int(facts[STATUS])
            session.demand(status in (RUNNING, IS_DONE, IS_FULL) and 0 <= facts[N_MERGES] < n, "merges without end")
            session.check()
            made = partial(_merges, session, batch, residues, merges, weights, int(facts[N_MERGES]))
            model.report(int(facts[N_MERGES]), int(facts[HEAP_SIZE]), made)
        return made()

    def _enlarged(
        self, session: KernelSession, residues: Buffer, known: Buffer, capacity: int, state: Buffer
    ) -> Buffer:
        """Return a table of twice the capacity that has the known edges of columns that are left."""
        larger = session.zeros(_KNOWN_BYTES * 2 * capacity)
        session.launch(
            SOURCE, "annealing_enlarge", self.defines, 1, 1,
            residues, known, np.int32(capacity), larger, np.int32(2 * capacity), state,
        )  # fmt: skip
        return larger


def shared(session: KernelSession, posteriors: SparsePosteriors) -> tuple[np.int32 | Buffer, ...]:
    """Return posteriors as the first arguments of kernels (``common/sparse_posteriors.h``).

    Raises
    ------
    OutOfDeviceMemory
        If there are more than 32 bits can number.
    """
    if max(len(posteriors.columns), len(posteriors.x_gaps), len(posteriors.y_gaps)) > np.iinfo(np.int32).max:
        raise OutOfDeviceMemory("There are more than 2,147,483,647 posteriors.", "Compare fewer pairs of sequences.")
    rows = np.zeros(len(posteriors.starts), [("start", np.int32), ("gap", np.float32)])
    rows["start"], rows["gap"][:-1] = posteriors.starts, posteriors.x_gaps
    entries = np.empty(len(posteriors.columns), [("column", np.int32), ("probability", np.float32)])
    entries["column"], entries["probability"] = posteriors.columns, posteriors.probabilities
    firsts, others = posteriors.row_offsets.astype(np.int32), posteriors.y_offsets.astype(np.int32)
    arrays = (posteriors.pair_numbers(), firsts, others, rows, entries, posteriors.y_gaps)
    return (np.int32(len(posteriors.lengths)), *(session.share(array) for array in arrays))


def _is_sound(alignment: MultipleAlignment, posteriors: SparsePosteriors) -> bool:
    """Return whether an alignment is one of the sequences, without empty columns."""
    columns, offsets = alignment.columns, alignment.offsets
    if not np.array_equal(np.diff(offsets), posteriors.lengths) or len(columns) != offsets[-1]:
        return False
    rises = np.diff(columns) > 0
    rises[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < offsets[-1])] - 1] = True
    return bool(rises.all()) and np.array_equal(np.unique(columns), np.arange(alignment.n_columns))


def _residues(begin: MultipleAlignment) -> npt.NDArray[np.void]:
    """Return the residues, by their numbers; the first one of each column stands for it."""
    lengths, offsets = np.diff(begin.offsets), begin.offsets
    numbers, n = creation_numbers(lengths), len(begin.columns)
    members = np.zeros(n, _RESIDUE)
    sequences = np.repeat(np.arange(len(lengths)), lengths)
    members["sequence"][numbers] = sequences
    members["position"][numbers] = np.arange(n) - offsets[sequences]
    is_first = np.zeros(n, bool)
    is_first[offsets[:-1][lengths > 0]] = True
    members["before"][numbers] = np.where(is_first, -1, np.roll(numbers, 1))
    members["after"][numbers] = np.where(np.roll(is_first, -1), -1, np.roll(numbers, -1))
    by_column = np.argsort(begin.columns, kind="stable")
    residues, columns = numbers[by_column], begin.columns[by_column]
    heads = residues[np.searchsorted(columns, columns)]
    members["merged"][residues] = members["first"][residues] = heads
    members["index"][residues] = columns
    members["size"][residues] = np.bincount(columns)[columns]
    members["next"] = -1
    goes_on = np.flatnonzero(columns[1:] == columns[:-1])
    members["next"][residues[goes_on]] = residues[goes_on + 1]
    return members


def _with_room(merges: ColumnMerges, n: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the pairs and weights of merges, with room for n (int32[n, 2], float32[n])."""
    pairs, weights = np.zeros((n, 2), np.int32), np.zeros(n, np.float32)
    pairs[: len(merges)] = np.stack([merges.survivors, merges.victims], axis=1)
    weights[: len(merges)] = merges.weights
    return pairs, weights


def _merges(
    session: KernelSession, batch: SparsePosteriors, residues: Buffer, merges: Buffer, weights: Buffer, n_merges: int
) -> ColumnMerges:
    n = int(batch.lengths.sum())
    members = session.download(residues, (n, len(_FIELDS)), np.int32).view(_RESIDUE)[:, 0]
    pairs = session.download(merges, (n, 2), np.int32)[:n_merges]
    worth = session.download(weights, n, np.float32)[:n_merges]
    session.demand(not n_merges or (pairs.min() >= 0 and pairs.max() < n), "merges of columns that are none")
    left = np.flatnonzero(members["merged"] == np.arange(n))
    order = left[np.argsort(members["index"][left])].astype(np.int32)
    return ColumnMerges(batch.lengths, pairs[:, 0].copy(), pairs[:, 1].copy(), worth, order)


ANNEALING = AnnealingStage()

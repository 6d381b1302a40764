"""Iterative refinement on a device: what moves residues is one work-item, so that a CPU is best at it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, Check, KernelSession, ProgramChoice, Stage, no_check
from clalign.stages.pairhmm.annealing import shared
from clalign.values.multiple_alignments import MultipleAlignment, ResidueMoves, without_empty_columns
from clalign.values.sparse_posteriors import SparsePosteriors

SOURCE = "refinement_item"

COLUMNS_PER_LAUNCH = 1 << 10
WISHES_PER_LAUNCH = 1 << 12
"""A launch takes some tenths of a second."""

N_WISHES, N_MOVES, N_STATE = range(3)
_WISH_BYTES = 16

Moves = npt.NDArray[np.int32]


class RefinementChoice(Struct, frozen=True):
    """What is refined, and how far.

    Attributes
    ----------
    alignment : MultipleAlignment
    gap_factor : float
        Of the gap posteriors in the score.
    most_sweeps : int
        The last sweep that is made; negative for as many as it takes.
    report : callable
        Called after each sweep with the number of sweeps and of moves.
    n_kept : int
        The first sequences, whose residues are not moved.
    """

    alignment: MultipleAlignment
    gap_factor: float = 1.0
    most_sweeps: int = -1
    report: Callable[[int, int], None] = lambda sweeps, moves: None
    n_kept: int = 0


class RefinementStage(Stage[SparsePosteriors, RefinementChoice, ResidueMoves]):
    """The moves of single residues that raise the expected score of an alignment."""

    name = "refinement"

    def programs(self) -> list[ProgramChoice]:
        """Return the programs that any input needs."""
        return [ProgramChoice.of(SOURCE, self.defines)]

    def reference(self, batch: SparsePosteriors, model: RefinementChoice, check: Check = no_check) -> ResidueMoves:
        from clalign.reference.refinement import refine

        return refine(batch, model.alignment, model.gap_factor, model.most_sweeps, check, model.n_kept)

    def start(
        self, session: KernelSession, batch: SparsePosteriors, model: RefinementChoice
    ) -> Callable[[], ResidueMoves]:
        batch.check()
        if not np.array_equal(np.diff(model.alignment.offsets), batch.lengths):
            raise ValueError("an alignment of other sequences")
        if not model.alignment.n_columns:  # there is nothing to launch a kernel on
            return lambda: self.reference(batch, model, session.check)

        def collect() -> ResidueMoves:
            return self._refine(session, batch, model)

        return collect

    def _refine(self, session: KernelSession, batch: SparsePosteriors, model: RefinementChoice) -> ResidueMoves:
        posteriors, factor = (*shared(session, batch), *_partners(session, batch)), np.float32(model.gap_factor)
        current, parts, scores = model.alignment, [np.empty((0, 4), np.int32)], []
        while True:
            table = session.loaded(current.positions().T)
            head = (*posteriors, table, np.int32(current.n_columns), factor)
            of_columns = session.results(4 * current.n_columns)
            session.launch(SOURCE, "refinement_score", self.defines, current.n_columns, 1, *head, of_columns)
            found = session.download(of_columns, current.n_columns, np.float32)
            scores.append(np.add.accumulate(found, dtype=np.float32)[-1] if len(found) else np.float32(0))
            if len(parts) - 1 == model.most_sweeps or (len(scores) > 1 and scores[-1] <= scores[-2]):
                break
            parts.append(self._sweep(session, head, current, model.n_kept))
            columns = current.columns.copy()
            sequences, positions, _, targets = parts[-1].T
            columns[current.offsets[sequences] + positions] = targets
            current = without_empty_columns(current.offsets, columns)
            model.report(len(parts) - 1, len(parts[-1]))
        sequences, positions, sources, targets = np.concatenate(parts).T
        ends = np.cumsum([len(part) for part in parts[1:]], dtype=np.int64)
        return ResidueMoves(sequences, positions, sources, targets, ends, np.array(scores, np.float32))

    def _sweep(
        self, session: KernelSession, head: tuple[np.generic | Buffer, ...], alignment: MultipleAlignment, n_kept: int
    ) -> Moves:
        """Return the moves of one sweep (int32[n, 4])."""
        n = len(alignment.columns)
        heap, state = session.allocate(_WISH_BYTES * n), session.zeros(4 * N_STATE)
        moves = session.allocate(16 * n)
        for first in range(0, alignment.n_columns, COLUMNS_PER_LAUNCH):
            session.launch(
                SOURCE, "refinement_gather", self.defines, min(COLUMNS_PER_LAUNCH, alignment.n_columns - first), 1,
                *head, np.int32(n_kept), heap, state, offset=first,
            )  # fmt: skip
            session.finish()
            session.check()
        session.launch(SOURCE, "refinement_heap", self.defines, 1, 1, heap, state)
        facts = session.download(state, N_STATE, np.int32)
        while facts[N_WISHES]:
            session.launch(
                SOURCE, "refinement_move", self.defines, 1, 1, *head, np.int32(WISHES_PER_LAUNCH), heap, state, moves
            )
            facts = session.download(state, N_STATE, np.int32)
            session.demand(0 <= facts[N_WISHES] < n and 0 <= facts[N_MOVES] <= n, "moves without end")
            session.check()
        made = session.download(moves, (n, 4), np.int32)[: facts[N_MOVES]]
        session.demand(_is_possible(made, alignment), "moves of residues that are none")
        return made


def _partners(session: KernelSession, posteriors: SparsePosteriors) -> tuple[Buffer, Buffer]:
    """Return where the partners of each sequence begin, and them, as the kernels read them."""
    pairs, n = posteriors.pairs, len(posteriors.lengths)
    of, others = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((others, of))
    partners = np.stack([others, np.tile(np.arange(len(pairs)), 2)], axis=1)[order].astype(np.int32)
    starts = np.searchsorted(of[order], np.arange(n + 1)).astype(np.int32)
    return session.share(starts), session.share(partners)


def _is_possible(moves: Moves, alignment: MultipleAlignment) -> bool:
    """Return whether moves are of an alignment's residues to its columns."""
    sequences, positions, _, targets = moves.T
    if not ((sequences >= 0) & (sequences < len(alignment))).all():
        return False
    lengths = np.diff(alignment.offsets)[sequences]
    inside = (positions >= 0) & (positions < lengths) & (targets >= 0) & (targets < alignment.n_columns)
    return bool(inside.all())


REFINEMENT = RefinementStage()

"""The best alignment of two long sequences, on a device whose work-groups share the matrix of the one pair.

The matrix is filled tile by tile along its anti-diagonals, and only what is at the edges of some tiles is kept. On the
way back the part between kept edges that the path passes is filled again, with edges nearer to each other, until each
cell of a small tile can be held: memory grows with the lengths and not with their product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.compute.geometry import lane_backend
from clalign.compute.group_barriers import GroupBarrier, Rounds
from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.errors import Cancelled
from clalign.stages.pairwise.long_pair_regions import Filled, Path, Region, Watch, fill, filling, follow
from clalign.stages.pairwise.long_pair_state import Keeper, NothingKept
from clalign.stages.pairwise.smith_waterman_trace_plan import chosen_pairs, scores_fit, without_pairs
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import PairwiseQuery, Scoring
from clalign.values.sequences import Sequence, SequenceBatch

SCORE_BITS = 28
"""Bits of scores besides the sign, so that gaps which never open stay below all of them."""

ReportCells = Callable[[int], None]
"""Called with the number of cells computed since the last call."""


def no_build_report(cells: int) -> None:
    """Compute in silence."""


class LongPairChoice(Struct, frozen=True):
    """How a long pair is aligned.

    Attributes
    ----------
    scoring : Scoring
    report : callable
        Called with the cells that are done, of ``m * n`` in the first pass and what is filled again.
    keeper : Keeper
        Keeps how far the first pass is; the reference goes on from nothing.
    """

    scoring: Scoring
    report: ReportCells = no_build_report
    keeper: Keeper = field(default_factory=NothingKept)


class LongPairStage(Stage[PairBatch, LongPairChoice, PairAlignment]):
    """The best alignment of one pair, in any mode, with the reference's order of ties."""

    name = "long_pair"

    def reference(self, batch: PairBatch, model: LongPairChoice, check: Check = no_check) -> PairAlignment:
        from clalign.reference.long_pair import alignment_by_rows

        def report(cells: int) -> None:
            check()
            model.report(cells)

        query, target = _residues(batch)
        return alignment_by_rows(PairwiseQuery(Sequence("", "", query), model.scoring), target, report)

    def start(self, session: KernelSession, batch: PairBatch, model: LongPairChoice) -> Callable[[], PairAlignment]:
        """Return a callable that aligns the pair.

        Raises
        ------
        OptionError
            If scores may not fit 28 bits.
        """
        return lambda: self._aligned(session, batch, model)

    def prepared(
        self, session: KernelSession, batch: PairBatch, scoring: Scoring, how: GroupBarrier
    ) -> tuple[Rounds, Callable[[], tuple[int, int, int]]]:
        """Return the rounds that fill the matrix of a pair, and what returns its best score and where it ends.

        Parameters
        ----------
        session : KernelSession
        batch : PairBatch
            Of one pair, neither of them empty.
        scoring : Scoring
        how : GroupBarrier
            As many lanes as a group has work-items share a tile; on a processor one of them does all.
        """
        lanes = self._lanes(session)
        if lanes and how.size != lanes["LANES"]:
            lanes = {"LANE_BACKEND": 0, "LANES": how.size}
        region = Region.whole(session, *_residues(batch), scoring, {**lanes, **self.defines})
        filled = Filled.begun(region)
        return Rounds(session, how, filling(filled), filled.n_diagonals), filled.end

    def matrix(
        self, session: KernelSession, query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], scoring: Scoring
    ) -> Region:
        """Return all of the matrix of a pair, of which nothing is filled, with the lanes that suit the device.

        Parameters
        ----------
        session : KernelSession
        query, target : uint8[m], uint8[n]
            Letter codes; neither of them empty.
        scoring : Scoring
        """
        return Region.whole(session, query, target, scoring, {**self._lanes(session), **self.defines})

    def _lanes(self, session: KernelSession) -> dict[str, int]:
        """Return which lanes of a card work together; none of a processor."""
        return {} if self.shape_on(session.device) == "vector" else lane_backend(session.device)

    def best_score(
        self, session: KernelSession, query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], scoring: Scoring
    ) -> int:
        """Return the score of the best alignment of a pair, neither of them empty.

        Raises
        ------
        OptionError
            If scores may not fit 28 bits.
        """
        batch = PairBatch.of_query(query, SequenceBatch.from_texts([target]))
        scores_fit(chosen_pairs(batch, np.array([0])), scoring, SCORE_BITS)
        return fill(self.matrix(session, query, target, scoring), no_build_report).end()[0]

    def _aligned(self, session: KernelSession, batch: PairBatch, model: LongPairChoice) -> PairAlignment:
        query, target = _residues(batch)
        scoring, m, n = model.scoring, len(query), len(target)
        if not (m and n):
            return without_pairs(m, n, scoring)
        scores_fit(chosen_pairs(batch, np.array([0])), scoring, SCORE_BITS)
        region = self.matrix(session, query, target, scoring)
        watch = Watch(model.keeper)
        try:
            filled = fill(region, model.report, watch)
            score, i, j = filled.end()
            if scoring.is_local and score <= 0:
                return PairAlignment(0, (0, 0), (0, 0), "")
            session.demand(0 < i <= m and 0 < j <= n, "an alignment beyond the ends of its sequences")
            path = follow(filled, Path(i, j), model.report)
        except Cancelled:
            watch.stop()
            raise
        start_i, start_j, letters = path.i, path.j, path.letters
        if scoring.mode == "global":
            letters, start_i, start_j = [b"D" * start_j + b"I" * start_i, *letters], 0, 0
        return PairAlignment(score, (start_i, i), (start_j, j), b"".join(letters).decode("ascii"))


def _residues(batch: PairBatch) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the letter codes of the one pair of a batch."""
    return batch.queries.residues(int(batch.query_rows[0])), batch.targets.residues(int(batch.target_rows[0]))


LONG_PAIR = LongPairStage()

"""From posteriors to an alignment: annealing, refinement, and an order of columns with few gaps."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from clalign.compute.sessions import Session
from clalign.engines.msa.column_order import with_few_gaps
from clalign.jobs import JobContext, QuietContext
from clalign.stages.pairhmm.annealing import ANNEALING, AnnealingChoice
from clalign.stages.pairhmm.refinement import REFINEMENT, RefinementChoice
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, ResidueMoves
from clalign.values.sparse_posteriors import SparsePosteriors


class AlignedSequences(Struct, frozen=True):
    """An alignment and how it came to be.

    Attributes
    ----------
    merges : ColumnMerges
    moves : ResidueMoves
    """

    merges: ColumnMerges
    moves: ResidueMoves

    def alignment_after(self, n_merges: int | None = None, n_sweeps: int | None = None) -> MultipleAlignment:
        """Return the alignment after some steps, its columns in order; by default after all.

        Parameters
        ----------
        n_merges : int, optional
            Merges of columns; nothing is refined where they are not all.
        n_sweeps : int, optional
            Sweeps of the refinement.
        """
        alignment = self.merges.alignment_after(n_merges)
        if n_merges is None or n_merges >= len(self.merges):
            sweeps = len(self.moves.ends) if n_sweeps is None else n_sweeps
            alignment = self.moves.alignment_after(alignment, sweeps)
        return with_few_gaps(alignment)


def aligned(
    session: Session,
    posteriors: SparsePosteriors,
    gap_factor: float = 1.0,
    is_dynamic: bool = True,
    most_sweeps: int = -1,
    context: JobContext | None = None,
    watcher: Callable[[Callable[[], ColumnMerges]], None] = lambda merges: None,
    begin: MultipleAlignment | None = None,
    n_kept: int = 0,
) -> AlignedSequences:
    """Align sequences by the posteriors of pairs of them.

    Parameters
    ----------
    session : Session
        Of a CPU, or the reference: nothing here is done side by side.
    posteriors : SparsePosteriors
    gap_factor : float
        What must be gained by aligning, where 1 is lost by it: 0 for the most sensitive alignment.
    is_dynamic : bool
        Whether what a merge is worth is found again for columns that have grown.
    most_sweeps : int
        Of the refinement; negative for as many as it takes.
    context : JobContext, optional
        Receives progress.
    watcher : callable, optional
        Called now and then with what returns the merges made until then.
    begin : MultipleAlignment, optional
        Columns that are given; see `AnnealingChoice`.
    n_kept : int
        The first sequences, whose residues are not moved by the refinement.
    """
    context = context or QuietContext()
    n = int(posteriors.lengths.sum())

    def annealed(made: int, left: int, merges: Callable[[], ColumnMerges]) -> None:
        n_candidates = len(posteriors.columns)
        context.progress("annealing", n_candidates - left, n_candidates, "candidates", merges=made, columns=n - made)
        watcher(merges)

    def refined(sweeps: int, moves: int) -> None:
        context.progress("refinement", sweeps, None if most_sweeps < 0 else most_sweeps, "sweeps", moves=moves)

    merges = session.run(ANNEALING, posteriors, AnnealingChoice(gap_factor, is_dynamic, annealed, begin))
    choice = RefinementChoice(merges.alignment_after(), gap_factor, most_sweeps, refined, n_kept)
    return AlignedSequences(merges, session.run(REFINEMENT, posteriors, choice))

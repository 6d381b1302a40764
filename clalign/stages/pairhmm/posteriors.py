"""Posterior probabilities that residues of pairs of sequences are homologous, on any device."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.stages.pairhmm.pair_hmm import N_RESULTS, Pairs, Rows, held_by_floats, start_kernel
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import MIN_POSTERIOR, PairHmms, PosteriorBatch

SIGNIFICANT_DIGITS = 6
"""Digits of posteriors, as in files: further ones come from rounding, and differ between programs and devices.

Merges of columns go by them. So they are the same whether posteriors were computed or read from a file."""

ENTRIES_PER_RESIDUE = 6
"""Kept posteriors that there is room for at first, for each residue of the shorter sequence."""

Floats = npt.NDArray[np.float32]
Found = dict[int, tuple[npt.NDArray[np.int32], Floats, Floats, float]]
"""By the row of each pair: places of the residues (int32[n, 2]), posteriors, gap posteriors, log-likelihood."""


class PosteriorsStage(Stage[PairBatch, PairHmms, PosteriorBatch]):
    """The match posteriors of every pair that are kept, and the gap posteriors of its residues.

    Posteriors are those of the reference to some 1e-6; one that is so near to the least that is kept may not be.

    Parameters
    ----------
    entries_per_residue : int
        Kept posteriors that there is room for at first, for each residue of the shorter sequence; pairs with more are
        computed again.
    least : float
        What is less probable is not kept.
    """

    name = "pair_hmm"

    def __init__(
        self, shape: str | None = None, entries_per_residue: int = ENTRIES_PER_RESIDUE,
        least: float = MIN_POSTERIOR, **defines: int,
    ) -> None:  # fmt: skip
        super().__init__(shape, **defines)
        self.least = least
        self.entries_per_residue = entries_per_residue

    def reference(self, batch: PairBatch, model: PairHmms, check: Check = no_check) -> PosteriorBatch:
        return joined(batch, self._plainly(Pairs.of(batch, model).rows.tolist(), batch, model, check))

    def _plainly(self, rows: Iterable[int], batch: PairBatch, model: PairHmms, check: Check) -> Found:
        from clalign.reference.pair_hmm import sparse_posteriors

        found: Found = {}
        for row in rows:
            codes = batch.queries.residues(batch.query_rows[row]), batch.targets.residues(batch.target_rows[row])
            pair = sparse_posteriors(*codes, model[row], check, self.least)
            gaps = np.concatenate([pair.x_gaps, pair.y_gaps])
            found[row] = np.stack([pair.x, pair.y], axis=1), pair.values, gaps, float(pair.log_likelihoods[0])
        return found

    def start(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> Callable[[], PosteriorBatch]:
        pairs = Pairs.of(batch, model)
        if not len(pairs):
            return lambda: joined(batch, {})
        fetch = self._start(session, pairs, self.entries_per_residue * np.minimum(pairs.x, pairs.y))

        def collect() -> PosteriorBatch:
            found = fetch()
            beyond = [row for row in pairs.rows.tolist() if row not in found]
            return joined(batch, found | self._plainly(beyond, batch, model, session.check))

        return collect

    def _start(self, session: KernelSession, pairs: Pairs, most: Rows) -> Callable[[], Found]:
        """Start computing pairs with room for `most` entries each; return a callable that waits for those of each row.

        Pairs that floats do not hold are left out.
        """
        n, n_entries, n_gaps = len(pairs), int(most.sum()), int((pairs.x + pairs.y).sum())
        results, counts = session.results(4 * N_RESULTS * n), session.results(8 * n)
        entries, values = session.results(8 * n_entries), session.results(4 * n_entries)
        gaps = session.results(4 * n_gaps)
        start_kernel(
            self, session, pairs, False, most, results, np.float32(self.least), np.uint32(n_entries), entries,
            values, counts, gaps,
        )  # fmt: skip
        fetch_results = session.fetch(results, (n, N_RESULTS), np.float32)
        fetch_counts, fetch_gaps = session.fetch(counts, (n, 2), np.uint32), session.fetch(gaps, n_gaps, np.float32)

        def collect() -> Found:
            totals, spans = fetch_results(), fetch_counts()
            is_held = held_by_floats(session, pairs, totals)
            likelihoods = pairs.log_likelihoods(totals).tolist()
            firsts, ends = spans[:, 1].astype(np.int64), spans.sum(axis=1, dtype=np.int64)
            fits = (spans[:, 0] <= most) & (ends <= n_entries)
            n_used = int(ends[fits].max(initial=0))
            of_all = session.download(entries, (n_used, 2), np.int32), session.download(values, n_used, np.float32)
            gap_ends = np.cumsum(pairs.x + pairs.y)
            of_gaps = np.split(fetch_gaps(), gap_ends[:-1])
            found = {
                int(pairs.rows[p]): (of_all[0][a:b], of_all[1][a:b], of_gaps[p], likelihoods[p])
                for p, a, b in zip(np.flatnonzero(fits), firsts[fits], ends[fits], strict=True)
                if is_held[p]
            }
            again = np.flatnonzero(~fits & is_held)
            if len(again):
                found |= self._start(session, pairs.select(again), spans[again, 0].astype(np.int64))()
            return found

        return collect


def joined(batch: PairBatch, found: Found) -> PosteriorBatch:
    """Return what was found of each pair; of one with an empty sequence that is nothing."""
    lengths = batch.queries.lengths[batch.query_rows], batch.targets.lengths[batch.target_rows]
    nothing = np.zeros((0, 2), np.int32), np.zeros(0, np.float32)
    parts = [
        found.get(row, (*nothing, np.ones(m + n, np.float32), -np.inf))
        for row, (m, n) in enumerate(zip(*lengths, strict=True))
    ]
    places = np.concatenate([nothing[0], *[part[0] for part in parts]])
    offsets, x_offsets, y_offsets = (
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        for sizes in ([len(part[1]) for part in parts], *lengths)
    )
    values = rounded(np.concatenate([nothing[1], *[part[1] for part in parts]]))
    return PosteriorBatch(
        offsets, places[:, 0].copy(), places[:, 1].copy(), values,
        x_offsets, y_offsets,
        np.concatenate([nothing[1], *[part[2][:m] for part, m in zip(parts, lengths[0], strict=True)]]),
        np.concatenate([nothing[1], *[part[2][m:] for part, m in zip(parts, lengths[0], strict=True)]]),
        np.array([part[3] for part in parts], np.float64),
    )  # fmt: skip


def rounded(values: Floats) -> Floats:
    """Return posteriors (float32[n]) with as many digits as are significant."""
    exact = np.maximum(values, np.finfo(np.float32).tiny).astype(np.float64)
    scales = 10.0 ** (SIGNIFICANT_DIGITS - 1 - np.floor(np.log10(exact)))
    return (np.round(exact * scales) / scales).astype(np.float32)


POSTERIORS = PosteriorsStage()

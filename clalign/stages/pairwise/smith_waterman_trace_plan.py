"""Arguments and results of both shapes of the tracing kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import KernelSession
from clalign.errors import OptionError
from clalign.values.alphabets import N_CODES
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import Scoring, SubstitutionMatrix

NO_CODE = N_CODES - 1
"""Stands after the end of a sequence; no letter has it."""

N_RESULTS = 6
"""Numbers that a kernel writes for a pair: score, range in the query, range in the target, columns of the path."""

Rows = npt.NDArray[np.int64]


class Pairs(Struct, frozen=True):
    """Pairs without empty sequences, and where they are in the batch.

    Attributes
    ----------
    batch : PairBatch
    spans : int32[n, 4]
        First residue and length of each query and target.
    """

    batch: PairBatch
    spans: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def lengths(self) -> tuple[Rows, Rows]:
        """Residues of each query and each target (int64[n])."""
        return self.spans[:, 1].astype(np.int64), self.spans[:, 3].astype(np.int64)

    def select(self, rows: Rows) -> Pairs:
        """Return chosen pairs."""
        return Pairs(self.batch, np.ascontiguousarray(self.spans[rows]))


def chosen_pairs(batch: PairBatch, rows: Rows) -> Pairs:
    """Return the chosen pairs of a batch."""
    spans = np.empty((len(rows), 4), np.int32)
    for column, (sequences, of_pair) in enumerate(
        ((batch.queries, batch.query_rows), (batch.targets, batch.target_rows))
    ):
        chosen = of_pair[rows]
        spans[:, 2 * column] = sequences.offsets[chosen]
        spans[:, 2 * column + 1] = sequences.lengths[chosen]
    return Pairs(batch, spans)


def without_pairs(m: int, n: int, scoring: Scoring) -> PairAlignment:
    """Return the alignment of two sequences, one of them empty."""
    if scoring.mode != "global":
        return PairAlignment(0, (0, 0), (0, 0), "")
    return PairAlignment(scoring.unpaired(m + n), (0, m), (0, n), "I" * m + "D" * n)


class Traces(Struct, frozen=True):
    """What the kernels found.

    Attributes
    ----------
    results : int32[n, N_RESULTS]
    ends : int64[n]
        Where each path ends in `paths`.
    paths : uint8[]
        Letters.
    """

    results: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    paths: npt.NDArray[np.uint8]

    @staticmethod
    def none() -> Traces:
        """Return those of no pairs."""
        return Traces(np.empty((0, N_RESULTS), np.int32), np.empty(0, np.int64), np.empty(0, np.uint8))

    def alignments(self) -> list[PairAlignment]:
        """Return them as values."""
        lengths = self.results[:, 5].astype(np.int64)
        stops = np.cumsum(lengths)
        places = np.repeat(self.ends - stops, lengths) + np.arange(stops[-1] if len(stops) else 0)
        letters = self.paths[places].tobytes().decode("ascii")
        paths = [letters[end - length : end] for length, end in zip(lengths.tolist(), stops.tolist(), strict=True)]
        score, i, to_i, j, to_j, _ = self.results.T.tolist()
        return list(map(PairAlignment, score, zip(i, to_i, strict=True), zip(j, to_j, strict=True), paths))


def possible_traces(session: KernelSession, pairs: Pairs, traces: Traces, most: int = 2**30) -> Traces:
    """Return paths that a device may have found of pairs: paths within the two sequences, from one end to the other.

    Where the score is above `most` it overflowed, and there is no path.
    """
    _, i, to_i, j, to_j, length = traces.results.T.astype(np.int64)
    m, n = pairs.lengths
    inside = (i >= 0) & (i <= to_i) & (to_i <= m) & (j >= 0) & (j <= to_j) & (to_j <= n)
    spans = (length >= np.maximum(to_i - i, to_j - j)) & (length <= to_i - i + to_j - j)
    is_done = traces.results[:, 0] <= most
    session.demand((inside & spans)[is_done].all(), "an alignment beyond the ends of its sequences")
    return traces


class Kinds(Struct, frozen=True):
    """Letters as a kernel compares them.

    Attributes
    ----------
    codes : uint8[2, N_CODES]
        Number of each letter code in queries and in targets.
    matrix : int8[N_CODES, N_CODES]
        What such numbers score.
    equal : tuple of int or None
        Scores of equal numbers and of all others, if that is all there is to it.
    """

    codes: npt.NDArray[np.uint8]
    matrix: npt.NDArray[np.int8]
    equal: tuple[int, int] | None


def kinds_of(matrix: SubstitutionMatrix) -> Kinds:
    """Return the letters of a matrix as kernels compare them; beyond an end everything scores less than 0."""
    found = _equal_kinds(matrix.scores)
    if found is not None:
        return Kinds(found, matrix.scores, (matrix.greatest, matrix.least))
    return Kinds(np.tile(np.arange(N_CODES, dtype=np.uint8), (2, 1)), padded_matrix(matrix), None)


def padded_matrix(matrix: SubstitutionMatrix) -> npt.NDArray[np.int8]:
    """Return the scores of a matrix (int8[N_CODES, N_CODES]) where `NO_CODE` scores less than 0 with everything."""
    padded = matrix.scores.copy()
    padded[NO_CODE, :] = padded[:, NO_CODE] = min(matrix.least, -1)
    return padded


def _equal_kinds(scores: npt.NDArray[np.int8]) -> npt.NDArray[np.uint8] | None:
    """Return numbers that are equal where letters score the one and differ where they score the other value.

    None if there are more than two values, if the lower one is not below 0, or if it does not work out.
    """
    values = np.unique(scores)
    if len(values) != 2 or values[0] >= 0:
        return None
    matches = scores == values[1]
    matches[NO_CODE, :] = matches[:, NO_CODE] = False
    kinds = np.empty((2, N_CODES), np.uint8)
    # A letter of the query is called after the first letter of a target that it matches.
    kinds[0] = np.where(matches.any(axis=1), matches.argmax(axis=1), N_CODES)
    kinds[1] = np.where(matches.any(axis=0), kinds[0][matches.argmax(axis=0)], N_CODES + 1)
    same = kinds[0][:, None] == kinds[1][None, :]
    return kinds if np.array_equal(same, matches) else None


def greatest_scores(pairs: Pairs, scoring: Scoring) -> Rows:
    """Return a bound that no score of each pair can exceed (int64[n])."""
    return np.minimum(*pairs.lengths) * max(scoring.matrix.greatest, 0)


def least_scores(pairs: Pairs, scoring: Scoring) -> Rows:
    """Return a bound that no number computed for a pair can be below, where scores below 0 count (int64[n])."""
    gaps = scoring.gaps
    down, across = (gaps.first + (lengths - 1) * gaps.next for lengths in pairs.lengths)
    # A gap down and one across lead to every cell; where overhangs cost nothing, either of them does.
    to_cells = down + across if scoring.mode == "global" else np.minimum(down, across)
    return np.asarray(-(to_cells + 2 * gaps.first) - abs(scoring.matrix.least))


def ends_of(scoring: Scoring) -> int:
    """Return where alignments end (ENDS of the kernels): 0 anywhere, 1 where either sequence does, 2 where both do."""
    return {"semiglobal": 1, "global": 2}.get(scoring.mode, 0)


def scores_fit(pairs: Pairs, scoring: Scoring, bits: int) -> None:
    """Raise OptionError if scores may not fit this many bits and a sign."""
    highest, lowest = greatest_scores(pairs, scoring), least_scores(pairs, scoring)
    if scoring.is_local:
        lowest = np.zeros_like(highest)
    worst = int(np.maximum(highest, -lowest).argmax())
    if max(highest[worst], -lowest[worst]) >= 2**bits:
        m, n = (int(lengths[worst]) for lengths in pairs.lengths)
        raise OptionError(
            f"The score of {m:,} residues aligned with {n:,} may lie between {lowest[worst]:,} and {highest[worst]:,};"
            f" only {2**bits:,} can be distinguished.",
            "Scale the matrix and the gap costs down, or cut the sequences.",
        )


def joined(parts: list[tuple[Rows, Traces]], n: int) -> Traces:
    """Return parts that belong to this many pairs in the order of the pairs."""
    if len(parts) == 1 and len(parts[0][0]) == n:
        rows, whole = parts[0]
        order = np.empty(n, np.int64)
        order[rows] = np.arange(n)
        return Traces(whole.results[order], whole.ends[order], whole.paths)
    results, ends = np.empty((n, N_RESULTS), np.int32), np.empty(n, np.int64)
    offset = 0
    for rows, part in parts:
        results[rows], ends[rows] = part.results, part.ends + offset
        offset += len(part.paths)
    return Traces(results, ends, np.concatenate([part.paths for _, part in parts]))

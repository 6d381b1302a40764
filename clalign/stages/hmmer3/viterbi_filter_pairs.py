"""A model's 16-bit scores for the form of the Viterbi filter that takes two sequences at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import KernelSession, Tables
from clalign.values.local_profiles import LocalProfile, Places
from clalign.values.local_scores import MAX_WORD, NEVER_WORD, WORD_BASE, WORD_E_MOVE, WordScores, length_terms
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Wide = npt.NDArray[np.int64]
Whole = npt.NDArray[np.integer]

MAX_RESIDUES = 100_000
"""Residues for which the skewed form is laid out; as many as HMMER takes."""

MAX_ABOVE = WORD_BASE - WORD_E_MOVE - (WORD_BASE + int(length_terms(np.array([MAX_RESIDUES])).word_move[0]))
"""Limit of M less B for which J plays no part."""

MAX_GAIN = 20_000
"""Limit of match scores that cannot wrap around before an M is seen to be too high."""


class PairSteps(Struct, frozen=True):
    """Scores of ``common/viterbi_filter_strips.h``, relative to B.

    Attributes
    ----------
    steps : int64[6, M]
        To match from match, insert, delete; begin of the next node; insert to insert; delete to delete.
    match : int16[N_CODES, M], or wider
    begin : int
        Begin of the first node.
    least : int
        What M is kept from falling below.
    lowest : int
        What no step and no match costs more than.
    trusted : int
        As long as no M is higher, no sum wraps around.
    longest_alignment : int or None
        Residues of the longest alignment that counts; None if there is no bound.

    Notes
    -----
    All of an alignment that counts, from its begin on, must be better than a new begin. What it gains is no more
    than the best letter at each node gives, and every inserted residue costs something: the one that opens an
    insertion what the steps into it and out of it cost together, any other a step to itself. And one
    insertion costs no more than what lies between the highest M that counts and a new begin. So the
    most residues are inserted where they cost least, as many there as that allows.
    """

    steps: Wide
    match: Whole
    begin: int
    least: int
    lowest: int
    trusted: int
    longest_alignment: int | None


class _ShelfPairs(Struct, frozen=True):
    """Numbers of `PairSteps` of all models of a shelf, side by side; those of nodes 0 are anything."""

    steps: Wide
    match: Whole
    least: Wide
    lowest: Wide


def pair_steps(scores: WordScores, starts: Places) -> list[PairSteps | None]:
    """Return the scores of each model of a shelf for the skewed form, None for those that do not fit 16 bits there.

    Let `least` be the lowest step from B to M. An M that is less can be replaced by it: no step gains, so
    what comes from it is no more than what comes from B. A step or a match that costs more than
    `lowest`, which takes the highest M that counts to `least`, can be replaced by that for the same reason.
    Sums of a score that is at least `least` and a step that is at least `lowest` must not wrap around.

    Nor do they at the upper end, as long as M counts. Steps gain nothing, so M plus one, and I, are no more
    than the highest M. D with the step into it is no more either, so without that step it is at most
    `MAX_ABOVE` - `lowest`; as `least` + `lowest` do not wrap around, that is at most 1.5 `MAX_ABOVE` + 16384.
    """
    first, lasts, sizes = starts[:-1], starts[1:] - 1, np.diff(starts)
    model = np.repeat(np.arange(len(sizes)), sizes)
    t, begin = scores.transitions.astype(np.int64), scores.begin.astype(np.int64)
    begin[first] = MAX_WORD  # is not the lowest one
    least: Wide = np.minimum.reduceat(begin, first)
    lowest = least - MAX_ABOVE
    best = scores.match.max(axis=0).astype(np.int64)
    fits = (least + lowest >= NEVER_WORD) & (np.maximum.reduceat(best, first) <= MAX_GAIN)
    low = lowest[model]
    t = np.maximum(t, low)
    opened = np.append(0, t[MD, :-1])  # into D of each node, which is kept without it
    opened[first], opened[first + 1] = 0, 0
    opened_next = np.append(opened[1:], 0)
    from_delete, on = t[DM] + opened, t[DD] + opened - opened_next
    for impossible in (from_delete, on):  # the first node has no D, and that of the last goes nowhere
        for places in (first, first + 1, lasts):
            impossible[places] = lowest
    fits &= np.minimum.reduceat(np.minimum(from_delete, on), first) + least >= NEVER_WORD
    next_begin = np.append(begin[1:], 0)
    next_begin[lasts] = least
    steps = np.stack([t[MM], np.maximum(t[IM] + t[MI], low), from_delete, next_begin, t[II], on])
    match = np.maximum(scores.match, np.maximum(low, NEVER_WORD).astype(np.int16))
    shelf = _ShelfPairs(steps, match, least, lowest)
    trusted = _trusted(shelf, first, model, best)
    best[first] = 0
    longest = _longest_alignments(shelf, starts, model, np.add.reduceat(np.maximum(best, 0), first))
    found: list[PairSteps | None] = []
    for k, (start, end) in enumerate(zip(first + 1, starts[1:], strict=True)):
        numbers = int(begin[start]), int(least[k]), int(lowest[k]), int(trusted[k]), longest[k]
        found.append(PairSteps(steps[:, start:end], match[:, start:end], *numbers) if fits[k] else None)
    return found


def _trusted(shelf: _ShelfPairs, first: Wide, model: Wide, best: Wide) -> Wide:
    """Return up to what M no sum of each model wraps around at the upper end.

    D, kept without the step into it, is more than the highest M by an excess that grows where going on gains: by what
    its steps have gained since they had gained least. What M of the next node can come from is more only where leaving
    D costs less than that.
    """
    gains, from_delete = shelf.steps[5].copy(), shelf.steps[2]
    gains[first] = 0
    gained = np.cumsum(gains)
    # The lowest place until each node is looked for in its model alone: each model lies below those before it.
    gained -= (int(gained.max()) - int(gained.min()) + 1) * model
    excess = gained - np.minimum.accumulate(gained)  # behind each node
    peak = np.maximum.reduceat(excess, first)
    left = np.append(0, excess[:-1]) + from_delete
    left[first] = NEVER_WORD
    highest = np.maximum(np.maximum.reduceat(best, first), 0)
    trusted: Wide = MAX_WORD - np.maximum(peak, np.maximum(np.maximum.reduceat(left, first), 0) + highest)
    return trusted


def _longest_alignments(shelf: _ShelfPairs, starts: Places, model: Wide, gain: Wide) -> list[int | None]:
    """Return `PairSteps.longest_alignment` of each model, given what the best letters gain."""
    first, n = starts[:-1], len(starts) - 1
    inserted, stay, next_begin = shelf.steps[1], shelf.steps[4], shelf.steps[3]
    most = MAX_ABOVE - shelf.least
    counts = -inserted <= most[model]
    counts[first] = False
    cost, of_model = -np.maximum(inserted, stay)[counts], model[counts]
    order = np.lexsort((cost, of_model))
    cost, of_model = cost[order], of_model[order]
    n_counted = np.bincount(of_model, minlength=n)
    rank = np.arange(len(cost)) - np.repeat(np.cumsum(n_counted) - n_counted, n_counted)
    begin = next_begin.copy()  # of nodes 0 the begin of the first
    highest_begin = np.maximum.reduceat(begin, first)
    available = gain + highest_begin - shelf.least
    spent = np.clip(available[of_model] - most[of_model] * rank, 0, most[of_model])
    inserts = np.where(spent > 0, spent // np.maximum(cost, 1) + 1, 0)
    n_inserted = np.bincount(of_model, weights=inserts, minlength=n).astype(np.int64)
    has_none = np.bincount(of_model, weights=cost <= 0, minlength=n) > 0
    lengths = np.diff(starts) - 1
    return [None if none else int(m + more) for none, m, more in zip(has_none, lengths, n_inserted, strict=True)]


def pairs_of(session: KernelSession, profile: LocalProfile) -> PairSteps | None:
    """Return `pair_steps` of a model, computed once a session for all on its shelf."""
    shelf = profile.shelved.shelf
    return session.cached("pairs", shelf, lambda: pair_steps(shelf.word_scores, shelf.starts))[profile.shelved.place]


def skewed_tables(pairs: PairSteps | None, m: int, lanes: int, nodes: int) -> Tables:
    """Return the tables of the skewed form of ``viterbi_filter_lanes.cl`` for m nodes; empty ones without scores."""
    if pairs is None:
        return [np.empty(0, np.uint32), np.empty(0, np.int16)]
    eights = -(-nodes // 8)
    steps = np.full((lanes * nodes, 8), pairs.lowest, np.int64)
    steps[:, 3] = pairs.least
    steps[:m, :6] = pairs.steps.T
    twice = (steps & 0xFFFF) * 0x10001
    match = np.full((len(pairs.match), lanes * nodes), pairs.lowest, np.int16)
    match[:, :m] = pairs.match
    packed = np.full((len(match), lanes, 8 * eights), pairs.lowest, np.int16)
    packed[:, :, :nodes] = match.reshape(-1, lanes, nodes)
    by_eights = packed.reshape(-1, lanes, eights, 8).transpose(0, 2, 1, 3)
    return [twice.astype(np.uint32), by_eights]

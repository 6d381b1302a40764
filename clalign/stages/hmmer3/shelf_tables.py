"""What the filters' tables hold of each node, for all models of a shelf at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import KernelSession, Tables
from clalign.values.local_profiles import MOST_COST, NEVER_WORD, LocalProfile, Odds, WordScores
from clalign.values.profile_shelves import Places, Shelved, by_step
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

HIGHEST_WORD = 32767

Words = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float32]
Wide = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
MakeEach = Callable[[LocalProfile], Tables]


class WordSteps(Struct, frozen=True):
    """The steps of ``common/viterbi_filter_striped.h``.

    Attributes
    ----------
    steps : int16[6 or 8, N]
    gains : int16[N]
        Of d.
    """

    steps: Words
    gains: Words


class ForwardColumns(Struct, frozen=True):
    """The transitions and emissions of the Forward kernels.

    Attributes
    ----------
    transitions : float32[7, N]
    emissions : float32[N_CODES, N]
    """

    transitions: Floats
    emissions: Floats


def biased_scores(session: KernelSession, shelved: Shelved) -> npt.NDArray[np.int8]:
    """Return bias less cost of each letter at each node of a model (int8[N_CODES, M])."""

    def make() -> npt.NDArray[np.int8]:
        shelf = shelved.shelf
        costs, bias, _ = shelf.byte_scores
        of_node = bias.astype(np.int16)[shelf.owner]
        scores = np.full(costs.shape, -MOST_COST, np.int8)
        for code in shelf.codes:
            scores[code] = np.maximum(of_node - costs[code], -MOST_COST)
        if len(unmatched := np.setdiff1d(np.arange(len(costs)), shelf.codes)):
            scores[unmatched] = np.maximum(of_node - costs[unmatched[0]], -MOST_COST)
        return scores

    return session.cached("biased scores of a shelf", shelved.shelf, make)[:, _inner(shelved)]


def _inner(shelved: Shelved) -> slice:
    """Return where the nodes of a model but its node 0 stand."""
    nodes = shelved.nodes
    return slice(nodes.start + 1, nodes.stop)


def word_steps(session: KernelSession, shelved: Shelved, plain: bool) -> WordSteps:
    """Return the 16-bit steps of a model, and the gain of d."""
    shelf = shelved.shelf

    def make() -> WordSteps:
        steps, gains = striped_steps(shelf.word_scores, shelf.starts, plain)
        return WordSteps(_clipped(steps), _clipped(gains))

    found = session.cached(f"word steps of a shelf {plain}", shelf, make)
    inner = _inner(shelved)
    return WordSteps(found.steps[:, inner], found.gains[inner])


def plain_steps(session: KernelSession, shelved: Shelved) -> tuple[Words, Whole]:
    """Return the plain 16-bit steps of a model, and the gain of d, which is not clipped."""
    shelf = shelved.shelf

    def make() -> tuple[Words, Whole]:
        steps, gains = striped_steps(shelf.word_scores, shelf.starts, plain=True)
        return _clipped(steps), gains

    steps, gains = session.cached("plain steps of a shelf", shelf, make)
    inner = _inner(shelved)
    return steps[:, inner], gains[inner]


def can_merge_steps(session: KernelSession, shelved: Shelved) -> bool:
    """Return what `viterbi_filter_tables.can_merge_steps` says of a model."""
    shelf = shelved.shelf
    found = session.cached("steps that merge", shelf, lambda: mergeable(shelf.word_scores, shelf.starts))
    return bool(found[shelved.place])


def forward_columns(session: KernelSession, shelved: Shelved) -> ForwardColumns:
    """Return transitions and emissions of a model for the Forward kernels."""
    shelf = shelved.shelf

    def make() -> ForwardColumns:
        odds, weights = shelf.odds, exit_weights(shelf.odds, shelf.starts)
        t = odds.transitions.astype(np.float64)
        columns = [
            odds.begin, t[MM] / weights, t[IM] * t[MI] / weights, t[II], t[DM], t[MD] / weights, t[DD],
        ]  # fmt: skip
        emissions = np.zeros_like(odds.match)
        for code in shelf.codes:
            emissions[code] = odds.match[code] * weights
        return ForwardColumns(np.stack(columns).astype(np.float32), emissions)

    found = session.cached("forward columns of a shelf", shelf, make)
    inner = _inner(shelved)
    return ForwardColumns(found.transitions[:, inner], found.emissions[:, inner])


def _clipped(values: Whole) -> Words:
    return np.clip(values, NEVER_WORD, HIGHEST_WORD).astype(np.int16)


def exit_weights(odds: Odds, starts: Places) -> Wide:
    """Return what `forward_tables.exit_weights` gives for each model, side by side (float64[N])."""
    taken, step, model = by_step(starts, backward=True)
    opened, on = (odds.transitions[kind].astype(np.float64)[taken] for kind in (MD, DD))
    weights, deletes = np.ones(taken.shape), np.zeros(taken.shape[1])
    for k in range(len(taken)):
        weights[k] += opened[k] * deletes
        deletes = 1 + on[k] * deletes
    found: Wide = weights[step, model]
    found[starts[:-1]] = 1
    return found


def delete_gains(scores: WordScores, starts: Places) -> Whole:
    """Return what `viterbi_filter_tables.delete_gains` gives for each model, side by side; of nodes 0 anything."""
    t = scores.transitions.astype(np.int64)
    begin, lasts = scores.begin.astype(np.int64), starts[1:] - 1
    spent = np.concatenate([[0], np.cumsum(t[DD])])[:-1]  # on the way of deletes up to each node
    left = t[DM] - np.append(begin[1:], 0)
    left[lasts] = 2 * NEVER_WORD
    # The best place to leave at from each node on: the highest of what follows in the model, whose
    # values are lifted above those of all models behind it.
    reached = left + spent
    lift = (int(reached.max()) - int(reached.min()) + 1) * np.repeat(np.arange(len(lasts)), np.diff(starts))
    best = np.maximum.accumulate((reached - lift)[::-1])[::-1] + lift
    gains: Whole = best - spent
    return gains


def striped_steps(scores: WordScores, starts: Places, plain: bool) -> tuple[Whole, Whole]:
    """Return what `viterbi_filter_tables.striped_steps` gives for each model, side by side; of nodes 0 anything."""
    t, begin, gains = scores.transitions.astype(np.int64), scores.begin.astype(np.int64), delete_gains(scores, starts)
    if plain:
        return np.stack([begin, t[MM], t[IM], t[MD], t[DD], t[II], t[DM], t[MI]]), gains
    next_to_match = np.append(t[DM, 1:], NEVER_WORD)
    next_to_match[starts[1:] - 1] = NEVER_WORD
    on = t[DD] - t[DM] + next_to_match
    on[starts[:-1] + 1] = NEVER_WORD  # there is no D of the first node
    steps = np.stack([begin, t[MM], t[IM] + t[MI], t[MD] + next_to_match, on, t[II]])
    return steps, gains - t[DM]


def mergeable(scores: WordScores, starts: Places) -> npt.NDArray[np.bool_]:
    """Return what `viterbi_filter_tables.can_merge_steps` says of each model (bool[n])."""
    t = scores.transitions.astype(np.int64)
    first, sizes = starts[:-1], np.diff(starts)
    model = np.repeat(np.arange(len(sizes)), sizes)
    node, last = np.arange(len(model)) - first[model], (sizes - 1)[model]
    inner_begin = scores.begin.astype(np.int64)
    inner_begin[first] = HIGHEST_WORD
    lowest_begin = np.minimum.reduceat(inner_begin, first)[model]
    next_to_match = np.append(t[DM, 1:], 0)
    on = t[DD] - t[DM] + next_to_match
    too_low = (node >= 1) & (node < last) & (t[MI] + t[IM] < NEVER_WORD)
    too_low |= (node >= 1) & (node < last - 1) & (t[MD] + next_to_match < NEVER_WORD)
    too_low |= (node >= 2) & (node < last) & (t[DM] + lowest_begin < NEVER_WORD)
    too_low |= (node >= 2) & (node < last - 1) & ((on < NEVER_WORD) | (on > HIGHEST_WORD))
    return ~np.logical_or.reduceat(too_low, first)

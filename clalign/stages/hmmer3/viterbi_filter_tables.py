"""A model's 16-bit scores in the layouts of the Viterbi filter's kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import spread
from clalign.compute.sessions import KernelSession, Tables
from clalign.stages.hmmer3.model_groups import Table, node_tables
from clalign.values.local_profiles import LocalProfile, Places, ProfileShelf, word_scores
from clalign.values.local_scores import MAX_WORD, NEVER_WORD, WordScores
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Whole = npt.NDArray[np.int64]


def delete_gains(scores: WordScores, starts: Places) -> Whole:
    """Return how much more than B the next row's M can get from D of each node at most, on what D has.

    From each node it is what M of the next node gets of it, or the gain from D there if that is more (int64[N], model
    after model; of nodes 0 it is anything).
    """
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


def mergeable(scores: WordScores, starts: Places) -> npt.NDArray[np.bool_]:
    """Return of which models I and D may be kept with the costs of neighboring steps (bool[n]).

    See ``common/viterbi_filter_striped.h``. A sum that saturates there must be less than what B, which is never
    negative for sequences of up to 50 million residues, gives to M.
    """
    t = scores.transitions.astype(np.int64)
    first, sizes = starts[:-1], np.diff(starts)
    model = np.repeat(np.arange(len(sizes)), sizes)
    node, last = np.arange(len(model)) - first[model], (sizes - 1)[model]
    inner_begin = scores.begin.astype(np.int64)
    inner_begin[first] = MAX_WORD
    lowest_begin = np.minimum.reduceat(inner_begin, first)[model]
    next_to_match = np.append(t[DM, 1:], 0)
    on = t[DD] - t[DM] + next_to_match
    too_low = (node >= 1) & (node < last) & (t[MI] + t[IM] < NEVER_WORD)
    too_low |= (node >= 1) & (node < last - 1) & (t[MD] + next_to_match < NEVER_WORD)
    too_low |= (node >= 2) & (node < last) & (t[DM] + lowest_begin < NEVER_WORD)
    too_low |= (node >= 2) & (node < last - 1) & ((on < NEVER_WORD) | (on > MAX_WORD))
    return ~np.logical_or.reduceat(too_low, first)


def striped_steps(scores: WordScores, starts: Places, plain: bool) -> tuple[Whole, Whole]:
    """Return the steps of ``common/viterbi_filter_striped.h`` by column (int64[6 or 8, N]), and the gain of d.

    Models follow each other; of nodes 0 it is anything.
    """
    t, begin, gains = scores.transitions.astype(np.int64), scores.begin.astype(np.int64), delete_gains(scores, starts)
    if plain:
        return np.stack([begin, t[MM], t[IM], t[MD], t[DD], t[II], t[DM], t[MI]]), gains
    next_to_match = np.append(t[DM, 1:], NEVER_WORD)
    next_to_match[starts[1:] - 1] = NEVER_WORD
    on = t[DD] - t[DM] + next_to_match
    on[starts[:-1] + 1] = NEVER_WORD  # there is no D of the first node
    steps = np.stack([begin, t[MM], t[IM] + t[MI], t[MD] + next_to_match, on, t[II]])
    return steps, gains - t[DM]


def _clipped(values: Whole) -> npt.NDArray[np.int16]:
    return np.clip(values, NEVER_WORD, MAX_WORD).astype(np.int16)


def steps_of(session: KernelSession, profile: LocalProfile, plain: bool) -> tuple[Table, ...]:
    """Return `striped_steps` of a model, clipped to 16 bits, and the gain of d, which is not clipped."""

    def make(shelf: ProfileShelf) -> tuple[Table, ...]:
        steps, gains = striped_steps(shelf.word_scores, shelf.starts, plain)
        return _clipped(steps), gains

    return node_tables(session, f"word steps {plain}", profile, make)


def merges_steps(session: KernelSession, profile: LocalProfile) -> bool:
    """Return `mergeable` of a model."""
    shelf = profile.shelved.shelf
    merges = session.cached("steps that merge", shelf, lambda: mergeable(shelf.word_scores, shelf.starts))
    return bool(merges[profile.shelved.place])


def striped_tables(session: KernelSession, lanes: int, plain: bool, profile: LocalProfile) -> Tables:
    """Return the tables of ``common/viterbi_filter_striped.h``."""
    scores, per_lane = word_scores(profile), -(-profile.length // lanes)
    steps, gains = steps_of(session, profile, plain)
    first_of_next = spread(_clipped(gains), lanes, per_lane, NEVER_WORD)[1:, 0]
    reach = np.append(first_of_next, np.int16(NEVER_WORD))
    emissions = spread(scores.match[:, 1:], lanes, per_lane, NEVER_WORD).transpose(0, 2, 1)
    return [spread(steps, lanes, per_lane, NEVER_WORD).transpose(2, 0, 1), reach, emissions]


def lanes_tables(session: KernelSession, lanes: int, per_lane: int, profile: LocalProfile) -> Tables:
    """Return the tables of the form of ``viterbi_filter_lanes.cl`` that serves every model."""
    scores = word_scores(profile)
    steps, gains = steps_of(session, profile, plain=True)
    reach = np.full(lanes, 2 * NEVER_WORD, np.int32)
    first_of_next = gains[per_lane::per_lane]
    reach[: len(first_of_next)] = first_of_next
    emissions = spread(scores.match[:, 1:], lanes, per_lane, NEVER_WORD).transpose(0, 2, 1)
    return [spread(steps, lanes, per_lane, NEVER_WORD).transpose(0, 2, 1).astype(np.int32), reach, emissions]

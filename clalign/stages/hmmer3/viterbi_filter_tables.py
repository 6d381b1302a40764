"""A model's 16-bit scores in the layouts of the Viterbi filter's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.hmmer3 import shelf_tables
from clalign.values.local_profiles import (
    NEVER_WORD,
    WORD_BASE,
    WORD_E_MOVE,
    LocalProfile,
    WordScores,
    length_terms,
    word_scores,
)
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Table = npt.NDArray[np.int16]
Wide = npt.NDArray[np.int64]

HIGHEST_WORD = 32767


def words(session: KernelSession, profile: LocalProfile) -> WordScores:
    """Return `word_scores` of a model, computed once a session."""
    return session.cached("word scores", profile, lambda: word_scores(profile))


def spread(table: npt.NDArray[Any], lanes: int, per_lane: int) -> Table:
    """Pad the nodes (last axis) with what is impossible and fold them to [lanes, per_lane]."""
    padded = np.full((*table.shape[:-1], lanes * per_lane), NEVER_WORD, np.int16)
    fits = table.dtype == np.int16  # as what was computed for a whole shelf
    padded[..., : table.shape[-1]] = table if fits else np.clip(table, NEVER_WORD, HIGHEST_WORD)
    return padded.reshape(*table.shape[:-1], lanes, per_lane)


def delete_gains(scores: WordScores) -> Wide:
    """Return how much more than B the next row's M can get from D of each node at most, on what D has (int64[M])."""
    t, begin = scores.transitions.astype(np.int64), scores.begin.astype(np.int64)
    m = t.shape[1] - 1
    gains = np.full(m + 2, 2 * NEVER_WORD, np.int64)
    for k in range(m - 1, 0, -1):
        gains[k] = max(t[DM, k] - begin[k + 1], t[DD, k] + gains[k + 1])
    return gains[1:-1]


def can_merge_steps(scores: WordScores) -> bool:
    """Return whether I and D may be kept with the costs of neighboring steps (``common/viterbi_filter_striped.h``).

    A sum that saturates there must be less than what B, which is never negative for sequences of up
    to 50 million residues, gives to M.
    """
    t, lowest_begin = scores.transitions.astype(np.int64), int(scores.begin[1:].min())
    inserted = t[MI, 1:-1] + t[IM, 1:-1]
    deleted = t[MD, 1:-2] + t[DM, 2:-1]
    to_match = t[DM, 2:-1]
    on = t[DD, 2:-2] - to_match[:-1] + to_match[1:]
    sums = np.concatenate([inserted, deleted, on, to_match + lowest_begin])
    return bool((sums >= NEVER_WORD).all() and (on <= HIGHEST_WORD).all())


def striped_steps(scores: WordScores, plain: bool) -> tuple[Wide, Wide]:
    """Return the steps of ``common/viterbi_filter_striped.h`` by column (int64[6 or 8, M]), and the gain of d."""
    t, begin, gains = scores.transitions.astype(np.int64), scores.begin[1:].astype(np.int64), delete_gains(scores)
    opened, on, inserted = t[MD, 1:], t[DD, 1:], t[IM, 1:]
    if plain:
        return np.stack([begin, t[MM, 1:], inserted, opened, on, t[II, 1:], t[DM, 1:], t[MI, 1:]]), gains
    to_match = np.append(t[DM, 1:], NEVER_WORD)
    on = on - to_match[:-1] + to_match[1:]
    on[0] = NEVER_WORD  # there is no D of the first node
    return np.stack([begin, t[MM, 1:], inserted + t[MI, 1:], opened + to_match[1:], on, t[II, 1:]]), gains - to_match[
        :-1
    ]


def striped_steps_of(
    session: KernelSession, profile: LocalProfile, plain: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return `striped_steps` of a model, as far as they fit 16 bits where they were computed for many."""
    if profile.shelved is None:
        return striped_steps(words(session, profile), plain)
    found = shelf_tables.word_steps(session, profile.shelved, plain)
    return found.steps, found.gains


def merges_steps(session: KernelSession, profile: LocalProfile) -> bool:
    """Return `can_merge_steps` of a model."""
    if profile.shelved is None:
        return can_merge_steps(words(session, profile))
    return shelf_tables.can_merge_steps(session, profile.shelved)


def striped_tables(session: KernelSession, profile: LocalProfile, lanes: int, plain: bool) -> Sequence[Buffer]:
    """Return the tables of ``common/viterbi_filter_striped.h`` on a device, made once a model."""

    def make() -> Sequence[Buffer]:
        scores, per_lane = words(session, profile), -(-profile.length // lanes)
        steps, gains = striped_steps_of(session, profile, plain)
        first_of_next = spread(gains, lanes, per_lane)[1:, 0]
        reach = np.append(first_of_next, np.int16(NEVER_WORD))
        emissions = spread(scores.match[:, 1:], lanes, per_lane).transpose(0, 2, 1)
        return session.tables([spread(steps, lanes, per_lane).transpose(2, 0, 1), reach, emissions])

    return session.cached(f"striped words {lanes} {plain}", profile, make)


def lanes_tables(session: KernelSession, profile: LocalProfile, lanes: int, per_lane: int) -> list[Buffer]:
    """Return the tables of the form of ``viterbi_filter_lanes.cl`` that serves every model, made once a model."""

    def make() -> list[Buffer]:
        scores = words(session, profile)
        steps, gains = striped_steps(scores, plain=True)
        reach = np.full(lanes, 2 * NEVER_WORD, np.int32)
        first_of_next = gains[per_lane::per_lane]
        reach[: len(first_of_next)] = first_of_next
        emissions = spread(scores.match[:, 1:], lanes, per_lane).transpose(0, 2, 1)
        arrays = (spread(steps, lanes, per_lane).transpose(0, 2, 1).astype(np.int32), reach, emissions)
        return [session.upload(array) for array in arrays]

    return session.cached(f"word lanes {lanes} {per_lane}", profile, make)


LONGEST = 100_000
"""Residues for which the skewed form is laid out; as many as HMMER takes."""

MOST_ABOVE = WORD_BASE - WORD_E_MOVE - (WORD_BASE + int(length_terms(np.array([LONGEST])).word_move[0]))
"""How much more than B an M can be for which J plays no part, at most."""

MOST_GAIN = 20_000
"""Match scores up to this cannot wrap around before an M is seen to be too high."""


class PairSteps(Struct, frozen=True):
    """Scores of ``common/pairs_of_words.h``, relative to B.

    Attributes
    ----------
    steps : int64[6, M]
        To match from match, insert, delete; begin of the next node; insert to insert; delete to delete.
    match : int64[N_CODES, M]
    begin : int
        Begin of the first node.
    least : int
        What M is kept from falling below.
    lowest : int
        What no step and no match costs more than.
    trusted : int
        As long as no M is higher, no sum wraps around.
    """

    steps: Wide
    match: Wide
    begin: int
    least: int
    lowest: int
    trusted: int

    @property
    def longest_alignment(self) -> int | None:
        """Residues of the longest alignment that counts; None if there is no bound.

        All of it, from its begin on, must be better than a new begin. What it gains is no more than the
        best letter at each node gives, and every inserted residue costs something: the one that opens an
        insertion what the steps into it and out of it cost together, any other a step to itself. And one
        insertion costs no more than what lies between the highest M that counts and a new begin. So the
        most residues are inserted where they cost least, as many there as that allows.
        """
        inserted, stay = self.steps[1], self.steps[4]
        most = MOST_ABOVE - self.least
        cost = np.sort(-np.maximum(inserted, stay)[-inserted <= most])
        if len(cost) and cost[0] <= 0:
            return None
        gain = int(np.maximum(self.match.max(axis=0), 0).sum())
        spent = np.clip(
            gain + max(self.begin, int(self.steps[3].max())) - self.least - most * np.arange(len(cost)), 0, most
        )
        n_inserted = int((spent // np.maximum(cost, 1) + 1)[spent > 0].sum())
        return int(self.match.shape[1]) + n_inserted


def pair_steps(scores: WordScores) -> PairSteps | None:
    """Return the scores of a model for the skewed form, or None if they do not fit 16 bits there.

    Let `least` be the lowest step from B to M. An M that is less can be replaced by it: no step gains, so
    what comes from it is no more than what comes from B. A step or a match that costs more than
    `lowest`, which takes the highest M that counts to `least`, can be replaced by that for the same reason.
    Sums of a score that is at least `least` and a step that is at least `lowest` must not wrap around.

    Nor do they at the upper end, as long as M counts. Steps gain nothing, so M plus one, and I, are no more
    than the highest M. D with the step into it is no more either, so without that step it is at most
    `MOST_ABOVE` - `lowest`; as `least` + `lowest` do not wrap around, that is at most 1.5 `MOST_ABOVE` + 16384.
    """
    t, begin = scores.transitions.astype(np.int64), scores.begin[1:].astype(np.int64)
    least = int(begin.min())
    lowest = least - MOST_ABOVE
    if least + lowest < NEVER_WORD or scores.match.max() > MOST_GAIN:
        return None
    t = np.maximum(t, lowest)
    opened = np.append(0, t[MD, 1:-1])  # into D of nodes 1 to M, which is kept without it
    from_delete = t[DM, 1:] + opened
    on = t[DD, 1:] + opened - np.append(opened[1:], 0)
    for impossible in (from_delete, on):
        impossible[[0, -1]] = lowest  # the first node has no D, and that of the last goes nowhere
    if min(from_delete.min(), on.min()) + least < NEVER_WORD:
        return None
    inserted = np.maximum(t[IM, 1:] + t[MI, 1:], lowest)
    steps = np.stack([t[MM, 1:], inserted, from_delete, np.append(begin[1:], least), t[II, 1:], on])
    match = np.maximum(scores.match[:, 1:].astype(np.int64), lowest)
    return PairSteps(steps, match, int(begin[0]), least, lowest, _trusted(from_delete, on, match))


def _trusted(from_delete: Wide, on: Wide, match: Wide) -> int:
    """Return up to what M no sum wraps around at the upper end.

    D, kept without the step into it, is more than the highest M by an excess that grows where going on gains;
    what M of the next node can come from is more only where leaving D costs less than that.
    """
    excess, excesses = 0, []
    for gain in on:
        excesses.append(excess)
        excess = max(0, excess + int(gain))
    left = max(0, int((np.array(excesses) + from_delete).max()))
    return HIGHEST_WORD - max(*excesses, excess, left + max(0, int(match.max())))


def pairs_of(session: KernelSession, profile: LocalProfile) -> PairSteps | None:
    """Return `pair_steps` of a model, computed once a session."""
    return session.cached("pairs", profile, lambda: pair_steps(words(session, profile)))


def skewed_tables(
    session: KernelSession, profile: LocalProfile, pairs: PairSteps, lanes: int, nodes: int
) -> list[Buffer]:
    """Return the tables of the skewed form of ``viterbi_filter_lanes.cl`` on a device, made once a model."""

    def make() -> list[Buffer]:
        m = profile.length
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
        return [session.upload(twice.astype(np.uint32)), session.upload(by_eights)]

    return session.cached(f"skewed words {lanes} {nodes}", profile, make)

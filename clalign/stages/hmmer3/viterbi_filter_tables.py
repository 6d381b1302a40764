"""A model's 16-bit scores in the layouts of the Viterbi filter's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import KernelSession, Tables
from clalign.stages.hmmer3 import shelf_tables
from clalign.values.local_profiles import (
    NEVER_WORD,
    LocalProfile,
    WordScores,
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


def plain_steps_of(
    session: KernelSession, profile: LocalProfile, scores: WordScores
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the plain steps of a model, clipped where they were computed for many, and the gain of d, which is not."""
    if profile.shelved is None:
        return striped_steps(scores, plain=True)
    return shelf_tables.plain_steps(session, profile.shelved)


def merges_steps(session: KernelSession, profile: LocalProfile) -> bool:
    """Return `can_merge_steps` of a model."""
    if profile.shelved is None:
        return can_merge_steps(words(session, profile))
    return shelf_tables.can_merge_steps(session, profile.shelved)


def striped_tables(session: KernelSession, lanes: int, plain: bool, profile: LocalProfile) -> Tables:
    """Return the tables of ``common/viterbi_filter_striped.h``."""
    scores, per_lane = word_scores(profile), -(-profile.length // lanes)
    steps, gains = striped_steps_of(session, profile, plain)
    first_of_next = spread(gains, lanes, per_lane)[1:, 0]
    reach = np.append(first_of_next, np.int16(NEVER_WORD))
    emissions = spread(scores.match[:, 1:], lanes, per_lane).transpose(0, 2, 1)
    return [spread(steps, lanes, per_lane).transpose(2, 0, 1), reach, emissions]


def lanes_tables(session: KernelSession, lanes: int, per_lane: int, profile: LocalProfile) -> Tables:
    """Return the tables of the form of ``viterbi_filter_lanes.cl`` that serves every model."""
    scores = word_scores(profile)
    steps, gains = plain_steps_of(session, profile, scores)
    reach = np.full(lanes, 2 * NEVER_WORD, np.int32)
    first_of_next = gains[per_lane::per_lane]
    reach[: len(first_of_next)] = first_of_next
    emissions = spread(scores.match[:, 1:], lanes, per_lane).transpose(0, 2, 1)
    return [spread(steps, lanes, per_lane).transpose(0, 2, 1).astype(np.int32), reach, emissions]

"""A model's odds and probabilities in the layouts of the Forward kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import spread
from clalign.compute.sessions import KernelSession, Tables
from clalign.stages.hmmer3.model_groups import node_tables
from clalign.values.local_profiles import LocalProfile, Places, ProfileShelf, by_step
from clalign.values.local_scores import Odds
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Table = npt.NDArray[np.float32]
Wide = npt.NDArray[np.float64]

VECTOR_LANES = 8


def exit_weights(odds: Odds, starts: Places) -> Wide:
    """Return the weight of each M in E, including the deletes that follow it, side by side (float64[N])."""
    taken, step, model = by_step(starts, backward=True)
    opened, on = (odds.transitions[kind].astype(np.float64)[taken] for kind in (MD, DD))
    weights, deletes = np.ones(taken.shape), np.zeros(taken.shape[1])
    for k in range(len(taken)):
        weights[k] += opened[k] * deletes
        deletes = 1 + on[k] * deletes
    found: Wide = weights[step, model]
    found[starts[:-1]] = 1
    return found


def forward_tables(
    session: KernelSession, profile: LocalProfile, lanes: int, per_lane: int = 0
) -> tuple[Table, Table, Table]:
    """Return the tables that the headers describe, with nodes folded to [lanes, per_lane], by default as few as do.

    Returns
    -------
    transitions : float32[8, lanes, per_lane]
    delete_prefix : float32[log2(lanes), lanes]
    emissions : float32[N_CODES, lanes, per_lane]
    """
    columns, found = node_tables(session, "forward columns", profile, _columns)
    per_lane = per_lane or -(-profile.length // lanes)
    transitions = spread(columns, lanes, per_lane, 0)
    products = np.cumprod(transitions[6].astype(np.float64), axis=1)
    before = np.concatenate([np.ones((lanes, 1)), products[:, :-1]], axis=1)
    delete_prefix = [products[:, -1]]
    while 2 ** len(delete_prefix) < lanes:
        distance, last = 2 ** (len(delete_prefix) - 1), delete_prefix[-1]
        delete_prefix.append(last * np.concatenate([np.zeros(distance), last[:-distance]]))
    entering = (before * transitions[4]).astype(np.float32)
    emissions = spread(found, lanes, per_lane, 0)
    return np.concatenate([transitions, entering[None]]), np.stack(delete_prefix).astype(np.float32), emissions


def _columns(shelf: ProfileShelf) -> tuple[Table, Table]:
    """Return seven columns of transitions (float32[7, N]) and the emissions (float32[N_CODES, N]) of all nodes."""
    odds, weights = shelf.odds, exit_weights(shelf.odds, shelf.starts)
    t = odds.transitions.astype(np.float64)
    columns = [odds.begin, t[MM] / weights, t[IM] * t[MI] / weights, t[II], t[DM], t[MD] / weights, t[DD]]
    emissions = np.zeros_like(odds.match)
    for code in shelf.codes:
        emissions[code] = odds.match[code] * weights
    return np.stack(columns).astype(np.float32), emissions


def striped_tables(session: KernelSession, profile: LocalProfile) -> Tables:
    """Return the tables of ``forward_vector.cl``."""
    transitions, delete_prefix, emissions = forward_tables(session, profile, VECTOR_LANES)
    return [transitions.transpose(2, 0, 1), delete_prefix, emissions.transpose(0, 2, 1)]


def lanes_tables(session: KernelSession, profile: LocalProfile, lanes: int, nodes: int) -> Tables:
    """Return the tables of ``forward_lanes.cl`` for this many nodes a lane."""
    transitions, delete_prefix, emissions = forward_tables(session, profile, lanes, nodes)
    return [transitions.transpose(0, 2, 1), delete_prefix, emissions.transpose(0, 2, 1)]

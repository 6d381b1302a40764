"""A model's scores in the layouts of the Viterbi kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict

from clalign.compute.geometry import spread
from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.plan7.reweighting import NEVER, ReweightedScores, reweighted
from clalign.values.alphabets import N_CODES
from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile

Table = npt.NDArray[np.int32]

N_TRANSITIONS = 9


def transition_table(profile: IntegerProfile) -> Table:
    """Return the transitions as the kernels index them (int32[N_TRANSITIONS, M]).

    Rows: into M from M, I, D of the node before; begin; M-I; I-I; M and D to the next D; end.
    """
    t = profile.transitions
    rows = [t[MM, :-1], t[IM, :-1], t[DM, :-1], profile.begin[1:], t[MI, 1:], t[II, 1:], t[MD, 1:], t[DD, 1:]]
    return np.stack([*rows, profile.end[1:]]).astype(np.int32)


def emission_table(profile: IntegerProfile) -> Table:
    """Return match and insert scores as the kernels index them (int32[N_CODES, 2, M])."""
    return np.stack([profile.match[:, 1:], profile.insert[:, 1:]], axis=1).astype(np.int32)


def special_table(profile: IntegerProfile) -> Table:
    """Return the scores of the special states in the kernels' order (int32[8])."""
    return np.array(list(asdict(profile.special).values()), np.int32)


def delete_prefix(leaving_delete: Table, n_steps: int) -> Table:
    """Return the costs of deletes that cross nodes: int32[per_lane + n_steps, lanes] (see the vector kernel)."""
    sums = np.cumsum(leaving_delete.astype(np.int64), axis=1)
    before = np.concatenate([np.zeros((len(sums), 1), np.int64), sums[:, :-1]], axis=1)
    whole: list[npt.NDArray[np.int64]] = [sums[:, -1]]
    for step in range(n_steps - 1):
        shifted = np.concatenate([np.zeros(1 << step, np.int64), whole[-1][: -(1 << step)]])
        whole.append(whole[-1] + shifted)
    table: Table = np.maximum(np.concatenate([before.T, np.stack(whole)]), IMPOSSIBLE).astype(np.int32)
    return table


def vector_tables(session: KernelSession, model: IntegerProfile, lanes: int) -> list[Buffer]:
    """Return the tables of the striped kernels (``common/striped.h``) on a device, made once a model."""

    def make() -> list[Buffer]:
        per_lane = -(-model.length // lanes)
        transitions = spread(transition_table(model), lanes, per_lane, IMPOSSIBLE)
        emissions = spread(emission_table(model), lanes, per_lane, IMPOSSIBLE)
        sums = delete_prefix(transitions[7], lanes.bit_length() - 1)
        arrays = [transitions.transpose(2, 0, 1), sums, emissions.transpose(0, 3, 1, 2), special_table(model)]
        return [session.upload(array) for array in arrays]

    return session.cached(f"vector{lanes}", model, make)


def lanes_tables(session: KernelSession, model: IntegerProfile, lanes: int) -> list[Buffer]:
    """Return the tables of ``viterbi_lanes.cl`` on a device, made once a model."""

    def make() -> list[Buffer]:
        per_lane = -(-model.length // lanes)
        transitions = spread(transition_table(model), lanes, per_lane, IMPOSSIBLE)
        emissions = spread(emission_table(model), lanes, per_lane, IMPOSSIBLE)
        arrays = [transitions.transpose(0, 2, 1), emissions.transpose(0, 1, 3, 2), special_table(model)]
        return [session.upload(array) for array in arrays]

    return session.cached(f"viterbi_lanes{lanes}", model, make)


def reweighted_scores(session: KernelSession, model: IntegerProfile) -> ReweightedScores | None:
    """Return `reweighted` of a model, computed once a session."""
    return session.cached("reweighted", model, lambda: reweighted(model))


def _steps(scores: ReweightedScores, n_nodes: int) -> Table:
    """Return the steps of ``common/strips.h`` for this many nodes, those beyond the model without a way in."""
    m = len(scores.begin)
    steps = np.zeros((n_nodes, 8), np.int32)
    steps[:] = [NEVER, NEVER, NEVER, 2 * NEVER, 0, NEVER, 0, 0]
    columns = (
        scores.match_to_match, scores.insert_to_match, scores.delete_to_match,
        np.append(scores.begin[1:] + scores.start, 2 * NEVER),
        scores.insert_to_insert, scores.match_to_delete,
    )  # fmt: skip
    for column, values in enumerate(columns):
        steps[:m, column] = values
    return steps


def _halves(scores: ReweightedScores) -> Table:
    """Return match scores in the low, insert scores in the high half of a word (int32[N_CODES, M])."""
    halves: Table = ((scores.match & 0xFFFF) | (scores.insert << 16)).astype(np.uint32).view(np.int32)
    return halves


def strip_tables(session: KernelSession, model: IntegerProfile, scores: ReweightedScores, nodes: int) -> list[Buffer]:
    """Return the tables of ``viterbi_item.cl`` on a device, made once a model and width of a strip."""

    def make() -> list[Buffer]:
        n_strips = -(-model.length // nodes)
        emissions = spread(_halves(scores), n_strips, nodes, 0)
        return [session.upload(_steps(scores, n_strips * nodes)), session.upload(emissions.transpose(1, 0, 2))]

    return session.cached(f"strips{nodes}", model, make)


def skewed_tables(session: KernelSession, model: IntegerProfile, scores: ReweightedScores, lanes: int) -> list[Buffer]:
    """Return the tables of the skewed form of ``viterbi_lanes.cl`` on a device, made once a model."""

    def make() -> list[Buffer]:
        nodes = -(-model.length // lanes)
        fours = -(-nodes // 4)
        emissions = np.zeros((N_CODES, lanes, 4 * fours), np.int32)
        emissions[:, :, :nodes] = spread(_halves(scores), lanes, nodes, 0)
        packed = emissions.reshape(N_CODES, lanes, fours, 4).transpose(0, 2, 1, 3)
        return [session.upload(_steps(scores, lanes * nodes)), session.upload(packed)]

    return session.cached(f"skewed{lanes}", model, make)


def reweighted_vector_tables(
    session: KernelSession, model: IntegerProfile, scores: ReweightedScores, lanes: int
) -> list[Buffer]:
    """Return the tables of the reweighted form of ``viterbi_vector.cl`` on a device, made once a model."""

    def make() -> list[Buffer]:
        per_lane = -(-model.length // lanes)
        rows = (
            (scores.begin + scores.start, 2 * NEVER), (scores.match_to_match, NEVER), (scores.insert_to_match, NEVER),
            (scores.delete_to_match, NEVER), (scores.insert_to_insert, 0), (scores.match_to_delete, NEVER),
        )  # fmt: skip
        steps = np.stack([spread(values, lanes, per_lane, fill) for values, fill in rows]).astype(np.int32)
        emissions = spread(np.stack([scores.match, scores.insert], axis=1).astype(np.int32), lanes, per_lane, 0)
        special = np.array([scores.single, scores.again - scores.start, scores.leave], np.int32)
        arrays = [steps.transpose(2, 0, 1), emissions.transpose(0, 3, 1, 2), special]
        return [session.upload(array) for array in arrays]

    return session.cached(f"reweighted_vector{lanes}", model, make)

"""Launches of the shapes of the Viterbi kernel on a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import fits_local, in_groups, lane_backend, lanes_group, one_a_core, one_each
from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.plan7.reweighting import ReweightedScores
from clalign.stages.plan7.viterbi_tables import (
    N_TRANSITIONS,
    lanes_tables,
    reweighted_scores,
    reweighted_vector_tables,
    skewed_tables,
    strip_tables,
    vector_tables,
)
from clalign.stages.plan7.viterbi_tuning import ViterbiTuning
from clalign.values.alphabets import N_CODES
from clalign.values.profiles import IMPOSSIBLE, IntegerProfile
from clalign.values.sequences import SequenceBatch, longest_first

Values = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int32]
Choices = Mapping[str, int]

STRIP_ROWS = 4
"""Residues a round of the strips (ROWS of the kernel)."""

LONG_BLOCK = 4
"""Residues that the skewed form takes at once of a long sequence."""

ABOVE_SCORES = 2**30
"""A score above those of all sequences and models that fit a device."""

EASY_NODES = 32
"""Shorter models match any long sequence by chance."""

LONG_SHARE = 1.5
"""A sequence with more than this times the residues that a work-item gets on average is for `lanes`."""

MIN_LONG, MAX_LONG = 512, 8192
"""Whatever the average, sequences up to the first are not long, and those beyond the second are."""

EVERYTHING = object()
"""Key of values that a session keeps for all batches and models."""


def empty_score(model: IntegerProfile) -> np.int32:
    """Return the score that the recurrence gives to a sequence without residues."""
    return np.int32(max(IMPOSSIBLE + model.special.c_move, -(2**31)))


def _possible(session: KernelSession, values: Values) -> Values:
    """Return scores that a device may have computed."""
    session.demand(values.max(initial=0) < ABOVE_SCORES, "a Viterbi score above all that there can be")
    return values


def start_vector(
    session: KernelSession, batch: SequenceBatch, model: IntegerProfile, choices: Choices
) -> Callable[[], Values]:
    """Start the shape for CPUs; return a callable that waits for the scores (int32[n])."""
    tuning = ViterbiTuning.of(session.device)
    lanes = choices.get("LANES", tuning.vector_lanes)
    defines = {"LANES": lanes, "VECTORS": -(-model.length // lanes), "SEQUENCES": tuning.vector_sequences, **choices}
    plain = defines.pop("PLAIN", 0)  # asks for the form that serves every model
    lengths = batch.lengths
    scores = reweighted_scores(session, model)
    if plain or scores is None or lengths.max() > scores.longest:
        entry, tables = "viterbi_score", vector_tables(session, model, lanes)
    else:
        entry, tables = "viterbi_score_reweighted", reweighted_vector_tables(session, model, scores, lanes)
    values = session.results(4 * len(batch))
    session.launch(
        "viterbi_vector", entry, defines, *one_a_core(session.device),
        *session.residues(batch), np.uint32(len(batch)), *tables, session.zeros(4), values,
    )  # fmt: skip
    fetch = session.fetch(values, len(batch), np.int32)
    return lambda: _possible(session, np.where(lengths > 0, fetch(), empty_score(model)))


def start_lanes(
    session: KernelSession, batch: SequenceBatch, model: IntegerProfile, choices: Choices, rows: Rows | None = None
) -> Callable[[], Values]:
    """Start the shape that shares a sequence among lanes, on chosen rows or all; return a callable for the scores."""
    lanes = _lanes(session, model, choices)
    scores = reweighted_scores(session, model)
    narrow = lanes["NODES"] <= ViterbiTuning.of(session.device).strip_nodes
    defines = {**lanes, **choices}
    plain = defines.pop("PLAIN", 0)  # asks for the form that serves every model
    lengths = batch.lengths if rows is None else batch.lengths[rows]
    if plain or not narrow or scores is None or not scores.fits_16_bits or lengths.max() > scores.longest:
        return _start_plain(session, batch, model, defines, rows)
    fetch = _start_skewed(session, batch, model, scores, defines, rows)

    def collect() -> Values:
        best = fetch()
        values: Values = np.where(lengths > 0, best + np.int32(scores.leave), empty_score(model))
        again = np.flatnonzero(best > scores.single).astype(np.int32)
        if len(again):
            chosen = again if rows is None else rows[again]
            values[again] = _repair(session, batch, model, lanes, chosen)()
        return values

    return collect


def _repair(
    session: KernelSession, batch: SequenceBatch, model: IntegerProfile, choices: Choices, rows: Rows
) -> Callable[[], Values]:
    """Start the form that serves every model on the rows that need it; it does not wait for the next batch."""
    queue = session.cached("repairs", EVERYTHING, session.second_queue)
    fetch = _start_plain(queue, batch, model, choices, rows)

    def collect() -> Values:
        values = fetch()
        session.join(queue)
        return values

    return collect


def _lanes(session: KernelSession, model: IntegerProfile, choices: Choices | None = None) -> dict[str, int]:
    """Return the lanes of a device and the nodes that each takes."""
    given = {name: value for name, value in (choices or {}).items() if name in ("LANES", "LANE_BACKEND")}
    backend = {**lane_backend(session.device), **given}
    return {**backend, "NODES": -(-model.length // backend["LANES"])}


def _start_plain(
    session: KernelSession, batch: SequenceBatch, model: IntegerProfile, choices: Choices, rows: Rows | None
) -> Callable[[], Values]:
    device, tuning = session.device, ViterbiTuning.of(session.device)
    lanes, nodes = choices["LANES"], choices["NODES"]
    defines: dict[str, int] = {
        "SEQUENCES": tuning.lanes_sequences if nodes <= 16 and rows is None else 1,
        "GROUP": lanes_group(device, choices, tuning.lanes_group),
        "LOCAL_TRANSITIONS": fits_local(device, (N_TRANSITIONS * nodes + 1) * lanes * 4),
        **choices,
    }
    tables = lanes_tables(session, model, lanes)
    return _launch_lanes(session, "viterbi_score", defines, batch, rows, tables, defines["SEQUENCES"])


def _start_skewed(
    session: KernelSession,
    batch: SequenceBatch,
    model: IntegerProfile,
    scores: ReweightedScores,
    choices: Choices,
    rows: Rows | None,
) -> Callable[[], Values]:
    device, lanes = session.device, choices["LANES"]
    fours = -(-choices["NODES"] // 4)
    defines: dict[str, int] = {
        "GROUP": lanes_group(device, choices, ViterbiTuning.of(device).lanes_group),
        "LOCAL_EMISSIONS": fits_local(device, 16 * N_CODES * fours * lanes + 4 * lanes),
        "SKEWED": 1,
        **choices,
    }
    tables = [*skewed_tables(session, model, scores, lanes), np.int32(scores.begin[0] + scores.start)]
    return _launch_lanes(session, "viterbi_score_skewed", defines, batch, rows, tables, 1)


def _launch_lanes(
    session: KernelSession,
    entry: str,
    defines: Choices,
    batch: SequenceBatch,
    rows: Rows | None,
    tables: list[Buffer],
    sequences: int,
) -> Callable[[], Values]:
    """Launch a form of the `lanes` shape, a group of lanes for this many sequences."""
    if rows is None:
        chosen = session.cached("rows", batch, lambda: session.upload(np.arange(len(batch), dtype=np.int32)))
    else:
        chosen = session.upload(rows)
    n, group = len(batch) if rows is None else len(rows), defines["GROUP"]
    values = session.results(4 * n)
    geometry = in_groups(session.device, group, -(-n // (group // defines["LANES"] * sequences)))
    session.launch(
        "viterbi_lanes", entry, defines, *geometry, *session.residues(batch), chosen, np.uint32(n), *tables, values
    )
    fetch = session.fetch(values, n, np.int32)
    return lambda: _possible(session, fetch())


class StripLayout(Struct, frozen=True):
    """A batch laid out for the `item` shape, on a device.

    Attributes
    ----------
    short : int32[n]
        Rows that the shape takes, longest first.
    place : slice or int32[n]
        The same, as a slice if they are neighbors.
    long, empty : int32[n]
        Rows that are too long for it, and those without residues.
    longest : int
        Residues of the longest row that the shape takes.
    buffers : tuple
        Interleaved words, bases and lengths.
    """

    short: Rows
    place: slice | Rows
    long: Rows
    empty: Rows
    longest: int
    buffers: tuple[Buffer, ...]


def strip_layout(session: KernelSession, batch: SequenceBatch, n_items: int) -> StripLayout:
    """Return the layout of a batch for this many work-items, made once a batch."""

    def make() -> StripLayout:
        lengths = batch.lengths
        mean_share = float(lengths.sum()) / n_items
        limit = int(min(max(LONG_SHARE * mean_share, MIN_LONG), MAX_LONG))
        is_sorted = bool((lengths[1:] <= lengths[:-1]).all())
        order: Rows = np.arange(len(batch), dtype=np.int32)
        if not is_sorted:
            order = longest_first(lengths).astype(np.int32)
        n_long, n_filled = int((lengths > limit).sum()), int((lengths > 0).sum())
        short = order[n_long:n_filled]
        of_short = np.ascontiguousarray(lengths[short], np.int32)
        n_words = -(-of_short[::32].astype(np.int64) // 4) * 32
        bases = np.cumsum(n_words) - n_words
        words = session.allocate(4 * int(n_words.sum()))
        buffers = (words, session.upload(bases.astype(np.uint32)), session.upload(of_short))
        if len(short):
            session.launch(
                "viterbi_item", "interleave", {}, *one_each(session.device, len(short)),
                *session.residues(batch), session.upload(short), np.uint32(len(short)), buffers[1], words,
            )  # fmt: skip
        longest = int(of_short.max(initial=0))
        place = slice(n_long, n_filled) if is_sorted else short
        return StripLayout(short, place, order[:n_long], order[n_filled:], longest, buffers)

    return session.cached(f"strips of {n_items}", batch, make)


def strips_pay(session: KernelSession, batch: SequenceBatch, model: IntegerProfile) -> bool:
    """Return whether the `item` shape can take this model and is the faster one for this batch."""
    tuning = ViterbiTuning.of(session.device)
    if len(batch) < tuning.strip_least * session.device.n_compute_units:
        return False
    return can_strip(session, model)


def can_strip(session: KernelSession, model: IntegerProfile) -> bool:
    """Return whether the `item` shape serves this model."""
    scores = reweighted_scores(session, model)
    return scores is not None and scores.fits_16_bits


def start_item(
    session: KernelSession, batch: SequenceBatch, model: IntegerProfile, choices: Choices
) -> Callable[[], Values]:
    """Start the column strips; long sequences, and those for which J mattered, go to the `lanes` shape."""
    scores = reweighted_scores(session, model)
    assert scores is not None, "ask can_strip first"
    tuning = ViterbiTuning.of(session.device)
    group = choices.get("GROUP", min(tuning.strip_group, session.device.max_work_group))
    n_groups = session.device.n_compute_units * tuning.strip_groups
    layout = strip_layout(session, batch, n_groups * group)
    queue = session.cached("second queue", EVERYTHING, session.second_queue)
    fetch_long = start_lanes(queue, batch, model, _for_long(scores), layout.long) if len(layout.long) else None
    fetch_short = _start_strips(session, model, scores, layout, n_groups, {**choices, "GROUP": group})

    def collect() -> Values:
        values = np.empty(len(batch), np.int32)
        best = fetch_short()
        again = layout.short[np.flatnonzero(best > scores.single)]
        fetch_again = _repair(session, batch, model, _lanes(session, model), again) if len(again) else None
        values[layout.place] = best
        values += np.int32(scores.leave)
        values[layout.empty] = empty_score(model)
        if fetch_again is not None:
            values[again] = fetch_again()
        if fetch_long is not None:
            values[layout.long] = fetch_long()
            session.join(queue)
        return values

    return collect


def _for_long(scores: ReweightedScores) -> dict[str, int]:
    """Return the form of the `lanes` shape for long sequences: J plays a part in most of them if a model is easily met.

    Then the skewed form, though faster, would be followed by the plain one.
    """
    is_easily_met = scores.is_local or len(scores.begin) < EASY_NODES
    return {"PLAIN": 1} if is_easily_met else {"BLOCK": LONG_BLOCK}


def _start_strips(
    session: KernelSession,
    model: IntegerProfile,
    scores: ReweightedScores,
    layout: StripLayout,
    n_groups: int,
    choices: Choices,
) -> Callable[[], Values]:
    n = len(layout.short)
    if n == 0:
        return lambda: np.empty(0, np.int32)
    device = session.device
    most = choices.get("NODES", ViterbiTuning.of(device).strip_nodes)
    n_strips = -(-model.length // most)
    nodes = -(-model.length // n_strips)
    defines = {
        "COMPUTE_CAPABILITY": device.compute_capability, **choices, "NODES": nodes, "ONE_STRIP": int(n_strips == 1),
    }  # fmt: skip
    group = defines["GROUP"]
    n_groups = min(n_groups, -(-n // group))
    depth = layout.longest + 2 * STRIP_ROWS
    edges = session.scratch("edges", 8 * (n_groups * depth * group if n_strips > 1 else 1))
    best = session.results(4 * n)
    session.launch(
        "viterbi_item", "viterbi_score", defines, n_groups * group, group,
        *layout.buffers, np.uint32(n), *strip_tables(session, model, scores, nodes), np.uint32(n_strips),
        np.int32(scores.begin[0] + scores.start), edges, np.uint32(depth), session.zeros(4), best,
    )  # fmt: skip
    fetch = session.fetch(best, n, np.int32)
    return lambda: _possible(session, fetch())

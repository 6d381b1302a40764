"""HMMER3's Viterbi filter with 16-bit scores, on any device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import LOCAL_SHARE, lane_backend, lanes_group, room_for, stepped
from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, Tables
from clalign.stages.hmmer3.model_groups import Form, Together, geometry_on, together
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.stages.hmmer3.viterbi_filter_pairs import MAX_RESIDUES, PairSteps, pairs_of, skewed_tables
from clalign.stages.hmmer3.viterbi_filter_tables import lanes_tables, merges_steps, striped_tables
from clalign.values.alphabets import N_CODES
from clalign.values.devices import Device
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch

Choices = Mapping[str, int]

VECTOR_LANES = 16

FEW_VECTORS = 4
"""Rows of no more vectors are short: kernels are compiled for exactly their number."""

COMMON_VECTORS = 128
"""Longer rows of up to this many vectors share a program."""

LANES_GROUP = 128
"""Work-items of a GPU that share a table in local memory."""

PIECE_SHARE = 1.5
"""Length of the pieces of long sequences in units of their overlap."""

MIN_PIECE = 768
"""Shorter sequences are not cut."""

MAX_PAIR_NODES = 20
"""Nodes a lane of the form for two sequences; its state and its steps take 8 registers each."""

SHARING = ((120, 8, 4), (160, 8, 2), (16 * MAX_PAIR_NODES, 16, 2), (32 * MAX_PAIR_NODES, 32, 2))
"""Models of up to this many nodes; lanes that share two sequences; residues that these take at once.

Fewer lanes waste less on what each does beside its nodes, and more let long sequences end sooner.
"""

ANY_LANES = (1, 3)
"""Backends of ``common/lanes.h`` with which several groups of lanes run in step."""


class ViterbiFilterStage(ScoringStage):
    """The Viterbi filter's score of every sequence of a batch in nats; exact on every device."""

    name = "viterbi_filter"
    entry = "viterbi_filter"

    def _score(self, codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Check) -> float:
        from clalign.reference.viterbi_filter import viterbi_filter_score

        return viterbi_filter_score(codes, profile, check)

    def _terms(self, terms: LengthBuffers) -> tuple[Buffer, ...]:
        return (terms.word_move,)

    def _form(self, session: KernelSession, profile: LocalProfile) -> Form:
        lanes = self.defines.get("LANES", VECTOR_LANES)
        vectors = -(-profile.length // lanes)
        plain = bool(self.defines.get("PLAIN", not merges_steps(session, profile)))
        fixed = vectors <= FEW_VECTORS
        room = vectors if fixed else room_for(vectors, COMMON_VECTORS)
        defines = {"LANES": lanes, "VECTORS": room, "FIXED": int(fixed), "PLAIN": int(plain), **self.defines}
        make = partial(striped_tables, session, lanes, plain)
        return Form(defines, f"striped words {lanes} {plain}", make, vectors)

    def enqueue(
        self, session: KernelSession, batch: SequenceBatch, profiles: Sequence[LocalProfile], chosen: RowList,
        terms: LengthBuffers,
    ) -> Buffer:  # fmt: skip
        if self.shape_on(session.device) == "vector":
            return super().enqueue(session, batch, profiles, chosen, terms)
        scores = session.allocate(4 * chosen.room)
        rows = _Rows(batch, *session.residues(batch), terms.word_move, chosen, scores)
        _launch_lanes(session, profiles, rows, self.defines)
        return scores


VITERBI_FILTER = ViterbiFilterStage()


class _Rows(Struct, frozen=True):
    """The rows of a batch that are to be scored, on a device, and where their scores go."""

    batch: SequenceBatch
    codes: Buffer
    offsets: Buffer
    moves: Buffer
    chosen: RowList
    scores: Buffer

    @property
    def head(self) -> tuple[Argument, ...]:
        """The first arguments of most kernels."""
        return self.codes, self.offsets, self.moves, *self.chosen.arguments


def _launch_lanes(session: KernelSession, profiles: Sequence[LocalProfile], rows: _Rows, choices: Choices) -> None:
    """Enqueue the shape for GPUs: two sequences at once first, then what is left."""
    chosen, n_models = rows.chosen, rows.chosen.n_models
    is_passing = chosen.chosen is not None or "NODES" in choices
    numbers = range(len(profiles)) if chosen.chosen is None else chosen.chosen
    pairs_of_each = {number: _forms(session, profiles[number], choices)[0] for number in numbers}
    in_pairs = {number: _pieces_of(pairs) for number, pairs in pairs_of_each.items() if pairs is not None}
    n_cut = session.cached("residues that may be cut", rows.batch, lambda: _n_cut(rows.batch))
    more = [n_cut // (longest - reach) for reach, longest in in_pairs.values() if longest > reach]
    n_pieces = chosen.most + max(more, default=0)
    counters, again = session.zeros(16 * n_models), session.allocate(4 * chosen.room)
    pieces = spans = again  # not looked at where nothing was cut
    if in_pairs:
        pieces, spans = session.allocate(16 * n_pieces * n_models), session.allocate(8 * chosen.room)
        groups = together(session, profiles, partial(_form_of_pairs, session, choices), [*in_pairs], is_passing)
        cut = _Cut(counters, pieces, n_pieces, spans, session.allocate(4 * chosen.room), again)
        for group in groups:
            _launch_skewed(session, rows, group, cut)
    geometry = geometry_on(session.device, "lanes", chosen.most)
    for group in together(session, profiles, partial(_form_of_others, session, choices), chosen.chosen, is_passing):
        session.launch(
            "viterbi_filter_lanes", "viterbi_filter", group.defines, *geometry(group),
            *rows.head, *group.arguments, counters, pieces, np.uint32(n_pieces), spans, again, rows.scores,
        )  # fmt: skip


def _n_cut(batch: SequenceBatch) -> int:
    """Return the residues of those sequences of a batch that may be cut into pieces."""
    lengths = batch.lengths
    return int(lengths[(lengths > MIN_PIECE) & (lengths <= MAX_RESIDUES)].sum())


def _forms(
    session: KernelSession, profile: LocalProfile, choices: Choices
) -> tuple[PairSteps | None, dict[str, int], dict[str, int]]:
    """Return the scores for two sequences at once, if they suit, and the macros of that form and of the other one."""
    device, given = session.device, dict(choices)
    plain = given.pop("PLAIN", 0)  # asks for the form that serves every model
    backend = lane_backend(device)
    of_pairs = _macros(device, profile, {**backend, **sharing(backend, profile.length), **given, "SKEWED": 1})
    pairs = None if plain or of_pairs["NODES"] > MAX_PAIR_NODES else pairs_of(session, profile)
    return pairs, of_pairs, _macros(device, profile, {**backend, **given, "ALL": int(pairs is None)})


def _form_of_pairs(session: KernelSession, choices: Choices, profile: LocalProfile) -> Form:
    """Return the skewed form of a model; the tables of an unsuitable one are empty."""

    def make(one: LocalProfile) -> Tables:
        pairs, defines, _ = _forms(session, one, choices)
        return skewed_tables(pairs, one.length, defines["LANES"], defines["NODES"])

    pairs, defines, _ = _forms(session, profile, choices)
    assert pairs is not None
    reach, longest = _pieces_of(pairs)
    numbers = tuple(map(np.int32, (pairs.begin, pairs.least, reach, pairs.trusted, longest)))
    return Form(defines, f"skewed words {choices}", make, numbers=numbers)


def _form_of_others(session: KernelSession, choices: Choices, profile: LocalProfile) -> Form:
    """Return the general form of a model."""

    def make(one: LocalProfile) -> Tables:
        _, _, defines = _forms(session, one, choices)
        return lanes_tables(session, defines["LANES"], defines["NODES"], one)

    _, _, defines = _forms(session, profile, choices)
    return Form(defines, f"word lanes {choices}", make)


def _pieces_of(pairs: PairSteps) -> tuple[int, int]:
    """Return the overlap of the pieces of long sequences and their greatest length, in residues."""
    reach = pairs.longest_alignment
    longest = MAX_RESIDUES if reach is None else max(MIN_PIECE, int(PIECE_SHARE * reach))
    if reach is None or longest >= MAX_RESIDUES:
        return MAX_RESIDUES, MAX_RESIDUES  # nothing is cut
    return reach, longest


def sharing(backend: Choices, n_nodes: int) -> dict[str, int]:
    """Return how lanes share two sequences; where their number is not free, how many residues they take at once."""
    lanes, block = next(((lanes, block) for most, lanes, block in SHARING if n_nodes <= most), SHARING[-1][1:])
    return {"BLOCK": block} | ({"LANES": lanes} if backend["LANE_BACKEND"] in ANY_LANES else {})


def _macros(device: Device, profile: LocalProfile, choices: Choices) -> dict[str, int]:
    """Return the macros of one of the two forms, given those that are settled."""
    lanes, nodes = choices["LANES"], choices.get("NODES", nodes_of(profile.length, choices))
    needed = 16 * N_CODES * -(-nodes // 8) * lanes if choices.get("SKEWED") else 32 * nodes * lanes
    return {
        "NODES": nodes,
        "GROUP": lanes_group(device, choices, LANES_GROUP),
        "LOCAL_TABLE": int(needed <= LOCAL_SHARE * device.local_bytes - 4 * lanes),
        **choices,
    }


def nodes_of(length: int, choices: Choices) -> int:
    """Return the nodes a lane of a form, in steps: few programs serve models of all lengths.

    Two by two for two sequences, where most of the time goes; the other form sees few sequences, unless it takes all.
    """
    lanes = choices["LANES"]
    least = -(-length // lanes)
    if not choices.get("SKEWED"):
        return stepped(least) if choices.get("ALL") else 1 << (least - 1).bit_length()
    most = next(
        (most // lanes for most, of, block in SHARING if of == lanes and block == choices.get("BLOCK")), MAX_PAIR_NODES
    )
    return min(least + least % 2, max(most, least))


class _Cut(Struct, frozen=True):
    """The buffers of the skewed form; see the kernel."""

    counters: Buffer
    pieces: Buffer
    n_pieces: int
    spans: Buffer
    bests: Buffer
    again: Buffer


def _launch_skewed(session: KernelSession, rows: _Rows, group: Together, cut: _Cut) -> None:
    """Enqueue the form for two sequences: cut them, score the pieces, and see which sequences are left."""
    geometry = geometry_on(session.device, "lanes", -(-cut.n_pieces // 2))(group)

    def start(entry: str, *arguments: Argument) -> None:
        session.launch("viterbi_filter_lanes", entry, group.defines, *geometry, *arguments)

    models, of_pieces = group.arguments[:2], (cut.counters, cut.pieces, np.uint32(cut.n_pieces))
    start("cut", rows.offsets, *rows.chosen.arguments, *models, *of_pieces, cut.spans, cut.bests)
    start("viterbi_filter_skewed", *rows.head, *group.arguments, *of_pieces, cut.bests)
    start(
        "finish", rows.offsets, rows.moves, *rows.chosen.arguments, *models, *of_pieces, cut.spans, cut.bests,
        cut.again, rows.scores,
    )  # fmt: skip

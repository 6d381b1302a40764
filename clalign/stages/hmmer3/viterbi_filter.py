"""HMMER3's Viterbi filter with 16-bit scores, on any device."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import (
    LOCAL_SHARE,
    Geometry,
    in_groups,
    lane_backend,
    lanes_group,
    one_a_core,
    room_for,
    stepped,
)
from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, nothing_to_check
from clalign.stages.hmmer3.model_groups import Form, launch
from clalign.stages.hmmer3.row_lists import LengthBuffers, RowList, ScoringStage
from clalign.stages.hmmer3.viterbi_filter_pairs import LONGEST, PairSteps, pairs_of, skewed_tables
from clalign.stages.hmmer3.viterbi_filter_tables import (
    lanes_tables,
    merges_steps,
    striped_tables,
)
from clalign.values.alphabets import N_CODES
from clalign.values.devices import Device
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch

Scores = npt.NDArray[np.float32]

Choices = Mapping[str, int]

VECTOR_LANES = 16

FEW_VECTORS = 4
"""Rows of so many vectors are short: kernels are compiled for just their number."""

COMMON_VECTORS = 128
"""Longer rows of up to so many vectors share a program."""

LANES_GROUP = 128
"""Work-items of a GPU that share a table in local memory."""

PIECE_SHARE = 1.5
"""Pieces of long sequences are so many times as long as their overlap."""

LEAST_PIECE = 768
"""Shorter sequences are not cut."""

MOST_PAIR_NODES = 20
"""Nodes a lane of the form for two sequences; its state and its steps take 8 registers each."""

SHARING = ((120, 8, 4), (160, 8, 2), (16 * MOST_PAIR_NODES, 16, 2), (32 * MOST_PAIR_NODES, 32, 2))
"""Models of up to so many nodes; lanes that share two sequences; residues that these take at once.

Fewer lanes waste less on what each does beside its nodes, and more let long sequences end sooner.
"""

ANY_LANES = (1, 3)
"""Backends of ``common/lanes.h`` with which several groups of lanes run in step."""

VARIANTS: dict[str, tuple[dict[str, object], ...]] = {
    "viterbi_filter_lanes": (
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3},
        {"NODES": 50, "GROUP": 128, "LANE_BACKEND": 3, "LOCAL_TABLE": 0, "ALL": 1},
        {"NODES": 7, "GROUP": 128, "LANE_BACKEND": 3, "SKEWED": 1},
        {"NODES": 8, "GROUP": 128, "LANE_BACKEND": 3, "LANES": 8, "BLOCK": 2, "SKEWED": 1},
        {"NODES": 20, "GROUP": 64, "LANE_BACKEND": 3, "SKEWED": 1, "LOCAL_TABLE": 0},
        {"NODES": 1, "LANE_BACKEND": 0, "SKEWED": 1},
    ),
    "viterbi_filter_vector": ({"LANES": 32, "VECTORS": 3, "FIXED": 1}, {"VECTORS": 8, "PLAIN": 1, "SEQUENCES": 1}),
}
"""Choices that are compiled for other vendors in the tests."""


class ViterbiFilterStage(ScoringStage):
    """The Viterbi filter's score of every sequence of a batch in nats; exact on every device."""

    name = "viterbi_filter"

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = nothing_to_check) -> Scores:
        """Score the batch with the plain reference."""
        from clalign.reference.viterbi_filter import viterbi_filter_score

        offsets = batch.offsets
        values = [viterbi_filter_score(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]
        return np.array(values, np.float32)

    def enqueue(
        self,
        session: KernelSession,
        batch: SequenceBatch,
        profiles: Sequence[LocalProfile],
        chosen: RowList,
        terms: LengthBuffers,
    ) -> Buffer:
        """Enqueue the kernels for the chosen rows; return the buffer that gets their scores (float32[chosen.room])."""
        scores = session.allocate(4 * chosen.room)
        codes, offsets = session.residues(batch)
        rows = _Rows(batch, codes, offsets, terms.word_move, chosen, scores)
        if self.shape_on(session.device) == "vector":
            launch_vector(session, profiles, rows, self.defines)
        else:
            (profile,) = profiles
            launch_lanes(session, profile, rows, self.defines)
        return scores


def launch_vector(session: KernelSession, profiles: Sequence[LocalProfile], rows: _Rows, choices: Choices) -> None:
    """Enqueue the shape for CPUs."""
    lanes = choices.get("LANES", VECTOR_LANES)

    def form_of(profile: LocalProfile) -> Form:
        vectors = -(-profile.length // lanes)
        plain = bool(choices.get("PLAIN", not merges_steps(session, profile)))
        fixed = vectors <= FEW_VECTORS
        room = vectors if fixed else room_for(vectors, COMMON_VECTORS)
        defines = {"LANES": lanes, "VECTORS": room, "FIXED": int(fixed), "PLAIN": int(plain), **choices}
        make = partial(striped_tables, session, lanes, plain)
        return Form(defines, f"striped words {lanes} {plain}", make, vectors)

    launch(
        session, ("viterbi_filter_vector", "viterbi_filter"), one_a_core(session.device), profiles, form_of,
        (*rows.head, np.uint32(rows.chosen.most)), (rows.scores,), rows.chosen.chosen,
    )  # fmt: skip


class _Rows(Struct, frozen=True):
    """The rows of a batch that are to be scored, on a device, and where their scores go."""

    batch: SequenceBatch
    codes: Buffer
    offsets: Buffer
    moves: Buffer
    chosen: RowList
    scores: Buffer

    @property
    def head(self) -> tuple[Buffer, ...]:
        """What most kernels begin with."""
        return self.codes, self.offsets, self.moves, self.chosen.rows, self.chosen.count


def launch_lanes(session: KernelSession, profile: LocalProfile, rows: _Rows, choices: Choices) -> None:
    """Enqueue the shape for GPUs: two sequences at once first, then what is left."""
    pairs, of_pairs, form = _forms(session, profile, choices)
    counters, again = session.zeros(16), session.allocate(4 * rows.chosen.most)
    pieces = spans = again  # not looked at where nothing was cut
    if pairs is not None:
        tables = skewed_tables(
            session, profile, f"{choices}", partial(_layout_of_pairs, session, choices), bool(choices)
        )
        pieces, spans = _launch_skewed(session, rows, of_pairs, pairs, tables, (counters, again))
    tables = lanes_tables(session, profile, f"{choices}", partial(_layout, session, choices), bool(choices))
    session.launch(
        "viterbi_filter_lanes", "viterbi_filter", form, *_geometry(session.device, form, rows.chosen.most),
        *rows.head, counters, again, pieces, spans, *tables, rows.scores,
    )  # fmt: skip


def _forms(
    session: KernelSession, profile: LocalProfile, choices: Choices
) -> tuple[PairSteps | None, dict[str, int], dict[str, int]]:
    """Return the scores for two sequences at once, if they suit, and the macros of that form and of the other one."""
    device, given = session.device, dict(choices)
    plain = given.pop("PLAIN", 0)  # asks for the form that serves every model
    backend = lane_backend(device)
    of_pairs = _form(device, profile, {**backend, **sharing(backend, profile.length), **given, "SKEWED": 1})
    pairs = None if plain or of_pairs["NODES"] > MOST_PAIR_NODES else pairs_of(session, profile)
    return pairs, of_pairs, _form(device, profile, {**backend, **given, "ALL": int(pairs is None)})


def _layout_of_pairs(session: KernelSession, choices: Choices, profile: LocalProfile) -> tuple[int, int]:
    pairs, form, _ = _forms(session, profile, choices)
    return (form["LANES"], form["NODES"]) if pairs is not None else (0, 0)


def _layout(session: KernelSession, choices: Choices, profile: LocalProfile) -> tuple[int, int]:
    _, _, form = _forms(session, profile, choices)
    return form["LANES"], form["NODES"]


def sharing(backend: Choices, n_nodes: int) -> dict[str, int]:
    """Return how lanes share two sequences; where their number is not free, how many residues they take at once."""
    lanes, block = next(((lanes, block) for most, lanes, block in SHARING if n_nodes <= most), SHARING[-1][1:])
    return {"BLOCK": block} | ({"LANES": lanes} if backend["LANE_BACKEND"] in ANY_LANES else {})


def _form(device: Device, profile: LocalProfile, choices: Choices) -> dict[str, int]:
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
        (most // lanes for most, of, block in SHARING if of == lanes and block == choices.get("BLOCK")), MOST_PAIR_NODES
    )
    return min(least + least % 2, max(most, least))


def _geometry(device: Device, form: Choices, n_turns: int) -> Geometry:
    """Return how many work-items are to take so many turns, and how many of them are a work-group."""
    return in_groups(device, form["GROUP"], -(-n_turns // (form["GROUP"] // form["LANES"])))


def _launch_skewed(
    session: KernelSession,
    rows: _Rows,
    form: Choices,
    pairs: PairSteps,
    tables: Sequence[Buffer],
    left: tuple[Buffer, Buffer],
) -> tuple[Buffer, Buffer]:
    """Enqueue the form for two sequences: cut them, score the pieces, and see which sequences are left.

    `left` is for the counters and the list of those. Returns the buffers of the pieces and of each place's span of
    them.
    """
    counters, again = left
    reach = pairs.longest_alignment
    longest = LONGEST if reach is None else max(LEAST_PIECE, int(PIECE_SHARE * reach))
    if reach is None or longest >= LONGEST:
        reach = longest = LONGEST  # nothing is cut
    most = rows.chosen.most
    most_pieces = most + (rows.batch.n_cells(1) // (longest - reach) if longest > reach else 0)
    pieces, spans, bests = (session.allocate(n_bytes) for n_bytes in (16 * most_pieces, 8 * most, 4 * most))
    geometry = _geometry(session.device, form, -(-most_pieces // 2))

    def launch(entry: str, *arguments: Argument) -> None:
        session.launch("viterbi_filter_lanes", entry, form, *geometry, *arguments)

    least, listed = np.int32(pairs.least), (rows.chosen.rows, rows.chosen.count)
    launch(
        "cut", rows.offsets, *listed, np.int32(reach), np.int32(longest), least,
        counters, pieces, spans, bests,
    )  # fmt: skip
    launch(
        "viterbi_filter_skewed", rows.codes, rows.offsets, rows.moves, *listed, pieces, counters,
        *tables, np.int32(pairs.begin), least, np.int32(reach), np.int32(pairs.trusted), bests,
    )  # fmt: skip
    launch(
        "finish", rows.offsets, rows.moves, *listed, least, counters, pieces, spans, bests, again, rows.scores,
    )  # fmt: skip
    return pieces, spans


VITERBI_FILTER = ViterbiFilterStage()

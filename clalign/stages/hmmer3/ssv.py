"""SSV on a device: the best ungapped alignment of every sequence of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import one_each, spread
from clalign.compute.sessions import Buffer, Check, KernelSession, Stage, Tables, no_check
from clalign.stages.hmmer3.model_groups import Form, Together, geometry_on, launch, node_tables, together
from clalign.stages.hmmer3.ssv_tuning import SsvTuning
from clalign.values.alphabets import N_CODES, Alphabet, code_of
from clalign.values.local_profiles import LocalProfile, ProfileShelf, byte_scores
from clalign.values.local_scores import MAX_COST, members_of
from clalign.values.sequences import SequenceBatch, longest_first

Extremes = npt.NDArray[np.int32]
Choices = Mapping[str, int]

UNSCORED_LETTER = 255
"""Class of letters that the table of pairs has no place for; few sequences have them."""

MAX_EXTREME = 255
"""HMMER's bytes have overflowed from here on."""


MAX_EDGES = 2**27
"""Limit of the bytes at the edges of strips of several models; a single one has what it needs."""


class SsvCells(Struct, frozen=True):
    """The best cells of a batch on a device.

    Attributes
    ----------
    extremes : buffer of int32[n_models, n]
        Best cell + 256 of each sequence; from 255 on they need not be exact.
    unscored : buffer of int32[n]
        1 for sequences that were not scored, since they hold rare letters.
    """

    extremes: Buffer
    unscored: Buffer


def biased_scores_of(session: KernelSession, profile: LocalProfile) -> npt.NDArray[np.int8]:
    """Return bias less cost of each letter at each node (int8[N_CODES, M])."""
    return node_tables(session, "biased scores", profile, _biased_scores)[0]


def _biased_scores(shelf: ProfileShelf) -> tuple[npt.NDArray[np.int8]]:
    costs, bias, _ = shelf.byte_scores
    of_node = bias.astype(np.int16)[shelf.owner]
    scores = np.full(costs.shape, -MAX_COST, np.int8)
    for code in shelf.codes:
        scores[code] = np.maximum(of_node - costs[code], -MAX_COST)
    if len(unmatched := np.setdiff1d(np.arange(len(costs)), shelf.codes)):
        scores[unmatched] = np.maximum(of_node - costs[unmatched[0]], -MAX_COST)
    return (scores,)


class SsvStage(Stage[SequenceBatch, LocalProfile, Extremes]):
    """Best cell + 256 of SSV of every sequence of a batch, `MAX_EXTREME` at most; exact."""

    name = "ssv"
    gpu_shape = "item"

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = no_check) -> Extremes:
        from clalign.reference.ssv import ssv_extreme

        scores = byte_scores(model)
        values = np.empty(len(batch), np.int32)
        for row in range(len(batch)):
            check()
            values[row] = min(ssv_extreme(batch.residues(row), scores), MAX_EXTREME)
        return values

    def start(self, session: KernelSession, batch: SequenceBatch, model: LocalProfile) -> Callable[[], Extremes]:
        """Start scoring the batch; rows that the shape leaves out get 0."""
        if len(batch) == 0:
            return lambda: np.empty(0, np.int32)
        cells = self.enqueue(session, batch, [model])
        extremes = session.fetch(cells.extremes, len(batch), np.int32)
        unscored = session.fetch(cells.unscored, len(batch), np.int32)
        return lambda: np.where(unscored() | (batch.lengths == 0), 0, np.minimum(extremes(), MAX_EXTREME))

    def enqueue(self, session: KernelSession, batch: SequenceBatch, profiles: Sequence[LocalProfile]) -> SsvCells:
        """Enqueue the kernels on a batch that is not empty, with profiles of one alphabet, at least one."""
        enqueue = _enqueue_vector if self.shape_on(session.device) == "vector" else _enqueue_item
        return enqueue(session, batch, profiles, self.defines)


SSV = SsvStage()


def _enqueue_vector(
    session: KernelSession, batch: SequenceBatch, profiles: Sequence[LocalProfile], choices: Choices
) -> SsvCells:
    tuning = SsvTuning.of(session.device)

    def form_of(profile: LocalProfile) -> Form:
        lanes = _vector_lanes(tuning, profile, choices)
        vectors = -(-profile.length // lanes)
        sequences = tuning.sequences if vectors <= tuning.few_vectors else 1
        defines = {"LANES": lanes, "VECTORS": vectors, "SEQUENCES": sequences, **choices}
        return Form(defines, f"ssv scores {dict(choices)}", make, vectors)

    def make(one: LocalProfile) -> Tables:
        lanes = _vector_lanes(tuning, one, choices)
        vectors = -(-one.length // lanes)
        return [spread(biased_scores_of(session, one), lanes, vectors, -MAX_COST).transpose(0, 2, 1)]

    n = len(batch)
    extremes = session.allocate(4 * n * len(profiles))
    geometry = geometry_on(session.device, "vector", n)
    launch(
        session, ("ssv_vector", "ssv_score"), geometry, together(session, profiles, form_of),
        (*session.residues(batch), np.uint32(n)), (extremes,),
    )  # fmt: skip
    return SsvCells(extremes, session.cached("nothing unscored", batch, lambda: session.zeros(4 * n)))


def _vector_lanes(tuning: SsvTuning, profile: LocalProfile, choices: Choices) -> int:
    narrow, wide = tuning.narrow_nodes, tuning.wide_nodes
    return choices.get("LANES", 16 if profile.length <= narrow else 32 if profile.length < wide else 64)


def letter_classes(alphabet: Alphabet) -> npt.NDArray[np.uint8]:
    """Return the class of each letter code (uint8[N_CODES]).

    The residues, the letter for any of them, and one class for all that cannot be matched. Letters for two
    or three residues have none.
    """
    members = members_of(alphabet)
    classes = np.full(N_CODES, UNSCORED_LETTER, np.uint8)
    for number, letter in enumerate(alphabet.canonical):
        classes[code_of(letter)] = number
    for code, stands_for in enumerate(members):
        if len(stands_for) == alphabet.size:
            classes[code] = alphabet.size
        elif not stands_for:
            classes[code] = alphabet.size + 1
        elif len(stands_for) == 1:
            classes[code] = stands_for[0]
    return classes


class PairLayout(Struct, frozen=True):
    """A batch cut into pieces and laid out pair by pair, on a device.

    Attributes
    ----------
    n_pieces, longest : int
    words, bases, lengths, targets : buffer
        See the kernel.
    unscored : buffer of int32[n]
    """

    n_pieces: int
    longest: int
    words: Buffer
    bases: Buffer
    lengths: Buffer
    targets: Buffer
    unscored: Buffer


def pieces_of(
    offsets: npt.NDArray[np.int32], overlap: int, longest: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Cut sequences into pieces that overlap, longest piece first.

    Returns
    -------
    starts, lengths, targets : int32[n_pieces]
        Where each begins, how long it is, and the sequence it is of.
    """
    totals = np.diff(offsets)
    step = longest - overlap
    whole = np.flatnonzero((totals > 0) & (totals <= longest)).astype(np.int32)  # most of them
    cut = np.flatnonzero(totals > longest).astype(np.int32)
    counts = -(-(totals[cut] - overlap) // step)
    owners = np.repeat(cut, counts)
    place = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    before = (place * step).astype(np.int32)
    targets = np.concatenate([owners, whole])
    lengths = np.concatenate([np.minimum(np.int32(longest), totals[owners] - before), totals[whole]])
    starts = np.concatenate([offsets[owners] + before, offsets[whole]])
    order = longest_first(lengths)
    return starts[order], lengths[order], targets[order]


def _pair_layout(
    session: KernelSession, batch: SequenceBatch, profiles: Sequence[LocalProfile], classes: npt.NDArray[np.uint8]
) -> PairLayout:
    """Return the layout of a batch for models of at most the length of these, made once per batch."""
    tuning = SsvTuning.of(session.device)
    overlap = max(tuning.least_overlap, 1 << (max(profile.length for profile in profiles) - 1).bit_length())
    alphabet = profiles[0].hmm.alphabet

    def make() -> PairLayout:
        n = len(batch)
        starts, lengths, targets = pieces_of(batch.offsets, overlap, tuning.piece_share * overlap)
        n_words = -(-lengths[::64].astype(np.int64) // 4) * 32
        words = session.allocate(8 * int(n_words.sum()))
        bases = session.upload((np.cumsum(n_words) - n_words).astype(np.uint32))
        buffers = session.upload(lengths), session.upload(targets)
        unscored = session.zeros(4 * n)
        if len(starts):
            session.launch(
                "ssv_item", "lay_out", {"CLASSES": alphabet.size + 2}, *one_each(session.device, -(-len(starts) // 2)),
                session.residues(batch)[0], session.upload(classes), session.upload(starts), *buffers,
                np.uint32(len(starts)), bases, words, unscored,
            )  # fmt: skip
        return PairLayout(len(starts), int(lengths.max(initial=0)), words, bases, *buffers, unscored)

    kind = "nucleic" if alphabet.is_nucleic else "amino"
    return session.cached(f"{kind} pairs {overlap}", batch, make)


def _strips(length: int, most: int) -> tuple[int, int]:
    """Return the number of strips of a model, and their nodes, an even number."""
    n_strips = -(-length // most)
    nodes = -(-length // n_strips)
    return n_strips, nodes + nodes % 2


def _enqueue_item(
    session: KernelSession, batch: SequenceBatch, profiles: Sequence[LocalProfile], choices: Choices
) -> SsvCells:
    device, tuning, alphabet = session.device, SsvTuning.of(session.device), profiles[0].hmm.alphabet
    classes, n_classes = letter_classes(alphabet), alphabet.size + 2
    most = choices.get("NODES", tuning.nodes)
    numbers, letters = np.unique(classes, return_index=True)
    numbers, letters = numbers[numbers < n_classes - 1], letters[numbers < n_classes - 1]

    def scores_of(one: LocalProfile) -> Tables:
        biased_scores = np.full((math.prod(_strips(one.length, most)), n_classes), -MAX_COST, np.int8)
        biased_scores[: one.length, numbers] = biased_scores_of(session, one)[letters].T
        return [biased_scores]

    def form_of(profile: LocalProfile) -> Form:
        n_strips, nodes = _strips(profile.length, most)
        defines = {
            "COMPUTE_CAPABILITY": device.compute_capability, "GROUP": min(tuning.group, device.max_work_group),
            **choices, "CLASSES": n_classes, "NODES": nodes, "ONE_STRIP": int(n_strips == 1),
        }  # fmt: skip
        room = n_strips * n_classes**2 * nodes // 2
        return Form(defines, f"ssv classes {most}", scores_of, n_strips, room=room)

    extremes = session.zeros(4 * len(batch) * len(profiles))
    for group in together(session, profiles, form_of):
        layout = _pair_layout(session, batch, group.profiles, classes)
        _score_pairs(session, len(batch), layout, group, extremes)
    return SsvCells(extremes, layout.unscored)


def _score_pairs(session: KernelSession, n: int, layout: PairLayout, models: Together, extremes: Buffer) -> None:
    """Enqueue the kernel on some models and all pairs of pieces, after the tables of all pairs of letters."""
    if not layout.n_pieces:
        return
    defines, most_groups = models.defines, session.device.n_compute_units * SsvTuning.of(session.device).groups
    group, geometry = defines["GROUP"], geometry_on(session.device, "item", -(-models.room // len(models)))
    pairs = session.scratch("pairs of letters", 4 * models.room)
    session.launch("ssv_item", "pair_tables", defines, *geometry(models), *models.arguments, pairs)
    depth, of_one = -(-layout.longest // 4) * 4, min(most_groups, -(-layout.n_pieces // (2 * group)))
    n_groups = max(of_one, min(most_groups, of_one * len(models), MAX_EDGES // (4 * depth * group)))
    edges = session.scratch("edges", 4 if defines["ONE_STRIP"] else 4 * n_groups * depth * group)
    session.launch(
        "ssv_item", "ssv_score", defines, n_groups * group, group,
        layout.words, layout.bases, layout.lengths, layout.targets, np.uint32(layout.n_pieces), np.uint32(n),
        *models.arguments[:2], pairs, edges, np.uint32(depth), session.zeros(4), extremes,
    )  # fmt: skip

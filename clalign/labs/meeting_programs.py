"""The programs whose groups meet in the laboratory: what they work on, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from clalign.compute.group_barriers import GroupBarrier, Rounds
from clalign.compute.sessions import Check, KernelSession
from clalign.databases.examples import example_file
from clalign.databases.loading import load_database
from clalign.formats.matrices import DEFAULT_PROTEIN, load_matrix, usual_gaps
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.sync.bitonic_sort import BITONIC_SORT
from clalign.stages.sync.relay import RelayStage
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import Scoring
from clalign.values.sequences import SequenceBatch

Prepare = Callable[[KernelSession, GroupBarrier], tuple[Rounds, Callable[[int], bool]]]
"""Returns the rounds of a program, ready to begin, and a function that checks the groups that took part."""


class Program(Struct, frozen=True):
    """A program of the laboratory.

    Attributes
    ----------
    title, unit : str
        What it is, and what its size counts.
    sizes : mapping
        What it works on unless asked otherwise, by the kind of device.
    most : int
        The largest size.
    work : callable
        Returns what prepares the work of a size, from a seed; the last parameter is called often.
    """

    title: str
    unit: str
    sizes: Mapping[str, int]
    most: int
    work: Callable[[int, int, Check], Prepare]


def sorting(n: int, seed: int, check: Check) -> Prepare:
    """Return what sorts random keys, many of them twice or more."""
    keys = np.random.default_rng(seed).integers(0, max(2, n // 2), n, dtype=np.uint32)
    right = BITONIC_SORT.reference(keys, None, check)

    def prepare(session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        rounds, order = BITONIC_SORT.prepared(session, keys, how)
        return rounds, lambda n: np.array_equal(order()(), right)

    return prepare


def aligning(n: int, seed: int, check: Check) -> Prepare:
    """Return what finds the best local alignment of two sequences of proteins of Swiss-Prot, joined: the rounds fill
    the matrix, tiles along an anti-diagonal in each.
    """
    residues = load_database(example_file("swissprot_sample.fasta.gz"))[0].codes
    begin = int(np.random.default_rng(seed).integers(0, len(residues) - 2 * n))
    query, target = np.split(np.array(residues[begin : begin + 2 * n]), 2)
    batch = PairBatch.in_step(SequenceBatch.from_texts([query]), SequenceBatch.from_texts([target]))
    matrix = load_matrix(DEFAULT_PROTEIN)
    scoring = Scoring(matrix, usual_gaps(matrix)[0])
    right = LONG_PAIR.reference(batch, LongPairChoice(scoring), check)

    def prepare(session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        rounds, end = LONG_PAIR.prepared(session, batch, scoring, how)
        return rounds, lambda n: end() == (right.score, right.query_range[1], right.target_range[1])

    return prepare


def relaying(n_rounds: int, seed: int, check: Check) -> Prepare:
    """Return what passes numbers on from group to group and does little else."""

    def prepare(session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        stage = RelayStage(how)
        given = np.random.default_rng(seed).integers(0, 2**32, (how.n_groups, how.size), dtype=np.uint32)
        rounds, found = stage.prepared(session, given, n_rounds, how)
        return rounds, lambda n: np.array_equal(found(n), stage.reference(given[:n], n_rounds, check))

    return prepare


PROGRAMS: dict[str, Program] = {
    "sort": Program("bitonic sort", "keys", {"cpu": 1 << 14, "gpu": 1 << 17, "accelerator": 1 << 16}, 1 << 26, sorting),
    "sw": Program(
        "Smith-Waterman of one pair", "residues", {"cpu": 2000, "gpu": 8192, "accelerator": 8192}, 1 << 15, aligning
    ),
    "relay": Program("numbers passed on", "rounds", {"cpu": 50, "gpu": 200, "accelerator": 200}, 100_000, relaying),
}
"""By the name that is asked for."""

"""The programs whose groups meet in the laboratory: what they work on, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

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


class Work(Protocol):
    """What a program works on, with its right result."""

    def prepared(self, session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        """Return its rounds, ready to begin, and a function that checks the groups that took part."""


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
        Returns the work of a size, from a seed; the last parameter is called often.
    """

    title: str
    unit: str
    sizes: Mapping[str, int]
    most: int
    work: Callable[[int, int, Check], Work]


class Sorting:
    """Random keys, many of them twice or more."""

    def __init__(self, n: int, seed: int, check: Check) -> None:
        self._keys = np.random.default_rng(seed).integers(0, max(2, n // 2), n, dtype=np.uint32)
        self._order = BITONIC_SORT.reference(self._keys, None, check)

    def prepared(self, session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        """Return the rounds of the sort."""
        rounds, order = BITONIC_SORT.prepared(session, self._keys, how)
        return rounds, lambda n: np.array_equal(order()(), self._order)


class Aligning:
    """Two sequences of proteins of Swiss-Prot, joined, of which the best local alignment is found."""

    def __init__(self, n: int, seed: int, check: Check) -> None:
        residues = load_database(example_file("swissprot_sample.fasta.gz"))[0].codes
        begin = int(np.random.default_rng(seed).integers(0, len(residues) - 2 * n))
        query, target = np.split(np.array(residues[begin : begin + 2 * n]), 2)
        self._batch = PairBatch.in_step(SequenceBatch.from_texts([query]), SequenceBatch.from_texts([target]))
        matrix = load_matrix(DEFAULT_PROTEIN)
        self._scoring = Scoring(matrix, usual_gaps(matrix)[0])
        right = LONG_PAIR.reference(self._batch, LongPairChoice(self._scoring), check)
        self._end = right.score, right.query_range[1], right.target_range[1]

    def prepared(self, session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        """Return the rounds that fill the matrix, tiles along an anti-diagonal in each."""
        rounds, end = LONG_PAIR.prepared(session, self._batch, self._scoring, how)
        return rounds, lambda n: end() == self._end


class Relaying:
    """Rounds in which groups pass numbers on and do little else."""

    def __init__(self, n_rounds: int, seed: int, check: Check) -> None:
        self._n_rounds, self._seed, self._check = n_rounds, seed, check

    def prepared(self, session: KernelSession, how: GroupBarrier) -> tuple[Rounds, Callable[[int], bool]]:
        """Return the rounds."""
        stage = RelayStage(how)
        shape = (how.n_groups, how.size)
        given = np.random.default_rng(self._seed).integers(0, 2**32, shape, dtype=np.uint32)
        rounds, found = stage.prepared(session, given, self._n_rounds, how)
        return rounds, lambda n: np.array_equal(found(n), stage.reference(given[:n], self._n_rounds, self._check))


PROGRAMS: dict[str, Program] = {
    "sort": Program("bitonic sort", "keys", {"cpu": 1 << 14, "gpu": 1 << 17, "accelerator": 1 << 16}, 1 << 26, Sorting),
    "sw": Program(
        "Smith-Waterman of one pair", "residues", {"cpu": 2000, "gpu": 8192, "accelerator": 8192}, 1 << 15, Aligning
    ),
    "relay": Program("numbers passed on", "rounds", {"cpu": 50, "gpu": 200, "accelerator": 200}, 100_000, Relaying),
}
"""By the name that is asked for."""

"""Tuning of the SSV kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clalign.compute.geometry import Tuning, choice


@dataclass(frozen=True, slots=True)
class SsvTuning(Tuning):
    """Measured: NVIDIA (H200); of CPUs, two with AVX-512 (Zen 4, Intel).

    Attributes
    ----------
    nodes : int
        Most columns of a strip of the `item` shape; even. Tables of pairs of letters must fit into local memory: with
        proteins 38,724 bytes for 40 columns, 54,212 for 48.
    group : int
        A multiple of 32.
    least_overlap, piece_share : int
        Residues by which the pieces of long sequences overlap at least, and their length in overlaps.
    narrow_nodes, wide_nodes : int
        Rows of at most `narrow_nodes` use 16-byte vectors, rows of at least `wide_nodes` 64-byte ones, others 32-byte
        ones. Compilers split them where registers are smaller; but rows of few vectors are written out without a loop.
    few_vectors, sequences : int
        Rows of this many vectors are short: a core works on several sequences at once, as long as their rows
        fit into registers.
    """

    prefix: ClassVar[str] = "ssv."

    nodes: int = choice(24, "SSV: nodes per strip", 16, 24, 32, 40, 48, shape="item", nvidia=40)
    group: int = choice(64, "SSV: work-items per group", 32, 64, 128, 256, shape="item", nvidia=128)
    groups: int = choice(4, "SSV: groups per compute unit", 2, 4, 8, shape="item")
    least_overlap: int = choice(256, "SSV: residues that pieces overlap at least")
    piece_share: int = choice(3, "SSV: overlaps per piece")
    narrow_nodes: int = choice(48, "SSV: nodes up to which vectors are narrow")
    wide_nodes: int = choice(513, "SSV: nodes from which on vectors are wide", avx512=257)
    few_vectors: int = choice(4, "SSV: vectors of a short row")
    sequences: int = choice(2, "SSV: sequences at once for short rows", 1, 2, 3, shape="vector")

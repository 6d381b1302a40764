"""Tuning of the kernels of Smith-Waterman."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clalign.compute.geometry import Tuning, choice


@dataclass(frozen=True, slots=True)
class PairTuning(Tuning):
    """Measured: NVIDIA (H200), and processors of AMD (Zen 4) and Intel (with AVX-512).

    Attributes
    ----------
    rows, lane_rows, wide_rows : int
        Most query residues of a strip of the `item` shape, a multiple of 8, and that a lane holds of two targets,
        and of one in 32 bits, multiples of 4.
    group : int
        A multiple of 32.
    long_percent, longest_percent : int
        A target is left to lanes if a work-item would take more than this share of the time of all for it, and
        to many lanes if a few would.
    least_long : int
        Shorter targets are never left to lanes.
    most_scratch : int
        Bytes for what crosses the edges of strips in the `lanes` shape.
    vector_bits : int
        Of the scores of all lanes of the `vector` shape; on most processors these are several vectors, which
        hide the latency of each other.
    columns : int
        Residues of each lane a pass; 1, 2 or 4.
    masks : int
        1 to keep the best scores by comparisons and masks, 0 by maxima.
    """

    prefix: ClassVar[str] = "pair."

    rows: int = choice(24, "Smith-Waterman: query residues per strip", 16, 24, 32, 40, 48, shape="item", nvidia=32)
    group: int = choice(64, "Smith-Waterman: work-items per group", 32, 64, 128, 256, shape="item", nvidia=128)
    groups: int = choice(4, "Smith-Waterman: groups per compute unit", 2, 4, 8, shape="item")
    lane_rows: int = choice(16, "Smith-Waterman: query residues per lane", 8, 16, 24, 32, shape="lanes", nvidia=32)
    wide_rows: int = choice(8, "Smith-Waterman: query residues per lane in 32 bits")
    lane_groups: int = choice(8, "Smith-Waterman: groups of lanes per compute unit", 2, 4, 8, shape="lanes", nvidia=4)
    long_percent: int = choice(60, "Smith-Waterman: percent of the time for a target", 40, 60, 75, 100, shape="item")
    longest_percent: int = choice(
        25, "Smith-Waterman: percent of the time for few lanes", 25, 50, 75, 150, shape="item"
    )
    least_long: int = choice(16, "Smith-Waterman: residues of targets for lanes")
    most_scratch: int = choice(2**28, "Smith-Waterman: bytes for the edges of strips", nvidia=2**31)
    vector_bits: int = choice(512, "Smith-Waterman: bits of all lanes", 256, 512, 1024, shape="vector")
    columns: int = choice(2, "Smith-Waterman: residues per pass", 1, 2, 4, shape="vector", avx512=4)
    masks: int = choice(0, "Smith-Waterman: best scores by masks", 0, 1, shape="vector", avx512=1)

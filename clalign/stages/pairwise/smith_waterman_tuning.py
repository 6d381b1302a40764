"""The numbers by which the kernels of Smith-Waterman are fitted to a device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clalign.values.devices import Device


@dataclass(frozen=True, slots=True)
class PairTuning:
    """Choices that change the speed and nothing else.

    Attributes
    ----------
    rows : int
        Most query residues of a strip of the `item` shape, a multiple of 8.
    group, groups : int
        Work-items a group, a multiple of 32, and groups a compute unit.
    lane_rows, wide_rows : int
        Most query residues a lane holds of two targets, and of one in 32 bits; multiples of 4.
    lane_groups : int
        Work-groups a compute unit of the `lanes` shape.
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
    """

    rows: int = 24
    group: int = 64
    groups: int = 4
    lane_rows: int = 16
    wide_rows: int = 8
    lane_groups: int = 8
    long_percent: int = 60
    longest_percent: int = 25
    least_long: int = 16
    most_scratch: int = 2**28
    vector_bits: int = 512
    columns: int = 2


WORDS = {
    "rows": "Smith-Waterman: query residues a strip",
    "group": "Smith-Waterman: work-items a group",
    "groups": "Smith-Waterman: groups a compute unit",
    "lane_rows": "Smith-Waterman: query residues a lane",
    "wide_rows": "Smith-Waterman: query residues a lane in 32 bits",
    "lane_groups": "Smith-Waterman: groups of lanes a compute unit",
    "long_percent": "Smith-Waterman: percent of the time for a target",
    "longest_percent": "Smith-Waterman: percent of the time for few lanes",
    "least_long": "Smith-Waterman: residues of targets for lanes",
    "most_scratch": "Smith-Waterman: bytes for the edges of strips",
    "vector_bits": "Smith-Waterman: bits of all lanes",
    "columns": "Smith-Waterman: residues a pass",
}
"""What each choice is called."""

DEFAULT = PairTuning()

BY_VENDOR = {"nvidia": replace(DEFAULT, rows=32, group=128, groups=4, lane_rows=32, lane_groups=4, most_scratch=2**31)}
"""Starting points. Measured: NVIDIA (H200)."""

PREFIX = "pair."


def pair_tuning_of(device: Device) -> PairTuning:
    """Return the choices for a device: those found on it, else those of its vendor."""
    return device.tuned(PREFIX, DEFAULT, BY_VENDOR)

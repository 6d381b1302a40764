"""Tuning of the Viterbi kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clalign.compute.geometry import Tuning, choice


@dataclass(frozen=True, slots=True)
class ViterbiTuning(Tuning):
    """Measured: NVIDIA (H200), processors of AMD (Zen 4) and Intel (with AVX-512).

    Choices for others follow from the registers that are there.

    Attributes
    ----------
    strip_nodes : int
        Most columns of a strip of the `item` shape; its state and its steps take 8 registers each.
    strip_least : int
        Sequences a compute unit from which `item` is faster than `lanes`.
    lanes_sequences, vector_sequences : int
        Sequences that share the loads of the steps.
    """

    prefix: ClassVar[str] = "viterbi."

    strip_nodes: int = choice(12, "nodes per strip", 8, 12, 16, 20, 24, shape="item", nvidia=24, amd=16, intel=8)
    strip_group: int = choice(64, "work-items per group of strips", 32, 64, 128, 256, shape="item", nvidia=128)
    strip_groups: int = choice(4, "groups of strips per compute unit", 2, 4, 8, shape="item")
    strip_least: int = choice(32, "sequences per compute unit from which strips are used")
    lanes_group: int = choice(128, "work-items per group of lanes", 32, 64, 128, 256, shape="lanes", amd=64, intel=64)
    lanes_sequences: int = choice(2, "sequences that lanes share")
    vector_lanes: int = choice(8, "lanes per vector", 8, 16, shape="vector", avx512=16)
    vector_sequences: int = choice(2, "sequences at once", 1, 2, 3, 4, shape="vector", avx512=3)

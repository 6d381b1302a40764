"""The numbers by which the Viterbi kernels are fitted to a device: a small table, or what `clalign tune` found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clalign.values.devices import Device


@dataclass(frozen=True, slots=True)
class ViterbiTuning:
    """Choices that change the speed and nothing else.

    Attributes
    ----------
    strip_nodes : int
        Most columns of a strip of the `item` shape; its state and its steps take 8 registers each.
    strip_group, strip_groups : int
        Work-items a group, and groups a compute unit.
    strip_least : int
        Sequences a compute unit from which `item` is faster than `lanes`.
    lanes_group, lanes_sequences : int
        Work-items a group of the `lanes` shape, and sequences that share the loads of its steps.
    vector_lanes, vector_sequences : int
        The same for the `vector` shape.
    """

    strip_nodes: int = 12
    strip_group: int = 64
    strip_groups: int = 4
    strip_least: int = 32
    lanes_group: int = 128
    lanes_sequences: int = 2
    vector_lanes: int = 8
    vector_sequences: int = 2


WORDS = {
    "strip_nodes": "nodes a strip",
    "strip_group": "work-items a group of strips",
    "strip_groups": "groups of strips a compute unit",
    "strip_least": "sequences a compute unit from which strips are used",
    "lanes_group": "work-items a group of lanes",
    "lanes_sequences": "sequences that lanes share",
    "vector_lanes": "lanes a vector",
    "vector_sequences": "sequences at once",
}
"""What each choice is called."""

DEFAULT = ViterbiTuning()

BY_VENDOR = {
    "nvidia": replace(DEFAULT, strip_nodes=24, strip_group=128),
    "amd": replace(DEFAULT, strip_nodes=16, strip_group=64, lanes_group=64),
    "advanced micro": replace(DEFAULT, strip_nodes=16, strip_group=64, lanes_group=64),
    "intel": replace(DEFAULT, strip_nodes=8, lanes_group=64),
}
"""Starting points for GPUs. Measured: NVIDIA (H200). The others follow from the registers that are there."""

PREFIX = "viterbi."


def tuning_of(device: Device) -> ViterbiTuning:
    """Return the choices for a device: those found on it, else those of its vendor."""
    return device.tuned(PREFIX, DEFAULT, BY_VENDOR)

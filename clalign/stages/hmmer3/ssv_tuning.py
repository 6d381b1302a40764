"""The numbers by which the SSV kernels are fitted to a device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clalign.values.devices import Device


@dataclass(frozen=True, slots=True)
class SsvTuning:
    """Choices that change the speed and nothing else.

    Attributes
    ----------
    nodes : int
        Most columns of a strip of the `item` shape; even.
    group, groups : int
        Work-items a group, a multiple of 32, and groups a compute unit.
    least_overlap, piece_share : int
        Residues by which the pieces of long sequences overlap at least, and their length in overlaps.
    narrow_nodes : int
        Up to this length a model is striped over narrow vectors on a CPU.
    few_vectors, sequences : int
        Rows of so many vectors are short: a core works on several sequences at once, as long as their rows
        fit into registers.
    """

    nodes: int = 24
    group: int = 64
    groups: int = 4
    least_overlap: int = 256
    piece_share: int = 3
    narrow_nodes: int = 48
    few_vectors: int = 4
    sequences: int = 2


WORDS = {
    "nodes": "SSV: nodes a strip",
    "group": "SSV: work-items a group",
    "groups": "SSV: groups a compute unit",
    "least_overlap": "SSV: residues that pieces overlap at least",
    "piece_share": "SSV: overlaps a piece",
    "narrow_nodes": "SSV: nodes up to which vectors are narrow",
    "few_vectors": "SSV: vectors of a short row",
    "sequences": "SSV: sequences at once for short rows",
}
"""What each choice is called."""

DEFAULT = SsvTuning()

BY_VENDOR = {"nvidia": replace(DEFAULT, nodes=40, group=128, groups=4)}
"""Starting points. Measured: NVIDIA (H200)."""


PREFIX = "ssv."


def ssv_tuning_of(device: Device) -> SsvTuning:
    """Return the choices for a device: those found on it, else those of its vendor."""
    return device.tuned(PREFIX, DEFAULT, BY_VENDOR)

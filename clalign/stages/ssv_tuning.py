"""The numbers by which the SSV kernels are fitted to a device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clalign.devices import Device


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


DEFAULT = SsvTuning()

BY_VENDOR = {"nvidia": replace(DEFAULT, nodes=40, group=128, groups=4)}
"""Starting points. Measured: NVIDIA (H200)."""


def ssv_tuning_of(device: Device) -> SsvTuning:
    """Return the choices for a device."""
    vendor = device.vendor.lower()
    if device.kind == "cpu":
        return DEFAULT
    return next((known for word, known in BY_VENDOR.items() if word in vendor), DEFAULT)

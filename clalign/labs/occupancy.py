"""How many warps a multiprocessor of NVIDIA's can keep, from what a kernel takes."""

from __future__ import annotations

WARP = 32
REGISTERS = 65536
REGISTERS_AT_ONCE = 256
"""Registers are given to a warp in portions of this size."""

LOCAL_RESERVED = 1024
"""Bytes of local memory that each work-group takes beside its own, from 8.0 on."""

FERMI_REGISTERS, FERMI_REGISTERS_AT_ONCE = 32768, 64
"""Registers of a multiprocessor, and those that are allotted at once, before 3.0."""

LIMITS = {
    20: (48, 8, 48), 21: (48, 8, 48),
    50: (64, 32, 64), 52: (64, 32, 96), 53: (64, 32, 64), 60: (64, 32, 64), 61: (64, 32, 96), 62: (64, 32, 64),
    70: (64, 32, 96), 72: (64, 32, 96), 75: (32, 16, 64), 80: (64, 32, 164), 86: (48, 16, 100), 87: (48, 16, 164),
    89: (48, 24, 100), 90: (64, 32, 228), 100: (64, 32, 228), 120: (48, 32, 100),
}  # fmt: skip
"""For each compute capability: warps, work-groups and KiB of local memory that a multiprocessor holds."""


def occupancy(compute_capability: int, group: int, registers: int | None, local_bytes: int) -> float | None:
    """Return the share of a multiprocessor's warps that can be resident; None where it is not known.

    Parameters
    ----------
    compute_capability : int
        As in 90 for 9.0; 0 for other vendors.
    group : int
        Work-items a work-group.
    registers : int or None
        Of a work-item.
    local_bytes : int
        Of a work-group.

    References
    ----------
    NVIDIA, CUDA C++ Programming Guide, Compute Capabilities.
    """
    if compute_capability not in LIMITS or registers is None:
        return None
    max_warps, max_groups, kib = LIMITS[compute_capability]
    warps = -(-group // WARP)
    is_fermi = compute_capability < 30
    at_once = FERMI_REGISTERS_AT_ONCE if is_fermi else REGISTERS_AT_ONCE
    portion = -(-registers * WARP // at_once) * at_once
    groups = min(max_groups, max_warps // warps)
    if portion:
        # The registers lie in four parts, Fermi's in two, and a warp's in one of them.
        parts, of_all = (2, FERMI_REGISTERS) if is_fermi else (4, REGISTERS)
        groups = min(groups, of_all // parts // portion * parts // warps)
    taken = local_bytes + (LOCAL_RESERVED if compute_capability >= 80 else 0)
    if taken:
        groups = min(groups, kib * 1024 // taken)
    return groups * warps / max_warps

"""How kernels are fitted to a device: choices that are tuned, numbers of work-items, and nodes divided among lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from clalign.values.devices import Device

Candidates = tuple[tuple[str, str, tuple[int, ...]], ...]
"""Name of a choice, shape of its kernel, values to try."""


def choice(value: int, words: str, *tried: int, shape: str = "", **by_family: int) -> int:
    """Return the field of a choice.

    Parameters
    ----------
    value : int
        Value for CPUs and for unknown families.
    words : str
        Name of the choice for users.
    *tried : int
        Values that `clalign tune` tries.
    shape : str
        Shape of the kernel that it is tried for.
    **by_family : int
        Values for other devices (`Device.family`): starting points.
    """
    return field(default=value, metadata={"words": words, "tried": tried, "shape": shape, "by_family": by_family})


@dataclass(frozen=True, slots=True)
class Tuning:
    """Choices that change nothing but the speed."""

    prefix: ClassVar[str]
    """Prefix of the names of choices in `Device.tuning`."""

    @classmethod
    def of(cls, device: Device) -> Self:
        """Return the choices for a device: those that `clalign tune` found on it and stored, else those of its family.

        Stored ones hide an edit of what is written here; `clalign tune --reset` drops them.
        """
        return cls.of_family(device.family, tuple(device.tuning.items()))

    @classmethod
    @cache
    def of_family(cls, family: str, found: tuple[tuple[str, int], ...] = ()) -> Self:
        """Return the choices for a family of devices, or others that were `found`, given by their names."""
        usual = {cls.prefix + f.name: f.metadata["by_family"].get(family, f.default) for f in fields(cls)}
        chosen = usual | {name: int(value) for name, value in found if name in usual}
        return cls(*chosen.values())

    @classmethod
    def words(cls) -> dict[str, str]:
        """Return the name of each choice for users."""
        return {f.name: f.metadata["words"] for f in fields(cls)}

    @classmethod
    def candidates(cls, device: Device) -> Candidates:
        """Return the values to try on a device."""
        tried = ((f.name, f.metadata["shape"], f.metadata["tried"]) for f in fields(cls) if f.metadata["tried"])
        return tuple(found for found in tried if (found[1] == "vector") == (device.kind == "cpu"))


LOCAL_SHARE = 0.9
"""Share of the local memory that tables may take."""

GROUPS_PER_UNIT = 16
"""Work-groups of lanes for each compute unit of a GPU, which take one problem after the other."""

SHARED_GROUPS = 4
"""Factor of the number of groups for several models together, most of which have little work."""

COMMON_PLATFORMS = ("clover", "rusticl")
"""Platforms with one compiler for the devices of all vendors, without instructions of their own."""

Geometry = tuple[int, int]
"""Work-items of a launch, and of a work-group."""


Number = TypeVar("Number", bound=np.generic)


def spread(table: npt.NDArray[Number], lanes: int, per_lane: int, fill: int) -> npt.NDArray[Number]:
    """Pad the nodes of a table (last axis) with `fill` and fold them to [lanes, per_lane]."""
    padded = np.full((*table.shape[:-1], lanes * per_lane), fill, table.dtype)
    padded[..., : table.shape[-1]] = table
    return padded.reshape(*table.shape[:-1], lanes, per_lane)


def lane_backend(device: Device) -> dict[str, int]:
    """Return the macros by which the lanes of a GPU exchange values (``common/lanes.h``)."""
    maker = device.maker if device.kind == "gpu" and device.platform.lower() not in COMMON_PLATFORMS else ""
    if maker == "nvidia":
        return {"LANE_BACKEND": 1, "LANES": 32, "COMPUTE_CAPABILITY": device.compute_capability}
    if maker == "intel" and "cl_intel_subgroups" in device.extensions:
        return {"LANE_BACKEND": 2, "LANES": 16}
    return {"LANE_BACKEND": 3 if maker == "amd" else 0, "LANES": 32}


def lanes_group(device: Device, backend: Mapping[str, int], most: int) -> int:
    """Return the size of a work-group of lanes; only lanes that exchange values in registers may share one."""
    return backend["LANES"] if backend["LANE_BACKEND"] == 0 else min(most, device.max_work_group)


def stepped(n: int) -> int:
    """Return the next of 1, 2, 3, 4, 6, 8, 12, 16, 24 ...: the sizes that kernels are compiled for.

    Models of all lengths then share few programs, at the price of work on missing nodes.
    """
    power = 1 << (n - 1).bit_length()
    return power * 3 // 4 if n <= power * 3 // 4 and power > 2 else power


def room_for(n: int, common: int) -> int:
    """Return the number of vectors that a kernel is compiled for if it gets the number of a row as an argument.

    The `common` number gives one program that nearly all models share; memory that is not touched costs nothing. Longer
    rows have the next power of two.
    """
    return max(common, 1 << (n - 1).bit_length())


def fits_local(device: Device, n_bytes: int) -> int:
    """Return whether a table fits local memory, as a macro."""
    return int(n_bytes <= LOCAL_SHARE * device.local_bytes)


def one_a_core(device: Device) -> Geometry:
    """Return the geometry of kernels for CPUs: a work-item for each core, which takes one problem after the other."""
    return max(1, device.n_compute_units), 1


def one_each(device: Device, n: int) -> Geometry:
    """Return the geometry for n problems, a work-item each."""
    group = min(64, device.max_work_group)
    return -(-n // group) * group, group


def in_groups(device: Device, group: int, n_groups: int, per_unit: int = GROUPS_PER_UNIT) -> Geometry:
    """Return the geometry for `n_groups` groups of work, at most `per_unit` for each compute unit."""
    return max(1, min(n_groups, device.n_compute_units * per_unit)) * group, group


def in_groups_of_models(device: Device, defines: Mapping[str, int], n: int, n_models: int) -> Geometry:
    """Return the geometry of lanes for up to n problems of each of some models, every one with as many groups."""
    group, at_once = defines["GROUP"], defines["GROUP"] // defines.get("LANES", 1)
    most = device.n_compute_units * GROUPS_PER_UNIT * min(n_models, SHARED_GROUPS)
    return max(1, min(-(-n // at_once), -(-most // n_models))) * n_models * group, group


CELLS_PER_UNIT, MAX_CARD_CELLS = 2.0**25, 2.0**32
"""Cells of candidates for hits that each compute unit of a card is given at once, and limit for all of them. Measured:
with 13,336 targets of ten queries all kernels of an NVIDIA H200 of 132 units, filters among them, take 6.0 s in
portions of 2^28 cells, 2.6 s in those of 2^30, and 1.8 to 2.1 s in those of 2^32."""


def card_cells(device: Device) -> float:
    """Return how many cells of candidates for hits give all compute units of a card work; 0 for other devices."""
    is_card = device.kind in ("gpu", "accelerator")
    return min(MAX_CARD_CELLS, CELLS_PER_UNIT * device.n_compute_units) if is_card else 0.0


def in_turns(device: Device, n: int, group: int, items_per_unit: int) -> Geometry:
    """Return the geometry for n problems that work-items take one after the other; a compute unit of a CPU has one."""
    if device.kind == "cpu":
        return in_groups(device, 1, n, 1)
    group = min(group, device.max_work_group)
    return in_groups(device, group, -(-n // group), items_per_unit // group)

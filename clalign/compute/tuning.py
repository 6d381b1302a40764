"""The base of the choices by which kernels are tuned for a device."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import ClassVar, Self

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
        """Return the choices for a device: those found on it, else those of its family."""
        return cls._of(device.family, tuple(device.tuning.items()))

    @classmethod
    @cache
    def _of(cls, family: str, found: tuple[tuple[str, int], ...]) -> Self:
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

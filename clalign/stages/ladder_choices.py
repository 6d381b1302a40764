"""Shared parts of the stages of the laboratory's ladders: their choices, and limits of devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from msgspec import Struct
from msgspec.structs import replace

from clalign.common.plain_data import Json
from clalign.errors import OptionError
from clalign.values.devices import Device


class ChoicesBase(Struct, frozen=True, kw_only=True):
    """One choice on every axis of a ladder, and the work-items of a work-group."""

    axes: ClassVar[Mapping[str, tuple[str | int, ...]]]
    """What may be chosen; the first of each is the basic choice."""

    group: int = 512

    def __post_init__(self) -> None:
        for axis, choices in self.axes.items():
            if getattr(self, axis) not in choices:
                raise OptionError(
                    f"{getattr(self, axis)!r} is no choice for {axis}.",
                    f"Choose one of: {', '.join(map(str, choices))}.",
                )

    def within(self, device: Device) -> Self:
        """Return the choices with a work-group that a device allows."""
        return replace(self, group=min(self.group, device.max_work_group))

    def changed(self) -> Json:
        """Return the choices that are not the basic ones."""
        usual, names = type(self)(), dict.fromkeys((*self.axes, *self.__struct_fields__))
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}


def group_obstacle(device: Device, group: int, local_bytes: int) -> str | None:
    """Return in words why a device cannot run a work-group of this many work-items, with so much local memory."""
    if group > device.max_work_group:
        return f"A work-group has {group:,} work-items; {device.name} allows {device.max_work_group:,}."
    if local_bytes > device.local_bytes:
        return f"A work-group needs {local_bytes:,} bytes of local memory; {device.name} has {device.local_bytes:,}."
    return None


def refuse(obstacle: str | None) -> None:
    """Raise `OptionError` if choices cannot run because of an obstacle."""
    if obstacle is not None:
        raise OptionError(f"These choices cannot run: {obstacle}", "Choose others, or another device.")

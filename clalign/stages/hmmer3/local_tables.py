"""What the kernels that work on four lanes a problem share: tables of odds, portions, scratch memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.geometry import lane_backend
from clalign.compute.sessions import Argument, Buffer, KernelSession, Stage
from clalign.values.devices import Device
from clalign.values.envelopes import Parts
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import longest_first
from clalign.values.striped_odds import StripedOdds, striped_odds

N_SLOTS = 6
"""What is kept of a row (``common/local_rows.h``)."""

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that one scratch buffer may take."""

TEAMS_A_UNIT = 8
"""Teams that a compute unit of a GPU works on at the same time."""

TEAM_VARIANTS: tuple[dict[str, object], ...] = (
    {"LANES": 4}, {"LANES": 16}, {"LANE_BACKEND": 3}, {"LANE_BACKEND": 0},
)  # fmt: skip
"""Choices that are compiled for other vendors in the tests."""

Whole = npt.NDArray[np.int32]


def odds_of(session: KernelSession, model: LocalProfile) -> StripedOdds:
    """Return the striped odds of a profile, computed once a session."""
    return session.cached("striped odds", model, lambda: striped_odds(model))


def odds_tables(session: KernelSession, model: LocalProfile) -> list[Buffer]:
    """Return transitions and emissions (``common/local_rows.h``) on a device, made once a model."""

    def make() -> list[Buffer]:
        odds = odds_of(session, model)
        steps = (odds.begin, odds.mm, odds.im, odds.dm, odds.md, odds.mi, odds.ii, odds.dd)
        return [session.upload(np.stack(steps, axis=1)), session.upload(odds.emissions)]

    return session.cached("local odds", model, make)


def part_table(parts: Parts) -> Whole:
    """Return first code, length and length of the target of each part (int32[n, 3])."""
    first = parts.batch.offsets[parts.rows] + parts.first
    return np.stack([first, parts.lengths, parts.batch.lengths[parts.rows]], axis=1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Portion:
    """What is launched together.

    Attributes
    ----------
    name : str
        Of the kernel.
    defines : dict
        Compile-time choices.
    order : int32[n]
        The problems, the longest first; -1 where a team has no further one.
    longest : int
        Residues of the first.
    n_teams, group : int
        Teams, each with scratch memory of its own, and work-items of each.
    scratch : tuple of int
        Bytes of it that each needs, buffer by buffer.
    """

    name: str
    defines: dict[str, int]
    order: Whole
    longest: int
    n_teams: int
    group: int
    scratch: tuple[int, ...]

    def buffers(self, session: KernelSession) -> list[Buffer]:
        """Return the scratch buffers."""
        return [session.allocate(self.n_teams * size) for size in self.scratch]

    def launch(self, session: KernelSession, *arguments: Argument) -> None:
        """Enqueue the kernel."""
        geometry = self.n_teams * self.group, self.group
        session.launch(f"{self.name}_simd4", self.name, self.defines, *geometry, *arguments)


def portions(
    stage: Stage[Any, Any, Any], device: Device, lengths: Whole, scratch: Callable[[int, int], tuple[int, ...]]
) -> tuple[list[Portion], Whole]:
    """Cut problems into portions whose scratch memory fits a device.

    Parameters
    ----------
    stage : Stage
    device : Device
    lengths : int32[n]
        Residues of each problem.
    scratch : callable
        Returns the bytes a lane that each scratch buffer needs for a length, given those of the slots.

    Returns
    -------
    portions : list of Portion
    left : int32[]
        The problems that do not fit even alone.
    """
    in_lanes = stage.shape_on(device) == "lanes"
    defines = {**lane_backend(device), **stage.defines} if in_lanes else stage.defines
    most = max(1, device.n_compute_units) * (TEAMS_A_UNIT if in_lanes else 1)
    limit = int(device.max_buffer_bytes * MEMORY_SHARE) or 2**28
    slot_bytes = N_SLOTS * (4 if in_lanes else 1)  # one float for each of four lanes, or for all of them

    def needs(length: int) -> tuple[int, ...]:
        return scratch(length, (length + 1) * slot_bytes)

    fixed = defines.get("LANES")
    order = longest_first(lengths).astype(np.int32)
    found: list[Portion] = []
    first = 0
    while first < len(order) and (fixed or 4) * max(needs(int(lengths[order[first]]))) > limit:
        first += 1
    left, order = order[:first], order[first:]
    while len(order):
        longest = int(lengths[order[0]])
        needed = needs(longest)
        width = fixed or _width(len(order), most)
        while not fixed and width > 4 and width * max(needed) > limit:
            width //= 2
        wanted = min(most, len(order) if in_lanes else -(-len(order) * 4 // width))
        n_teams = max(1, min(wanted, limit // (width * max(needed))))
        n = len(order) if n_teams == wanted else int(np.count_nonzero(lengths[order] > longest // 2))
        taken, group = (_spread(order[:n], width // 4, n_teams), width) if in_lanes else (order[:n], 1)
        sizes = tuple(width * size for size in needed)
        found.append(Portion(stage.name, {**defines, "LANES": width}, taken, longest, n_teams, group, sizes))
        order = order[n:]
    return found, left


def _spread(order: Whole, places: int, n_teams: int) -> Whole:
    """Leave places of a team empty where there are teams enough: what its problems do alone, they do in turns."""
    used = min(places, -(-len(order) // n_teams))
    spread = np.full((-(-len(order) // used), places), -1, np.int32)
    spread[:, :used].flat[: len(order)] = order
    return spread.ravel()


def _width(n: int, units: int) -> int:
    """Return the width of vectors for so many problems: wide ones, but no core is left without work."""
    return 16 if n >= 8 * units else 8 if n >= 4 * units else 4

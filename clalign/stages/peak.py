"""The rate of additions and maxima of int32 and of floats, as a peak that a search can be held against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.values.devices import Device

Ints = npt.NDArray[np.int32]

CHAINS = 8
"""Chains of a lane in the kernel."""

GROUP = 128
CPU_WIDTHS = (4, 8, 16)
"""Lanes of a vector; which one is fastest depends on the processor and its compiler."""

ITEMS_PER_UNIT = {"gpu": 2048 * 8, "accelerator": 2048, "cpu": 64}
ROUNDS = 4096


class PeakLoad(Struct, frozen=True):
    """What is computed.

    Attributes
    ----------
    n_items, width : int
        Work-items, and lanes of each.
    rounds : int
    start, steps : int32[8]
        First value and step of each chain.
    """

    n_items: int
    width: int
    rounds: int
    start: Ints
    steps: Ints

    @property
    def n_lanes(self) -> int:
        """Lanes of all work-items."""
        return self.n_items * self.width

    @property
    def operations(self) -> float:
        """Additions and maxima: one of each for every lane, chain and round."""
        return 2.0 * self.n_lanes * len(self.steps) * self.rounds


def peak_load(n_items: int, width: int = 1, rounds: int = ROUNDS, seed: int = 1) -> PeakLoad:
    """Return a load whose steps go up and down."""
    rng = np.random.default_rng(seed)
    start = rng.integers(-1000, 1000, CHAINS).astype(np.int32)
    return PeakLoad(n_items, width, rounds, start, rng.integers(-9, 10, CHAINS).astype(np.int32))


def peak_loads(device: Device) -> list[PeakLoad]:
    """Return loads that keep a device busy for some milliseconds, of which the fastest is its peak."""
    if device.kind == "reference":
        return [peak_load(64)]
    n_items = ITEMS_PER_UNIT[device.kind] * max(1, device.n_compute_units)
    widths = CPU_WIDTHS if device.kind == "cpu" else (1,)
    return [peak_load(n_items, width) for width in widths]


class PeakStage(Stage[PeakLoad, object, Ints]):
    """Chains of additions and maxima in every lane."""

    name = "peak"

    def reference(self, batch: PeakLoad, model: object, check: Check = no_check) -> Ints:
        from clalign.reference.peak import peak_values

        del model
        return peak_values(batch.n_items, batch.width, batch.rounds, batch.start, batch.steps, check)

    def start(self, session: KernelSession, batch: PeakLoad, model: object) -> Callable[[], Ints]:
        del model
        results = session.allocate(4 * batch.n_lanes)
        device, group = session.device, min(GROUP, session.device.max_work_group)
        if device.kind == "cpu" or batch.n_items % group:
            group = 1
        session.launch(
            "peak_item", "peak_rate", {"WIDTH": batch.width, **self.defines}, batch.n_items, group,
            session.upload(batch.start), session.upload(batch.steps), np.int32(batch.rounds), results,
        )  # fmt: skip
        return session.fetch(results, batch.n_lanes, np.int32)


PEAK, FLOAT_PEAK = PeakStage(), PeakStage(FLOATS=1)

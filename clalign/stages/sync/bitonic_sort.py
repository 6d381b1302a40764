"""Bitonic sort of keys with their places over many work-groups."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.compute.group_barriers import BarrierKernel, GroupBarrier, Rounds
from clalign.compute.sessions import Argument, Check, KernelSession, Stage, no_check
from clalign.errors import GroupsNotConcurrent, OptionError
from clalign.values.devices import Device

log = logging.getLogger(__name__)

SOURCE = "bitonic_sort_item"

MAX_STEPS = 3
"""Steps of the network that a round makes with items in registers."""

TILE_LOG = 10
"""Binary logarithm of the items that are sorted in local memory."""

MAX_KEYS = 1 << 30

GROUP = {"cpu": 1, "gpu": 256, "accelerator": 256}
GROUPS_PER_UNIT = {"cpu": 1, "gpu": 16, "accelerator": 4}

Keys = npt.NDArray[np.unsignedinteger]
Order = npt.NDArray[np.uint32]


def sortable(values: npt.NDArray[np.generic], falling: bool = False) -> Keys:
    """Return whole numbers without a sign (uint32 or uint64) whose order is that of values; no number comes last.

    Parameters
    ----------
    values : array
        Of whole or floating numbers; 0 and -0 are equal.
    falling : bool
        Whether the greatest is to come first.
    """
    n_bytes, kind = 8 if values.dtype.itemsize > 4 else 4, values.dtype.kind
    with np.errstate(invalid="ignore"):  # of what is no number
        plain = values.astype(f"{kind}{n_bytes}") + (0.0 if kind == "f" else 0)  # -0 becomes 0
    keys: Keys = plain.view(f"u{n_bytes}")
    top = keys.dtype.type(1 << 8 * n_bytes - 1)
    if kind == "f":
        keys = np.where(keys < top, keys | top, ~keys)
    elif kind == "i":
        keys = keys ^ top
    keys = ~keys if falling else keys
    return np.where(np.isnan(plain), np.iinfo(keys.dtype).max, keys) if kind == "f" else keys


def rounds_of(n: int, tile_log: int = TILE_LOG) -> npt.NDArray[np.int32]:
    """Return the rounds (int32[m, 4]) that sort this many items, as the kernel reads them."""
    found = [(tile_log, 0, 1, 0)]
    for span_log in range(tile_log + 1, max(0, n - 1).bit_length() + 1):
        found += [
            (far_log, min(MAX_STEPS, far_log - tile_log), int(far_log == span_log), 0)
            for far_log in range(span_log, tile_log, -MAX_STEPS)
        ]
        found.append((tile_log, 0, 0, 0))
    return np.array(found, np.int32)


def default_barrier(device: Device) -> GroupBarrier:
    """Return groups for a device that end a round with their launch: no device is known that gains by others."""
    kind = device.kind
    return GroupBarrier(GROUPS_PER_UNIT[kind] * max(1, device.n_compute_units), min(GROUP[kind], device.max_work_group))


class BitonicSortStage(Stage[Keys, GroupBarrier | None, Order]):
    """The places of keys (uint32[n] or uint64[n]) in rising order; equal ones stay in order.

    Its model is how the groups meet; if not all run at once each round is a launch.
    """

    name = "bitonic_sort"

    def reference(self, batch: Keys, model: GroupBarrier | None, check: Check = no_check) -> Order:
        from clalign.reference.bitonic_sort import sorted_order

        del model, check
        return sorted_order(batch)

    def prepared(
        self, session: KernelSession, batch: Keys, how: GroupBarrier
    ) -> tuple[Rounds, Callable[[], Callable[[], Order]]]:
        """Return the rounds that sort keys, ready to begin, and what then starts to fetch the order."""
        n, defines = np.uint32(len(batch)), {"KEY_BITS": 8 * batch.dtype.itemsize, "TILE_LOG": TILE_LOG, **self.defines}
        items = session.allocate(2 * batch.nbytes)

        def for_each(entry: str, *arguments: Argument) -> None:
            usual = default_barrier(session.device)
            session.launch(SOURCE, entry, rounds.defines, usual.n_groups * usual.size, usual.size, *arguments)

        def order() -> Callable[[], Order]:
            places = session.results(4 * len(batch))
            for_each("take_order", items, n, places)
            return session.fetch(places, len(batch), np.uint32)

        steps = rounds_of(len(batch), self.defines.get("TILE_LOG", TILE_LOG))
        kernel = BarrierKernel(SOURCE, "bitonic_rounds", (items, n, session.upload(steps)), defines)
        rounds = Rounds(session, how, kernel, len(steps))
        for_each("pair_keys", session.upload(batch), n, items)
        return rounds, order

    def start(self, session: KernelSession, batch: Keys, model: GroupBarrier | None) -> Callable[[], Order]:
        if batch.dtype not in (np.uint32, np.uint64) or len(batch) > MAX_KEYS:
            raise OptionError(
                f"{len(batch):,} keys of {batch.dtype} cannot be sorted.",
                f"Sort up to {MAX_KEYS:,} keys of uint32 or uint64.",
            )
        if not len(batch):
            return lambda: np.empty(0, np.uint32)
        how = model or default_barrier(session.device)
        rounds, order = self.prepared(session, batch, how)
        rounds.start()
        fetched = order()

        def collect() -> Order:
            try:
                rounds.finish()
            except GroupsNotConcurrent as error:
                log.warning("%s Each round becomes a launch.", error.message)
                return self.start(session, batch, GroupBarrier(how.n_groups, how.size))()
            return fetched()

        return collect


BITONIC_SORT = BitonicSortStage("item")

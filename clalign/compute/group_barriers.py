"""Barriers across the work-groups of a launch (``common/group_barriers.h``), and how many of them run at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from clalign.compute.geometry import lane_backend
from clalign.compute.sessions import Argument, KernelSession
from clalign.errors import GroupsNotConcurrent, OptionError
from clalign.values.devices import Device

METHODS = {"launch": 0, "lbs": 1, "ilbs": 2, "lfs": 3, "ulfs": 3}
"""Methods of a barrier with their values of BARRIER_METHOD: the end of a launch, a counter, counters of sets, words, a
tree; words are a tree of two levels, so that both are one program."""

NO_POLL, POLL_TO_MEET, POLL_TO_COUNT = range(3)

LINE, POLL_CLOSED = 32, 1 << 30
GAVE_UP, BALLOT = 0, LINE
FIXED_LINES, LINES_A_GROUP = 3, 1
"""Lines of words: a counter for each set, of which there are no more than groups, or four words of a tree."""

MAX_READINGS = {"cpu": 1 << 25, "gpu": 1 << 21, "accelerator": 1 << 21}
"""Limit of the readings of a word before a group gives up: about two seconds."""

MAX_POLL_READINGS = {"cpu": 1 << 22, "gpu": 1 << 15, "accelerator": 1 << 15}
"""Limit of the readings before a poll is closed, enough for all groups that can run to begin."""

PROBED_GROUPS_PER_UNIT = {"cpu": 4, "gpu": 64, "accelerator": 64}
"""Groups for each compute unit in a count of concurrent groups: more than any device runs."""

LAUNCHES_BETWEEN_CHECKS = 512
"""Steps that are enqueued between two checks for cancelling."""


class GroupBarrier(Struct, frozen=True):
    """A barrier across the groups of a launch.

    Attributes
    ----------
    n_groups, size : int
        Groups, and work-items of each.
    method : str
        One of `METHODS`.
    sets : int
        Number of sets of ILBS; 0 for the root of the number of groups.
    discovered : bool
        Whether only the groups take part that are found to run when the first rounds begin.

    Raises
    ------
    OptionError
        If the method does not allow these values.
    """

    n_groups: int
    size: int
    method: str = "launch"
    sets: int = 0
    discovered: bool = False

    def __post_init__(self) -> None:
        n, size = self.n_groups, self.size
        if self.method not in METHODS:
            raise OptionError(f'There is no method "{self.method}".', f"Give one of: {', '.join(METHODS)}.")
        if n < 1 or size < 1:
            raise OptionError(
                f"{n:,} groups of {size:,} work-items are too few.", "Give at least one group of one work-item."
            )
        if not 0 <= self.sets <= n:
            raise OptionError(f"{n:,} groups cannot be in {self.sets:,} sets.", f"Give 1 to {n:,} sets.")
        if self.method == "lfs" and n > size:
            raise OptionError(
                f"LFS allows no more groups than a group has work-items: {n:,} are more than {size:,}.", "Use ULFS."
            )
        if self.method == "ulfs" and size < 2 <= n:
            raise OptionError("ULFS needs groups of at least two work-items.", "Use LBS, or larger groups.")
        if self.discovered and self.method == "launch":
            raise OptionError(
                "Groups of several launches need not run at once, so none is discovered.", "Use another method."
            )

    @property
    def chosen_sets(self) -> int:
        """Number of sets."""
        return self.sets or max(1, round(math.sqrt(self.n_groups)))

    @property
    def levels(self) -> int:
        """Levels of the tree of ULFS, that of all groups included."""
        return len(self.level_sizes)

    @property
    def level_sizes(self) -> list[int]:
        """Groups of each level of the tree of ULFS, from all of them on."""
        sizes = [self.n_groups]
        while sizes[-1] > 1:
            sizes.append(-(-sizes[-1] // self.size))
        return sizes


class BarrierKernel(Struct, frozen=True):
    """A kernel whose first parameters are facts and words of its barriers, and whose last are its first and last round.

    Attributes
    ----------
    source, entry : str
    arguments : tuple
        The parameters in between.
    defines : dict
    """

    source: str
    entry: str
    arguments: tuple[Argument, ...]
    defines: Mapping[str, object] = field(default_factory=dict)


class Rounds:
    """Rounds of a kernel, to be started once.

    Parameters
    ----------
    session : KernelSession
    how : GroupBarrier
    kernel : BarrierKernel
    n_rounds : int
    first : int
        Number of the first round.

    Attributes
    ----------
    defines : dict
        Macros of the program of the kernel.
    """

    def __init__(
        self, session: KernelSession, how: GroupBarrier, kernel: BarrierKernel, n_rounds: int, first: int = 0
    ) -> None:
        self._session, self.how, self.kernel, self.n_rounds, self.first = session, how, kernel, n_rounds, first
        backend = lane_backend(session.device)["LANE_BACKEND"]
        self.defines = {"LANE_BACKEND": backend, **kernel.defines, "BARRIER_METHOD": METHODS[how.method]}
        self._begin(POLL_TO_MEET if how.discovered else NO_POLL, how.n_groups)

    def _begin(self, poll: int, wanted: int) -> None:
        session, how, kind = self._session, self.how, self._session.device.kind
        facts = [MAX_READINGS[kind], how.chosen_sets, poll, MAX_POLL_READINGS[kind], wanted]
        self._facts = session.upload(np.array(facts, np.int32))
        self._words = session.zeros(4 * LINE * (FIXED_LINES + LINES_A_GROUP * how.n_groups))

    def start(self) -> None:
        """Enqueue the rounds."""
        if METHODS[self.how.method] == 0:
            for number in range(self.first, self.first + self.n_rounds):
                if number > self.first and (number - self.first) % LAUNCHES_BETWEEN_CHECKS == 0:
                    self._session.finish()
                    self._session.check()
                self._launch(number, number + 1)
        elif self.n_rounds:
            self._launch(self.first, self.first + self.n_rounds)

    def _launch(self, first: int, last: int) -> None:
        how, kernel = self.how, self.kernel
        self._session.launch(
            kernel.source, kernel.entry, self.defines, how.n_groups * how.size, how.size,
            self._facts, self._words, *kernel.arguments, np.int32(first), np.int32(last),
        )  # fmt: skip

    def finish(self) -> int:
        """Wait for the rounds and return how many groups took part.

        Raises
        ------
        GroupsNotConcurrent
            If a group did not reach a barrier.
        """
        words = self._session.download(self._words, BALLOT + 1, np.int32)
        self._session.finish()  # so that the session releases the memory of the kernels
        if words[GAVE_UP]:
            raise missing_group_error(self._session.device, self.how, int(words[GAVE_UP]))
        return int(words[BALLOT]) & ~POLL_CLOSED if self.how.discovered else self.how.n_groups

    def count(self) -> int:
        """Return how many of the groups run at once, without running a round."""
        self._begin(POLL_TO_COUNT, self.how.n_groups)
        self._launch(0, 0)
        return int(self._session.download(self._words, BALLOT + 1, np.int32)[BALLOT]) & ~POLL_CLOSED


def missing_group_error(device: Device, how: GroupBarrier, barrier: int) -> GroupsNotConcurrent:
    """Return the error for a group that did not reach a barrier."""
    return GroupsNotConcurrent(
        f"{device.name} did not run {how.n_groups:,} groups of {how.size:,} work-items at once: barrier"
        f" {barrier:,} was given up.",
        "Use fewer groups, or one launch for each step (method launch).",
    )


def count_concurrent_groups(session: KernelSession, how: GroupBarrier, kernel: BarrierKernel) -> int:
    """Return how many of the groups run at once; with fewer than all of them none may wait."""
    return Rounds(session, replace(how, discovered=False), kernel, 0).count()


def max_concurrent_groups(session: KernelSession, how: GroupBarrier, kernel: BarrierKernel) -> int:
    """Return how many groups of a size and method a device runs at once, measured once for a device and driver.

    The number of groups in `how` does not matter.
    """
    device = session.device
    n_groups = PROBED_GROUPS_PER_UNIT[device.kind] * max(1, device.n_compute_units)
    method = "lbs" if how.size < 2 or how.method == "launch" else {"lfs": "ulfs"}.get(how.method, how.method)
    macros = [f"{name}={value}" for name, value in sorted(kernel.defines.items())]
    return session.measured(
        " ".join(["groups of", kernel.source, kernel.entry, *macros, method, f"x {how.size}"]),
        lambda: count_concurrent_groups(session, GroupBarrier(n_groups, how.size, method), kernel),
    )

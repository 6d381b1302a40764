"""Launches whose work-groups meet between rounds (``common/group_meetings.h``), and how many a device runs at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from clalign.compute.geometry import lane_backend
from clalign.compute.sessions import Argument, KernelSession
from clalign.errors import GroupsApart, OptionError
from clalign.values.devices import Device

METHODS = {"launch": 0, "lbs": 1, "ilbs": 2, "lfs": 3, "ulfs": 4}
"""How groups wait for each other, and MEETING: by the end of a launch, a counter, counters of sets, words, a tree."""

NO_POLL, POLL_TO_MEET, POLL_TO_COUNT = range(3)

LINE, POLL_CLOSED = 32, 1 << 30
GAVE_UP, BALLOT = 0, LINE
FIXED_LINES, LINES_A_GROUP = 3, 1
"""Of words: a counter for each set, of which there are no more than groups, or four words of a tree of all groups."""

PATIENCE = {"cpu": 1 << 25, "gpu": 1 << 21, "accelerator": 1 << 21}
"""Readings of a word before a group gives up: about two seconds."""

POLL_PATIENCE = {"cpu": 1 << 22, "gpu": 1 << 15, "accelerator": 1 << 15}
"""Readings before a poll is closed: long enough for all groups to begin that can."""

ASKED_A_UNIT = {"cpu": 4, "gpu": 64, "accelerator": 64}
"""Groups a compute unit that are asked to come when it is counted how many do: more than any device runs."""

LAUNCHES_AT_ONCE = 512
"""Steps that are enqueued before the host looks whether it is to go on."""


class Meetings(Struct, frozen=True):
    """How the groups of a launch meet.

    Attributes
    ----------
    n_groups, size : int
        Groups, and work-items of each.
    method : str
        One of `METHODS`.
    sets : int
        Of ILBS; 0 for the root of the number of groups.
    discovered : bool
        Whether only those take part that are found to run when the first rounds begin.

    Raises
    ------
    OptionError
        If a method cannot do this.
    """

    n_groups: int
    size: int
    method: str = "launch"
    sets: int = 0
    discovered: bool = False

    def __post_init__(self) -> None:
        n, size = self.n_groups, self.size
        if self.method not in METHODS:
            raise OptionError(f'There is no method "{self.method}".', f"There are: {', '.join(METHODS)}.")
        if n < 1 or size < 1:
            raise OptionError(f"{n:,} groups of {size:,} cannot meet.", "Ask for at least one of one work-item.")
        if not 0 <= self.sets <= n:
            raise OptionError(f"{n:,} groups cannot be in {self.sets:,} sets.", f"Ask for 1 to {n:,} sets.")
        if self.method == "lfs" and n > size:
            raise OptionError(
                f"LFS watches no more groups than a group has work-items: {n:,} are more than {size:,}.", "Take ULFS."
            )
        if self.method == "ulfs" and size < 2 <= n:
            raise OptionError("ULFS needs groups of two work-items at least.", "Take LBS, or larger groups.")
        if self.discovered and self.method == "launch":
            raise OptionError(
                "Groups of several launches need not run at once, so none is discovered.", "Take another method."
            )

    @property
    def chosen_sets(self) -> int:
        """Number of sets."""
        return self.sets or max(1, round(math.sqrt(self.n_groups)))

    @property
    def levels(self) -> int:
        """Levels of the tree of ULFS, that of all groups included."""
        n, levels = self.n_groups, 1
        while n > 1:
            n, levels = -(-n // self.size), levels + 1
        return levels


class MeetingKernel(Struct, frozen=True):
    """A kernel whose first parameters are facts and words of its meetings, and whose last are its first and last round.

    Attributes
    ----------
    source, entry : str
    arguments : tuple
        What stands between.
    defines : dict
    """

    source: str
    entry: str
    arguments: tuple[Argument, ...]
    defines: Mapping[str, object] = field(default_factory=dict)


class Rounds:
    """Rounds of a kernel, ready to begin; to be made anew for each time.

    Parameters
    ----------
    session : KernelSession
    how : Meetings
    kernel : MeetingKernel
    n_rounds : int
    first : int
        The first of them.
    """

    def __init__(
        self, session: KernelSession, how: Meetings, kernel: MeetingKernel, n_rounds: int, first: int = 0
    ) -> None:
        self._session, self.how, self.kernel, self.n_rounds, self.first = session, how, kernel, n_rounds, first
        backend = lane_backend(session.device)["LANE_BACKEND"]
        self._defines = {"LANE_BACKEND": backend, **kernel.defines, "MEETING": METHODS[how.method]}
        self._begin(POLL_TO_MEET if how.discovered else NO_POLL, how.n_groups)

    def _begin(self, poll: int, wanted: int) -> None:
        session, how, kind = self._session, self.how, self._session.device.kind
        facts = [PATIENCE[kind], how.chosen_sets, poll, POLL_PATIENCE[kind], wanted]
        self._facts = session.upload(np.array(facts, np.int32))
        self._words = session.zeros(4 * LINE * (FIXED_LINES + LINES_A_GROUP * how.n_groups))

    def start(self) -> None:
        """Enqueue them."""
        if METHODS[self.how.method] == 0:
            for number in range(self.first, self.first + self.n_rounds):
                if number > self.first and (number - self.first) % LAUNCHES_AT_ONCE == 0:
                    self._session.finish()
                    self._session.check()
                self._launch(number, number + 1)
        elif self.n_rounds:
            self._launch(self.first, self.first + self.n_rounds)

    def _launch(self, first: int, last: int) -> None:
        how, kernel = self.how, self.kernel
        self._session.launch(
            kernel.source, kernel.entry, self._defines, how.n_groups * how.size, how.size,
            self._facts, self._words, *kernel.arguments, np.int32(first), np.int32(last),
        )  # fmt: skip

    def finish(self) -> int:
        """Wait for them, and return how many groups took part.

        Raises
        ------
        GroupsApart
            If a group did not come.
        """
        words = self._session.download(self._words, BALLOT + 1, np.int32)
        self._session.finish()  # nothing runs any more; the session lets go of what the kernels had
        if words[GAVE_UP]:
            raise apart(self._session.device, self.how, int(words[GAVE_UP]))
        return int(words[BALLOT]) & ~POLL_CLOSED if self.how.discovered else self.how.n_groups

    def count(self) -> int:
        """Return how many of the groups run at once; no round is run."""
        self._begin(POLL_TO_COUNT, self.how.n_groups)
        self._launch(0, 0)
        return int(self._session.download(self._words, BALLOT + 1, np.int32)[BALLOT]) & ~POLL_CLOSED


def apart(device: Device, how: Meetings, meeting: int) -> GroupsApart:
    """Return the error that not all groups came."""
    return GroupsApart(
        f"{device.name} did not run {how.n_groups:,} groups of {how.size:,} work-items at once: meeting"
        f" {meeting:,} was given up.",
        "Ask for fewer groups, or for one launch a step (method launch).",
    )


def found_together(session: KernelSession, how: Meetings, kernel: MeetingKernel) -> int:
    """Return how many of the groups that are asked for run at once: with fewer than all of them none is to wait."""
    return Rounds(session, replace(how, discovered=False), kernel, 0).count()


def most_together(session: KernelSession, how: Meetings, kernel: MeetingKernel) -> int:
    """Return how many groups of a size and method a device runs at once, found out once for a device and driver.

    It is asked with many groups; of how many there are in `how` does not matter.
    """
    device = session.device
    asked = ASKED_A_UNIT[device.kind] * max(1, device.n_compute_units)
    method = "lbs" if how.size < 2 or how.method == "launch" else {"lfs": "ulfs"}.get(how.method, how.method)
    macros = [f"{name}={value}" for name, value in sorted(kernel.defines.items())]
    return session.measured(
        " ".join(["groups of", kernel.source, kernel.entry, *macros, method, f"x {how.size}"]),
        lambda: found_together(session, Meetings(asked, how.size, method), kernel),
    )

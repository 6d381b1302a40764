"""What each executor has in hand and how fast it is, so that nobody waits long for one that is slow or hangs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from clalign.compute.batching import BATCH_SECONDS
from clalign.execution.units import Unit

REMEMBERED = 0.8
"""What share of all that was measured before still counts after another unit."""

MUCH_SLOWER = 4.0
"""Who is so many times slower than another leaves the end of a query to it."""

END_SECONDS = 1.0
"""So long: then anyone takes it."""

LOST_SECONDS = 10.0
"""After so long what is left at the end of a query is given to one more executor, which may be faster, or not hang."""

LOOKED_AT = 32
"""Of so many executors one that has nothing to do sees what it could help with; the next one looks at the next ones.

A thousand that all looked at each other at the end of a job would do nothing else.
"""

LATE = 8.0
"""Who takes so many times as long as it should is not counted on."""


class Hand(Struct, eq=False):
    """What one executor has, in the order in which it was given.

    Attributes
    ----------
    gives_way : bool
        Whether it waits while others have its device do something for them.
    units : list of Unit
        Those that it has not delivered.
    since : float
        When it delivered the last one, or began.
    n_lent : int
        What others' device, the processor, computes for it.
    n_together : int
        How many units it last delivered at the same time.
    """

    gives_way: bool = False
    n_lent: int = 0
    n_together: int = 1
    units: list[Unit[Any]] = field(default_factory=list)
    since: float = 0.0
    _cells: float = 0.0
    _seconds: float = 0.0
    _count: float = 0.0

    @property
    def rate(self) -> float:
        """Cells a second, with all that is done besides; 0 if it was not measured."""
        return self._cells / self._seconds if self._seconds else 0.0

    @property
    def unit_seconds(self) -> float:
        """Time from one unit to the next; 0 if it was not measured."""
        return self._seconds / self._count if self._count else 0.0

    def take(self, unit: Unit[Any], now: float) -> None:
        """Take a unit."""
        if not self.units:
            self.since = now
        self.units.append(unit)

    def deliver(self, unit: Unit[Any], cells: float, now: float) -> None:
        """Take note that a unit was computed."""
        if unit in self.units:  # else it was taken away
            self.units.remove(unit)
        if not unit.is_end:
            self._cells = REMEMBERED * self._cells + cells
            self._seconds = REMEMBERED * self._seconds + max(now - self.since, 1e-6)
            self._count = REMEMBERED * self._count + 1.0
        self.since = now

    def forget(self) -> None:
        """Begin anew, as if nothing had been measured."""
        self._cells = self._seconds = self._count = 0.0

    def is_late(self, now: float) -> bool:
        """Whether it takes far longer than it did."""
        return bool(self.units) and now - self.since > LATE * max(self.unit_seconds * self.n_together, BATCH_SECONDS)

    @property
    def is_at_an_end(self) -> bool:
        """Whether it has the end of a query."""
        return any(unit.is_end for unit in self.units)

    def is_lost(self, now: float) -> bool:
        """Whether it seems to hang, even if all that it had was taken from it."""
        return now - self.since > max(LOST_SECONDS, LATE * self.unit_seconds)

    def gain(self, unit: Unit[Any], other: Hand, now: float) -> float:
        """Return how many seconds earlier than its holder another one that has nothing to do would deliver a unit."""
        waited = now - self.since
        if unit.is_end:  # a processor that is at it, for a card, would only have to do it for two
            return 0.0 if self.n_lent else waited - LOST_SECONDS
        if not self._count:
            return waited - max(other.unit_seconds, BATCH_SECONDS)
        place = self.units.index(unit) // self.n_together * self.n_together  # it comes with those before and after it
        due = min(place + self.n_together, len(self.units)) * self.unit_seconds - waited
        faster = other.rate / self.rate if other.rate else 1.0
        # One that is late will likely need as long again.
        return (due if due > 0 else -due) - self.unit_seconds / faster


class Hands:
    """The hands of all executors, each known by its cutter.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._hands: dict[int, Hand] = {}
        self._all: list[Hand] = []
        self._looked_at = 0
        self._total_rate = self._highest_rate = 0.0
        self._holders: dict[Unit[Any], int] = {}
        self._n_lent = 0

    def __len__(self) -> int:
        return len(self._holders)

    def __contains__(self, unit: Unit[Any]) -> bool:
        return unit in self._holders

    def of(self, cutter: object) -> Hand:
        """Return the hand of an executor."""
        hand = self._hands.get(id(cutter))
        if hand is None:
            hand = self._hands[id(cutter)] = Hand()
            self._all.append(hand)
        return hand

    def give(self, unit: Unit[Any], hand: Hand) -> None:
        """Give a unit, perhaps one that another executor has as well."""
        hand.take(unit, self.clock())
        self._holders[unit] = self._holders.get(unit, 0) + 1

    def deliver(self, unit: Unit[Any], hand: Hand, cells: float) -> None:
        """Take note that an executor has computed a unit."""
        before = hand.rate
        hand.deliver(unit, cells, self.clock())
        self._total_rate += hand.rate - before
        self._highest_rate = max(self._highest_rate, hand.rate)

    def deliver_together(self, found: Sequence[tuple[Unit[Any], float]], hand: Hand) -> None:
        """Take note of units and their cells that came at the same time: each took its part of that."""
        before, since, now = hand.rate, hand.since, self.clock()
        for place, (unit, cells) in enumerate(found, 1):
            hand.deliver(unit, cells, since + (now - since) * place / len(found))
        hand.n_together = len(found)
        self._total_rate += hand.rate - before
        self._highest_rate = max(self._highest_rate, hand.rate)

    def forget(self, hand: Hand) -> None:
        """Let an executor begin anew."""
        self._total_rate -= hand.rate
        hand.forget()

    def let_go(self, units: Iterable[Unit[Any]], hand: Hand) -> list[Unit[Any]]:
        """Take units from a hand; return those that nobody has any more, though they are not stored."""
        left = []
        for unit in units:
            if unit not in hand.units:  # it was taken away
                continue
            hand.units.remove(unit)
            n = self._holders.get(unit, 0) - 1
            if n > 0:
                self._holders[unit] = n
            elif n == 0:
                del self._holders[unit]
                left.append(unit)
        return left

    def take_away(self, unit: Unit[Any]) -> None:
        """Take a unit from who has it."""
        del self._holders[unit]
        for hand in self._hands.values():
            if unit in hand.units:
                hand.units.remove(unit)

    def remove(self, unit: Unit[Any]) -> None:
        """Take note that a unit is stored."""
        del self._holders[unit]

    def lend(self, hand: Hand, n: int) -> None:
        """Take note that the processor computes something more, or less, for an executor."""
        hand.n_lent += n
        self._n_lent += n

    def is_lent(self) -> bool:
        """Return whether the processor computes for others; nobody waits for a card that seems to be lost.

        At the end of a query, which may take long, no card has to do with it.
        """
        if not self._n_lent:
            return False
        now = self.clock()
        return any(hand.n_lent and (hand.is_at_an_end or not hand.is_lost(now)) for hand in self._hands.values())

    def share(self, hand: Hand) -> float:
        """Return what share one has in the speed of all that were measured; 1 if it was not."""
        return min(1.0, hand.rate / max(self._total_rate, hand.rate)) if hand.rate else 1.0

    def leaves_ends(self, hand: Hand) -> bool:
        """Return whether the ends of queries are better left to another one, which is much faster and at work."""
        least, now = hand.rate * MUCH_SLOWER, self.clock()
        if not hand.rate or self._highest_rate <= least:
            return False
        return any(one.rate > least and not one.is_late(now) for one in self._all)

    def overdue(self, hand: Hand, fits: Callable[[Unit[Any]], bool]) -> Unit[Any] | None:
        """Return the unit of another executor that this one, which has nothing to do, may well deliver before it.

        One that does not fit only comes from an executor that seems to be lost.
        """
        now, found, most = self.clock(), None, 0.0
        for holder in self._next_ones():
            for unit in holder.units if holder is not hand else ():
                if not self._is_to_be_helped(unit, now):
                    continue
                gain = holder.gain(unit, hand, now)
                if gain > most and (holder.is_late(now) or fits(unit)):
                    found, most = unit, gain
        return found

    def _next_ones(self) -> list[Hand]:
        """Return the hands of the executors that are looked at now, all in turn."""
        first, n = self._looked_at, len(self._all)
        if n <= LOOKED_AT:
            return self._all
        self._looked_at = (first + LOOKED_AT) % n
        return self._all[first : first + LOOKED_AT] + self._all[: max(0, first + LOOKED_AT - n)]

    def _is_to_be_helped(self, unit: Unit[Any], now: float) -> bool:
        """Return whether a unit is in the hands of one executor alone, or of several that all seem to be lost."""
        n = self._holders.get(unit, 0)  # none if it is stored
        if n < 2:
            return n == 1
        holders = [one for one in self._hands.values() if unit in one.units]
        return len(holders) == n and all(one.is_lost(now) for one in holders)  # else one has delivered it

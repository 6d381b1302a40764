"""HMMER's generator of 64-bit random numbers, and the sample that it draws from many rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

WORD = 2**64 - 1

N_WORDS, HALF = 312, 156
"""Words of the state, and the distance of those that are combined."""

HIGH, LOW = 0xFFFFFFFF80000000, 0x7FFFFFFF
TWIST, MULTIPLIER = 0xB5026F5AA96619E9, 6364136223846793005

FEW_PER_DRAWN = 13
"""Once so few are left for each that is still to be drawn, every one is looked at."""


class Random64:
    """The Mersenne Twister with words of 64 bits.

    Parameters
    ----------
    seed : int

    References
    ----------
    Nishimura, ACM Trans. Model. Comput. Simul. 10, 348-357 (2000).
    """

    def __init__(self, seed: int) -> None:
        self._state = [seed]
        for place in range(1, N_WORDS):
            last = self._state[-1]
            self._state.append(MULTIPLIER * (last ^ last >> 62) + place & WORD)
        self._next = N_WORDS

    def word(self) -> int:
        """Return the next number from 0 to 2^64 - 1."""
        if self._next == N_WORDS:
            self._twist()
        x = self._state[self._next]
        self._next += 1
        x ^= x >> 29 & 0x5555555555555555
        x ^= x << 17 & 0x71D67FFFEDA60000
        x ^= x << 37 & 0xFFF7EEE000000000
        return x ^ x >> 43

    def _twist(self) -> None:
        state = self._state
        for place in range(N_WORDS):
            x = state[place] & HIGH | state[(place + 1) % N_WORDS] & LOW
            state[place] = state[(place + HALF) % N_WORDS] ^ x >> 1 ^ (TWIST if x & 1 else 0)
        self._next = 0

    def below_one(self) -> float:
        """Return a number from 0 on and below 1."""
        return (self.word() >> 11) / 2.0**53

    def between(self) -> float:
        """Return a number above 0 and below 1."""
        return ((self.word() >> 12) + 0.5) / 2.0**52


def sample(seed: int, n_drawn: int, n: int) -> npt.NDArray[np.int64]:
    """Return a random sample of the numbers below `n`, rising (int64[n_drawn]).

    References
    ----------
    Vitter, ACM Trans. Math. Softw. 13, 58-67 (1987): methods A and D.
    """
    random, drawn, last = Random64(seed), list[int](), -1
    left, total, limit = n_drawn, float(n), n - n_drawn + 1
    share = math.exp(math.log(random.below_one()) / left)
    while left > 1 and n > FEW_PER_DRAWN * left:
        skipped, share = _skipped(random, share, left, n, total, limit)
        last += skipped + 1
        drawn.append(last)
        n -= skipped + 1
        total -= skipped + 1.0
        left, limit = left - 1, limit - skipped
    if left == 1:
        drawn.append(last + math.floor(n * share) + 1)
    else:
        drawn += _one_by_one(random, left, n, last)
    return np.array(drawn, np.int64)


def _skipped(random: Random64, share: float, left: int, n: int, total: float, limit: int) -> tuple[int, float]:
    """Return how many numbers the next draw passes over, and the share for the one after it (method D)."""
    by_fewer, real_limit = 1.0 / (left - 1.0), float(limit)
    while True:
        while True:
            x = total * (1.0 - share)
            skipped = math.floor(x)
            if skipped < limit:
                break
            share = math.exp(math.log(random.between()) / left)
        u = random.between()
        y1 = math.exp(by_fewer * math.log(u * total / real_limit))
        share = y1 * (1.0 - x / total) * (real_limit / (real_limit - skipped))
        if share <= 1.0:
            return skipped, share
        y2, top = 1.0, total - 1.0
        bottom, least = (total - left, n - skipped) if n - 1 > skipped else (total - skipped - 1.0, limit)
        for _ in range(n - 1, least - 1, -1):
            y2, top, bottom = y2 * top / bottom, top - 1.0, bottom - 1.0
        if total / (total - x) >= y1 * math.exp(by_fewer * math.log(y2)):
            return skipped, math.exp(by_fewer * math.log(random.between()))
        share = math.exp(math.log(random.between()) / left)


def _one_by_one(random: Random64, left: int, n: int, last: int) -> list[int]:
    """Return the numbers after the last one that are drawn when each is looked at (method A)."""
    drawn, top, total = list[int](), float(n - left), float(n)
    for _ in range(left - 1):
        u, skipped, share = random.between(), 0, top / total
        while share > u:
            skipped += 1
            top, total = top - 1.0, total - 1.0
            share = share * top / total
        last += skipped + 1
        drawn.append(last)
        total -= 1.0
    return [*drawn, last + math.floor(round(total) * random.below_one()) + 1]

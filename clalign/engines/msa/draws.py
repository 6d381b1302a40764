"""Random numbers like those of the GNU C library, so that what is drawn is what FSA draws."""

from __future__ import annotations

from collections import deque

MODULUS, MULTIPLIER = 2**31 - 1, 16807
LONG_LAG, SHORT_LAG = 31, 3
SPARED = 310
"""Numbers that are left out at the beginning."""


class Draws:
    """An additive feedback generator: each number is the sum of those 31 and 3 places before it.

    Parameters
    ----------
    seed : int
        FSA's is 1.
    n_before : int
        Numbers that were drawn before.
    """

    def __init__(self, seed: int = 1, n_before: int = 0) -> None:
        first = [seed % MODULUS or 1]
        while len(first) < LONG_LAG:
            first.append(MULTIPLIER * first[-1] % MODULUS)
        self._numbers = deque([*first[SHORT_LAG:], *first[:SHORT_LAG]], LONG_LAG)
        for _ in range(SPARED + n_before):
            self._next()
        self.n_drawn = n_before

    def below(self, n: int) -> int:
        """Return a number from 0 to n - 1."""
        self.n_drawn += 1
        return (self._next() >> 1) % n

    def _next(self) -> int:
        number = (self._numbers[0] + self._numbers[-SHORT_LAG]) % 2**32
        self._numbers.append(number)
        return number

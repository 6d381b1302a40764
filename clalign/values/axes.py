"""Axes of pictures: the pixel of a number, and the round numbers at the ticks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

MINUS = "\u2212"

Floats = npt.NDArray[np.float64]


class Scale(Struct, frozen=True):
    """A map from numbers to pixels.

    Attributes
    ----------
    low, high : float
        Ends of the axis.
    start, end : float
        Pixels of the ends.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        place: Callable[[float], float] = math.log10 if self.log else float
        share = (place(value) - place(self.low)) / ((place(self.high) - place(self.low)) or 1.0)
        return self.start + share * (self.end - self.start)

    def places(self, values: Floats) -> Floats:
        """Return the pixels of numbers (float64[n]); those beyond the ends lie on them."""
        clipped = np.clip(values, self.low, self.high)
        low, high = self.low, self.high
        if self.log:
            clipped, low, high = np.log10(clipped), math.log10(low), math.log10(high)
        return np.asarray(self.start + (clipped - low) / ((high - low) or 1.0) * (self.end - self.start), np.float64)

    def ticks(self, room: float) -> list[float]:
        """Return round numbers, one for each `room` pixels."""
        max_ticks = max(2, int(abs(self.end - self.start) / room))
        return (log_ticks if self.log else linear_ticks)(self.low, self.high, max_ticks)


def linear_ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Return round numbers between two ends, at most about `max_ticks` of them."""
    rough = (high - low) / max(1, max_ticks)
    if rough <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step)
    return [step * place for place in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Return powers of ten between two ends; with 2 and 5 of each where there is room."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [f * 10.0**p for p in powers for f in factors if low * 0.999 <= f * 10.0**p <= high * 1.001]
        if len(ticks) <= max_ticks:
            return ticks
    step = math.ceil(len(ticks) / max_ticks)
    return [tick for tick in ticks if round(math.log10(tick)) % step == 0]


def tick_text(value: float) -> str:
    """Return a number beside an axis: ``0.01``, ``250``, ``2,000``, ``10 k``, ``2 M``, ``1 G``, with a true minus."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size or (size > 1e3 and abs(value) >= size):
            return f"{value / size:g}\u202f{unit}".replace("-", MINUS)
    return f"{value:,g}".replace("-", MINUS)

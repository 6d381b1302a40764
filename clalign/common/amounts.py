"""Numbers of things, amounts of memory, times and rates of runs as text, in decimal units."""

from __future__ import annotations

import math
from collections.abc import Mapping

UNITS = ("bytes", "kB", "MB", "GB", "TB")
"""Units of memory; each is a thousand times the one before."""

THIN = "\u202f"
"""Narrow no-break space before units, where there is a font that has it."""


def size_text(n_bytes: float, blank: str = " ") -> str:
    """Return an amount of memory with two digits or more, as in ``7.6 GB`` or ``312 MB``.

    Parameters
    ----------
    n_bytes : float
    blank : str
        What stands between number and unit.
    """
    power = 0
    while n_bytes >= 999.5 and power < len(UNITS) - 1:  # 999.5 would be rounded to 1000, which is 1 of the next unit
        n_bytes /= 1000
        power += 1
    digits = 1 if power and n_bytes < 9.95 else 0
    return f"{n_bytes:.{digits}f}{blank}{UNITS[power]}"


def counted(n: int, one: str, several: str = "") -> str:
    """Return a number with its noun, as in ``1 profile`` or ``1,204 profiles``."""
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"


def rate_text(gcups: float, blank: str = " ") -> str:
    """Return a speed in 10^9 cells a second to three digits as in ``12.3 GCUPS``, a low one as in ``4.80e-5 GCUPS``."""
    if not math.isfinite(gcups):  # as a damaged run may have it
        return f"{gcups}{blank}GCUPS"
    mantissa, exponent = f"{gcups:.2e}".split("e")
    if 0 < gcups < 0.001:
        return f"{mantissa}e{int(exponent)}{blank}GCUPS"
    return f"{gcups:,.{max(0, 2 - int(exponent))}f}{blank}GCUPS"


def seconds_text(value: float, blank: str = " ") -> str:
    """Return a measured time (seconds) with three digits, as in ``4.21 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            number = f"{value / size:.3g}" if value < 1000 * size else f"{round(value / size):,}"
            return f"{number}{blank}{unit}"
    return f"{value * 1e6:.3g}{blank}µs" if value else f"0{blank}s"


def rate_of_run(n_cells: float, seconds: float) -> float:
    """Return the rate of a run in GCUPS, 10^9 cells a second: all its cells divided by all its time, waiting included.

    It is shown for runs; devices show the rate of their self-test.
    """
    return n_cells / seconds / 1e9 if seconds > 0 else 0.0


def rate_of_finished(done: Mapping[str, float]) -> float:
    """Return the rate of a run in GCUPS from what is stored about its end."""
    return rate_of_run(done["new_cells"], done["seconds"])

"""Amounts of memory in words, the same everywhere: in decimal units, as disks and files have them."""

from __future__ import annotations

UNITS = ("bytes", "kB", "MB", "GB", "TB")
"""Each a thousand of the one before."""


def size_text(n_bytes: float, blank: str = " ") -> str:
    """Return an amount of memory with two digits or more, as in ``7.6 GB`` or ``312 MB``.

    Parameters
    ----------
    n_bytes : float
    blank : str
        What stands between number and unit.
    """
    power = 0
    while n_bytes >= 999.5 and power < len(UNITS) - 1:  # what would be rounded to 1000 is one of the next unit
        n_bytes /= 1000
        power += 1
    digits = 1 if power and n_bytes < 9.95 else 0
    return f"{n_bytes:.{digits}f}{blank}{UNITS[power]}"

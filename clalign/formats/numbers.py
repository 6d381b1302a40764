"""Numbers in files: finite decimal numbers within bounds, without the other forms that Python takes."""

from __future__ import annotations

import math
import re

import numpy as np

MAX_FLOAT32 = float(np.finfo(np.float32).max)
"""Limit of numbers in profiles, which are kept as float32."""

MAX_DIGITS = 18
"""Limit of the digits of a whole number; more do not fit 64 bits."""

_WHOLE = re.compile(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")


def finite(word: str) -> float | None:
    """Return a number that a float32 can hold; None if the word is not one.

    ``nan``, ``inf``, ``1_000`` and digits of other scripts are not taken.
    """
    if "_" in word or not word.isascii():
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= MAX_FLOAT32 else None


def whole(word: str) -> int | None:
    """Return a whole number that fits 64 bits; None if the word is not one."""
    return int(word) if _WHOLE.fullmatch(word) else None

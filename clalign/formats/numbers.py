"""Numbers in files: decimal digits alone, finite, within bounds. What else Python takes for a number is none here."""

from __future__ import annotations

import math
import re

import numpy as np

LARGEST = float(np.finfo(np.float32).max)
"""Numbers of profiles are kept as float32."""

MAX_DIGITS = 18
"""Of a whole number; more do not fit 64 bits."""

_WHOLE = re.compile(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")


def finite(word: str) -> float | None:
    """Return a number that a float32 can hold; None if the word is none.

    ``nan``, ``inf``, ``1_000`` and digits of other scripts are none.
    """
    if "_" in word or not word.isascii():
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST else None


def whole(word: str) -> int | None:
    """Return a whole number that fits 64 bits; None if the word is none."""
    return int(word) if _WHOLE.fullmatch(word) else None

"""Tuning of the kernels that define domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clalign.compute.tuning import Tuning, choice


@dataclass(frozen=True, slots=True)
class DomainTuning(Tuning):
    """Measured: a processor of Intel with AVX-512.

    Attributes
    ----------
    widest : int
        Lanes of the vectors in which many problems are done side by side, four each. Each cell of a row waits for the
        one before, and where registers are wide two of them can wait at the same time.
    """

    prefix: ClassVar[str] = "domains."

    widest: int = choice(16, "domains: lanes of the widest vectors", shape="vector", avx512=32)

"""Findings of a reader: counts and lines of each byte among the residues, and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

MAX_SHOWN_LINES = 5
"""Limit of the line numbers that are kept for each kind of finding."""

DIGITS = b"0123456789"
GAPS = b"-._~"
BLANKS = b" \t\r\n\v\f"

LINE_OF = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
"""A function from positions in a text to line numbers."""


class LetterTally:
    """Counts of each byte among the residues, its first lines, and its first record where known."""

    def __init__(self) -> None:
        self.counts = np.zeros(256, np.int64)
        self.lines: dict[int, list[int]] = {}
        self.records: dict[int, str] = {}

    def add(self, text: bytes, line_of: LINE_OF) -> None:
        """Count a text of residues; `line_of` gives the line numbers of positions in it."""
        values = np.frombuffer(text, np.uint8)
        counts = _byte_counts(values)
        self.counts += counts
        counts[list(BLANKS)] = 0
        for byte in np.flatnonzero(counts).tolist():
            known = self.lines.setdefault(byte, [])
            if len(known) < MAX_SHOWN_LINES:
                places = np.flatnonzero(values == byte)
                lines = np.unique(line_of(places[: 1 << 14]))  # nearly always enough
                if len(lines) < MAX_SHOWN_LINES and len(places) > 1 << 14:
                    lines = np.unique(line_of(places))
                self.lines[byte] = sorted({*known, *lines[:MAX_SHOWN_LINES].tolist()})[:MAX_SHOWN_LINES]


def _byte_counts(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return how often each byte value occurs (int64[256]); two bytes at a time are counted faster."""
    if len(values) < 1 << 17:
        return np.bincount(values, minlength=256).astype(np.int64)
    even = len(values) & ~1
    pairs = np.bincount(values[:even].view("<u2"), minlength=1 << 16).reshape(256, 256)
    counts: npt.NDArray[np.int64] = pairs.sum(axis=0) + pairs.sum(axis=1)
    if even < len(values):
        counts[values[-1]] += 1
    return counts


class Finding(Struct):
    """A kind of finding: its count, its first lines, and a detail of the first one."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    detail: str = ""


class Findings(Struct):
    """The findings of a reader by kind; `clalign.databases.reports` puts them in words."""

    found: dict[str, Finding] = field(default_factory=dict)

    def add(self, kind: str, line: int | None = None, detail: str = "", count: int = 1) -> None:
        """Add a finding."""
        finding = self.found.setdefault(kind, Finding(detail=detail))
        finding.count += count
        if line is not None and len(finding.lines) < MAX_SHOWN_LINES:
            finding.lines.append(line)

    def add_lines(self, kind: str, lines: Iterable[int], count: int) -> None:
        """Add a finding in several lines."""
        finding = self.found.setdefault(kind, Finding())
        finding.count += count
        finding.lines = [*finding.lines, *lines][:MAX_SHOWN_LINES]

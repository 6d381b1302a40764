"""What a reader notices: how often each byte occurs among the residues and where, and other findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.values.alphabets import DROP, ENCODE

SHOWN_LINES = 5
"""Line numbers that are kept of each kind of finding."""

DIGITS = b"0123456789"
GAPS = b"-._~"
BLANKS = b" \t\r\n\v\f"

LINE_OF = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
"""Line numbers of positions in a text."""


class LetterTally:
    """Counts of each byte among the residues, the first lines it occurs in, and the first record if that is known."""

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
            if len(known) < SHOWN_LINES:
                places = np.flatnonzero(values == byte)[: 1 << 14]
                fresh = sorted({*known, *np.unique(line_of(places))[:SHOWN_LINES].tolist()})
                self.lines[byte] = fresh[:SHOWN_LINES]


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


def code_counts(byte_counts: npt.NDArray[np.int64], n_codes: int) -> npt.NDArray[np.int64]:
    """Return counts of letter codes (int64[n_codes]) from counts of bytes."""
    kept = ENCODE != DROP
    counts = np.zeros(n_codes, np.int64)
    np.add.at(counts, ENCODE[kept], byte_counts[kept])
    return counts


class Finding(Struct):
    """How often something was met, the first lines, and a word about the first one."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    detail: str = ""


class Findings(Struct):
    """What a reader noticed, by kind; `clalign.databases.reports` puts it in words."""

    found: dict[str, Finding] = field(default_factory=dict)

    def add(self, kind: str, line: int | None = None, detail: str = "", count: int = 1) -> None:
        """Note something."""
        finding = self.found.setdefault(kind, Finding(detail=detail))
        finding.count += count
        if line is not None and len(finding.lines) < SHOWN_LINES:
            finding.lines.append(line)

    def add_lines(self, kind: str, lines: Iterable[int], count: int) -> None:
        """Note something that occurred in several lines."""
        finding = self.found.setdefault(kind, Finding())
        finding.count += count
        finding.lines = [*finding.lines, *lines][:SHOWN_LINES]

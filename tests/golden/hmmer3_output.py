"""What hmmsearch and hmmscan 3.3.2 print, and how it is compared with what clalign prints.

A printed number may differ in its last digit where the number before rounding lies within `SLACK` of
the place where rounding changes: Forward scores are sums of many small floats, whose order differs.
Coordinates, counts and names may not differ at all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

SLACK = 1e-3
"""Bits for scores, a share for E-values."""

HIT_FIELDS = 19
DOMAIN_FIELDS = 23

_HIT_NUMBERS = {4: ".2g", 5: ".1f", 6: ".1f", 7: ".2g", 8: ".1f", 9: ".1f", 10: ".1f"}
_DOMAIN_NUMBERS = {6: ".2g", 7: ".1f", 8: ".1f", 11: ".2g", 12: ".2g", 13: ".1f", 14: ".1f", 21: ".2f"}
"""Columns that hold rounded numbers, and how they are printed."""


@dataclass
class Comparison:
    """What differs between two tables.

    Attributes
    ----------
    n_lines, n_equal : int
        Lines of their table, and those of them that ours has letter by letter.
    permitted, wrong : list of str
        Differences, with their reasons.
    """

    n_lines: int = 0
    n_equal: int = 0
    permitted: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        """Add the counts and differences of another comparison."""
        self.n_lines += other.n_lines
        self.n_equal += other.n_equal
        self.permitted += other.permitted
        self.wrong += other.wrong


def table_body(text: str) -> list[str]:
    """Return a table without the lines that name program, files and date."""
    lines = text.splitlines()
    ends = [i for i, line in enumerate(lines) if line.startswith("# Program:")]
    return lines[: ends[-1] - 1] if ends else lines


def text_body(text: str) -> list[str]:
    """Return the text that people read without its head, the lines about time and the names of files."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Query:"))
    kept = (line.partition(" saved to: ")[0] for line in lines[start:])
    return [line for line in kept if not line.startswith("# ") or "alignment" in line.lower()]


def alignment_body(text: str) -> list[str]:
    """Return a Stockholm alignment without the lines that name program, files and date."""
    return [line for line in text.splitlines() if not line.startswith(("#=GF AU", "#=GF CC"))]


def rows(text: str) -> list[str]:
    """Return the lines of a table that are no comments."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def hit_values(json_lines: str) -> list[dict[int, float]]:
    """Return the numbers of each hit before rounding, by column of its line."""
    return [_values_of_hit(json.loads(line)) for line in json_lines.splitlines()]


def _values_of_hit(hit: dict[str, Any]) -> dict[int, float]:
    values = {4: hit["evalue"], 5: hit["score"], 6: hit["bias"], 10: hit["estimates"]["domains"]}
    best = max(hit["domains"], key=lambda domain: domain["score"], default=None)
    if best is not None:
        values |= {7: best["i_evalue"], 8: best["score"], 9: best["bias"]}
    return values


def domain_values(json_lines: str) -> list[dict[int, float]]:
    """Return the numbers of each domain before rounding, by column of its line."""
    return [
        {
            6: hit["evalue"], 7: hit["score"], 8: hit["bias"], 11: domain["c_evalue"], 12: domain["i_evalue"],
            13: domain["score"], 14: domain["bias"], 21: domain["accuracy"],
        }
        for hit in map(json.loads, json_lines.splitlines())
        for domain in hit["domains"]
    ]  # fmt: skip


def compare_hits(theirs: str, ours: str, json_lines: str, limit: float = 10.0) -> Comparison:
    """Compare two tables of hits; `limit` is the E-value up to which hits are reported."""
    return _compare(
        rows(theirs), rows(ours), hit_values(json_lines), _HIT_NUMBERS, (HIT_FIELDS, (0, 1, 2, 3), 4, limit)
    )


def compare_domains(theirs: str, ours: str, json_lines: str, limit: float = 10.0) -> Comparison:
    """Compare two tables of domains; `limit` is the conditional E-value up to which domains are reported."""
    layout = (DOMAIN_FIELDS, (0, 1, 3, 4, 17, 18, 19, 20), 11, limit)
    return _compare(rows(theirs), rows(ours), domain_values(json_lines), _DOMAIN_NUMBERS, layout)


def _compare(
    theirs: list[str],
    ours: list[str],
    values: list[dict[int, float]],
    numbers: dict[int, str],
    layout: tuple[int, tuple[int, ...], int, float],
) -> Comparison:
    n_fields, key_fields, evalue, limit = layout
    found = Comparison(n_lines=len(theirs), n_equal=sum((Counter(theirs) & Counter(ours)).values()))
    if theirs == ours:
        return found
    assert len(ours) == len(values)
    mine = {key: (line, value) for (key, line), value in zip(_keyed(ours, n_fields, key_fields), values, strict=True)}
    for key, line in _keyed(theirs, n_fields, key_fields):
        if key not in mine:
            printed = line.split(None, n_fields - 1)[evalue]
            is_near = printed in {f"{limit * (1 + x):.2g}" for x in (-SLACK, 0, SLACK)}
            (found.permitted if is_near else found.wrong).append(f"missing: {line}")
            continue
        own, value = mine.pop(key)
        if own != line:
            _judge(line, own, value, (numbers, n_fields), found)
    for own, value in mine.values():
        is_near = abs(value[evalue] - limit) <= SLACK * limit
        (found.permitted if is_near else found.wrong).append(f"not theirs: {own}")
    if not found.permitted and not found.wrong:
        found.wrong.append("the order of the lines differs")
    return found


def _keyed(lines: Iterable[str], n_fields: int, key_fields: tuple[int, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a key that no other line has, and the line."""
    seen: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        fields = line.split(None, n_fields - 1)
        key = tuple(fields[i] for i in key_fields)
        seen[key] += 1
        yield (*key, str(seen[key])), line


def _judge(line: str, own: str, value: dict[int, float], layout: tuple[dict[int, str], int], found: Comparison) -> None:
    """Say of two lines for the same thing whether their difference is permitted."""
    numbers, n_fields = layout
    theirs, ours = line.split(None, n_fields - 1), own.split(None, n_fields - 1)
    if len(theirs) != len(ours):
        found.wrong.append(f"{line} / {own}")
        return
    changed = [i for i, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b]
    near = all(i in numbers and theirs[i] in near_prints(value[i], numbers[i]) for i in changed)
    messages = ", ".join(f"{theirs[i]} / {ours[i]} ({value.get(i)!r})" for i in changed) or "blanks"
    (found.permitted if near and changed else found.wrong).append(f"{' '.join(theirs[:4])}: {messages}")


def near_prints(value: float, form: str) -> set[str]:
    """Return what a number and its close neighbors are printed as."""
    step = abs(value) * SLACK if form == ".2g" else SLACK
    return {format(x, form) for x in (value - step, value, value + step)}

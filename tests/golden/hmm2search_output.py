"""Read the text that hmmsearch 2.3.2 prints, and the like text that clalign prints for HMMER2 profiles."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SEQUENCES = "Scores for complete sequences"
DOMAINS = "Parsed for domains"
ALIGNMENTS = "Alignments of top-scoring domains"

_SEQUENCE = re.compile(r"(\S+)\s+(?:.*\s)?(-?\d+\.\d)\s+([-+.\de]+|inf|nan)\s+(\d+)\s*$")
_DOMAIN = re.compile(
    r"(\S+)\s+(\d+)/(\d+)\s+(\d+)\s+(\d+) ([.\[][.\]])\s+(\d+)\s+(\d+) ([.\[][.\]])\s+(-?\d+\.\d)\s+(\S+)\s*$"
)
_ALIGNMENT = re.compile(r"(\S+): domain (\d+) of (\d+), from (\d+) to (\d+): score (-?\d+\.\d), E = (\S+)$")
_TARGET = re.compile(r"\s+(?!RF |CS )\S+\s+(?:\d+|-)\s(.*?)\s(?:\d+|-)\s*$")
_TOTAL = re.compile(r"Total sequences searched:\s+(\d+)")


@dataclass(frozen=True, slots=True)
class GoldenHit:
    """A line of the sequence table, numbers as printed."""

    name: str
    score: str
    evalue: str
    n_domains: int


@dataclass(frozen=True, slots=True)
class GoldenDomain:
    """A line of the domain table, numbers as printed, coordinates from 1 and inclusive, and its alignment rows."""

    name: str
    number: int
    n_domains: int
    target_start: int
    target_end: int
    target_marks: str
    profile_start: int
    profile_end: int
    profile_marks: str
    score: str
    evalue: str
    rows: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class GoldenAnswer:
    """What one profile found."""

    n_searched: int
    hits: tuple[GoldenHit, ...] = ()
    domains: tuple[GoldenDomain, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GoldenAnswer:
        domains = tuple(GoldenDomain(**{**d, "rows": tuple(d["rows"]) if d["rows"] else None}) for d in data["domains"])
        return cls(data["n_searched"], tuple(GoldenHit(**hit) for hit in data["hits"]), domains)


def parse_output(text: str) -> GoldenAnswer:
    """Return the answer for the one profile in `text`."""
    lines = text.splitlines()
    total = next(int(found[1]) for line in lines if (found := _TOTAL.match(line)))
    return replace(_parsed(lines, SEQUENCES), n_searched=total)


def _parsed(lines: list[str], first_part: str) -> GoldenAnswer:
    hits = [
        GoldenHit(found[1], found[2], found[3], int(found[4]))
        for line in _section(lines, first_part, DOMAINS)
        if (found := _SEQUENCE.match(line))
    ]
    rows = _alignments(_section(lines, ALIGNMENTS, "Histogram of all scores", "Total sequences searched"))
    domains = []
    for line in _section(lines, DOMAINS, ALIGNMENTS, "Histogram of all scores", "Total sequences searched"):
        if found := _DOMAIN.match(line):
            name, *numbers = found.groups()
            i, n, start, end = map(int, numbers[:4])
            key = (name, i, n, start, end)
            queue = rows.get(key)
            marks, numbers = (numbers[4], numbers[7]), numbers[5:7] + numbers[8:]
            ranges = (start, end, marks[0], int(numbers[0]), int(numbers[1]), marks[1])
            queue = rows.get(key)
            domains.append(GoldenDomain(name, i, n, *ranges, *numbers[2:], queue.pop(0) if queue else None))
    return GoldenAnswer(0, tuple(hits), tuple(domains))


def _section(lines: list[str], start: str, *ends: str) -> list[str]:
    for first, line in enumerate(lines):
        if line.startswith(start):
            rest = lines[first + 1 :]
            last = next((i for i, line in enumerate(rest) if line.startswith(ends)), len(rest))
            return rest[:last]
    return []


Key = tuple[str, int, int, int, int]


def _alignments(lines: list[str]) -> dict[Key, list[tuple[str, str, str]]]:
    """Return the rows of each alignment; equal keys (doubled names) in the order of the text."""
    found: dict[Key, list[tuple[str, str, str]]] = {}
    starts = [i for i, line in enumerate(lines) if _ALIGNMENT.match(line)]
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        head = _ALIGNMENT.match(lines[start])
        assert head
        key = (head[1], int(head[2]), int(head[3]), int(head[4]), int(head[5]))
        found.setdefault(key, []).append(_rows(lines[start + 1 : end]))
    return found


def _rows(lines: list[str]) -> tuple[str, str, str]:
    """Return model, match and target rows, joined over the blocks, without the marks of begin and end.

    A block is closed by its target line; the two lines above it are model and match. Lines above those
    hold reference and structure annotation.
    """
    column = next(line.index("*->") for line in lines if "*->" in line)
    model, match, target = "", "", ""
    for i, line in enumerate(lines):
        if i < 2 or not (found := _TARGET.match(line)) or line[:column].strip() == "":
            continue
        letters = found[1]
        middle = lines[i - 1][column : column + 50]
        upper = lines[i - 2][column : column + 50]
        width = len(upper.rstrip())
        model += upper[:width]
        match += middle.ljust(width)[:width]
        target += letters.ljust(width)[:width]
    assert model.startswith("*->"), model
    assert model.endswith("<-*"), model
    return model[3:-3], match[3:-3], target[3:-3]


def differences(expected: GoldenAnswer, found: GoldenAnswer) -> list[str]:
    """Return a sentence for each difference of two answers; the order of equal scores is free."""
    texts = []
    if expected.n_searched != found.n_searched:
        texts.append(f"{found.n_searched} sequences searched instead of {expected.n_searched}")
    missing, extra = Counter(expected.hits) - Counter(found.hits), Counter(found.hits) - Counter(expected.hits)
    texts += [f"missing {hit}" for hit in missing] + [f"extra {hit}" for hit in extra]
    theirs, ours = _by_numbers(expected.domains), _by_numbers(found.domains)
    texts += [f"missing {key}" for key in theirs if key not in ours]
    texts += [f"extra {key}" for key in ours if key not in theirs]
    for key in theirs.keys() & ours.keys():
        if len(theirs[key]) != len(ours[key]):
            texts.append(f"{len(ours[key])} times instead of {len(theirs[key])}: {key}")
        elif theirs[key] != ours[key]:
            texts.append(f"another alignment of {key}: {ours[key]} instead of {theirs[key]}")
    return texts


def _by_numbers(domains: tuple[GoldenDomain, ...]) -> dict[GoldenDomain, list[tuple[str, str, str] | None]]:
    table: dict[GoldenDomain, list[tuple[str, str, str] | None]] = {}
    for domain in domains:
        table.setdefault(replace(domain, rows=None), []).append(domain.rows)
    return table


FAMILIES = "Scores for sequence family classification"
QUERY = "Query sequence: "


def parse_scan(text: str) -> list[tuple[str, GoldenAnswer]]:
    """Return the answer for each sequence in the text of a scan that matches anything; names are those of profiles."""
    found = []
    for part in text.split(f"\n{QUERY}")[1:]:
        lines = part.splitlines()
        end = lines.index("//") if "//" in lines else len(lines)
        answer = _parsed(lines[:end], FAMILIES)
        if answer.hits:
            found.append((lines[0].strip(), answer))
    return found

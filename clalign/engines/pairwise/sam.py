"""Alignments of sequences to targets as SAM, the Sequence Alignment/Map format, version 1.6."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from clalign.formats.intervals import percent_escape
from clalign.formats.pairwise_rows import PairRow
from clalign.formats.tables import Provenance, plain
from clalign.values.documents import Card

REVERSE, SECONDARY, UNMAPPED = 16, 256, 4
UNKNOWN_QUALITY = 255

LONGEST_QUERY_NAME = 254

_NOT_IN_TARGET_NAMES = re.compile(r"^[*=]|[^0-9A-Za-z!#$%&+./:;?@^_|~*=-]")
_NOT_IN_QUERY_NAMES = re.compile(r"[^!-?A-~]")
_NOT_RESIDUES = re.compile(r"[^A-Za-z=.]")


class Names:
    """Names as SAM allows them, no two alike.

    What it does not allow in a name stands as bytes in hexadecimal digits after ``%``; a name that occurs again gets a
    number.

    Parameters
    ----------
    given : iterable of (int, str)
        What sequences are known by, and their names, in the order of their file.
    are_targets : bool

    Attributes
    ----------
    repeated : list of str
        Names that occur again, once for each sequence.
    """

    def __init__(self, given: Iterable[tuple[int, str]], are_targets: bool) -> None:
        self._names: dict[int, str] = {}
        self.repeated: list[str] = []
        forbidden = _NOT_IN_TARGET_NAMES if are_targets else _NOT_IN_QUERY_NAMES
        longest = None if are_targets else LONGEST_QUERY_NAME
        taken, last = set[str](), Counter[str]()
        for key, name in given:
            first = made = forbidden.sub(percent_escape, name)[:longest] or "_"
            while made in taken:
                last[first] += 1
                ending = f"_{last[first] + 1}"
                made = f"{first[: longest and longest - len(ending)]}{ending}"
            if made != first:
                self.repeated.append(name)
            taken.add(made)
            self._names[key] = made

    def __getitem__(self, key: int) -> str:
        return self._names[key]

    def warning(self, what: str) -> str:
        """Return the sentence about sequences, called `what`, that have got a number; nothing if there are none."""
        if not self.repeated:
            return ""
        n, example = len(self.repeated), self.repeated[0]
        return (
            f"SAM distinguishes {what} by their names: {n:,} whose name occurs before, such as {example}, got a number."
        )


def head_lines(targets: Iterable[tuple[int, str, int]], names: Names, origin: Provenance) -> Iterator[str]:
    """Yield the header: a line for each target (row, name, residues), and the program."""
    yield "@HD\tVN:1.6\tSO:unsorted\tGO:query"
    for row, name, length in targets:
        own = f"\tDS:{plain(name)}" if names[row] != name else ""
        yield f"@SQ\tSN:{names[row]}\tLN:{max(1, length)}{own}"
    command = " ".join(origin.command.split())
    yield f"@PG\tID:clalign\tPN:clalign\tVN:{origin.version}\tCL:{command}"
    yield f"@CO\tdevice: {origin.device}"
    yield f"@CO\tdate: {origin.date}"
    yield from origin.checksum_lines("@CO\tSHA-256: ")
    if origin.partial:
        yield "@CO\tpartial: yes"


def record(row: PairRow, names: tuple[str, str], is_first: bool, residues: str) -> str:
    """Return the line of an alignment.

    Parameters
    ----------
    row : PairRow
    names : tuple of str
        Of query and target.
    is_first : bool
        Whether it is the best one of its query; others are secondary and carry no residues.
    residues : str
        The query as it was read; empty if it is not at hand.
    """
    length, (start, end) = row.card["length"], row.domain.query_range
    before, after = (start, length - end) if row.pair.strand > 0 else (length - end, start)
    clipped = [f"{n}S" if n else "" for n in (before, after)]
    flag = (0 if row.pair.strand > 0 else REVERSE) | (0 if is_first else SECONDARY)
    text = residues
    if residues and row.pair.strand < 0:
        text = row.complemented(residues)
    shown = _shown(text, row.card["alphabet"]) if is_first and text else "*"
    edits = row.n_columns - row.pair.n_identical
    tags = [f"AS:i:{row.domain.raw}", f"NM:i:{edits}"]
    if row.has_statistics:
        tags += [f"ZE:f:{row.domain.evalue:.6g}", f"ZB:f:{row.domain.score:.6g}"]
    cells = [
        names[0], flag, names[1], row.domain.target_range[0] + 1,
        UNKNOWN_QUALITY, f"{clipped[0]}{row.domain.cigar}{clipped[1]}", "*", 0, 0, shown, "*", *tags,
    ]  # fmt: skip
    return "\t".join(map(str, cells))


def unmapped(card: Card, name: str, residues: str) -> str:
    """Return the line of a query, by a name, that was found nowhere."""
    shown = _shown(residues, card["alphabet"]) or "*"
    return "\t".join(map(str, (name, UNMAPPED, "*", 0, 0, "*", "*", 0, 0, shown, "*")))


def _shown(residues: str, alphabet: str) -> str:
    """Return residues as SAM allows them; what is no letter, such as a stop, is an unknown residue."""
    return _NOT_RESIDUES.sub("X" if alphabet == "amino" else "N", residues)

"""Alignments of sequences to targets as SAM, the Sequence Alignment/Map format, version 1.6."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clalign.formats.pairwise_rows import PairRow
from clalign.formats.tables import Card, Provenance

REVERSE, SECONDARY, UNMAPPED = 16, 256, 4
UNKNOWN_QUALITY = 255

_NOT_IN_TARGET_NAMES = re.compile(r"[^0-9A-Za-z!#$%&+./:;?@^_|~*=-]")
_NOT_IN_QUERY_NAMES = re.compile(r"[^!-?A-~]")
_NOT_RESIDUES = re.compile(r"[^A-Za-z=.]")


def target_name(name: str) -> str:
    """Return a name as SAM allows it for a reference."""
    allowed = _NOT_IN_TARGET_NAMES.sub("_", name) or "_"
    return f"_{allowed[1:]}" if allowed[0] in "*=" else allowed


def query_name(name: str) -> str:
    """Return a name as SAM allows it for a query."""
    return _NOT_IN_QUERY_NAMES.sub("_", name)[:254] or "_"


def head_lines(targets: Iterable[tuple[str, int]], origin: Provenance) -> Iterator[str]:
    """Yield the header: a line for each target (name, residues), and the program."""
    yield "@HD\tVN:1.6\tSO:unsorted\tGO:query"
    for name, length in targets:
        yield f"@SQ\tSN:{target_name(name)}\tLN:{max(1, length)}"
    command = " ".join(origin.command.split())
    yield f"@PG\tID:clalign\tPN:clalign\tVN:{origin.version}\tCL:{command}"
    yield f"@CO\tdevice: {origin.device}"
    yield f"@CO\tdate: {origin.date}"
    yield from origin.checksum_lines("@CO\tSHA-256: ")
    if origin.partial:
        yield "@CO\tpartial: yes"


def record(row: PairRow, is_first: bool, residues: str) -> str:
    """Return the line of an alignment.

    Parameters
    ----------
    row : PairRow
    is_first : bool
        Whether it is the best one of its query; others are secondary and carry no residues.
    residues : str
        The query as it was read; empty if it is not at hand.
    """
    length, (start, end) = row.card["length"], row.domain.profile_range
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
        query_name(row.card["name"]), flag, target_name(row.hit.name), row.domain.target_range[0] + 1,
        UNKNOWN_QUALITY, f"{clipped[0]}{row.domain.cigar}{clipped[1]}", "*", 0, 0, shown, "*", *tags,
    ]  # fmt: skip
    return "\t".join(map(str, cells))


def unmapped(card: Card, residues: str) -> str:
    """Return the line of a query that was found nowhere."""
    shown = _shown(residues, card["alphabet"]) or "*"
    return "\t".join(map(str, (query_name(card["name"]), UNMAPPED, "*", 0, 0, "*", "*", 0, 0, shown, "*")))


def _shown(residues: str, alphabet: str) -> str:
    """Return residues as SAM allows them; what is no letter, such as a stop, is an unknown residue."""
    return _NOT_RESIDUES.sub("X" if alphabet == "amino" else "N", residues)

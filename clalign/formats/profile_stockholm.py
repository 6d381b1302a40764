"""Domains of a profile as a multiple alignment in Stockholm format: a column for each node, others for inserts.

Alignments of whole sequences are written by `clalign.formats.row_writers`, those of HMMER3's layout by
`clalign.engines.plan7.exports.hmmer3_stockholm`; the reader is `clalign.formats.stockholm`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from clalign.formats.writers import line_name
from clalign.values.documents import Card

_INSERTS, _DELETES, _NODES = re.compile("I+"), re.compile("D+|[MI]+"), re.compile("[MD]+")


class AlignedRow(Struct, frozen=True):
    """One domain as a row of a multiple alignment.

    Attributes
    ----------
    name, accession, description : str
        Name, without coordinates, accession and description of the sequence.
    start, end : int
        Residues, from 1, inclusive.
    first_node : int
        Node of the first step, from 0.
    states : str
        ``M``, ``I`` or ``D`` for each column of `text`.
    text : str
        The residues; anything for a delete.
    posterior : str
        Posterior probability of each column, where the engine knows it.
    score : float
        Bits of the hit or domain; not a number where there are none.
    """

    name: str
    accession: str
    description: str
    start: int
    end: int
    first_node: int
    states: str
    text: str
    posterior: str = ""
    score: float = math.nan

    @property
    def place(self) -> str:
        """Name and ends, as in ``name/1-20``."""
        return f"{self.name}/{self.start}-{self.end}"

    @property
    def remark(self) -> str:
        """What is said of the row."""
        return f"[subseq from] {self.description or self.name}"


class QueryRow(AlignedRow, frozen=True):
    """What was searched with, as a row of an alignment to itself."""

    @classmethod
    def of(cls, name: str, accession: str, description: str, residues: str) -> QueryRow:
        """Return the row of a sequence."""
        n = len(residues)
        return cls(name, accession, description, 1, n, 0, "M" * n, residues)

    @property
    def place(self) -> str:
        """Its name."""
        return self.name

    @property
    def remark(self) -> str:
        """Its description."""
        return self.description


def widen_inserts(row: AlignedRow, inserts: list[int]) -> None:
    """Widen the inserts after the nodes 0..length (0: before the first) to those of a row."""
    for node, start, end in inserts_of(row):
        inserts[node] = max(inserts[node], end - start)


def inserts_of(row: AlignedRow) -> Iterator[tuple[int, int, int]]:
    """Yield how many nodes lie before each insert of a row, its first column and one past its last."""
    inserted = row.first_node
    for found in _INSERTS.finditer(row.states):
        start, end = found.span()
        yield inserted + start, start, end
        inserted -= end - start


def consensus_text(row: AlignedRow, text: str, length: int, delete: str) -> str:
    """Return the part of a text in the columns of nodes, with the character `delete` for missing nodes."""
    if "D" in row.states:
        text = "".join(
            [
                delete * len(found[0]) if found[0][0] == "D" else text[found.start() : found.end()]
                for found in _DELETES.finditer(row.states)
            ]
        )
    if "I" in row.states:
        text = "".join([text[found.start() : found.end()] for found in _NODES.finditer(row.states)])
    return (delete * row.first_node + text).ljust(length, delete)


def woven(consensus: str, inserted: Iterable[tuple[int, str, int]], inserts: Sequence[tuple[int, int]]) -> str:
    """Return consensus columns and inserts in order.

    Parameters
    ----------
    consensus : str
        A character for each node.
    inserted : iterable of (int, str, int)
        For each insert of a row the number of nodes before it, its text, and how many characters are left-aligned.
    inserts : sequence of (int, int)
        For each insert of the alignment the number of nodes before it, and its columns.
    """
    texts, columns, before = {node: (text, left) for node, text, left in inserted}, list[str](), 0
    for node, n in inserts:
        text, left = texts.get(node, ("", 0))
        columns.append(f"{consensus[before:node]}{text[:left]}{'.' * (n - len(text))}{text[left:]}")
        before = node
    return "".join([*columns, consensus[before:]])


def aligned_text(row: AlignedRow, inserts: list[int]) -> str:
    """Return a row of the multiple alignment.

    Match columns hold upper-case residues or ``-``, insert columns lower-case residues or ``.``, filled up
    from the left.
    """
    consensus = consensus_text(row, row.text.upper(), len(inserts) - 1, "-")
    found = [(node, row.text[start:end].lower(), end - start) for node, start, end in inserts_of(row)]
    return woven(consensus, found, [(node, n) for node, n in enumerate(inserts) if n])


def annotation_text(symbols: str, inserts: list[int]) -> str:
    """Return an annotation of the nodes spread over the columns, with ``.`` at inserts."""
    return "." * inserts[0] + "".join(symbol + "." * n for symbol, n in zip(symbols, inserts[1:], strict=True))


def profile_stockholm_lines(
    card: Card, rows: Callable[[], Iterable[AlignedRow]], comments: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the lines of a Stockholm alignment of domains to their profile.

    Parameters
    ----------
    card : dict
        Card of the profile: name, accession, description, length, reference, structure.
    rows : callable
        Returns the rows; called three times, so that they need not be kept in memory.
    comments : iterable of str
        Lines of free text for the head of the file.

    Notes
    -----
    Rows are named ``name/from-to``. Names that occur repeatedly get a number.
    """
    length: int = card["length"]
    inserts, width = [0] * (length + 1), 0
    for name, row in _named(rows()):
        widen_inserts(row, inserts)
        width = max(width, len(name))
    yield "# STOCKHOLM 1.0"
    for tag, key in (("ID", "name"), ("AC", "accession"), ("DE", "description")):
        if card[key]:
            yield f"#=GF {tag} {card[key]}"
    yield from (f"#=GF CC {comment}" for comment in comments)
    for name, row in _named(rows()):
        if row.accession:
            yield f"#=GS {name:<{width}s} AC {row.accession}"
        yield f"#=GS {name:<{width}s} DE {row.remark}"
    label = max(width, len("#=GC SS_cons"))
    for name, row in _named(rows()):
        yield f"{name:<{label}s} {aligned_text(row, inserts)}"
    if card.get("structure"):
        yield f"{'#=GC SS_cons':<{label}s} {annotation_text(card['structure'], inserts)}"
    reference = card.get("reference") or "x" * length
    yield f"{'#=GC RF':<{label}s} {annotation_text(reference, inserts)}"
    yield "//"


def _named(rows: Iterable[AlignedRow]) -> Iterator[tuple[str, AlignedRow]]:
    rows, again = itertools.tee(rows)
    return zip(map(line_name, unique_names(f"{row.name}/{row.start}-{row.end}" for row in again)), rows, strict=True)


def unique_names(names: Iterable[str]) -> Iterator[str]:
    """Yield unique names: those that occur repeatedly get a number before their ends."""
    seen = Counter[str]()
    for name in names:
        seen[name] += 1
        head, _, ends = name.rpartition("/")
        yield name if seen[name] == 1 else f"{head}_{seen[name]}/{ends}"

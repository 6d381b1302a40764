"""Alignments of two sequences as the rows of tables: BLAST's columns, and JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from operator import add

from msgspec import Struct

from clalign.formats.tables import plain
from clalign.values.alphabets import ALPHABETS
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit, PairFacts, covered
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule

_COMPLEMENTS = {name: str.maketrans(alphabet.complement or {}) for name, alphabet in ALPHABETS.items()}
"""Complements of upper-case letters, by the name of the alphabet."""

_ALIKE = re.compile(r"\|+|[^|]+")
"""Pattern of a run of columns with equal residues, or of others."""

NOT_KNOWN = "NA"
"""Stands for E-values and bit scores where there are no statistics."""


class PairRow(Struct, frozen=True):
    """An alignment with its query and its target.

    Attributes
    ----------
    card : dict
        Card of the query.
    hit : Hit
        The target.
    domain : Domain
        The alignment.
    note : str
        The user's note on the hit.
    has_raw : bool
        Whether there is a score in units of a matrix.
    """

    card: Card
    hit: Hit
    domain: Domain
    note: str = ""
    has_raw: bool = True

    @property
    def pair(self) -> PairFacts:
        """The counts of the columns of the alignment."""
        assert self.domain.pair is not None
        return self.domain.pair

    @property
    def n_columns(self) -> int:
        """Columns of the alignment."""
        return len(self.domain.states)

    @property
    def query_ends(self) -> tuple[int, int]:
        """First and last residue of the query, from 1; 0 and 0 for an empty alignment."""
        return _ends(self.domain.query_range)

    @property
    def target_ends(self) -> tuple[int, int]:
        """First and last residue of the target, from 1; on the minus strand the first is the greater one."""
        start, end = _ends(self.domain.target_range)
        return (start, end) if self.pair.strand > 0 else (end, start)

    @property
    def rows(self) -> tuple[str, str, str]:
        """Query, middle and target in the direction of the query: on the minus strand the target's reverse complement.

        Each keeps to its own alphabet, so that a target of DNA has no U beside a query of RNA.
        """
        text = self.domain.text
        if self.pair.strand > 0:
            return text.model, text.match, text.target
        target = self.card.get("target_alphabet") or self.card["alphabet"]
        return self.complemented(text.model), text.match[::-1], complemented(text.target, target)

    def complemented(self, residues: str) -> str:
        """Return the reverse complement of residues of the query."""
        return complemented(residues, self.card["alphabet"])

    @property
    def identity(self) -> float:
        """Share of the columns that hold two equal residues, in percent."""
        return percent(self.pair.n_identical, self.n_columns)

    @property
    def positives(self) -> float:
        """Share of the columns that hold two residues with a score above 0, in percent."""
        return percent(self.pair.n_positive, self.n_columns)

    @property
    def query_coverage(self) -> float:
        """Share of the query that is aligned, in percent."""
        start, end = self.domain.query_range
        return percent(end - start, self.card["length"])

    @property
    def target_coverage(self) -> float:
        """Share of the target that is aligned, in percent."""
        start, end = self.domain.target_range
        return percent(end - start, self.hit.length)

    @property
    def strand(self) -> str:
        """``plus`` or ``minus``."""
        return "plus" if self.pair.strand > 0 else "minus"

    @property
    def has_statistics(self) -> bool:
        """Whether there are bits and E-values."""
        return not math.isnan(self.domain.evalue)

    @property
    def btop(self) -> str:
        """BLAST's traceback operations: numbers of equal residues, and pairs of letters that differ."""
        query, middle, target = self.rows
        words = []
        for run in _ALIKE.finditer(middle):
            start, end = run.span()
            is_same = middle[start] == "|"
            words.append(str(end - start) if is_same else "".join(map(add, query[start:end], target[start:end])))
        return "".join(words)


def complemented(residues: str, alphabet: str) -> str:
    """Return the reverse complement of residues of an alphabet, given by its name."""
    return residues.translate(_COMPLEMENTS[alphabet])[::-1]


def percent(part: float, whole: float) -> float:
    """Return a share in percent; 0 if the whole is 0."""
    return 100.0 * part / whole if whole else 0.0


def _ends(span: tuple[int, int]) -> tuple[int, int]:
    return (span[0] + 1, span[1]) if span[1] > span[0] else (0, 0)


def evalue_text(value: float) -> str:
    """Return an E-value with the digits that BLAST prints."""
    if math.isnan(value):
        return NOT_KNOWN
    if value < 1e-180:
        return "0.0"
    if value < 0.0009:
        return f"{value:.2e}"
    limits = ((0.1, ".3f"), (1.0, ".2f"), (10.0, ".1f"))
    return format(value, next((form for limit, form in limits if value < limit), ".0f"))


def bits_text(value: float) -> str:
    """Return bits with the digits that BLAST prints: whole ones, rounded down, from 100 on."""
    if value > 99_999:
        return f"{value:.3e}"
    return str(int(value)) if value > 99.9 else f"{value:.1f}"


def _query_covered(row: PairRow) -> float:
    """Return the share of the query that any alignment with this target covers, in percent."""
    return percent(covered(domain.query_range for domain in row.hit.domains), row.card["length"])


SPECIES = "sscinames"

VALUES: dict[str, Callable[[PairRow], object]] = {
    "qseqid": lambda row: plain(row.card["name"]),
    "qacc": lambda row: plain(row.card["accession"] or row.card["name"]),
    "qlen": lambda row: row.card["length"],
    "sseqid": lambda row: plain(row.hit.name),
    "qaccver": lambda row: plain(row.card["accession"] or row.card["name"]),
    "saccver": lambda row: plain(row.hit.accession or row.hit.name),
    "sacc": lambda row: plain(row.hit.accession or row.hit.name),
    "stitle": lambda row: plain(row.hit.description),
    "slen": lambda row: row.hit.length,
    "qstart": lambda row: row.query_ends[0],
    "qend": lambda row: row.query_ends[1],
    "sstart": lambda row: row.target_ends[0],
    "send": lambda row: row.target_ends[1],
    "qseq": lambda row: row.rows[0],
    "sseq": lambda row: row.rows[2],
    "evalue": lambda row: evalue_text(row.domain.evalue),
    "bitscore": lambda row: bits_text(row.domain.score) if row.has_statistics else NOT_KNOWN,
    "score": lambda row: row.domain.raw if row.has_raw else NOT_KNOWN,
    "length": lambda row: row.n_columns,
    "pident": lambda row: f"{row.identity:.3f}",
    "nident": lambda row: row.pair.n_identical,
    "mismatch": lambda row: row.n_columns - row.pair.n_gap_residues - row.pair.n_identical,
    "positive": lambda row: row.pair.n_positive,
    "ppos": lambda row: f"{row.positives:.2f}",
    "gapopen": lambda row: row.pair.n_gaps,
    "gaps": lambda row: row.pair.n_gap_residues,
    "qcovs": lambda row: f"{_query_covered(row):.0f}",
    "qcovhsp": lambda row: f"{row.query_coverage:.0f}",
    "scovhsp": lambda row: f"{row.target_coverage:.0f}",
    "sstrand": lambda row: row.strand if row.card["alphabet"] != "amino" else "N/A",
    "btop": lambda row: row.btop,
    "cigar": lambda row: row.domain.cigar,
}
"""Values of the columns of BLAST's tables, except for the species."""


def outfmt_line(row: PairRow, names: Sequence[str], species: SpeciesRule = FROM_DESCRIPTIONS) -> str:
    """Return the line of an alignment with BLAST's columns; `species` finds the species of the target."""
    return "\t".join(_species_cell(row, species) if name == SPECIES else str(VALUES[name](row)) for name in names)


def _species_cell(row: PairRow, species: SpeciesRule) -> str:
    return plain(species.of(row.hit.name, row.hit.accession, row.hit.description)) or NOT_KNOWN


def json_object(card: Card, hit: Hit, note: str = "") -> dict[str, object]:
    """Return a target with its alignments, and with a note if there is one, for a JSON line; positions count from 1."""
    rows = [PairRow(card, hit, domain) for domain in hit.domains]
    known = bool(rows) and rows[0].has_statistics
    return {
        "query": {key: card[key] for key in ("name", "accession", "description", "length")},
        "target": {key: getattr(hit, key) for key in ("name", "accession", "description", "length")},
        "evalue": hit.evalue if known else None,
        "bits": hit.score if known else None,
        "score": hit.raw,
        "alignments": [_json_alignment(row) for row in rows],
        **({"note": note} if note else {}),
    }


def _json_alignment(row: PairRow) -> dict[str, object]:
    domain, pair = row.domain, row.pair
    query, middle, target = row.rows
    return {
        "evalue": domain.evalue if row.has_statistics else None,
        "bits": domain.score if row.has_statistics else None,
        "score": domain.raw,
        "strand": row.strand,
        "query_from": row.query_ends[0],
        "query_to": row.query_ends[1],
        "target_from": row.target_ends[0],
        "target_to": row.target_ends[1],
        "columns": row.n_columns,
        "identical": pair.n_identical,
        "positive": pair.n_positive,
        "gaps": pair.n_gaps,
        "gap_residues": pair.n_gap_residues,
        "query_coverage": row.query_coverage,
        "target_coverage": row.target_coverage,
        "cigar": domain.cigar,
        "alignment": {"query": query, "match": middle, "target": target},
    }

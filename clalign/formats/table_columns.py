"""The columns of the tab-separated tables: one definition of their names, types, units and meanings, and their values.

A line of ``tsv`` is a hit of a profile search, one of ``domtsv`` a domain, one of ``sw`` an alignment of two
sequences. Query and target are as in HMMER's tables: in hmmsearch the profile is the query, in hmmscan the sequence
is. Coordinates count from 1 and include both ends. What an engine does not know is left empty; HMMER2 knows no
envelopes, no conditional E-values and no expected accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from clalign.formats.pairwise_rows import PairRow, covered, percent
from clalign.formats.tables import Card, digits, envelope_of, plain
from clalign.values.hits import Domain, Hit

Table = Literal["tsv", "domtsv", "sw"]

Kind = Literal["text", "whole number", "number", "percent"]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of a table.

    Attributes
    ----------
    card : dict
        The query's: of a profile or a sequence.
    hit : Hit
        The target, under its own name, accession, description and length, be it a sequence or a profile.
    domains : tuple of Domain
        Of a hit those that are reported, else the one that the line is of.
    number : int or None
        Which of the hit's domains it is; None if the line is of the whole hit.
    n_domains : int
        How many there are.
    is_scan : bool
        Whether the target is a profile.
    is_significant : bool
        Whether hit and domain are beyond the inclusion thresholds.
    note : str
        What the user has written beside the hit.
    """

    card: Card
    hit: Hit
    domains: tuple[Domain, ...]
    number: int | None = None
    n_domains: int = 1
    is_scan: bool = False
    is_significant: bool = True
    note: str = ""

    @property
    def domain(self) -> Domain:
        """The domain that the line is of."""
        return self.domains[0]

    @property
    def pair(self) -> PairRow:
        """The alignment of two sequences that the line is of."""
        return PairRow(self.card, self.hit, self.domain)

    @property
    def is_pair(self) -> bool:
        """Whether it is of two sequences."""
        return bool(self.domains) and self.domain.pair is not None

    @property
    def scored(self) -> Hit | Domain:
        """What its score is of."""
        return self.hit if self.number is None else self.domain

    @property
    def envelope(self) -> tuple[int, int] | None:
        """Envelope of the domain, if the engine knows one."""
        return envelope_of(self.card, self.domain)

    @property
    def n_columns(self) -> int:
        """Columns of the alignments."""
        return sum(len(domain.states) for domain in self.domains)

    @property
    def identity(self) -> float | None:
        """Share of the columns of all alignments in which both sides have the same residue, in percent."""
        if not self.domains:
            return None
        return percent(sum(domain.n_identical for domain in self.domains), self.n_columns)

    @property
    def query_coverage(self) -> float:
        """Share of the query that is aligned, in percent."""
        return percent(covered(self._spans(of_profile=not self.is_scan)), self.card["length"])

    @property
    def target_coverage(self) -> float:
        """Share of the target that is aligned, in percent."""
        return percent(covered(self._spans(of_profile=self.is_scan)), self.hit.length)

    def _spans(self, of_profile: bool) -> list[tuple[int, int]]:
        return [domain.profile_range if of_profile else domain.target_range for domain in self.domains]


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes
    ----------
    name : str
    tables : tuple of str
        The tables that have it.
    kind : str
        What its cells hold.
    unit : str
        Of a number; may be empty.
    meaning : str
        In words, without a capital letter or full stop.
    value : callable
        Returns the value of a line; None if it is not known.
    """

    name: str
    tables: tuple[Table, ...]
    kind: Kind
    unit: str
    meaning: str
    value: Callable[[TableRow], Any]


_ALL: tuple[Table, ...] = ("tsv", "domtsv", "sw")
_PROFILES: tuple[Table, ...] = ("tsv", "domtsv")
_ALIGNED: tuple[Table, ...] = ("domtsv", "sw")


def _known(row: TableRow, value: float) -> float | None:
    """Return a number that only alignments with statistics have."""
    return value if row.pair.has_statistics else None


COLUMNS = (
    Column("query", _ALL, "text", "", "name of the query: a profile in hmmsearch, a sequence in hmmscan and sw",
           lambda r: r.card["name"]),
    Column("target", _ALL, "text", "", "name of the target: a profile in hmmscan, else a sequence",
           lambda r: r.hit.name),
    Column("query_accession", _ALL, "text", "", "accession of the query", lambda r: r.card["accession"]),
    Column("target_accession", _ALL, "text", "", "accession of the target", lambda r: r.hit.accession),
    Column("query_length", _ALL, "whole number", "nodes, residues", "length of the query", lambda r: r.card["length"]),
    Column("target_length", _ALL, "whole number", "nodes, residues", "length of the target", lambda r: r.hit.length),
    Column("description", _ALL, "text", "", "description of the target", lambda r: r.hit.description),
    Column("domain", ("domtsv",), "whole number", "", "number of the domain among those of the target",
           lambda r: r.number),
    Column("n_domains", _PROFILES, "whole number", "",
           "domains of the target: of HMMER3 those that are reported, of HMMER2 those that make the score",
           lambda r: r.n_domains),
    Column("evalue", ("tsv", "sw"), "number", "", "expected number of targets this good by chance",
           lambda r: _known(r, r.domain.evalue) if r.is_pair else r.hit.evalue),
    Column("c_evalue", ("domtsv",), "number", "", "E-value of the domain among the targets that are reported (HMMER3)",
           lambda r: r.domain.conditional_evalue),
    Column("i_evalue", ("domtsv",), "number", "", "E-value of the domain as if it were alone on its target",
           lambda r: r.domain.evalue),
    Column("bits", ("sw",), "number", "bits", "score in bits, comparable between matrices",
           lambda r: _known(r, r.domain.score)),
    Column("score", _ALL, "number", "bits; of sw units of the matrix", "score of the target, in domtsv of the domain",
           lambda r: r.domain.raw if r.is_pair else r.scored.score),
    Column("bias", _PROFILES, "number", "bits", "what the correction for biased composition took from that score",
           lambda r: r.scored.bias),
    Column("hit_evalue", ("domtsv",), "number", "", "E-value of the whole target", lambda r: r.hit.evalue),
    Column("hit_score", ("domtsv",), "number", "bits", "score of the whole target", lambda r: r.hit.score),
    Column("hit_bias", ("domtsv",), "number", "bits", "correction for biased composition of the whole target",
           lambda r: r.hit.bias),
    Column("best_domain_evalue", ("tsv",), "number", "", "E-value of the best domain alone",
           lambda r: r.hit.best_domain and r.hit.best_domain.evalue),
    Column("best_domain_score", ("tsv",), "number", "bits", "score of the best domain alone",
           lambda r: r.hit.best_domain and r.hit.best_domain.score),
    Column("expected_domains", ("tsv",), "number", "", "expected number of domains (HMMER3)",
           lambda r: r.hit.estimates and r.hit.estimates.expected),
    Column("hmm_from", ("domtsv",), "whole number", "nodes", "first node of the profile that is aligned",
           lambda r: r.domain.profile_range[0] + 1),
    Column("hmm_to", ("domtsv",), "whole number", "nodes", "last node of the profile that is aligned",
           lambda r: r.domain.profile_range[1]),
    Column("ali_from", ("domtsv",), "whole number", "residues", "first residue of the sequence that is aligned",
           lambda r: r.domain.target_range[0] + 1),
    Column("ali_to", ("domtsv",), "whole number", "residues", "last residue of the sequence that is aligned",
           lambda r: r.domain.target_range[1]),
    Column("env_from", ("domtsv",), "whole number", "residues", "first residue of the envelope (HMMER3)",
           lambda r: r.envelope and r.envelope[0] + 1),
    Column("env_to", ("domtsv",), "whole number", "residues", "last residue of the envelope (HMMER3)",
           lambda r: r.envelope and r.envelope[1]),
    Column("query_from", ("sw",), "whole number", "residues", "first residue of the query that is aligned",
           lambda r: r.pair.query_ends[0]),
    Column("query_to", ("sw",), "whole number", "residues", "last residue of the query that is aligned",
           lambda r: r.pair.query_ends[1]),
    Column("target_from", ("sw",), "whole number", "residues",
           "first residue of the target that is aligned; on the minus strand after the last one",
           lambda r: r.pair.target_ends[0]),
    Column("target_to", ("sw",), "whole number", "residues", "last residue of the target that is aligned",
           lambda r: r.pair.target_ends[1]),
    Column("strand", ("sw",), "text", "", "strand of the query that is aligned: plus or minus",
           lambda r: r.pair.strand),
    Column("query_coverage", _ALL, "percent", "%", "share of the query that is aligned", lambda r: r.query_coverage),
    Column("target_coverage", _ALL, "percent", "%", "share of the target that is aligned",
           lambda r: r.target_coverage),
    Column("columns", _ALIGNED, "whole number", "", "columns of the alignment, those in gaps included",
           lambda r: r.n_columns),
    Column("identity", _ALL, "percent", "%",
           "share of the columns of the alignment with two equal residues; a profile's are those of its consensus",
           lambda r: r.identity),
    Column("positives", ("sw",), "percent", "%", "share of the columns whose residues score above 0 in the matrix",
           lambda r: r.pair.positives),
    Column("gaps", ("sw",), "whole number", "", "gaps of whatever length", lambda r: r.pair.pair.n_gaps),
    Column("gap_residues", ("sw",), "whole number", "", "columns in gaps", lambda r: r.pair.pair.n_gap_residues),
    Column("accuracy", ("domtsv",), "number", "", "expected share of the residues that are aligned correctly (HMMER3)",
           lambda r: r.domain.accuracy),
    Column("cigar", _ALIGNED, "text", "",
           "path as in SAM along the sequence, in sw the target: M both, I profile or query alone, D sequence alone",
           lambda r: r.domain.cigar),
    Column("significant", _PROFILES, "text", "", "yes if it is beyond the inclusion thresholds, else no",
           lambda r: "yes" if r.is_significant else "no"),
    Column("note", ("tsv", "sw"), "text", "", "your own words about the hit", lambda r: r.note),
)  # fmt: skip
"""All columns of all tables, in the order in which a table has those that are its own."""


def columns_of_table(table: str) -> tuple[Column, ...]:
    """Return the columns of a table; none of an unknown one."""
    return tuple(column for column in COLUMNS if table in column.tables)


def meaning_of(name: str) -> str:
    """Return the meaning of a column as a sentence without its full stop, for a tooltip."""
    text = next(column.meaning for column in COLUMNS if column.name == name)
    return f"{text[0].upper()}{text[1:]}"


def header_line(table: Table) -> str:
    """Return the header of a table."""
    return "\t".join(column.name for column in columns_of_table(table))


def table_lines(table: Table, rows: Iterable[TableRow]) -> Iterable[str]:
    """Yield the lines of a table without its header."""
    columns = [(column.value, _WRITTEN[column.kind]) for column in columns_of_table(table)]
    for row in rows:
        yield "\t".join("" if (found := value(row)) is None else written(found) for value, written in columns)


_WRITTEN: dict[Kind, Callable[[Any], str]] = {
    "text": plain,
    "whole number": str,
    "number": lambda value: str(value) if isinstance(value, int) else digits(value),
    "percent": lambda value: f"{value:.2f}",
}


def documentation() -> Iterable[str]:
    """Yield the lines of the table of columns as the documents have it."""
    yield "| column | in | holds | unit | meaning |"
    yield "|---|---|---|---|---|"
    for column in COLUMNS:
        tables = ", ".join(f"`{table}`" for table in column.tables)
        yield f"| `{column.name}` | {tables} | {column.kind} | {column.unit} | {column.meaning} |"

"""The columns of the hits of profiles, and the rows of their tables.

Query and target are as in HMMER's tables: in hmmsearch the profile is the query, in hmmscan the sequence is. HMMER2
knows no envelopes, no conditional E-values and no expected accuracy.
"""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clalign.engines.columns import (
    ACCESSION,
    DESCRIPTION,
    EVALUE,
    LENGTH,
    NAME,
    NOTE,
    QUERY,
    QUERY_ACCESSION,
    QUERY_LENGTH,
    SPECIES,
    VERIFIED,
    CellOf,
    Column,
    Kind,
    Sets,
    file_column,
    table_of,
)
from clalign.formats.pairwise_rows import percent
from clalign.formats.tables import envelope_of
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit, covered


class Row(Struct, frozen=True):
    """A line of a table.

    Attributes
    ----------
    card : dict
        The query's: of a profile or a sequence.
    hit : Hit
        The target, under its own name, accession, description and length, be it a sequence or a profile.
    domains : tuple of Domain
        Of a hit those that are reported, or of them the significant ones if only these are chosen; else the one that
        the line is of.
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
        return [domain.query_range if of_profile else domain.target_range for domain in self.domains]

    @property
    def best_evalue(self) -> float | None:
        """E-value of the best domain alone."""
        best = self.hit.best_domain
        return None if best is None or math.isnan(best.evalue) else best.evalue

    @property
    def accuracy(self) -> float | None:
        """Expected accuracy of the domain with the highest score."""
        best = max(self.domains, key=lambda domain: domain.score, default=None)
        return None if best is None else best.accuracy


def _of(part: str, name: str) -> CellOf:
    """Return a callable that gives a value of a part of a hit that not every hit has."""
    return lambda row: getattr(getattr(row.hit, part), name, None)


def _hmmer3(key: str, heading: str, tip: str, kind: Kind = "whole number", unit: str = "", **more: Any) -> Column:
    value = {"value": _of("filters" if unit == "bits" else "estimates", key), **more}
    return Column(key, heading, f"{tip} (HMMER3)", kind, unit, sort=key, **value)


HITS = (
    Column("status", "Status", "Significant, or only reported", sort="score", first="large", file="significant",
           meaning="yes if it is beyond the inclusion thresholds, else no",
           value=lambda r: "yes" if r.is_significant else "no"),
    NAME,
    DESCRIPTION,
    NOTE,
    EVALUE,
    Column("score", "Score (bits)", "Corrected score of the whole sequence", "number", "bits", sort="score",
           filter="score", file="score", meaning="score of the target, in domtsv of the domain",
           value=lambda r: r.scored.score),
    Column("domains", "Domains", "Domains on the sequence, drawn to scale", "picture", sort="n_reported",
           filter="domains", file="n_domains",
           meaning="domains of the target: of HMMER3 those that are reported, of HMMER2 those that make the score",
           value=lambda r: r.n_domains),
    Column("bias", "Bias", "What the correction for biased composition took, in bits", "number", "bits", sort="bias",
           filter="bias", file="bias", meaning="what the correction for biased composition took from that score",
           value=lambda r: r.scored.bias),
    Column("best_evalue", "Best domain E", "E-value of the best domain alone", "number", sort="best_evalue",
           first="small", filter="domE", file="best_domain_evalue", meaning="E-value of the best domain alone",
           value=lambda r: r.best_evalue),
    Column("best_score", "Best domain (bits)", "Score of the best domain alone", "number", "bits", sort="best_score",
           filter="domscore", file="best_domain_score", value=_of("best_domain", "score")),
    Column("coverage", "Profile %", "Share of the profile that the domains cover", "percent", "%", sort="coverage",
           file="query_coverage", meaning="share of the query that is aligned", value=lambda r: r.query_coverage),
    Column("target_coverage", "Sequence %", "Share of the sequence that the domains cover", "percent", "%",
           sort="target_coverage", file="target_coverage", meaning="share of the target that is aligned",
           value=lambda r: r.target_coverage),
    Column("identity", "Identity %", "Share of the columns of the alignments with the residue of the consensus",
           "percent", "%", sort="identity", file="identity",
           meaning="share of the columns of the alignment with two equal residues; a profile's are those of its"
           " consensus",
           value=lambda r: r.identity),
    replace(LENGTH, unit="nodes, residues"),
    ACCESSION,
    Column("from_to", "From–to", "First and last residue of the domains", "places", "residues", sort="start",
           first="small"),
    Column("envelope", "Env from–to", "First and last residue of the envelopes; HMMER2's are the domains", "places",
           "residues", sort="env_start", first="small"),
    Column("model", "Model from–to", "First and last node of the profile", "places", "nodes", sort="model_start",
           first="small"),
    SPECIES,
    VERIFIED,
    replace(QUERY, heading="Profile", tip="Profile that the hit is of"),
    _hmmer3("accuracy", "Accuracy", "Expected share of correctly aligned residues of the best domain", "number",
            file="accuracy", meaning="expected share of the residues that are aligned correctly (HMMER3)",
            value=lambda r: r.accuracy),
    _hmmer3("msv", "MSV", "Score in the MSV filter, in bits; ∞ is more than the filter can count", "number", "bits"),
    _hmmer3("bias_filter", "MSV − bias", "The same after the filter for biased composition", "number", "bits",
            value=_of("filters", "bias")),
    _hmmer3("viterbi", "Viterbi", "Score in the Viterbi filter, in bits; a dash: it was not needed", "number", "bits"),
    _hmmer3("forward", "Forward", "Score of all alignments together, in bits", "number", "bits"),
    _hmmer3("expected", "exp", "Expected number of domains", "number", file="expected_domains",
            meaning="expected number of domains (HMMER3)"),
    _hmmer3("n_regions", "reg", "Regions that hold anything"),
    _hmmer3("n_clustered", "clu", "Regions that were resolved by sampling"),
    _hmmer3("n_overlaps", "ov", "Envelopes that overlap the one before"),
    _hmmer3("n_envelopes", "env", "Envelopes"),
    Column("dom", "dom", "Domains that were found", "whole number", sort="n_domains", value=lambda r: r.hit.n_domains),
    Column("rep", "rep", "Domains that are reported", "whole number", sort="n_reported",
           value=lambda r: len(r.domains)),
    Column("inc", "inc", "Domains that are significant", "whole number",
           value=lambda r: sum(domain.is_significant for domain in r.domains)),
    Column("new", "", "Whether it is significant and was not in the round before", sort="is_new", filter="new"),
)  # fmt: skip

SETS: Sets = {
    "hmmer": ("HMMER", ("name", "description", "evalue", "score", "bias", "best_evalue", "best_score", "expected",
                        "n_regions", "n_clustered", "n_overlaps", "n_envelopes", "dom", "rep", "inc")),
    "filters": ("Filters", ("status", "name", "description", "evalue", "score", "domains", "msv", "bias_filter",
                            "viterbi", "forward", "accuracy")),
}  # fmt: skip
"""Columns that belong together: words and keys."""

FILTER_HINT = 'Filter: text, "a phrase", -without, E<1e-5, score>20, best:both, note:word'

_RESIDUES: tuple[Kind, str] = ("whole number", "residues")
_NODES: tuple[Kind, str] = ("whole number", "nodes")

_IN_FILES = (
    QUERY_ACCESSION,
    QUERY_LENGTH,
    file_column("domain", "whole number", "", "number of the domain among those of the target", lambda r: r.number),
    file_column("c_evalue", "number", "", "E-value of the domain among the targets that are reported (HMMER3)",
        lambda r: r.domain.conditional_evalue),
    file_column("i_evalue", "number", "", "E-value of the domain as if it were alone on its target",
        lambda r: r.domain.evalue),
    file_column("hit_evalue", "number", "", "E-value of the whole target", lambda r: r.hit.evalue),
    file_column("hit_score", "number", "bits", "score of the whole target", lambda r: r.hit.score),
    file_column("hit_bias", "number", "bits", "correction for biased composition of the whole target",
        lambda r: r.hit.bias),
    file_column("hmm_from", *_NODES, "first node of the profile that is aligned",
        lambda r: r.domain.query_range[0] + 1),
    file_column("hmm_to", *_NODES, "last node of the profile that is aligned", lambda r: r.domain.query_range[1]),
    file_column("ali_from", *_RESIDUES, "first residue of the sequence that is aligned",
        lambda r: r.domain.target_range[0] + 1),
    file_column("ali_to", *_RESIDUES, "last residue of the sequence that is aligned",
        lambda r: r.domain.target_range[1]),
    file_column("env_from", *_RESIDUES, "first residue of the envelope (HMMER3)",
        lambda r: r.envelope and r.envelope[0] + 1),
    file_column("env_to", *_RESIDUES, "last residue of the envelope (HMMER3)", lambda r: r.envelope and r.envelope[1]),
    file_column("columns", "whole number", "", "columns of the alignment, those in gaps included",
        lambda r: r.n_columns),
    file_column("cigar", "text", "", "path as in SAM along the sequence: M both, I profile alone, D sequence alone",
        lambda r: r.domain.cigar),
)  # fmt: skip

TABLES = {
    "hits": table_of(
        (*HITS, *_IN_FILES),
        "query target query_accession target_accession query_length target_length description n_domains evalue score"
        " bias best_domain_evalue best_domain_score expected_domains query_coverage target_coverage identity"
        " significant note",
    ),
    "domains": table_of(
        (*HITS, *_IN_FILES),
        "query target query_accession target_accession query_length target_length description domain n_domains c_evalue"
        " i_evalue score bias hit_evalue hit_score hit_bias hmm_from hmm_to ali_from ali_to env_from env_to"
        " query_coverage target_coverage columns identity accuracy cigar significant",
    ),
}
"""The tab-separated tables of hits and of domains. Coordinates count from 1 and include both ends."""

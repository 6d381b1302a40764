"""The columns of the hits of profiles: what each says of a sequence and its domains."""

from __future__ import annotations

import math
from collections.abc import Callable

from clalign.formats.table_columns import meaning_of

from ... import formatting
from ...models.hit_pages import HitRow
from ...models.hit_table import VERIFIED, Column, TableKind, named, sets_of


def _optional(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _span(row: HitRow, name: str) -> str:
    """Return the first and last place of the reported domains; `name` is empty, ``hmm_`` or ``env_``."""
    if not row.reported:
        return ""
    first = min(getattr(span, f"{name}start") for span in row.reported)
    return f"{first + 1}–{max(getattr(span, f'{name}end') for span in row.reported)}"


def number(value: float | None, digits: int = 1) -> str:
    """Return a number that only HMMER3 hits have, or a dash; what overflows a filter is infinite."""
    if value is None:
        return "—"
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _hmmer3(key: str, title: str, tip: str, digits: int, width: int = 60, sort: str | None = None) -> Column:
    order = key if sort is None else sort
    return Column(
        key, title, f"{tip} (HMMER3)", lambda r, m: number(getattr(r, key), digits), order, True, False, width
    )


COLUMNS = (
    Column("status", "Status", "Significant, or only reported", lambda r, m: m.status(r), "score", False, True, 84),
    *named("name", "description", "note", "evalue"),
    Column("score", "Score (bits)", "Corrected score of the whole sequence", lambda r, m: formatting.score(r.score),
           "score", True, True, 84),
    Column("domains", "Domains", "Domains on the sequence, drawn to scale",
           lambda r, m: formatting.count(len(r.reported) if r.is_hmmer3 else r.n_domains), "n_domains", False, True,
           150),
    Column("bias", "Bias", "What the correction for biased composition took, in bits",
           lambda r, m: formatting.score(r.bias), "bias", True, False, 60),
    Column("best_evalue", "Best domain E", meaning_of("best_domain_evalue"),
           lambda r, m: _optional(r.best_evalue, formatting.evalue), "best_evalue", True, False, 100, True),
    Column("best_score", "Best domain (bits)", meaning_of("best_domain_score"),
           lambda r, m: _optional(r.best_score, formatting.score), "best_score", True, False, 120),
    Column("coverage", "Profile %", "Share of the profile that the domains cover",
           lambda r, m: f"{100 * r.coverage(m.lengths[r.profile]):.0f}", "coverage", True, False, 76),
    *named("length", "accession"),
    Column("from_to", "From–to", "First and last residue of the domains", lambda r, m: _span(r, ""), "start", True,
           False, 90, True),
    Column("envelope", "Env from–to", "First and last residue of the envelopes; HMMER2's are the domains",
           lambda r, m: _span(r, "env_"), "env_start", True, False, 96, True),
    Column("model", "Model from–to", "First and last node of the profile", lambda r, m: _span(r, "hmm_"), "model_start",
           True, False, 110, True),
    VERIFIED,
    Column("profile", "Profile", "Profile that the hit is of", lambda r, m: m.names[r.profile], "profile", False, False,
           120),
    _hmmer3("accuracy", "Accuracy", "Expected share of correctly aligned residues of the best domain", 2, 76),
    _hmmer3("msv", "MSV", "Score in the MSV filter, in bits; ∞ is more than the filter can count", 1, 64),
    _hmmer3("bias_filter", "MSV − bias", "The same after the filter for biased composition", 1, 84),
    _hmmer3("viterbi", "Viterbi", "Score in the Viterbi filter, in bits; a dash: it was not needed", 1, 70),
    _hmmer3("forward", "Forward", "Score of all alignments together, in bits", 1, 74),
    _hmmer3("expected", "exp", "Expected number of domains", 1),
    _hmmer3("n_regions", "reg", "Regions that hold anything", 0, 48),
    _hmmer3("n_clustered", "clu", "Regions that were resolved by sampling", 0, 48),
    _hmmer3("n_overlaps", "ov", "Envelopes that overlap the one before", 0, 48),
    _hmmer3("n_envelopes", "env", "Envelopes", 0, 48),
    Column("dom", "dom", "Domains that were found", lambda r, m: formatting.count(r.n_domains), "n_domains", True,
           False, 48),
    Column("rep", "rep", "Domains that are reported", lambda r, m: formatting.count(len(r.reported)), "", True, False,
           48),
    Column("inc", "inc", "Domains that are significant",
           lambda r, m: formatting.count(sum(s.is_included for s in r.reported)), "", True, False, 48),
)  # fmt: skip

PROFILE_TABLE = TableKind(
    COLUMNS,
    sets_of(
        COLUMNS,
        hmmer=("HMMER", ("name", "description", "evalue", "score", "bias", "best_evalue", "best_score", "expected",
                         "n_regions", "n_clustered", "n_overlaps", "n_envelopes", "dom", "rep", "inc")),
        filters=("Filters", ("status", "name", "description", "evalue", "score", "domains", "msv", "bias_filter",
                             "viterbi", "forward", "accuracy")),
    ),
)  # fmt: skip

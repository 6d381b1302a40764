"""The columns of the hits of profiles."""

from __future__ import annotations

from clalign.engines.columns import VERIFIED, Column, Kind, Sets, named
from clalign.formats.table_columns import meaning_of


def _hmmer3(key: str, heading: str, tip: str, kind: Kind = "whole number", unit: str = "") -> Column:
    return Column(key, heading, f"{tip} (HMMER3)", kind, unit, sort=key)


HITS = (
    Column("status", "Status", "Significant, or only reported", sort="score", first="large"),
    *named("name", "description", "note", "evalue"),
    Column("score", "Score (bits)", "Corrected score of the whole sequence", "number", "bits", sort="score"),
    Column("domains", "Domains", "Domains on the sequence, drawn to scale", "picture", sort="n_domains"),
    Column("bias", "Bias", "What the correction for biased composition took, in bits", "number", "bits", sort="bias"),
    Column("best_evalue", "Best domain E", meaning_of("best_domain_evalue"), "number", sort="best_evalue",
           first="small"),
    Column("best_score", "Best domain (bits)", meaning_of("best_domain_score"), "number", "bits", sort="best_score"),
    Column("coverage", "Profile %", "Share of the profile that the domains cover", "percent", "%", sort="coverage"),
    *named("length", "accession"),
    Column("from_to", "From–to", "First and last residue of the domains", "places", "residues", sort="start",
           first="small"),
    Column("envelope", "Env from–to", "First and last residue of the envelopes; HMMER2's are the domains", "places",
           "residues", sort="env_start", first="small"),
    Column("model", "Model from–to", "First and last node of the profile", "places", "nodes", sort="model_start",
           first="small"),
    VERIFIED,
    Column("profile", "Profile", "Profile that the hit is of", sort="profile"),
    _hmmer3("accuracy", "Accuracy", "Expected share of correctly aligned residues of the best domain", "number"),
    _hmmer3("msv", "MSV", "Score in the MSV filter, in bits; ∞ is more than the filter can count", "number", "bits"),
    _hmmer3("bias_filter", "MSV − bias", "The same after the filter for biased composition", "number", "bits"),
    _hmmer3("viterbi", "Viterbi", "Score in the Viterbi filter, in bits; a dash: it was not needed", "number", "bits"),
    _hmmer3("forward", "Forward", "Score of all alignments together, in bits", "number", "bits"),
    _hmmer3("expected", "exp", "Expected number of domains", "number"),
    _hmmer3("n_regions", "reg", "Regions that hold anything"),
    _hmmer3("n_clustered", "clu", "Regions that were resolved by sampling"),
    _hmmer3("n_overlaps", "ov", "Envelopes that overlap the one before"),
    _hmmer3("n_envelopes", "env", "Envelopes"),
    Column("dom", "dom", "Domains that were found", "whole number", sort="n_domains"),
    Column("rep", "rep", "Domains that are reported", "whole number"),
    Column("inc", "inc", "Domains that are significant", "whole number"),
)  # fmt: skip

SETS: Sets = {
    "hmmer": ("HMMER", ("name", "description", "evalue", "score", "bias", "best_evalue", "best_score", "expected",
                        "n_regions", "n_clustered", "n_overlaps", "n_envelopes", "dom", "rep", "inc")),
    "filters": ("Filters", ("status", "name", "description", "evalue", "score", "domains", "msv", "bias_filter",
                            "viterbi", "forward", "accuracy")),
}  # fmt: skip
"""Columns that belong together: words and keys."""

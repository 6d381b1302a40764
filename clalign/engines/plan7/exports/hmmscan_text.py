"""The text of a scan that people read: for HMMER2 profiles laid out as HMMER2's hmmpfam has it.

Three parts for each sequence, the profiles, their domains in the order of the sequence, and the
alignments.
"""

from __future__ import annotations

from collections.abc import Iterator

from clalign.engines.plan7.exports.hmmsearch_text import RULE
from clalign.engines.plan7.spec import SearchSpec

TITLE = "scan of sequences for the domains of a library of profile HMMs"


def thresholds(spec: SearchSpec, n_profiles: int, n_uncalibrated: int) -> Iterator[str]:
    """Yield what was asked for."""
    if spec.cutoff != "none":
        yield f"Thresholds:                 {spec.cutoff.upper()} of each profile"
    else:
        for words, score, evalue in (
            ("Sequence", spec.score, spec.evalue),
            ("Domain", spec.domain_score, spec.domain_evalue),
        ):
            yield f"{words + ' score threshold:':<27s} {'none' if score is None else f'>= {score:.1f}'}"
            yield f"{words + ' E-value threshold:':<27s} {'none' if evalue is None else f'<= {evalue:g}'}"
    yield f"Profiles for E-values:      {spec.n_targets if spec.n_targets is not None else n_profiles:g}"
    if n_uncalibrated:
        yield f"Profiles not calibrated:    {n_uncalibrated} (their E-values are upper bounds)"
    if spec.without_null2:
        yield "Composition correction:     off"
    yield RULE


NO_HITS = "\t[no hits above thresholds]"


def sequence_head(name: str, accession: str, description: str) -> Iterator[str]:
    """Yield which sequence the next part is about."""
    yield ""
    yield f"Query sequence: {name}"
    yield f"Accession:      {accession or '[none]'}"
    yield f"Description:    {' '.join(description.split()) or '[none]'}"
    yield ""


def totals(n_searched: int, n_targets: int | None, n_sequences: int, n_hits: int, partial: bool) -> Iterator[str]:
    """Yield the counts at the end of the whole text."""
    yield ""
    yield f"Total sequences scanned:    {n_searched}"
    if partial and n_targets is not None:
        yield f"Sequences not scanned:      {n_targets - n_searched}"
    yield f"Sequences with a match:     {n_sequences}"
    yield f"Matches reported:           {n_hits}"

"""The text of a scan that people read: for HMMER2 profiles laid out as HMMER2's hmmpfam has it.

Three parts for each sequence, the profiles, their domains in the order of the sequence, and the
alignments.
"""

from __future__ import annotations

from collections.abc import Iterator

from clalign.engines.plan7.exports.hmmsearch_text import RULE, alignment_lines
from clalign.engines.plan7.spec import SearchSpec
from clalign.formats.tables import Provenance
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit


def opening(origin: Provenance) -> Iterator[str]:
    """Yield the head of the whole text."""
    yield f"clalign {origin.version}: scan of sequences for the domains of a library of profile HMMs"
    yield RULE
    yield f"Profiles:                   {origin.query}"
    yield f"Sequences:                  {origin.target}"
    if origin.part:
        yield f"Searched of them:           {origin.part}"
    yield f"Device:                     {origin.device}"
    yield f"Command:                    {origin.command}"
    yield f"Date:                       {origin.date}"
    yield from origin.checksum_lines(f"{'SHA-256:':<28s}")


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


def profile_header(width: int, description_width: int) -> Iterator[str]:
    """Yield the head of the table of profiles."""
    yield "Scores for sequence family classification (score includes all domains):"
    yield f"{'Model':<{width}s} {'Description':<{description_width}s} {'Score':>7s} {'E-value':>10s} {'N':>3s}"
    yield f"{'--------':<{width}s} {'-----------':<{description_width}s} {'-----':>7s} {'-------':>10s} {'---':>3s}"


def domain_header(width: int) -> Iterator[str]:
    """Yield the head of the table of domains."""
    yield ""
    yield "Parsed for domains:"
    yield f"{'Model':<{width}s} {'Domain':>7s} seq-f seq-t    hmm-f hmm-t      score  E-value"
    yield f"{'--------':<{width}s} {'-------':>7s} ----- -----    ----- -----      -----  -------"


def alignment(card: Card, hit: Hit, domain: Domain) -> Iterator[str]:
    """Yield an alignment under the name of its profile; its rows bear the name of the sequence."""
    return alignment_lines(card, hit, domain, title=card["name"])


def totals(n_searched: int, n_targets: int | None, n_sequences: int, n_hits: int, partial: bool) -> Iterator[str]:
    """Yield the counts at the end of the whole text."""
    yield ""
    yield f"Total sequences scanned:    {n_searched}"
    if partial and n_targets is not None:
        yield f"Sequences not scanned:      {n_targets - n_searched}"
    yield f"Sequences with a match:     {n_sequences}"
    yield f"Matches reported:           {n_hits}"

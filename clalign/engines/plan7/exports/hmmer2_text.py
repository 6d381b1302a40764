"""The text that people read, of profiles of HMMER2: laid out as its hmmsearch, in a scan as its hmmpfam has it.

Three parts for each profile, the sequences, their domains and the alignments; in a scan for each sequence the profiles,
their domains in the order of the sequence, and the alignments. So eyes and scripts that know the programs of HMMER
2.3.2 find everything in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_letters

from clalign.engines.plan7.spec import SearchSpec
from clalign.formats.tables import OK, PARTIAL, Provenance
from clalign.values.documents import Card, TargetFacts
from clalign.values.hits import Domain, Hit

SEARCH = "search of sequences with profile HMMs"
SCAN = "scan of sequences for the domains of a library of profile HMMs"
"""What was computed, as titles of texts."""

RULE = "- " * 35
COLUMNS = 50
"""Columns of an alignment block, the marks of begin and end included."""

LONGEST_LABEL = 20

NO_HITS = "\t[no hits above thresholds]"
"""In place of a table of a sequence that is scanned."""

_LETTERS = {"amino": "ACDEFGHIKLMNPQRSTVWYBUXZ", "dna": "ACGTBDHKMNRSUVWXY", "rna": "ACGTBDHKMNRSUVWXY"}
_UNKNOWN = {
    alphabet: str.maketrans({letter: "X" if letter.isupper() else "x" for letter in ascii_letters
                             if letter.upper() not in known})
    for alphabet, known in _LETTERS.items()
}  # fmt: skip
"""Letters that HMMER2 does not know, and what it shows instead, by the name of the alphabet."""


def opening(origin: Provenance, title: str) -> Iterator[str]:
    """Yield the head of the whole text, of a search or a scan."""
    yield f"clalign {origin.version}: {title}"
    yield RULE
    yield f"Profiles:                   {origin.query}"
    yield f"Sequences:                  {origin.target}"
    if origin.part:
        yield f"Searched of them:           {origin.part}"
    yield f"Device:                     {origin.device}"
    yield f"Command:                    {origin.command}"
    yield f"Date:                       {origin.date}"
    yield from origin.checksum_lines(f"{'SHA-256:':<28s}")


def parameters(spec: SearchSpec, card: Card) -> Iterator[str]:
    """Yield the thresholds of a profile and its description."""
    cutoffs = card["cutoffs"].get(spec.cutoff) if spec.cutoff != "none" else None
    if cutoffs:
        source = spec.cutoff.upper()
        scores = [f">= {value:.1f} ({source} of the profile)" for value in cutoffs]
        evalues: list[float | None] = [None, None]
    else:
        scores = [f">= {value:.1f}" if value is not None else "none" for value in (spec.score, spec.domain_score)]
        evalues = [spec.evalue, spec.domain_evalue]
    limits = [f"<= {value:g}" if value is not None else "none" for value in evalues]
    yield f"Sequence score threshold:   {scores[0]}"
    yield f"Domain score threshold:     {scores[1]}"
    yield f"Sequence E-value threshold: {limits[0]}"
    yield f"Domain E-value threshold:   {limits[1]}"
    if spec.n_targets is not None:
        yield f"Database size for E-values: {spec.n_targets:g}"
    if spec.without_null2:
        yield "Composition correction:     off"
    yield RULE
    yield ""
    yield f"Query HMM:   {card['name']}  [M={card['length']}]"
    yield f"Accession:   {card['accession'] or 'none'}"
    yield f"Description: {card['description'] or 'none'}"
    if card["calibration"]:
        yield "  [The profile is calibrated: E-values are estimates]"
    else:
        yield "  [The profile is not calibrated: E-values are upper bounds]"
    yield ""


def hit_header(kind: str, target: str, width: int, description_width: int) -> Iterator[str]:
    """Yield the head of the table of hits: of what kind its scores are, and what a target is called."""
    yield f"Scores for {kind} (score includes all domains):"
    yield f"{target:<{width}s} {'Description':<{description_width}s} {'Score':>7s} {'E-value':>10s} {'N':>3s}"
    yield f"{'--------':<{width}s} {'-----------':<{description_width}s} {'-----':>7s} {'-------':>10s} {'---':>3s}"


def hit_row(name: str, description: str, hit: Hit, width: int, description_width: int) -> str:
    """Return the line of a hit, under the name and description of its sequence or, in a scan, of its profile."""
    description = " ".join(description.split())[:description_width]
    return (
        f"{name:<{width}s} {description:<{description_width}s} {hit.score:7.1f} {hit.evalue:10.2g} {hit.n_domains:3d}"
    )


def domain_header(target: str, width: int) -> Iterator[str]:
    """Yield the head of the table of domains, given what a target is called."""
    yield ""
    yield "Parsed for domains:"
    yield f"{target:<{width}s} {'Domain':>7s} seq-f seq-t    hmm-f hmm-t      score  E-value"
    yield f"{'--------':<{width}s} {'-------':>7s} ----- -----    ----- -----      -----  -------"


def domain_row(name: str, card: Card, hit: Hit, domain: Domain, width: int) -> str:
    """Return the line of a domain, under the name of its sequence or, in a scan, of its profile.

    ``[`` and ``]`` mark ends that are the ends of sequence or profile.
    """
    number = f"{domain.number}/{hit.n_domains}"
    return (
        f"{name:<{width}s} {number:>7s} {span(domain.target_range, hit.length)}"
        f" {span(domain.query_range, card['length'])} {domain.score:10.1f} {domain.evalue:8.2g}"
    )


def span(ends: tuple[int, int], length: int) -> str:
    """Return the columns of two ends; ``[`` and ``]`` mark those that are the ends of the whole."""
    start, end = ends[0] + 1, ends[1]
    return f"{start:5d} {end:5d} {'[' if start == 1 else '.'}{']' if end == length else '.'}"


def alignment_lines(card: Card, hit: Hit, domain: Domain, title: str | None = None) -> Iterator[str]:
    """Yield an alignment: annotation of the profile, its consensus, matches and the sequence.

    Its title is the name of the sequence unless another one is given.
    """
    first, last = domain.target_range[0] + 1, domain.target_range[1]
    yield (
        f"{title or hit.name}: domain {domain.number} of {hit.n_domains}, from {first} to {last}:"
        f" score {domain.score:.1f}, E = {domain.evalue:.2g}"
    )
    label = hit.name[:LONGEST_LABEL]
    digits = max(5, len(str(last)))
    indent = " " * (len(label) + digits + 4)
    rows = [("RF", _annotation(card["reference"], domain)), ("CS", _annotation(card["structure"], domain))]
    annotations = [(tag, f"   {text}   ") for tag, text in rows if text.strip()]
    model, match = f"*->{domain.text.model}<-*", f"   {domain.text.match}   "
    target = f"   {domain.text.target.translate(_UNKNOWN[card['alphabet']])}   "
    emits = f"   {domain.states}   "
    position = first
    for start in range(0, len(model), COLUMNS):
        block = slice(start, start + COLUMNS)
        for tag, text in annotations:
            yield f"{tag + ' ':>{len(indent)}s}{text[block]}"
        yield f"{indent}{model[block]}"
        yield f"{indent}{match[block]}"
        n = sum(state in "MI" for state in emits[block])
        ends = (str(position), str(position + n - 1)) if n else ("-", "-")
        yield f"  {label} {ends[0]:>{digits}s} {target[block]} {ends[1]}"
        yield ""
        position += n


def _annotation(symbols: str, domain: Domain) -> str:
    """Return the annotation of the nodes under each column, blank at inserts; empty without annotation."""
    if not symbols:
        return ""
    columns, node = [], domain.query_range[0]
    for state in domain.states:
        columns.append(" " if state == "I" else symbols[node])
        node += state != "I"
    return "".join(columns)


def no_hits(spec: SearchSpec, card: Card, n_searched: int, best: TargetFacts | None) -> Iterator[str]:
    """Yield the lines where nothing was found.

    Parameters
    ----------
    best : dict or None
        ``evalue``, ``score`` and, where it is known, ``name`` of the sequence that came closest.
    """
    limit = f"E <= {spec.evalue:g}" if spec.cutoff == "none" else f"the {spec.cutoff.upper()} cutoff"
    if spec.score is not None and spec.cutoff == "none":
        limit += f" and score >= {spec.score:g}"
    yield f"No hits at {limit}."
    if best is None:
        yield f"{n_searched:,} sequences were searched."
        return
    name = f"was {best['name']} with" if best.get("name") else "had"
    total = f"{n_searched:,}"
    yield f"The best of {total} sequences {name} E = {best['evalue']:.2g} (score {best['score']:.1f})."


def totals(n_searched: int, n_targets: int | None, n_hits: int, n_domains: int, partial: bool) -> Iterator[str]:
    """Yield the counts that end the part of a profile."""
    yield f"Total sequences searched: {n_searched}"
    if partial and n_targets is not None:
        yield f"Sequences not searched:   {n_targets - n_searched}"
    yield f"Sequences reported:       {n_hits}"
    yield f"Domains reported:         {n_domains}"


def closing(origin: Provenance) -> str:
    """Return the last line."""
    return PARTIAL if origin.partial else OK


def scan_parameters(spec: SearchSpec, n_profiles: int, n_uncalibrated: int) -> Iterator[str]:
    """Yield the thresholds of a scan."""
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


def sequence_head(name: str, accession: str, description: str) -> Iterator[str]:
    """Yield which sequence the next part of a scan is about."""
    yield ""
    yield f"Query sequence: {name}"
    yield f"Accession:      {accession or '[none]'}"
    yield f"Description:    {' '.join(description.split()) or '[none]'}"
    yield ""


def scan_totals(n_searched: int, n_targets: int | None, n_sequences: int, n_hits: int, partial: bool) -> Iterator[str]:
    """Yield the counts that end a scan."""
    yield ""
    yield f"Total sequences scanned:    {n_searched}"
    if partial and n_targets is not None:
        yield f"Sequences not scanned:      {n_targets - n_searched}"
    yield f"Sequences with a match:     {n_sequences}"
    yield f"Matches reported:           {n_hits}"

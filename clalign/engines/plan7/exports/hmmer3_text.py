"""The text that people read, for HMMER3 profiles laid out as hmmsearch and hmmscan 3.3.2 have it.

The head and the lines about time are clalign's own; everything between is theirs letter by letter, so
that eyes and scripts that know HMMER find everything in its place. In a scan, `tables.swapped` gives
profile and sequence in each other's place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from clalign.engines.plan7.exports.hmmer3_tables import or_dash
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.rounds import has_converged
from clalign.formats.tables import PARTIAL, RULE, Provenance
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit

MIN_DESCRIPTION = 32
MIN_ALIGNMENT = 40
"""Columns that a description and a block of an alignment have even on narrow lines."""


class Layout(Struct, frozen=True):
    """How the text is laid out.

    Attributes
    ----------
    width : int
        Longest line; 0 for no limit.
    accessions : bool
        Accessions in place of names, where there are any.
    alignments : bool
        Whether alignments are shown.
    is_scan : bool
        Whether what was found are profiles.
    """

    width: int = 120
    accessions: bool = False
    alignments: bool = True
    is_scan: bool = False

    def shown(self, name: str, accession: str) -> str:
        """Return the name to show."""
        return accession if self.accessions and accession else name


def query_lines(name: str, length: int, accession: str, description: str, is_sequence: bool) -> Iterator[str]:
    """Yield the lines that head the next part: a profile or a sequence."""
    yield f"Query:       {name}  [{'L' if is_sequence else 'M'}={length}]"
    if accession:
        yield f"Accession:   {accession}"
    if description:
        yield f"Description: {description}"


def round_head(number: int, n_rows: int, n_targets: int, length: int, has_query: bool) -> Iterator[str]:
    """Yield the lines that begin a later round: sizes of its profile and alignment, with domains of `n_targets`."""
    parts = f"{'query + ' * has_query}{n_rows - has_query} subseqs from {n_targets} targets"
    yield "@@"
    yield f"@@ Round:                  {number}"
    yield f"@@ Included in MSA:        {n_rows} subsequences ({parts})"
    yield f"@@ Model size:             {length} positions"
    yield "@@"
    yield ""


def round_end(
    number: int, n_new: int, n_rows: tuple[int, int], is_last: bool, has_query: bool, chosen: tuple[int, int] = (0, 0)
) -> Iterator[str]:
    """Yield the lines that end a round: new targets, rows of its alignment before and after, whether it was the last.

    Before them stands how many hits the user has taken into the next profile, and dropped, if any.
    """
    before, after = n_rows
    yield ""
    if any(chosen):
        yield f"@@ Chosen by the user:     {chosen[0]} hits taken, {chosen[1]} dropped"
    yield f"@@ New targets included:   {n_new}"
    yield f"@@ New alignment includes: {after} subseqs (was {before}){', including original query' * has_query}"
    if has_converged(n_new, before, after, any(chosen)):
        yield from ("@@", f"@@ CONVERGED (in {number} rounds). ", "@@", "")
    elif not is_last:
        yield from ("@@ Continuing to next round.", "")


def hit_lines(
    hits: Iterable[Hit], longest: int, layout: Layout, mark: Callable[[Hit], str] = lambda hit: " "
) -> Iterator[str]:
    """Yield the table of hits.

    Parameters
    ----------
    hits : iterable of Hit
        The reported ones, best first.
    longest : int
        Length of the longest name that is shown.
    layout : Layout
    mark : callable
        Returns the first character of the line of a hit.
    """
    width = max(8, longest)
    room = max(MIN_DESCRIPTION, layout.width - width - 61) if layout.width else None
    yield f"Scores for complete sequence{'' if layout.is_scan else 's'} (score includes all domains):"
    yield f"  {'--- full sequence ---':>22s}  {'--- best 1 domain ---':>22s}  {'-#dom-':>8s}"
    yield (
        f"  {'E-value':>9s} {' score':>6s} {' bias':>5s}  {'E-value':>9s} {' score':>6s} {' bias':>5s}"
        f"  {'  exp':>5s} {'N':>2s}  {'Model' if layout.is_scan else 'Sequence':<{width}s} Description"
    )
    yield (
        f"  {'-------':>9s} {'------':>6s} {'-----':>5s}  {'-------':>9s} {'------':>6s} {'-----':>5s}"
        f"  {' ----':>5s} {'--':>2s}  {'--------':<{width}s} -----------"
    )
    within, is_empty = True, True
    for hit in hits:
        is_empty = False
        if within and not hit.is_significant:
            yield "  ------ inclusion threshold ------"
            within = False
        yield mark(hit) + _hit_line(hit, width, room, layout)
    if is_empty:
        yield ""
        yield "   [No hits detected that satisfy reporting thresholds]"


def _hit_line(hit: Hit, width: int, room: int | None, layout: Layout) -> str:
    best = hit.best_domain
    numbers = f"{best.evalue:9.2g} {best.score:6.1f} {best.bias:5.1f}" if best else f"{'-':>9s} {'-':>6s} {'-':>5s}"
    expected = or_dash(hit.estimates.expected if hit.estimates else None, "5.1f")
    return (
        f" {hit.evalue:9.2g} {hit.score:6.1f} {hit.bias:5.1f}  {numbers}"
        f"  {expected} {len(hit.reported_domains):2d}  {layout.shown(hit.name, hit.accession):<{width}s} "
        f" {hit.description[:room]}"
    )


def domain_lines(entries: Iterable[tuple[Card, Hit]], layout: Layout) -> Iterator[str]:
    """Yield the domains of each hit, and their alignments, as one text of several lines.

    Parameters
    ----------
    entries : iterable of (Card, Hit)
        Profile and sequence of each hit, never swapped; best first.
    layout : Layout
    """
    found = "model" if layout.is_scan else "sequence"
    yield f"Domain annotation for each {found}{' (and alignments)' if layout.alignments else ''}:"
    is_empty = True
    for card, hit in entries:
        is_empty = False
        yield "\n".join(_domains_of_hit(card, hit, layout))
    if is_empty:
        yield ""
        yield "   [No targets detected that satisfy reporting thresholds]"


def _domains_of_hit(card: Card, hit: Hit, layout: Layout) -> list[str]:
    target = (hit.name, hit.accession, hit.description)
    if layout.is_scan:
        target = (card["name"], card["accession"], card["description"])
    name = layout.shown(*target[:2])
    room = max(MIN_DESCRIPTION, layout.width - len(name) - 5) if layout.width else None
    lines = [f">> {name}  {target[2][:room]}"]
    domains = hit.reported_domains
    if not domains:
        nothing = "   [No individual domains that satisfy reporting thresholds (although complete target did)]"
        return [*lines, nothing, ""]
    lines += (
        "   #    score  bias  c-Evalue  i-Evalue hmmfrom  hmm to    alifrom  ali to    envfrom  env to     acc",
        " ---   ------ ----- --------- --------- ------- -------    ------- -------    ------- -------    ----",
        *(_domain_line(number, card, hit, domain) for number, domain in enumerate(domains, 1)),
        "",
    )
    if layout.alignments:
        lines.append("  Alignments for each domain:")
        for number, domain in enumerate(domains, 1):
            evalue = or_dash(domain.conditional_evalue, ".2g")
            lines.append(f"  == domain {number}  score: {domain.score:.1f} bits;  conditional E-value: {evalue}")
            lines += alignment_lines(card, hit, domain, layout)
            lines.append("")
    return lines


def _domain_line(number: int, card: Card, hit: Hit, domain: Domain) -> str:
    return (
        f" {number:3d} {'!' if domain.is_significant else '?'} {domain.score:6.1f} {domain.bias:5.1f}"
        f" {or_dash(domain.conditional_evalue, '9.2g')} {domain.evalue:9.2g}"
        f" {_span(domain.query_range, card['length'])} {_span(domain.target_range, hit.length)}"
        f" {_span(domain.envelope, hit.length)} {or_dash(domain.accuracy, '4.2f')}"
    )


def _span(ends: tuple[int, int], length: int) -> str:
    """Return the columns of two ends; ``[`` and ``]`` mark those that are the ends of the whole."""
    return f"{ends[0] + 1:7d} {ends[1]:7d} {'[' if ends[0] == 0 else '.'}{']' if ends[1] == length else '.'}"


def alignment_lines(card: Card, hit: Hit, domain: Domain, layout: Layout) -> list[str]:
    """Return the blocks of an alignment: annotation, consensus, matches, sequence, posterior probabilities."""
    model, target = layout.shown(card["name"], card["accession"]), layout.shown(hit.name, hit.accession)
    width = max(len(model), len(target))
    ends = (domain.query_range[0] + 1, domain.query_range[1], domain.target_range[0] + 1, domain.target_range[1])
    digits = len(str(max(ends)))
    n, text = len(domain.states), domain.text
    columns = layout.width - width - 2 * digits - 5 if layout.width else n
    if columns < n:
        columns = max(columns, MIN_ALIGNMENT)
    indent = " " * (width + digits + 4)
    rows = [(tag, _annotation(symbols, domain)) for tag, key in _ANNOTATIONS if (symbols := card.get(key))]
    node, residue = ends[0], ends[2]
    lines: list[str] = []
    for start in range(0, n, columns):
        block = slice(start, start + columns)
        states, letters = domain.states[block], text.target[block]
        # HMMER counts what it shows: a gap character that was searched as a residue looks like a delete.
        n_nodes, n_residues = len(states) - states.count("I"), len(letters) - letters.count("-")
        if start:
            lines.append("")
        lines += [f"{indent}{row[block]} {tag}" for tag, row in rows if row]
        first, last = (residue, residue + n_residues - 1) if n_residues else ("-", "-")
        lines += (
            f"  {model:>{width}s} {node:>{digits}} {text.model[block]} {node + n_nodes - 1:<{digits}}",
            f"{indent}{text.match[block]}",
            f"  {target:>{width}s} {first:>{digits}} {letters} {last:{'<' if n_residues else '>'}{digits}}",
        )
        if text.posterior:
            lines.append(f"{indent}{text.posterior[block]} PP")
        node, residue = node + n_nodes, residue + n_residues
    return lines


_ANNOTATIONS = (("CS", "structure"), ("RF", "reference"))
_INSERTS = re.compile("I+")


def _annotation(symbols: str, domain: Domain) -> str:
    """Return the annotation of the node of each column, ``.`` at inserts; empty without annotation."""
    states, node = domain.states, domain.query_range[0]
    if "I" not in states:
        return symbols[node : node + len(states)]
    found, begin = list[str](), 0
    for inserts in _INSERTS.finditer(states):
        start, end = inserts.span()
        found += (symbols[node : node + start - begin], "." * (end - start))
        node, begin = node + start - begin, end
    return "".join([*found, symbols[node : node + len(states) - begin]])


class Funnel(Struct, frozen=True):
    """How many targets there were, and how many passed each filter.

    Attributes
    ----------
    n_targets, n_units : int
        Targets, and their residues; in a scan models, and their nodes.
    n_query_units : int
        Nodes of the profile; in a scan residues of the sequence.
    stages : sequence of (str, int, float)
        Name of each filter as HMMER prints it, how many passed, and its P-value.
    search_space, domain_search_space : float
        Z and domZ.
    is_given, domain_is_given : bool
        Whether the user gave them.
    """

    n_targets: int
    n_units: int
    n_query_units: int
    stages: Sequence[tuple[str, int, float]]
    search_space: float
    domain_search_space: float
    is_given: bool
    domain_is_given: bool


def statistics_lines(funnel: Funnel, is_scan: bool) -> Iterator[str]:
    """Yield the summary of the pipeline."""
    yield "Internal pipeline statistics summary:"
    yield "-------------------------------------"
    if is_scan:
        yield f"Query sequence(s):           {1:15d}  ({funnel.n_query_units} residues searched)"
        yield f"Target model(s):             {funnel.n_targets:15d}  ({funnel.n_units} nodes)"
    else:
        yield f"Query model(s):              {1:15d}  ({funnel.n_query_units} nodes)"
        yield f"Target sequences:            {funnel.n_targets:15d}  ({funnel.n_units} residues searched)"
    for name, n_passed, limit in funnel.stages:
        share = n_passed / funnel.n_targets if funnel.n_targets else 0.0
        expected = limit * funnel.n_targets
        yield f"{f'Passed {name} filter:':<25s}{n_passed:19d}  ({share:.6g}); expected {expected:.1f} ({limit:.6g})"
    space = "as set by --Z on cmdline" if funnel.is_given else "actual number of targets"
    yield f"Initial search space (Z):    {funnel.search_space:15.0f}  [{space}]"
    space = "as set by --domZ on cmdline" if funnel.domain_is_given else "number of targets reported over threshold"
    yield f"Domain search space  (domZ): {funnel.domain_search_space:15.0f}  [{space}]"


def speed_lines(device: str, cells: float, seconds: float) -> Iterator[str]:
    """Yield the lines on time and device, where HMMER reports its processor."""
    yield f"# Time: {seconds:.2f} s on {device}"
    yield f"# Mc/sec: {cells / seconds / 1e6 if seconds else 0.0:.2f}"


_THRESHOLDS = (
    # words, field of the score, field of the E-value
    ("sequence reporting threshold", "score", "evalue"),
    ("domain reporting threshold", "domain_score", "domain_evalue"),
    ("sequence inclusion threshold", "inclusion_score", "inclusion_evalue"),
    ("domain inclusion threshold", "inclusion_domain_score", "inclusion_domain_evalue"),
)

Facts = tuple[tuple[str, str, Callable[[Any], str]], ...]
"""Field of the spec, words, and what makes text of a value."""

_MAKING: Facts = (
    ("iterations", "maximum iterations set to", str),
    ("popen", "gap open probability", lambda value: f"{value:f}"),
    ("pextend", "gap extend probability", lambda value: f"{value:f}"),
)
"""What is said of the options by which profiles are made of sequences, as of those below."""

_WEIGHTS = {"gsc": "G/S/C", "blosum": "BLOSUM filter", "none": "none"}
_PRIORS = {"none": "none", "laplace": "Laplace +1"}
_EFFECTIVE = {"exponential": "entropy weighting, exponential", "clust": "single linkage clusters", "none": "none"}

_FACTS: Facts = (
    ("cutoff", "model-specific thresholding", lambda value: f"{value.upper()} cutoffs"),
    ("without_filters", "Max sensitivity mode", lambda value: "on [all heuristic filters off]"),
    ("f1", "MSV filter P threshold", lambda value: f"<= {value:g}"),
    ("f2", "Vit filter P threshold", lambda value: f"<= {value:g}"),
    ("f3", "Fwd filter P threshold", lambda value: f"<= {value:g}"),
    ("without_bias_filter", "biased composition HMM filter", lambda value: "off"),
    ("without_null2", "null2 bias corrections", lambda value: "off"),
    ("fragthresh", "define fragments if <= x*alen", lambda value: f"{value:.3f}"),
    ("weighting", "relative weighting scheme", lambda value: _WEIGHTS[value]),
    ("wid", "frac id cutoff for BLOSUM wgts", lambda value: f"{value:f}"),
    ("effective_number", "effective seq number scheme", lambda value: _EFFECTIVE[value]),
    ("effective_n", "effective seq number", lambda value: f"set to {value:f}"),
    ("ere", "minimum rel entropy target", lambda value: f"{value:f} bits"),
    ("esigma", "entropy target sigma parameter", lambda value: f"{value:f} bits"),
    ("eid", "frac id cutoff for --eclust", lambda value: f"{value:f}"),
    ("prior", "prior scheme", lambda value: _PRIORS[value]),
    ("msv_length", "seq length, MSV Gumbel mu fit", str),
    ("msv_n", "seq number, MSV Gumbel mu fit", str),
    ("viterbi_length", "seq length, Vit Gumbel mu fit", str),
    ("viterbi_n", "seq number, Vit Gumbel mu fit", str),
    ("forward_length", "seq length, Fwd exp tau fit", str),
    ("forward_n", "seq number, Fwd exp tau fit", str),
    ("tail", "tail mass for Fwd exp tau fit", lambda value: f"{value:f}"),
    ("n_targets", "sequence search space set to", lambda value: f"{value:.0f}"),
    ("n_domain_targets", "domain search space set to", lambda value: f"{value:.0f}"),
    ("seed", "random number seed set to", lambda value: f"{value}"),
    ("query_format", "query <seqfile> format asserted", str),
    ("sequence_format", "targ <seqfile> format asserted", str),
)
"""What is said of options that are not at their defaults."""


def _options(facts: Facts, spec: SearchSpec, default: SearchSpec) -> Iterator[str]:
    """Yield a line for each option that is not at its default."""
    for field, words, shown in facts:
        if getattr(spec, field) != getattr(default, field):
            yield f"# {f'{words}:':<33s}{shown(getattr(spec, field))}"


def head_lines(origin: Provenance, spec: SearchSpec) -> Iterator[str]:
    """Yield the head of the whole text: the program, the files and the options."""
    default = SearchSpec("", "")
    yield from origin.program_lines()
    yield RULE
    if origin.is_scan:
        yield f"# {'query sequence file:':<33s}{origin.target}"
        yield f"# {'target HMM database:':<33s}{origin.query}"
    else:
        what = "sequence" if spec.has_sequences else "MSA" if spec.query_kind == "alignments" else "HMM"
        kind = f"query {what} file:"
        yield f"# {kind:<33s}{origin.query}"
        yield f"# {'target sequence database:':<33s}{origin.target}"
    if origin.part:
        yield f"# {'searched of the sequences:':<33s}{origin.part}"
    yield from _options(_MAKING, spec, default)
    if spec.matrix is not None:
        kind = "file" if os.path.isabs(spec.matrix) else "built-in"
        yield f"# {f'subst score matrix ({kind}):':<33s}{spec.matrix}"
    for words, score, evalue in _THRESHOLDS:
        if getattr(spec, score) is not None:
            yield f"# {f'{words}:':<33s}score >= {getattr(spec, score):g}"
        elif getattr(spec, evalue) != spec.usual(evalue, getattr(default, evalue)):
            yield f"# {f'{words}:':<33s}E-value <= {getattr(spec, evalue):g}"
    yield from _options(_FACTS, spec, default)
    if origin.chosen:
        yield f"# {'hits that are shown:':<33s}{origin.chosen}"
    yield f"# {'device:':<33s}{origin.device}"
    yield f"# {'command:':<33s}{origin.command}"
    yield f"# {'date:':<33s}{origin.date}"
    yield from origin.checksum_lines(f"# {'SHA-256:':<33s}")
    yield RULE
    yield ""


def alignment_saved(n_rows: int, path: str) -> str:
    """Return the line after a query that names the file of its alignment."""
    if not n_rows:
        return "# No hits satisfy inclusion thresholds; no alignment saved"
    return f"# Alignment of {n_rows} hits satisfying inclusion thresholds saved to: {path}"


def closing(origin: Provenance) -> str:
    """Return the last line."""
    return PARTIAL if origin.partial else "[ok]"

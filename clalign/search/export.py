"""Write what a run found: text, tables, sequences, alignments. Everything comes from the run file."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import clalign
from clalign.errors import InputError, OptionError
from clalign.evalues import bits, hmmer2_pvalue
from clalign.formats import hmmscan_text as scan_text
from clalign.formats import hmmsearch_text as text
from clalign.formats import tables
from clalign.formats.tables import Card, Provenance, Widths
from clalign.formats.writers import AlignedRow, fasta_record, stockholm_lines, whole_file
from clalign.hits import Domain, Hit
from clalign.jobs import JobContext, QuietContext
from clalign.profiles import IMPOSSIBLE, Calibration
from clalign.runs import RunFile, open_run
from clalign.specs import COMMANDS, SearchSpec, command_line

HITS_BETWEEN_CHECKS = 256
"""An export looks this often whether it was asked to stop."""


GAPS = "-.~_"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which hits to write, and how.

    Attributes
    ----------
    hits : sequence of int, optional
        Their ids; all if None.
    significant : bool
        Only hits and domains beyond the inclusion thresholds.
    alignments : bool
        Whether the text shows alignments.
    """

    hits: Sequence[int] | None = None
    significant: bool = False
    alignments: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """An opened run with what every writer asks of it."""

    run: RunFile
    spec: SearchSpec
    cards: list[Card]
    origin: Provenance
    choice: Choice
    context: JobContext


def export(
    run_path: str | Path,
    what: str,
    out_path: str | Path,
    hits: Sequence[int] | None = None,
    context: JobContext | None = None,
    *,
    significant: bool = False,
    alignments: bool = True,
) -> int:
    """Write the results of a run to a file, all of it or nothing.

    Parameters
    ----------
    run_path : str or Path
    what : str
        One of `WRITERS`: ``text``, ``tsv``, ``domtsv``, ``tblout``, ``domtblout``, ``stockholm``, ``fasta`` (whole
        sequences), ``fasta_matched`` (the parts that the domains cover).
    out_path : str or Path
        The file; ``-`` is standard output.
    hits : sequence of int, optional
        Ids of the hits to write; all if None.
    context : JobContext, optional
        Told how many hits are written; may stop it.
    significant : bool
        Leave out what is not beyond the inclusion thresholds.
    alignments : bool
        Whether ``text`` shows alignments.

    Returns
    -------
    int
        Records written: hits, domains or sequences.

    Raises
    ------
    OutputError
        If the file cannot be written.
    InputError
        If there is no such run, or the sequences are gone or have changed.
    """
    if what not in WRITERS:
        raise OptionError(f"There is no export named {what}.", f"Choose one of {', '.join(WRITERS)}.")
    with open_run(Path(run_path)) as run:
        source = open_source(run, Choice(hits, significant, alignments), context or QuietContext())
        with whole_file(str(out_path)) as stream:
            return WRITERS[what](source, stream)


def open_source(run: RunFile, choice: Choice, context: JobContext) -> Source:
    """Return a run with the facts that its files carry."""
    spec = SearchSpec.from_dict(run.fact("spec"))
    origin = Provenance(
        version=run.fact("versions", {}).get("clalign", clalign.__version__),
        query=spec.profiles,
        target=spec.targets,
        command=shlex.join(command_line(spec)),
        device=run.fact("device", {}).get("name", "not known"),
        seconds=run.fact("created", 0.0),
        partial=run.state != "done",
        program=COMMANDS[spec.direction],
    )
    if choice.hits is not None:
        run.connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        run.connection.executemany("INSERT OR IGNORE INTO chosen VALUES (?)", [(int(i),) for i in choice.hits])
    return Source(run, spec, run.profiles(), origin, choice, context)


def is_significant(spec: SearchSpec, card: Card, hit: Hit) -> bool:
    """Tell whether a hit is beyond the inclusion threshold."""
    return _beyond(spec, card, 0, hit.score, hit.evalue, spec.inclusion_score, spec.inclusion_evalue)


def is_significant_domain(spec: SearchSpec, card: Card, domain: Domain) -> bool:
    """Tell whether a domain of a significant hit is beyond the inclusion threshold, too."""
    limits = spec.inclusion_domain_score, spec.inclusion_domain_evalue
    return _beyond(spec, card, 1, domain.score, domain.evalue, *limits)


def _beyond(
    spec: SearchSpec, card: Card, place: int, score: float, evalue: float, least: float | None, most: float
) -> bool:
    cutoffs = card["cutoffs"].get(spec.cutoff) if spec.cutoff != "none" else None
    if cutoffs:
        return bool(score >= cutoffs[place])
    return score >= least if least is not None else evalue <= most


def _hits(source: Source, number: int) -> Iterator[Hit]:
    """Yield the chosen hits of a profile, best first, ties in the order of the input."""
    chosen = "AND id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    ids = source.run.connection.execute(
        f"SELECT id FROM hits WHERE profile = ? {chosen} ORDER BY score DESC, input_index", (number,)
    ).fetchall()
    card = source.cards[number]
    for done, (key,) in enumerate(ids):
        if done % HITS_BETWEEN_CHECKS == 0:
            source.context.check()
            source.context.progress("export", done, len(ids), "hits")
        hit = source.run.hit(key)
        if not source.choice.significant or is_significant(source.spec, card, hit):
            yield hit


def _scanned(source: Source) -> Iterator[tuple[int, Hit]]:
    """Yield number of the profile and hit, sequence after sequence of the input, the best profile first."""
    chosen = "WHERE id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    keys = source.run.connection.execute(
        f"SELECT id, profile FROM hits {chosen} ORDER BY input_index, evalue, score DESC, profile"
    ).fetchall()
    for done, (key, number) in enumerate(keys):
        if done % HITS_BETWEEN_CHECKS == 0:
            source.context.check()
            source.context.progress("export", done, len(keys), "hits")
        hit = source.run.hit(key)
        if not source.choice.significant or is_significant(source.spec, source.cards[number], hit):
            yield number, hit


def _entries(source: Source) -> Iterator[tuple[int, Hit, Callable[[], tuple[Card, Hit]]]]:
    """Yield number of the profile, hit, and what gives query and target of its line, in the order of tables."""
    if source.spec.direction == "scan":
        for number, hit in _scanned(source):
            yield number, hit, partial(tables.swapped, source.cards[number], hit)
        return
    for number, card in enumerate(source.cards):
        for hit in _hits(source, number):
            yield number, hit, partial(_as_they_are, card, hit)


def _as_they_are(card: Card, hit: Hit) -> tuple[Card, Hit]:
    return card, hit


def _domains(source: Source, number: int, hit: Hit) -> Iterator[Domain]:
    for domain in hit.domains:
        if not source.choice.significant or is_significant_domain(source.spec, source.cards[number], domain):
            yield domain


def _widths(source: Source) -> tuple[Widths, Widths]:
    """Return the widths that aligned tables need, for targets and for queries."""
    name, accession = source.run.connection.execute(
        "SELECT coalesce(max(length(name)), 0), coalesce(max(length(accession)), 0) FROM hits"
    ).fetchone()
    cards = source.cards
    names, accessions = [len(card["name"]) for card in cards], [len(card["accession"]) for card in cards]
    sequences = Widths(name, accession)
    profiles = Widths(max(names, default=0), max(accessions, default=0))
    return (profiles, sequences) if source.spec.direction == "scan" else (sequences, profiles)


def _write(stream: TextIO, rows: Iterable[str]) -> int:
    count = 0
    for row in rows:
        stream.write(f"{row}\n")
        count += 1
    return count


def _tsv(source: Source, stream: TextIO) -> int:
    _write(stream, [tables.tsv_header()])
    count = _write(stream, (tables.tsv_row(*sides()) for _, _, sides in _entries(source)))
    _write(stream, [tables.PARTIAL] if source.origin.partial else [])
    return count


def _domtsv(source: Source, stream: TextIO) -> int:
    _write(stream, [tables.domtsv_header()])
    count = 0
    for number, hit, sides in _entries(source):
        query, target = sides()
        count += _write(stream, (tables.domtsv_row(query, target, d) for d in _domains(source, number, hit)))
    _write(stream, [tables.PARTIAL] if source.origin.partial else [])
    return count


def _tblout(source: Source, stream: TextIO) -> int:
    widths = _widths(source)
    _write(stream, tables.tblout_header(*widths))
    count = 0
    for number, hit, sides in _entries(source):
        card = source.cards[number]
        included = is_significant(source.spec, card, hit)
        n = sum(included and is_significant_domain(source.spec, card, d) for d in hit.domains)
        count += _write(stream, [tables.tblout_row(*sides(), *widths, n)])
    _write(stream, tables.footer(source.origin))
    return count


def _domtblout(source: Source, stream: TextIO) -> int:
    widths = _widths(source)
    _write(stream, tables.domtblout_header(*widths))
    count = 0
    for number, hit, sides in _entries(source):
        query, target = sides()
        domains = _domains(source, number, hit)
        count += _write(stream, (tables.domtblout_row(query, target, domain, *widths) for domain in domains))
    _write(stream, tables.footer(source.origin))
    return count


def _stockholm(source: Source, stream: TextIO) -> int:
    count = 0
    comments = ["partial: yes"] if source.origin.partial else []
    for number, card in enumerate(source.cards):

        def rows(number: int = number) -> Iterator[AlignedRow]:
            for hit in _hits(source, number):
                for domain in _domains(source, number, hit):
                    yield _aligned_row(hit, domain)

        n = sum(1 for _ in rows())
        if n:
            _write(stream, stockholm_lines(card, rows, comments))
        count += n
    return count


def _aligned_row(hit: Hit, domain: Domain) -> AlignedRow:
    ends = domain.target_range[0] + 1, domain.target_range[1]
    # A gap character that was searched as a residue must not look like a gap of the alignment.
    letters = zip(domain.states, domain.text.target, strict=True)
    residues = "".join("X" if state != "D" and letter in GAPS else letter for state, letter in letters)
    return AlignedRow(
        name=hit.name,
        accession=hit.accession,
        description=hit.description,
        start=ends[0],
        end=ends[1],
        first_node=domain.profile_range[0],
        states=domain.states,
        text=residues,
    )


def _fasta(source: Source, stream: TextIO) -> int:
    """Write each matched sequence once, whole."""
    from clalign.formats.databases import load_database

    spec = source.spec
    database, _ = load_database(
        spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=source.context
    )
    known = source.run.fact("database", {}).get("digest")
    if known and database.digest != known:
        raise InputError(
            spec.targets,
            "the sequences are not those that were searched.",
            "Put the file back as it was, export the matched parts, or search again.",
        )
    seen: set[int] = set()
    for _, hit, _ in _entries(source):
        if hit.row not in seen:
            seen.add(hit.row)
            stream.write(fasta_record(hit.name, hit.description, database[hit.row].text))
    return len(seen)


def _fasta_matched(source: Source, stream: TextIO) -> int:
    """Write the part that each domain covers, named ``name/from-to``."""
    count = 0
    for number, hit, _ in _entries(source):
        for domain in _domains(source, number, hit):
            letters = zip(domain.states, domain.text.target, strict=True)
            residues = "".join(letter.upper() for state, letter in letters if state != "D")
            start, end = domain.target_range
            stream.write(fasta_record(f"{hit.name}/{start + 1}-{end}", hit.description, residues))
            count += 1
    return count


def _text(source: Source, stream: TextIO) -> int:
    """Write the text that people read; the sections of several profiles are parted by ``//``."""
    if source.spec.direction == "scan":
        return _text_of_scan(source, stream)
    _write(stream, text.opening(source.origin))
    count = 0
    for number, card in enumerate(source.cards):
        _write(stream, text.parameters(source.spec, card))
        count += _text_of_profile(source, stream, number)
        _write(stream, ["//"])
    _write(stream, [text.closing(source.origin)])
    return count


def _text_of_profile(source: Source, stream: TextIO, number: int) -> int:
    card = source.cards[number]
    width = max(8, _widths(source)[0].name)
    description_width = max(52 - width, 11)
    _write(stream, text.sequence_header(width, description_width))
    n_hits = _write(
        stream,
        (text.hit_row(hit.name, hit.description, hit, width, description_width) for hit in _hits(source, number)),
    )
    searched = n_searched(source.run, number)
    if not n_hits:
        closest = nearest(source.run, number, card)
        _write(stream, (f"  {line}" for line in text.no_hits(source.spec, card, searched, closest)))
    _write(stream, ["", *text.domain_header(width)])
    rows = (text.domain_row(hit.name, card, hit, domain, width) for hit, domain in _domains_by_score(source, number))
    n_domains = _write(stream, rows)
    if source.choice.alignments and n_domains:
        _write(stream, ["", "Alignments of top-scoring domains:"])
        for hit, domain in _domains_by_score(source, number):
            _write(stream, text.alignment_lines(card, hit, domain))
    report = source.run.fact("database", {})
    n_targets = report["n_sequences"] - report["n_empty"] if report else None
    _write(stream, ["", *text.totals(searched, n_targets, n_hits, n_domains, source.origin.partial)])
    return n_hits


def _text_of_scan(source: Source, stream: TextIO) -> int:
    """Write the text of a scan; the sections of the sequences that match a profile are parted by ``//``."""
    cards = source.cards
    n_uncalibrated = sum(card["calibration"] is None for card in cards)
    _write(stream, scan_text.opening(source.origin))
    _write(stream, scan_text.thresholds(source.spec, len(cards), n_uncalibrated))
    width = max(12, _widths(source)[0].name)
    n_hits = n_sequences = 0
    for _, group in itertools.groupby(_scanned(source), key=lambda entry: entry[1].row):
        found = list(group)
        _text_of_sequence(source, stream, found, width)
        n_hits += len(found)
        n_sequences += 1
    searched = min((n_searched(source.run, number) for number in range(len(cards))), default=0)
    report = source.run.fact("database", {})
    n_targets = report["n_sequences"] - report["n_empty"] if report else None
    _write(stream, scan_text.totals(searched, n_targets, n_sequences, n_hits, source.origin.partial))
    _write(stream, [text.closing(source.origin)])
    return n_hits


def _text_of_sequence(source: Source, stream: TextIO, found: list[tuple[int, Hit]], width: int) -> None:
    entries = [(source.cards[number], hit) for number, hit in found]
    domains = [(source.cards[number], hit, domain) for number, hit in found for domain in _domains(source, number, hit)]
    domains.sort(key=lambda entry: entry[2].target_range[0])
    description_width = max(52 - width, 11)
    _write(stream, scan_text.sequence_head(found[0][1]))
    _write(stream, scan_text.profile_header(width, description_width))
    _write(stream, (text.hit_row(c["name"], c["description"], hit, width, description_width) for c, hit in entries))
    _write(stream, scan_text.domain_header(width))
    _write(stream, (text.domain_row(card["name"], card, hit, domain, width) for card, hit, domain in domains))
    if source.choice.alignments and domains:
        _write(stream, ["", "Alignments of top-scoring domains:"])
        for entry in domains:
            _write(stream, scan_text.alignment(*entry))
    _write(stream, ["//"])


def _domains_by_score(source: Source, number: int) -> Iterator[tuple[Hit, Domain]]:
    """Yield the chosen domains of a profile, best first, ties in the order of the input."""
    chosen = "AND hits.id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    keys = source.run.connection.execute(
        "SELECT domains.hit, domains.number FROM domains JOIN hits ON hits.id = domains.hit"
        f" WHERE hits.profile = ? {chosen} ORDER BY domains.score DESC, hits.input_index, domains.number",
        (number,),
    ).fetchall()
    hit_of = lru_cache(maxsize=1024)(source.run.hit)
    for key, place in keys:
        hit = hit_of(key)
        yield hit, next(domain for domain in hit.domains if domain.number == place)


def n_searched(run: RunFile, number: int) -> int:
    """Return how many sequences with residues a profile was searched against so far."""
    row = run.connection.execute("SELECT sum(last - first) FROM batches WHERE profile = ?", (number,)).fetchone()
    report = run.fact("database")
    done = int(row[0] or 0)
    return min(done, report["n_sequences"] - report["n_empty"]) if report else done


def nearest(run: RunFile, number: int, card: Card) -> dict[str, Any] | None:
    """Return E-value, score and, where it was kept, name of the best sequence of a profile.

    Without a kept one it is computed from the scores before the composition correction.
    """
    kept = run.best(number)
    if kept:
        return kept
    best = max((int(values.max()) for _, _, values in run.scores(number) if len(values)), default=None)
    if best is None or best <= IMPOSSIBLE or card["origin"] != "hmmer2":
        return None
    found = card["calibration"]
    calibration = Calibration("gumbel", found["mu"], found["lambda"]) if found else None
    score = bits(best)
    return {"evalue": hmmer2_pvalue(np.float32(score), calibration) * run.fact("n_targets"), "score": float(score)}


WRITERS: dict[str, Callable[[Source, TextIO], int]] = {
    "text": _text,
    "tsv": _tsv,
    "domtsv": _domtsv,
    "tblout": _tblout,
    "domtblout": _domtblout,
    "stockholm": _stockholm,
    "fasta": _fasta,
    "fasta_matched": _fasta_matched,
}

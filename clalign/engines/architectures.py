"""The domains of all queries of a run on each sequence, as one architecture; tables of them, GFF3 and BED."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from clalign.common.amounts import counted
from clalign.engines.columns import Column, file_column
from clalign.engines.engine import engine_of
from clalign.engines.export_lines import write_lines, write_table
from clalign.engines.export_source import Choice, ExportSource
from clalign.errors import ClalignError, DamagedRun, OptionError
from clalign.formats import clans as clan_files
from clalign.formats.genome_places import Exon, GenomePlace, Span, genome_place
from clalign.formats.intervals import GFF3_HEAD, bed_line, gff3_line, gff3_name, gff3_value
from clalign.formats.sources import PathLike, path_text
from clalign.formats.tables import PARTIAL, digits, plain
from clalign.jobs import JobContext, QuietContext
from clalign.runs.inputs import input_of
from clalign.runs.placed_parts import PlacedPart, Target, longest_of_name, parts_by_target, path_of
from clalign.runs.run_file import RunFile, open_run
from clalign.values.architectures import RULES, Architecture, Clans, PlacedDomain, effective_rule, resolve
from clalign.values.hits import matched_places

_PFAM = re.compile(r"PF\d{5}(\.\d+)?$")

EVERY_DOMAIN = "all"
"""The rule of GFF3 and BED where none is asked for: they hold every domain."""


def clans_of(run: RunFile, path: str, rule: str) -> tuple[Clans, str]:
    """Return the clans that overlaps are judged by, and the file that they are from.

    Parameters
    ----------
    run : RunFile
    path : str
        The file; empty for one that lies beside the profiles, if there is any.
    rule : str
        What is done with overlaps; see `clalign.values.architectures.RULES`.

    Raises
    ------
    InputError
        If the file is no table of clans.
    OptionError
        If the rule asks for clans and there are none.
    """
    if rule not in ("", *RULES):
        raise OptionError(f'There is no rule "{rule}" for overlaps.', f"Choose one of {', '.join(RULES)}.")
    if rule in ("best", "all"):
        return Clans(), ""
    found = path or _beside(run)
    demand_clans(found, rule)
    return (clan_files.read_clans(found), found) if found else (Clans(), "")


def demand_clans(found: str, rule: str) -> None:
    """Raise `OptionError` if overlaps are to be resolved by clans, and no table of them is found."""
    if not found and rule == "clans":
        raise OptionError("Overlaps are to be resolved by clans, but there is no table of them.",
                          f"Name one with --clans. {clan_files.HINT}")  # fmt: skip


def check_clans_of_run(path: Path, clans: str, rule: str) -> None:
    """Raise what `clans_of` would, of a run that is yet to be written."""
    with open_run(path) as run:
        clans_of(run, clans, rule)


def check_clans(path: str, rule: str, profiles: str) -> None:
    """Raise what `clans_of` would, of a run that is yet to be made with these profiles; empty if it is of others."""
    if path:
        clan_files.read_clans(path)
    demand_clans(path or (profiles and clan_files.clans_beside(profiles)), rule)


def _beside(run: RunFile) -> str:
    profiles = (run.facts.spec or {}).get("profiles")
    if not profiles:
        return ""
    found = clan_files.clans_beside(str(profiles))
    if found:
        return found
    try:
        return clan_files.clans_beside(str(input_of(run, "profiles", QuietContext())))
    except ClalignError:  # it has moved, and nothing can lie beside it
        return ""


def architectures(source: ExportSource, rule: str, clans: Clans, significant: bool = False) -> Iterator[Architecture]:
    """Yield each sequence that has a domain, perhaps only of `significant` ones, in the order of their file."""
    chosen, total = source.choice.significant and source.calls_significant, source.run.n_hits()
    only = chosen or (significant and source.calls_significant)

    def check(done: int) -> None:
        source.context.check()
        source.context.progress("export", done, total, "hits")

    for target, parts in parts_by_target(source.keys, not chosen, source.needs_path, check):
        domains = [_placed(source, target, part) for part in parts if part.is_significant or not only]
        if domains:
            yield Architecture(*target, resolve(domains, rule, clans), len(domains))


def _placed(source: ExportSource, target: Target, part: PlacedPart) -> PlacedDomain:
    card = source.cards[part.query]
    spans = part.query_range, part.target_range, part.envelope
    if any(start > end for start, end in spans) or part.target_range[1] > target.length:
        raise DamagedRun(source.run.path, f"the hit {target.name} has a domain that lies nowhere on it")
    if part.query_range[1] > card["length"]:
        raise DamagedRun(source.run.path, f"the hit {target.name} has a domain beyond the end of its query")
    return PlacedDomain(
        part.hit, part.query, part.number, card["name"], card["accession"], card["length"], part.target_range,
        part.envelope, part.query_range, part.score, part.evalue, part.strand, part.is_significant,
    )  # fmt: skip


def read_architectures(
    path: PathLike,
    rule: str = "auto",
    clans: PathLike = "",
    significant: bool = True,
    context: JobContext | None = None,
) -> tuple[list[Architecture], str, str]:
    """Return the architectures of a run, the rule that was followed, and the file of the clans.

    Parameters
    ----------
    path : path
        The run file.
    rule : str
        What is done with overlaps: one of `clalign.values.architectures.RULES`.
    clans : path
        A table of clans; by default one that lies beside the profiles, if there is any.
    significant : bool
        Only domains beyond the inclusion thresholds, where there are any.
    context : JobContext, optional

    Raises
    ------
    InputError, OptionError
        As `clans_of` does.
    """
    with open_run(Path(path_text(path, "path"))) as run:
        source = engine_of(run).source(run, Choice(), context or QuietContext())
        known, file = clans_of(run, path_text(clans, "clans") if clans else "", rule)
        return list(architectures(source, rule, known, significant)), effective_rule(rule, known), file


def _words_of(domain: PlacedDomain) -> str:
    start, end = domain.target_range
    return f"{plain(domain.family)}:{start + 1}-{end}:{digits(domain.evalue)}"


def covered_share(found: Architecture) -> float:
    """Return the share of a sequence that its domains cover, in percent."""
    reached = n = 0
    for domain in found.domains:
        start, end = domain.target_range
        n += max(0, end - max(start, reached))
        reached = max(reached, end)
    return 100.0 * n / found.length if found.length else 0.0


Row = tuple[Architecture, int, Clans]
"""An architecture, how many sequences have it, and the clans."""


TABLE: tuple[Column, ...] = (
    file_column("sequence", "text", "", "name of the sequence", lambda r: r[0].name),
    file_column("accession", "text", "", "accession of the sequence", lambda r: r[0].accession),
    file_column("length", "whole number", "residues", "length of the sequence", lambda r: r[0].length),
    file_column("description", "text", "", "description of the sequence", lambda r: r[0].description),
    file_column("architecture", "text", "", "families from the first domain to the last, ~ between",
        lambda r: r[0].words),
    file_column("n_sequences", "whole number", "", "sequences of the run with this architecture", lambda r: r[1]),
    file_column("n_domains", "whole number", "", "domains that are kept", lambda r: len(r[0].domains)),
    file_column("n_left_out", "whole number", "", "domains that were left out, as they overlap better ones",
        lambda r: r[0].n_found - len(r[0].domains)),
    file_column("coverage", "percent", "%", "share of the sequence that the domains cover",
        lambda r: covered_share(r[0])),
    file_column("domains", "text", "", "family, first and last residue and E-value of each domain, ; between",
        lambda r: ";".join(map(_words_of, r[0].domains))),
    file_column("clans", "text", "", "clan of each domain, ~ between; - for none that is known",
        lambda r: "~".join(r[2].clan(domain) or "-" for domain in r[0].domains)),
)  # fmt: skip
"""The table of architectures."""


def rule_of(source: ExportSource) -> Clans:
    """Return the clans that overlaps are judged by, and add the rule to the origin of what is written."""
    rule = source.choice.overlaps
    clans, file = clans_of(source.run, source.choice.clans, rule)
    name = effective_rule(rule, clans)
    words = f"{name}: {RULES[name]}" + (f"; clans: {file}" if file and name == "clans" else "")
    source.provenance = replace(source.provenance, overlaps=words)
    return clans


def _chosen(source: ExportSource) -> tuple[list[Architecture], Clans]:
    """Return the architectures that were asked for, and the clans."""
    clans = rule_of(source)
    return list(architectures(source, source.choice.overlaps, clans, significant=True)), clans


def _placed_on(source: ExportSource) -> tuple[Iterator[Architecture], Clans]:
    """Return all domains on their sequences, or what a rule leaves of them if one was asked for, and the clans."""
    if not source.choice.overlaps:
        return architectures(source, EVERY_DOMAIN, Clans()), Clans()
    clans = rule_of(source)
    return architectures(source, source.choice.overlaps, clans), clans


def _comments(source: ExportSource) -> list[str]:
    """Return the lines by which GFF3 and BED say where they come from."""
    rule = source.provenance.overlaps
    return [f"# {line}" for line in (*source.provenance.lines(), *([f"overlaps: {rule}"] if rule else []))]


def write_architecture(source: ExportSource, stream: TextIO) -> int:
    """Write the table of architectures, a line for each sequence with a domain that is significant."""
    found, clans = _chosen(source)
    counts = Counter(one.words for one in found)
    n = write_table(stream, TABLE, ((one, counts[one.words], clans) for one in found), partial=False)
    write_lines(
        stream, [f"# {line}" for line in (f"overlaps: {source.provenance.overlaps}", *source.provenance.lines())]
    )
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return n


def write_architecture_gff3(source: ExportSource, stream: TextIO) -> int:
    """Write the domains of the architectures as GFF3, in coordinates of their sequences."""
    return _write_gff3(source, stream, *_chosen(source))


def write_gff3(source: ExportSource, stream: TextIO) -> int:
    """Write domains, or alignments, as GFF3, in coordinates of their sequences: all, or what a rule leaves."""
    return _write_gff3(source, stream, *_placed_on(source))


def _write_gff3(source: ExportSource, stream: TextIO, found: Iterable[Architecture], clans: Clans) -> int:
    write_lines(stream, [GFF3_HEAD, *_comments(source)])
    count, longest, seen = 0, longest_of_name(source.keys), set[str]()
    for one in found:
        if one.name not in seen:  # GFF3 has one region for each name
            end = longest.get(one.name, one.length)
            write_lines(stream, [f"##sequence-region {gff3_name(one.name)} 1 {end}"])
        if one.name in longest:
            seen.add(one.name)
        for domain in one.domains:
            count += 1
            line = gff3_line(
                one.name, _kind(source), domain.target_range, _evalue(domain), _strand(source, domain),
                _attributes(source, one, domain, clans, count),
            )  # fmt: skip
            write_lines(stream, [line])
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def write_gff3_genome(source: ExportSource, stream: TextIO) -> int:
    """Write the same as GFF3 in coordinates of a genome, where names or descriptions of sequences have them."""
    found, clans = _placed_on(source)
    write_lines(stream, [GFF3_HEAD, *_comments(source)])
    count, left_out = 0, LeftOut()
    for one, domain, place in left_out.placed(found, source.is_protein):
        count += 1
        attributes = _attributes(source, one, domain, clans, count)
        attributes["sequence"] = gff3_value(one.name)
        for (start, end, strand), target in _exons(source, place, domain):
            attributes["Target"] = _target(domain, target) if target else ""
            sign = "+" if strand * domain.strand > 0 else "-"
            line = gff3_line(place.name, _kind(source), (start, end), _evalue(domain), sign, attributes)
            write_lines(stream, [line])
    write_lines(stream, left_out.lines(source))
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def _exons(
    source: ExportSource, place: GenomePlace, domain: PlacedDomain
) -> Iterator[tuple[Exon, tuple[int, int] | None]]:
    """Yield where the parts of a domain lie on a genome, and the part of its family that each is aligned to."""
    parts = place.parts(*domain.target_range)
    if len(parts) == 1:
        yield parts[0][0], domain.family_range
        return
    path, (first, last) = path_of(source.keys, domain.hit, domain.number), domain.family_range
    for exon, (start, end) in parts:
        found = matched_places(path, start - domain.target_range[0], end - domain.target_range[0])
        if found is not None and domain.strand < 0:
            found = last - first - found[1], last - first - found[0]
        yield exon, found and (first + found[0], first + found[1])


def write_bed(source: ExportSource, stream: TextIO) -> int:
    """Write the same as BED with six columns, in coordinates of their sequences."""
    found, _ = _placed_on(source)
    write_lines(stream, _comments(source))
    count = 0
    for one in found:
        lines = (
            bed_line(one.name, [part.target_range], part.family, part.score, _strand(source, part), blocks=False)
            for part in one.domains
        )
        count += write_lines(stream, lines)
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def write_bed_genome(source: ExportSource, stream: TextIO) -> int:
    """Write the same as BED with twelve columns in coordinates of a genome, where sequences have them."""
    found = _placed_on(source)[0]
    write_lines(stream, _comments(source))
    count, left_out = 0, LeftOut()
    for _, domain, place in left_out.placed(found, source.is_protein):
        if (blocks := left_out.blocks(place, domain)) is not None:
            spans, strand = blocks
            sign = "+" if strand * domain.strand > 0 else "-"
            count += write_lines(stream, [bed_line(place.name, spans, domain.family, domain.score, sign, blocks=True)])
    write_lines(stream, left_out.lines(source))
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


class LeftOut:
    """Counts the sequences without a place on a genome, and the domains that BED cannot have there."""

    def __init__(self) -> None:
        self.n_sequences = self.n_domains = self.n_without_blocks = 0

    def placed(
        self, found: Iterable[Architecture], is_protein: bool
    ) -> Iterator[tuple[Architecture, PlacedDomain, GenomePlace]]:
        """Yield the domains, each with its sequence and where that lies; those of others are counted."""
        for one in found:
            place = genome_place(one.name, one.description, one.length, is_protein)
            if place is None:
                self.n_sequences += 1
                self.n_domains += len(one.domains)
            else:
                yield from ((one, domain, place) for domain in one.domains)

    def blocks(self, place: GenomePlace, domain: PlacedDomain) -> tuple[list[Span], int] | None:
        """Return the blocks of a domain and their strand; None for one that is counted."""
        found = place.blocks(*domain.target_range)
        self.n_without_blocks += found is None
        return found

    def lines(self, source: ExportSource) -> list[str]:
        """Return the sentences about them, and warn."""
        texts = []
        if self.n_sequences:
            whose = "whose names and descriptions give no place on a genome"
            texts.append(f"{counted(self.n_domains, 'domain')} of {counted(self.n_sequences, 'sequence')} {whose}")
        if self.n_without_blocks:
            domains = counted(self.n_without_blocks, "domain")
            texts.append(f"{domains} on both strands or across the origin, for which BED has no blocks")
        for words in texts:
            source.context.warn(f"Left out: {words}.")
        return [f"# left out: {words}" for words in texts]


def _kind(source: ExportSource) -> str:
    """Return the term of the Sequence Ontology for a domain or an alignment."""
    return "protein_match" if source.is_protein else "nucleotide_match"


def _strand(source: ExportSource, domain: PlacedDomain) -> str:
    return "." if source.is_protein else "+" if domain.strand > 0 else "-"


def _evalue(domain: PlacedDomain) -> float | None:
    return None if math.isnan(domain.evalue) else domain.evalue


def _target(domain: PlacedDomain, span: tuple[int, int]) -> str:
    """Return the family and a part of it as GFF3 has what a line is aligned to."""
    return f"{gff3_value(domain.family).replace(' ', '%20')} {span[0] + 1} {span[1]}"


def _attributes(
    source: ExportSource, one: Architecture, domain: PlacedDomain, clans: Clans, number: int
) -> dict[str, str]:
    accession = "" if domain.accession in ("", "-") else gff3_value(domain.accession)
    scale = "raw_score" if math.isnan(domain.evalue) else "bits"
    return {
        "ID": f"match{number}",
        "Name": gff3_value(domain.family),
        "Target": _target(domain, domain.family_range),
        "Dbxref": f"Pfam:{accession}" if _PFAM.match(accession) else "",
        "accession": accession,
        scale: digits(domain.score),
        "clan": gff3_value(clans.clan(domain)),
        "envelope": f"{domain.envelope[0] + 1}..{domain.envelope[1]}" if domain.envelope != domain.target_range else "",
        "significant": ("no", "yes")[domain.is_significant] if source.calls_significant else "",
        "architecture": gff3_value(one.words) if clans.of else "",
    }

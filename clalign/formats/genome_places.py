"""Places of sequences on genomes, from their names and descriptions.

The known headers are those of Prodigal (``contig_7 # 337 # 2799 # -1 # ID=...``), of NCBI's coding sequences
(``lcl|NC_000913.3_prot_NP_414542.1_1 ... [location=join(190..255,300..400)]``), of Ensembl's proteins and of parts of
sequences (``chr1:1000-1600(-)``, ``contig/1600-1000``). A place counts only if it is as long as the sequence: three
times as long for a protein, or with a stop codon more.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

Span = tuple[int, int]
"""Start and end, 0-based, half open."""

CODON = 3

_NUMBER = r"(\d{1,18})"
"""Pattern of a position on a genome that fits 64 bits."""

_PRODIGAL = re.compile(rf"# {_NUMBER} # {_NUMBER} # (-?1) #")
_LOCATION = re.compile(r"\[location=([a-z(),<>.\d\s]+)\]")
_OPERATOR_OR_RANGE = re.compile(rf"(\w*\()|\)|<?{_NUMBER}(?:\.\.>?{_NUMBER})?")
_NCBI = re.compile(r"(?:lcl\|)?(.+?)_(?:prot|cds|gene)(?:_.*)?$")
_ENSEMBL = re.compile(
    rf"\b(?:chromosome|supercontig|scaffold|contig|plasmid|primary_assembly):[^:\s]*:([^:\s]+):{_NUMBER}:{_NUMBER}:(-?1)\b"
)
_PART = re.compile(rf"(.+?)(?::|/){_NUMBER}(?:-|\.\.){_NUMBER}(?:\(([+-])\)|:([+-]))?$")


class Exon(NamedTuple):
    """A part of a gene; 0-based, half open, on the strand 1 or -1."""

    start: int
    end: int
    strand: int


class GenomePlace(Struct, frozen=True):
    """A place on a genome.

    Attributes
    ----------
    name : str
        Name of the chromosome or contig.
    exons : tuple of Exon
        In the order in which they are read, which need not be that of the genome: a gene may lie across the origin of
        a circular one, or be put together from transcripts of both strands.
    per_residue : int
        Nucleotides to a residue: 3 of a protein.
    """

    name: str
    exons: tuple[Exon, ...]
    per_residue: int

    def parts(self, start: int, end: int) -> list[tuple[Exon, Span]]:
        """Return where residues lie (0-based, half open), and which of them in each part; one that an intron parts
        belongs to two.
        """
        found, passed = [], 0
        for begin, stop, strand in self.exons:
            low, high = max(start * self.per_residue, passed), min(end * self.per_residue, passed + stop - begin)
            if low < high:
                residues = low // self.per_residue, -(-high // self.per_residue)
                low, high = low - passed, high - passed
                part = (begin + low, begin + high) if strand > 0 else (stop - high, stop - low)
                found.append((Exon(*part, strand), residues))
            passed += stop - begin
        return found

    def blocks(self, start: int, end: int) -> tuple[list[Span], int] | None:
        """Return the places of residues as rising blocks with gaps between them, and their strand.

        Parts that touch are one block, as are those that overlap where the ribosome slips. None if the parts are on
        both strands, or are read in another order than that of the genome.
        """
        parts = [part for part, _ in self.parts(start, end)]
        strand = parts[0].strand
        rising = parts[::strand]
        if any(part.strand != strand for part in parts):
            return None
        if any(one.start > other.start or one.end > other.end for one, other in pairwise(rising)):
            return None
        blocks: list[Span] = []
        for begin, stop, _ in rising:
            if blocks and begin <= blocks[-1][1]:
                begin = blocks.pop()[0]
            blocks.append((begin, stop))
        return blocks, strand


def genome_place(name: str, description: str, length: int, is_protein: bool) -> GenomePlace | None:
    """Return the place of a sequence of `length` residues; None if its header names none, or an impossible one."""
    found = _place_in_header(name, description)
    if found is None:
        return None
    contig, exons = found
    n_bases = sum(exon.end - exon.start for exon in exons)
    if not contig or any(exon.end <= exon.start for exon in exons):
        return None
    per_residue = CODON if is_protein else 1
    fits = n_bases == length * per_residue or (is_protein and n_bases == (length + 1) * CODON)
    return GenomePlace(contig, tuple(exons), per_residue) if fits else None


def _place_in_header(name: str, description: str) -> tuple[str, list[Exon]] | None:
    if found := _PRODIGAL.search(description):
        return name.rpartition("_")[0], [Exon(int(found[1]) - 1, int(found[2]), int(found[3]))]
    if (found := _LOCATION.search(description)) and (of := _NCBI.match(name)):
        return of[1], _exons(found[1])
    if found := _ENSEMBL.search(description):
        return found[1], [Exon(int(found[2]) - 1, int(found[3]), int(found[4]))]
    if found := _PART.match(name):
        first, last = int(found[2]), int(found[3])
        strand = -1 if first > last or "-" in (found[4], found[5]) else 1
        return found[1], [Exon(min(first, last) - 1, max(first, last), strand)]
    return None


def _exons(location: str) -> list[Exon]:
    """Return the parts of a location of GenBank as they are read: a complement from its end on."""
    exons: list[Exon] = []
    opened: list[tuple[str, int]] = []  # operators, and how many exons there were before each
    for found in _OPERATOR_OR_RANGE.finditer(location):
        if found[1]:
            opened.append((found[1], len(exons)))
        elif found[2]:
            exons.append(Exon(int(found[2]) - 1, int(found[3] or found[2]), 1))
        elif opened:
            operator, n = opened.pop()
            if operator == "complement(":
                exons[n:] = [exon._replace(strand=-exon.strand) for exon in reversed(exons[n:])]
    return exons

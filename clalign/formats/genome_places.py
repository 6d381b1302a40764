"""Where a sequence lies on a genome, as far as its name and its description tell.

Known are the headers of Prodigal (``contig_7 # 337 # 2799 # -1 # ID=...``), of NCBI's coding sequences
(``lcl|NC_000913.3_prot_NP_414542.1_1 ... [location=join(190..255,300..400)]``), of Ensembl's proteins and of parts of
sequences (``chr1:1000-1600(-)``, ``contig/1600-1000``). A place counts only if it is as long as the sequence: three
times as long for a protein, or with a stop codon more.
"""

from __future__ import annotations

import re

from msgspec import Struct

Span = tuple[int, int]
"""0-based, half open."""

CODON = 3

_PRODIGAL = re.compile(r"# (\d+) # (\d+) # (-?1) #")
_LOCATION = re.compile(r"\[location=([^\]]+)\]")
_RANGE = re.compile(r"<?(\d+)(?:\.\.>?(\d+))?")
_NCBI = re.compile(r"(?:lcl\|)?(.+?)_(?:prot|cds|gene)(?:_.*)?$")
_ENSEMBL = re.compile(
    r"\b(?:chromosome|supercontig|scaffold|contig|plasmid|primary_assembly):[^:\s]*:([^:\s]+):(\d+):(\d+):(-?1)\b"
)
_PART = re.compile(r"(.+?)(?::|/)(\d+)(?:-|\.\.)(\d+)(?:\(([+-])\)|:([+-]))?$")


class GenomePlace(Struct, frozen=True):
    """A place on a genome.

    Attributes
    ----------
    name : str
        Of the chromosome or contig.
    exons : tuple of Span
        Rising.
    strand : int
        1 or -1.
    per_residue : int
        Nucleotides to a residue: 3 of a protein.
    """

    name: str
    exons: tuple[Span, ...]
    strand: int
    per_residue: int

    def spans(self, start: int, end: int) -> tuple[Span, ...]:
        """Return where residues lie (0-based, half open), rising; several spans where introns part them."""
        return tuple(span for span, _ in self.parts(start, end))

    def parts(self, start: int, end: int) -> tuple[tuple[Span, Span], ...]:
        """Return these spans, each with the residues that lie there; one that an intron parts belongs to two."""
        first, last = start * self.per_residue, end * self.per_residue
        found, passed = [], 0
        for begin, stop in self.exons if self.strand > 0 else reversed(self.exons):
            low, high = max(first, passed), min(last, passed + stop - begin)
            if low < high:
                inner, residues = (low - passed, high - passed), (low // self.per_residue, -(-high // self.per_residue))
                span = (begin + inner[0], begin + inner[1]) if self.strand > 0 else (stop - inner[1], stop - inner[0])
                found.append((span, residues))
            passed += stop - begin
        return tuple(sorted(found))


def genome_place(name: str, description: str, length: int, is_protein: bool) -> GenomePlace | None:
    """Return where a sequence of some residues lies; None if it is not told, or cannot be true."""
    told = _told(name, description)
    if told is None:
        return None
    contig, exons, strand = told
    n_bases = sum(end - start for start, end in exons)
    if not contig or any(end <= start for start, end in exons):
        return None
    per_residue = CODON if is_protein else 1
    fits = n_bases == length * per_residue or (is_protein and n_bases == (length + 1) * CODON)
    return GenomePlace(contig, tuple(sorted(exons)), strand, per_residue) if fits else None


def _told(name: str, description: str) -> tuple[str, list[Span], int] | None:
    if found := _PRODIGAL.search(description):
        return name.rpartition("_")[0], [(int(found[1]) - 1, int(found[2]))], int(found[3])
    if (found := _LOCATION.search(description)) and (of := _NCBI.match(name)):
        exons = [(int(one[1]) - 1, int(one[2] or one[1])) for one in _RANGE.finditer(found[1])]
        return of[1], exons, -1 if "complement" in found[1] else 1
    if found := _ENSEMBL.search(description):
        return found[1], [(int(found[2]) - 1, int(found[3]))], int(found[4])
    if found := _PART.match(name):
        first, last = int(found[2]), int(found[3])
        strand = -1 if first > last or "-" in (found[4], found[5]) else 1
        return found[1], [(min(first, last) - 1, max(first, last))], strand
    return None

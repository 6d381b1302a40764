"""Addresses of sequences and families in public databases, by the kind of their names."""

from __future__ import annotations

import re

from .run_view import RunView

UNIPROT = re.compile(r"(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})(?:-\d+)?")
"""Accession of UniProt, perhaps with the number of an isoform (https://www.uniprot.org/help/accession_numbers)."""

PFAM = re.compile(r"(PF\d{5})(?:\.\d+)?")
INTERPRO = re.compile(r"IPR\d{6}")
NCBI_PROTEIN = re.compile(r"(?:[ANXWY]P_\d{6,9}|[A-Z]{3}\d{5,7})(?:\.\d+)?")
NCBI_NUCLEOTIDE = re.compile(r"(?:(?:AC|NC|NG|NM|NR|NT|NW|NZ|XM|XR)_[A-Z]*\d{6,9}|[A-Z]{2}\d{6,8})(?:\.\d+)?")
"""Accessions of RefSeq and GenBank, perhaps with their version."""


def links_of_name(*names: str) -> dict[str, str]:
    """Return the addresses of what some names stand for, by what a menu calls them.

    Parameters
    ----------
    names : str
        Name and accession; a name may have parts between bars, as ``sp|P12345|NAME``.
    """
    found: dict[str, str] = {}
    for word in (part for name in names for part in name.split("|")):
        if UNIPROT.fullmatch(word):
            plain = word.partition("-")[0]
            found.setdefault(f"{plain} in UniProt", f"https://www.uniprot.org/uniprotkb/{plain}")
            found.setdefault(f"{plain} in InterPro", f"https://www.ebi.ac.uk/interpro/protein/UniProt/{plain}/")
        elif pfam := PFAM.fullmatch(word):
            found.setdefault(f"{pfam[1]} in Pfam", f"https://www.ebi.ac.uk/interpro/entry/pfam/{pfam[1]}/")
        elif INTERPRO.fullmatch(word):
            found.setdefault(f"{word} in InterPro", f"https://www.ebi.ac.uk/interpro/entry/InterPro/{word}/")
        elif NCBI_PROTEIN.fullmatch(word):
            found.setdefault(f"{word} at NCBI", f"https://www.ncbi.nlm.nih.gov/protein/{word}")
        elif NCBI_NUCLEOTIDE.fullmatch(word):
            found.setdefault(f"{word} at NCBI", f"https://www.ncbi.nlm.nih.gov/nuccore/{word}")
    return found


def links_of_hit(run: RunView) -> dict[str, str]:
    """Return the addresses of the chosen hit of a run and of its query."""
    if run.hit is None:
        return {}
    card = run.card
    of_query = links_of_name(str(card.get("name", "")), str(card.get("accession") or ""))
    return links_of_name(run.hit.name, run.hit.accession) | of_query

"""Domains as rows of an alignment to their profile."""

from __future__ import annotations

import re

from clalign.formats.profile_stockholm import AlignedRow, QueryRow
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit

GAPS = "-.~_"
_NO_GAPS, _DELETES = str.maketrans(dict.fromkeys(GAPS, "X")), re.compile("D+|[MI]+")
_LOOKS_LIKE = dict.fromkeys(range(128), "M") | str.maketrans(dict.fromkeys(GAPS, "D"))
_IS_LIKE = str.maketrans("I", "M")
"""Letters and states as deletes and everything else."""


def aligned_row(hit: Hit, domain: Domain) -> AlignedRow:
    """Return a domain of a hit as a row."""
    return AlignedRow(
        name=hit.name,
        accession=hit.accession,
        description=hit.description,
        start=domain.target_range[0] + 1,
        end=domain.target_range[1],
        first_node=domain.query_range[0],
        states=domain.states,
        text=target_text(domain),
        posterior=domain.text.posterior,
        score=domain.score,
    )


def query_row(card: Card) -> QueryRow:
    """Return a query of a search in rounds as a row, given the card of its first profile."""
    return QueryRow.of(card["name"], card["accession"], card["description"], card["consensus"].upper())


def target_text(domain: Domain) -> str:
    """Return the target's side; a gap character that was searched as a residue must not look like a gap."""
    states, text = domain.states, domain.text.target
    if text.translate(_LOOKS_LIKE) == states.translate(_IS_LIKE):  # as in almost all
        return text
    return "".join([
        text[run.start() : run.end()].translate({} if run[0].startswith("D") else _NO_GAPS)
        for run in _DELETES.finditer(states)
    ])  # fmt: skip

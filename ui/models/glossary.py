"""Entries of the glossary as tooltips."""

from __future__ import annotations

import re
from functools import cache

from .help_pages import documents_folder

ALIASES = {
    "rate": "gcups", "speed in the self-test": "gcups", "work": "cell", "database size for e-values": "database size",
    "reported from": "reported", "significant from": "significant", "nodes": "node", "mu": "lambda",
    "gathering": "ga", "trusted": "tc", "noise": "nc", "score": "score", "best score": "score",
    "best e-value": "e-value", "best domain e": "e-value", "best domain": "score", "bits": "score",
    "coverage %": "coverage", "profile %": "coverage", "sequence %": "coverage", "query %": "coverage",
    "target %": "coverage", "identity %": "identity", "positives %": "positives", "status": "significant",
    "msv − bias": "bias", "hits": "reported", "raw": "raw score", "residues": "residue", "lengths": "residue",
    "compute units": "compute unit", "p-value": "p-value",
}  # fmt: skip
"""Names in the window for entries with another name."""


@cache
def entries() -> dict[str, str]:
    """Return the explanations by their words in lower case; none without documents."""
    try:
        text = (documents_folder() / "glossary.md").read_text(encoding="utf-8")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.startswith("**"):
            continue
        plain = " ".join(re.sub(r"[*`\\]", "", paragraph).split())
        for terms in re.findall(r"\*\*([^*]+?)\.?\*\*", paragraph):
            for term in re.sub(r"\([^)]*\)", "", terms).split(","):
                found.setdefault(term.strip().lower(), plain)
    return found


def explanation(name: str) -> str:
    """Return the explanation of a word; empty if there is none."""
    word = re.sub(r"\([^)]*\)", "", name).strip().lower()
    return entries().get(ALIASES.get(word, word), "")

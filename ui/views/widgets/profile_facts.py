"""What is known of a profile: names, values, consensus."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from clalign.values.axes import MINUS
from clalign.values.documents import Card

from ... import formatting, theme
from .facts import facts_grid
from .parts import label

CUTOFFS = {"ga": "Gathering (GA)", "tc": "Trusted (TC)", "nc": "Noise (NC)"}


def profile_parts(card: Card) -> list[QWidget]:
    """Return widgets that show a profile."""
    consensus = label(_wrapped(card["consensus"]), selectable=True)
    consensus.setFont(theme.mono_font(8))
    consensus.setToolTip("Most probable residue of each node; upper case where it dominates")
    return [facts_grid(profile_facts(card)), consensus]


def _wrapped(text: str, width: int = 36, lines: int = 12) -> str:
    cut = [text[i : i + width] for i in range(0, len(text), width)]
    return "\n".join(cut[:lines] + (["…"] if len(cut) > lines else []))


def profile_facts(card: Card) -> list[tuple[str, str]]:
    """Return names and values of a profile."""
    n_built = card.get("facts", {}).get("sequences", "")
    rows = [
        ("Name", card["name"]),
        ("Accession", card["accession"]),
        ("Description", card["description"]),
        ("Nodes", formatting.count(card["length"])),
        ("Alphabet", formatting.alphabet(card["alphabet"])),
        ("Built from", formatting.plural(int(n_built), "sequence") if n_built.isdecimal() else ""),
        ("Format", str(card["origin"]).upper()),
        ("Calibration", _calibration_words(card)),
    ]
    for name, title in CUTOFFS.items():
        pair = (card.get("cutoffs") or {}).get(name)
        if pair:
            rows.append((title, formatting.signed(f"{pair[0]:g} bits; domain {pair[1]:g}")))
    return [(name, value) for name, value in rows if value and value != "-"]


def _calibration_words(card: Card) -> str:
    """Return the calibration of a profile in words."""
    entry, entries = card.get("calibration"), card.get("calibration3")
    if entry:
        return f"extreme value, mu {entry['mu']:.2f}, lambda {entry['lambda']:.3f}".replace("-", MINUS)
    if entries:
        return (
            f"MSV mu {entries['msv']['mu']:.2f}, Viterbi mu {entries['viterbi']['mu']:.2f}, "
            f"Forward tau {entries['forward']['tau']:.2f}; lambda {entries['forward']['lambda']:.3f}"
        ).replace("-", MINUS)
    return (
        "none: E-values are rough (upper bounds)"
        if card["origin"] == "hmmer2"
        else "none: it cannot be used for a search"
    )

"""Colors of residues, by schemes."""

from __future__ import annotations

from functools import cache

from .theme import contrast

_BLUE, _RED, _GREEN = "#80A0F0", "#F0A0A0", "#7AD07A"
_MAGENTA, _ORANGE, _CYAN, _YELLOW = "#D08AD0", "#F0A860", "#70C8C8", "#D8D840"

_CLUSTAL = {
    **dict.fromkeys("AVILMFWC", _BLUE),
    **dict.fromkeys("KR", "#F08878"),
    **dict.fromkeys("DE", _MAGENTA),
    **dict.fromkeys("STNQ", _GREEN),
    **dict.fromkeys("HY", _CYAN),
    "G": _ORANGE,
    "P": _YELLOW,
}

_SAFE = {
    **dict.fromkeys("AVILMC", "#0072B2"),
    **dict.fromkeys("FWY", "#56B4E9"),
    **dict.fromkeys("KRH", "#D55E00"),
    **dict.fromkeys("DE", "#CC79A7"),
    **dict.fromkeys("STNQ", "#009E73"),
    **dict.fromkeys("GP", "#F0E442"),
}

_NUCLEIC_CLUSTAL = {"A": _GREEN, "C": _BLUE, "G": _ORANGE, "T": _RED, "U": _RED}
_NUCLEIC_SAFE = {"A": "#009E73", "C": "#0072B2", "G": "#F0E442", "T": "#D55E00", "U": "#D55E00"}

RESIDUE_SCHEMES = {"clustal": "Clustal-like (fixed)", "safe": "Color-blind safe", "none": "No colors"}
"""Titles of the schemes of colors for residues."""

_RESIDUES = {
    ("clustal", False): _CLUSTAL,
    ("safe", False): _SAFE,
    ("clustal", True): _NUCLEIC_CLUSTAL,
    ("safe", True): _NUCLEIC_SAFE,
}


def background_of(letter: str, scheme: str, nucleic: bool) -> str | None:
    """Return the color behind a residue, or None."""
    return _RESIDUES.get((scheme, nucleic), {}).get(letter.upper())


@cache
def letter_on(background: str) -> str:
    """Return the color of a letter on a background, with a contrast of at least 4.5."""
    return max("#000000", "#FFFFFF", key=lambda ink: contrast(ink, background))

"""The language of the filter box: text and comparisons, as in ``E<1e-5 len>200 "kinase"``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from clalign.engines.columns import HITS, Column
from clalign.runs.pages import Condition
from clalign.runs.queries import BestOf


@dataclass(frozen=True, slots=True)
class FilterWords:
    """Names of values that can be compared with numbers.

    Attributes
    ----------
    fields : dict
        Words of the filter box and the keys of the values that they mean, see `clalign.runs.pages`.
    known : str
        The words, for people.
    hint : str
        Examples, for the empty filter box.
    best : dict
        Words behind ``best:`` and of what a hit is the best then, see `clalign.runs.queries.BestOf`.
    """

    fields: dict[str, str]
    known: str
    hint: str
    best: dict[str, BestOf]


def words_of(columns: Iterable[Column], hint: str, query: str = "query", target: str = "target") -> FilterWords:
    """Return the names of some columns; `query` and `target` are the nouns for those."""
    known = [(column, word) for column in columns for word in column.filter.split()]
    firsts = dict.fromkeys(column.filter.split()[0] for column, _ in known)
    return FilterWords({word.lower(): column.sort for column, word in known}, ", ".join(firsts), hint,
                       {query: "query", target: "target", "both": "both"})  # fmt: skip


HIT_WORDS = words_of(HITS, 'Filter: text, "a phrase", -without, E<1e-5, score>20, len>200, note:word')

_TERM = re.compile(
    r"""\s*(?:
        (?P<field>[A-Za-z]+)\s*(?P<op><=|>=|=|<|>|≤|≥)\s*(?P<number>[^\s"]*)
      | (?P<but>-?)best:(?P<best>\S*)
      | (?P<without>-?)(?P<tag>note|species):(?:"(?P<tagged_phrase>[^"]*)"?|(?P<tagged>\S*))
      | (?P<minus>-?)"(?P<quoted>[^"]*)"?
      | (?P<word>\S+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class HitFilter:
    """The meaning of the text in the filter box.

    Attributes
    ----------
    conditions : tuple of Condition
        All must hold.
    problem : str
        What could not be understood; empty if everything was.
    """

    conditions: tuple[Condition, ...] = ()
    problem: str = ""


_OPERATORS: dict[str, Literal["<", "<=", "=", ">=", ">"]] = {
    "<": "<", "<=": "<=", "≤": "<=", "=": "=", ">=": ">=", "≥": ">=", ">": ">"
}  # fmt: skip


def parse_filter(text: str, with_profiles: bool = False, words: FilterWords = HIT_WORDS) -> HitFilter:
    """Return the filter of a text, all parts of which must hold.

    Words and quoted phrases are looked for in name, accession and description, whatever their case;
    with ``-`` before them they must be missing. After ``note:`` they are looked for in what the user has
    written beside a hit; ``note:`` alone finds every hit that has a note. After ``species:`` they are looked for in
    what descriptions name with OS= or OX=, or what a table of taxonomy says. ``best:both`` finds reciprocal best hits,
    ``best:query`` and ``best:target`` the best ones of each of these.

    Parameters
    ----------
    with_profiles : bool
        They are looked for in the name of the profile too.
    words : FilterWords
    """
    conditions: list[Condition] = []
    limits: list[tuple[str, str, str, float]] = []
    for term in _TERM.finditer(text.strip()):
        if term["field"]:
            key = words.fields.get(term["field"].lower())
            if key is None:
                return HitFilter(problem=f"“{term['field']}” is not known here. Known: {words.known}.")
            try:
                number = float(term["number"])
                if math.isnan(number):
                    raise ValueError
            except ValueError:
                return HitFilter(problem=f"A number is expected after {term['field']}{term['op']}")
            conditions.append(Condition(key, _OPERATORS[term["op"]], number))
            limits.append((term[0].strip(), *conditions[-1][:2], number))
        elif term["best"] is not None:
            best = words.best.get(term["best"].lower())
            if best is None:
                return HitFilter(problem=f"After best: one of {', '.join(words.best)} is expected.")
            conditions.append(Condition("best", "has", best, bool(term["but"])))
        elif term["tag"]:
            phrase = term["tagged_phrase"] or term["tagged"] or ""
            conditions.append(Condition(term["tag"].lower(), "has", phrase, bool(term["without"])))
        else:
            phrase, is_negated = _phrase(term)
            if phrase:
                conditions.append(Condition("any text" if with_profiles else "text", "has", phrase, is_negated))
    if problem := _contradiction(limits):
        return HitFilter(problem=problem)
    return HitFilter(tuple(conditions))


def _contradiction(limits: list[tuple[str, str, str, float]]) -> str:
    """Return which two limits, each with its text, key, operator and number, exclude each other; empty if none do."""
    for low, key, above, least in limits:
        for high, other, below, most in limits:
            if key != other or "<" in above or ">" in below:
                continue
            if least > most or (least == most and not ("=" in above and "=" in below)):
                return f"No hit can have both {low} and {high}."
    return ""


def _phrase(term: re.Match[str]) -> tuple[str, bool]:
    if term["quoted"] is not None:
        return term["quoted"], bool(term["minus"])
    word = term["word"] or ""
    return (word[1:], True) if len(word) > 1 and word.startswith("-") else (word, False)

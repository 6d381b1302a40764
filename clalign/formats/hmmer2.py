"""HMMER2 save files in text form (``HMMER2.0``)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from msgspec import Struct, field

from clalign.errors import InputError, quoted
from clalign.formats.numbers import finite, whole
from clalign.formats.sources import NEW_COPY_HINT
from clalign.values.alphabets import AMINO, DNA, Alphabet
from clalign.values.profiles import INT_SCALE, LN_2, Calibration, Cutoffs, Floats, Hmm, Hmmer2Settings, consensus_of

MAGIC = "HMMER2.0"

_BETWEEN_CUTOFFS = re.compile(r"[\s;]+")

MAX_NODES = 200_000
"""Limit of the nodes of a model, above which a file is taken for damaged; HMMER searches no sequence half as long."""

MAX_HEADER = 4 << 20
"""Limit of the characters of a header, above which a file is taken for damaged."""

SLOPE_RANGE = (1e-6, 1e6)
"""Range of a plausible lambda; fits give about 0.7."""

HINT = f"{NEW_COPY_HINT} Or rebuild the model with hmmbuild."

NUMBERED_LINES = Iterator[tuple[int, str]]
"""Lines with their numbers, counted from 1."""


@lru_cache(maxsize=2**16)
def _odds(word: str) -> float:
    """Return the odds of a score, cached, since files hold the same few thousand scores repeatedly."""
    value = whole(word)
    if value is None:
        raise ValueError(word)
    return math.exp(value / INT_SCALE * LN_2)


def is_slope(value: float) -> bool:
    """Return whether a number can be the lambda of score statistics, so that all P-values are numbers."""
    return SLOPE_RANGE[0] <= value <= SLOPE_RANGE[1]


class _Header(Struct):
    """The header lines of one record, as text with their line numbers."""

    values: dict[str, tuple[int, str]] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)


def read_hmmer2(lines: NUMBERED_LINES, path: str, first_line: int) -> Hmm:
    """Return the model of one record whose magic line has just been read.

    Parameters
    ----------
    lines : iterator of (int, str)
        The numbered lines after the magic; consumed up to and including ``//``.
    path : str
        Name of the file, for messages.
    first_line : int
        Number of the magic line.

    Raises
    ------
    InputError
        If the record is damaged or ends early, with the line number.
    """
    reader = _Record(path, lines, first_line)
    header = reader.header()
    alphabet = reader.alphabet(header)
    length = reader.integer(header, "LENG")
    if length > MAX_NODES:
        raise reader.error(f"a model of {length:,} nodes is not plausible", header.values["LENG"][0])
    if length < 1:
        raise reader.error(f"the model length is {length}, but must be at least 1", header.values["LENG"][0])
    null = reader.scores(header, "NULE", alphabet.size, np.float32(1.0 / alphabet.size))
    special = reader.scores(header, "XT", 8, np.float32(1.0)).reshape(4, 2)
    null_loop = reader.scores(header, "NULT", 2, np.float32(1.0))
    if not 0 < null_loop[0] / null_loop.sum() < 1:
        raise reader.error("NULT must give two probabilities above zero", header.values["NULT"][0])
    return reader.model(header, alphabet, length, Hmmer2NullAndSpecials(null, special, null_loop))


class Hmmer2NullAndSpecials(Struct, frozen=True):
    """The distributions that the header gives: float32[K], float32[4, 2] and float32[2]."""

    null: Floats
    special: Floats
    null_loop: Floats


class _Record:
    """A reader of one record, with the number of the current line."""

    def __init__(self, path: str, lines: NUMBERED_LINES, first_line: int) -> None:
        self.path = path
        self.lines = lines
        self.number = first_line

    def error(self, reason: str, line: int | None = None) -> InputError:
        return InputError(self.path, f"{reason}.", HINT, self.number if line is None else line)

    def next_line(self, expected: str) -> str:
        for self.number, line in self.lines:
            if line.strip():
                return line
        raise self.error(f"the HMMER2 model ends early, before {expected}")

    def header(self) -> _Header:
        header, size = _Header(), 0
        while True:
            line = self.next_line("the HMM section")
            size += len(line)
            if size > MAX_HEADER:
                raise self.error(f"the header of this model is longer than {MAX_HEADER:,} characters")
            tag = line[:5].strip()
            if line.startswith("HMM "):
                break
            if tag.startswith("//"):
                raise self.error("the HMMER2 model has no HMM section")
            if not line[0].isalpha():
                raise self.error(
                    f"a header line or the HMM section was expected, but the line is {quoted(line.strip(), 30)}"
                )
            if tag == "COM":
                header.history.append(line[6:].strip())
            elif tag:
                header.values[tag] = (self.number, line[6:].strip())
        for tag in ("NAME", "LENG", "ALPH", "XT", "NULT", "NULE"):
            if tag not in header.values:
                raise self.error(f"the HMMER2 model has no {tag} line")
        return header

    def alphabet(self, header: _Header) -> Alphabet:
        number, text = header.values["ALPH"]
        if text.lower().startswith("amino"):
            return AMINO
        if text.lower().startswith("nucleic"):
            return DNA
        raise self.error(f"the alphabet {quoted(text)} is unknown; HMMER2 has Amino and Nucleic", number)

    def integer(self, header: _Header, tag: str) -> int:
        number, text = header.values[tag]
        value = whole((text.split() or [""])[0])
        if value is None:
            raise self.error(f"{quoted(text)} after {tag} is not a whole number", number)
        return value

    def scores(self, header: _Header, tag: str, count: int, reference: np.float32) -> Floats:
        number, text = header.values[tag]
        words = text.split()
        if len(words) < count:
            raise self.error(f"{tag} has {len(words)} numbers instead of {count}", number)
        return self.probabilities(words[:count], np.full(count, reference, np.float32), number)

    def probabilities(self, words: list[str], reference: Floats, line: int) -> Floats:
        """Decode scores to probabilities: p = r exp(n / 1000 ln 2); ``*`` is zero."""
        decoded = []
        for word, share in zip(words, reference.tolist(), strict=False):
            try:
                decoded.append(0.0 if word.startswith("*") else share * _odds(word))
            except (ValueError, OverflowError):
                raise self.error(f"{quoted(word)} is not a score", line) from None
        with np.errstate(over="ignore"):
            values: Floats = np.array(decoded).astype(np.float32)
        if not np.isfinite(values).all():
            raise self.error("a score is too large", line)
        return values

    def row(self, what: str, count: int, reference: Floats) -> tuple[str, Floats, list[str]]:
        """Read one line of the HMM section: its first word, its probabilities, the words after them."""
        words = self.next_line(what).split()
        if words[0] == "//" or len(words) < count + 1:
            raise self.error(f"the HMMER2 model ends early or is damaged: {what} need {count} numbers")
        return words[0], self.probabilities(words[1 : count + 1], reference, self.number), words[count + 1 :]

    def model(self, header: _Header, alphabet: Alphabet, m: int, given: Hmmer2NullAndSpecials) -> Hmm:
        k_size = alphabet.size
        match, insert = np.zeros((m + 1, k_size), np.float32), np.zeros((m + 1, k_size), np.float32)
        transitions = np.zeros((m + 1, 7), np.float32)
        begin, end = np.zeros(m + 1, np.float32), np.zeros(m + 1, np.float32)
        reference, structure = [], []
        ones = np.ones(9, np.float32)
        self.next_line("the line of transition names")
        first = self.next_line("the begin transitions").split()
        if len(first) < 3:
            raise self.error("the line of the begin node needs 3 numbers")
        to_match, _, to_delete = self.probabilities(first[:3], ones[:3], self.number)
        for k in range(1, m + 1):
            node, match[k], _ = self.row(f"the match emissions of node {k}", k_size, given.null)
            if node != str(k):
                raise self.error(f"node {k} was expected, but the line begins with {quoted(node)}")
            letter, insert[k], _ = self.row(f"the insert emissions of node {k}", k_size, given.null)
            reference.append(letter[0])
            letter, row, _ = self.row(f"the transitions of node {k}", 9, ones)
            structure.append(letter[0])
            transitions[k], begin[k], end[k] = row[:7], row[7], row[8]
            if not row[:3].any() and not row[8]:
                raise self.error(f"node {k} leads nowhere: its transitions are all zero (*)")
        if not begin.any() and not to_delete:
            raise self.error("no node can begin the model: its begin transitions are all zero (*)")
        if not self.next_line("the closing //").startswith("//"):
            raise self.error(f"// was expected after node {m}")
        settings = Hmmer2Settings(
            begin=begin,
            end=end,
            begin_to_delete=np.float32(to_delete / (to_match + to_delete)) if to_delete else np.float32(0),
            special=given.special,
            null=given.null,
            null_loop=given.null_loop,
        )
        return Hmm(
            name=header.values["NAME"][1],
            accession=header.values.get("ACC", (0, ""))[1],
            description=header.values.get("DESC", (0, ""))[1],
            alphabet=alphabet,
            match=match,
            insert=insert,
            transitions=transitions,
            consensus=consensus_of(match, alphabet),
            reference="".join(reference) if self._is_yes(header, "RF") else "",
            structure="".join(structure) if self._is_yes(header, "CS") else "",
            cutoffs=Cutoffs(*(self._cutoff(header, tag) for tag in ("GA", "TC", "NC"))),
            calibration=self._calibration(header),
            settings=settings,
            facts=self._facts(header),
        )

    @staticmethod
    def _is_yes(header: _Header, tag: str) -> bool:
        return header.values.get(tag, (0, "no"))[1][:1].lower() == "y"

    def _cutoff(self, header: _Header, tag: str) -> tuple[float, float] | None:
        if tag not in header.values:
            return None
        number, text = header.values[tag]
        words = _BETWEEN_CUTOFFS.split(text.strip(), 2)
        values = [finite(word) for word in words[:2]]
        if len(values) < 2 or values[0] is None or values[1] is None:
            raise self.error(f"{quoted(text)} after {tag} is not a pair of scores", number)
        return values[0], values[1]

    def _calibration(self, header: _Header) -> Calibration | None:
        if "EVD" not in header.values:
            return None
        number, text = header.values["EVD"]
        values = [finite(word) for word in text.split()[:2]]
        if len(values) < 2 or values[0] is None or values[1] is None:
            raise self.error(f"{quoted(text)} after EVD is not a pair of numbers", number)
        mu, slope = (float(np.float32(value)) for value in values)
        if not is_slope(slope):
            raise self.error(f"the lambda {slope:g} after EVD is not plausible; it should be about 0.7", number)
        return Calibration("gumbel", mu, slope)

    @staticmethod
    def _facts(header: _Header) -> dict[str, str]:
        shown = {"NSEQ": "sequences", "DATE": "date", "CKSUM": "checksum"}
        facts = {word: header.values[tag][1] for tag, word in shown.items() if tag in header.values}
        if header.history:
            facts["history"] = "\n".join(header.history)
        return facts

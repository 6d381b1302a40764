"""HMMER3 save files in text form (``HMMER3/a`` to ``HMMER3/f``)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.common.exponentials import exponential
from clalign.errors import InputError, quoted
from clalign.formats.hmmer2 import HINT, MAX_HEADER, MAX_NODES, is_slope
from clalign.formats.numbers import finite, whole
from clalign.formats.profile_lines import ProfileLines
from clalign.formats.sources import count_byte
from clalign.values.alphabets import ALPHABETS, Alphabet
from clalign.values.profiles import Calibration, Cutoffs, Floats, Hmm, Hmmer3Settings, consensus_of

MAGIC = "HMMER3/"

VERSIONS = "abcdef"

MAX_LENGTH = 10**9
"""Limit of MAXL, the length that nearly no hit exceeds."""

SUM_TOLERANCE = 0.01
"""A sum of probabilities further from one is reported; they are written with five decimals of their logarithm."""

MAX_SUM_ERROR = 0.1
"""A sum further from one is taken for damage. HMMER takes any, and some old converted models are a little off."""

ODD_SUM = "odd sum"
"""Key of the fact about the sum of a model that is furthest from one, if by more than `SUM_TOLERANCE`."""

_FIRST, _WIDTH = 8, 9
"""First character of the numbers in a node's lines, and the width of each: two digits, a point and five digits."""

_BLANK, _LINE_END = ord(" "), ord("\n")

_STAR, _NOTHING = (np.uint64(int.from_bytes(text, "little")) for text in (b"       *", b"00.00000"))
_EXCESS = np.uint64(int.from_bytes(bytes([0x76, 0x76, 0x7F, *[0x76] * 5]), "little"))
"""What lifts the highest bit of each byte that is no digit, or no point."""

_HIGHEST_BITS = np.uint64(0x8080808080808080)

_NEIGHBORS = tuple(
    (bits, np.uint64(mask)) for bits, mask in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0xFFFFFFFF))
)
"""Distance of the halves of numbers side by side, and the lower halves."""

MAX_MATCH_LINE = 1000
"""Bytes of the match line of a node at most, where nodes are read at once."""


_STATISTICS = {"a": {"VLAMBDA", "VMU", "FTAU"}, "later": {"MSV", "VITERBI", "FORWARD"}}


class _Header(Struct):
    """The header lines of one record, as text with their line numbers."""

    values: dict[str, tuple[int, str]] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    statistics: dict[str, tuple[int, list[float]]] = field(default_factory=dict)


_ZERO = math.inf
"""The negative logarithm of a probability of zero."""


class _Lines(Struct):
    """The lines of a model's nodes as negative logarithms, a list for each node from 0 on.

    Attributes
    ----------
    following : list of float64[n, :], or empty
        Match, insert and transition lines of the nodes after these, where they were read at once.
    """

    match: list[list[float]]
    insert: list[list[float]] = field(default_factory=list)
    transitions: list[list[float]] = field(default_factory=list)
    composition: list[float] | None = None
    consensus: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    structure: list[str] = field(default_factory=list)
    mask: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    following: list[npt.NDArray[np.float64]] = field(default_factory=list)


class _Nodes:
    """The nodes of a model as probabilities."""

    def __init__(self, lines: _Lines) -> None:
        rows = [(lines.match, lines.insert, lines.transitions), *([lines.following] if lines.following else [])]
        self.match, self.insert, self.transitions = (
            exponential(-np.concatenate(parts)) for parts in zip(*rows, strict=True)
        )
        self.composition = None if lines.composition is None else exponential(-np.array(lines.composition))
        self.consensus, self.reference, self.structure = lines.consensus, lines.reference, lines.structure
        self.mask, self.columns = lines.mask, lines.columns


def read_hmmer3(lines: ProfileLines, path: str, first_line: int, magic: str) -> Hmm:
    """Return the model of one record whose magic line has just been read.

    Parameters
    ----------
    lines : ProfileLines
        Those after the magic; consumed up to and including ``//``.
    path : str
        Name of the file, for messages.
    first_line : int
        Number of the magic line.
    magic : str
        The magic line itself.

    Raises
    ------
    InputError
        If the record is damaged, ends early or has an alphabet that is not searched with.
    """
    reader = _Record(path, lines, first_line)
    version = magic[len(MAGIC) : len(MAGIC) + 1]
    if not version or version not in VERSIONS:
        raise InputError(
            path,
            f"the profile format {quoted(magic.split()[0], 20)} is unknown; HMMER3/a to HMMER3/f can be read.",
            "Convert it with hmmconvert.",
            first_line,
        )
    header = reader.header(version)
    alphabet = reader.alphabet(header)
    length = reader.positive(header, "LENG", MAX_NODES)
    nodes = reader.nodes(version, alphabet, length)
    return reader.model(header, version, alphabet, nodes, reader.check(nodes))


class OddSum(NamedTuple):
    """A distribution of a model that does not sum to one.

    Attributes
    ----------
    what : str
        The distribution of the node, as in ``match emissions``.
    node : int
    total : float
    """

    what: str
    node: int
    total: float

    @property
    def error(self) -> float:
        """How far the sum is from one."""
        return abs(self.total - 1)

    def __str__(self) -> str:
        return f"{self.what} of node {self.node} sum to {self.total:.3f} instead of 1"


def odd_sum(match: Floats, insert: Floats, transitions: Floats) -> OddSum | None:
    """Return the distribution of a model whose sum is furthest from one; None if all are within `SUM_TOLERANCE`.

    Parameters
    ----------
    match, insert : float32[M + 1, K]
    transitions : float32[M + 1, 7]
    """
    t = transitions
    sums = {
        "match emissions": match[1:].sum(axis=1),
        "insert emissions": insert.sum(axis=1),
        "transitions from the match state": t[:, 0:3].sum(axis=1),
        "transitions from the insert state": t[:, 3:5].sum(axis=1),
        "transitions from the delete state": t[:, 5:7].sum(axis=1),
    }
    found = []
    for what, values in sums.items():
        node = int(np.argmax(np.abs(values - 1)))
        if abs(values[node] - 1) > SUM_TOLERANCE:
            found.append(OddSum(what, node + (what == "match emissions"), float(values[node])))
    return max(found, key=lambda odd: odd.error, default=None)


class _Record:
    """A reader of one record, with the number of the current line."""

    def __init__(self, path: str, lines: ProfileLines, first_line: int) -> None:
        self.path = path
        self.lines = lines
        self.number = first_line
        self.text = ""
        self.node_lines: list[int] = []

    def error(self, reason: str, line: int | None = None) -> InputError:
        return InputError(self.path, reason, HINT, self.number if line is None else line)

    def next_words(self, expected: str) -> list[str]:
        for self.number, self.text in self.lines:
            words = self.text.split()
            if words:
                return words
        raise self.error(f"the HMMER3 model ends early, before {expected}.")

    def header(self, version: str) -> _Header:
        header, size = _Header(), 0
        while True:
            words = self.next_words("the HMM section")
            size += len(self.text)
            if size > MAX_HEADER:
                raise self.error(f"the header of this model is longer than {MAX_HEADER:,} characters.")
            tag, text = words[0], " ".join(words[1:])
            if tag == "HMM":
                break
            if tag == "//" or tag.startswith("HMMER"):
                raise self.error("the HMMER3 model has no HMM section.")
            if tag == "COM":
                header.history.append(re.sub(r"^\[?\d*\]?\s*", "", text))
            elif tag == "STATS":
                self._statistics(header, version, words)
            else:
                header.values[tag] = (self.number, text)
        for tag in ("NAME", "LENG", "ALPH"):
            if not header.values.get(tag, (0, ""))[1]:
                raise self.error(f"the HMMER3 model has no {tag} line.")
        known = _STATISTICS["a" if version == "a" else "later"]
        if header.statistics and set(header.statistics) != known:
            missing = ", ".join(sorted(known - set(header.statistics)))
            line = next(iter(header.statistics.values()))[0]
            raise self.error(f"the STATS lines of {missing} are missing; all three or none are needed.", line)
        return header

    def _statistics(self, header: _Header, version: str, words: list[str]) -> None:
        known = _STATISTICS["a" if version == "a" else "later"]
        n_values = 1 if version == "a" else 2
        if len(words) < 3 + n_values or words[1] != "LOCAL" or words[2] not in known:
            raise self.error(f"{quoted(' '.join(words))} is not a STATS line of HMMER3/{version}.")
        values = [self.number_of(word, "a STATS line") for word in words[3 : 3 + n_values]]
        if (version != "a" or words[2] == "VLAMBDA") and not is_slope(values[-1]):
            raise self.error(f"the lambda {values[-1]:g} in a STATS line is not plausible; it should be about 0.7.")
        header.statistics[words[2]] = (self.number, values)

    def number_of(self, word: str, what: str, line: int | None = None) -> float:
        value = finite(word)
        if value is None:
            raise self.error(f"{quoted(word)} in {what} is not a number.", line)
        return value

    def alphabet(self, header: _Header) -> Alphabet:
        number, text = header.values["ALPH"]
        try:
            return ALPHABETS[text.lower()]
        except KeyError:
            raise InputError(
                self.path,
                f"the alphabet {quoted(text)} is unknown; only amino, DNA and RNA can be searched.",
                "Choose a profile of proteins, DNA or RNA.",
                number,
            ) from None

    def positive(self, header: _Header, tag: str, limit: int) -> int:
        number, text = header.values[tag]
        value = whole(text)
        if value is None or value < 1:
            raise self.error(f"{quoted(text)} after {tag} is not a whole number above 0.", number)
        if value > limit:
            raise self.error(f"{tag} is {value:,}, which is not plausible; it can be {limit:,} at most.", number)
        return value

    def logs(self, words: list[str], count: int, what: str) -> list[float]:
        """Return negative natural logarithms of probabilities; ``*`` stands for that of zero."""
        if len(words) < count:
            raise self.error(f"{what} have {len(words)} numbers instead of {count}.")
        try:
            values = [_ZERO if word == "*" else float(word) for word in words[:count]]
        except ValueError:
            values = [math.nan]
        # The sum shows NaN, which a minimum may miss.
        if min(values) >= 0.0 and sum(values) >= 0.0 and words[:count].count("*") == values.count(_ZERO):
            if self.text.isascii() and "_" not in self.text:
                return values
            # Python takes "_" and digits of other scripts in numbers; only annotation may hold them.
            if all(word == "*" or finite(word) is not None for word in words[:count]):
                return values
        for word in words[:count]:
            if word != "*" and self.number_of(word, what) < 0:
                raise self.error(f"{word} in {what} is negative, which would be a probability above 1.")
        raise self.error(f"{what} cannot be read.")

    def nodes(self, version: str, alphabet: Alphabet, length: int) -> _Nodes:
        k_size = alphabet.size
        found = _Lines([[_ZERO] * k_size])
        self.next_words("the line of transition names")
        words = self.next_words("the insert emissions of node 0")
        if words[0] == "COMPO":
            found.composition = self.logs(words[1:], k_size, "the mean composition")
            words = self.next_words("the insert emissions of node 0")
        self._insert_and_transitions(words, 0, found)
        if not self._read_at_once(version, length, found):
            for k in range(1, length + 1):
                self._match_line(self.next_words(f"node {k}"), version, k, found)
                self._insert_and_transitions(self.next_words(f"the insert emissions of node {k}"), k, found)
        closing = self.next_words("the closing //")
        if not closing[0].startswith("//"):
            raise self.error(
                f"// was expected after the last node, {length}, but the line begins with {quoted(closing[0])}."
            )
        return _Nodes(found)

    def _read_at_once(self, version: str, length: int, found: _Lines) -> bool:
        """Read the nodes after node 0 at once and return True, or leave them unread if their lines are unusual.

        Usual are lines of nodes as HMMER writes them, all of one length, without letters beyond ASCII.
        """
        k_size, marks = len(found.match[0]), _columns(version)[1:]
        end = _FIRST + k_size * _WIDTH
        first = self.lines.coming(MAX_MATCH_LINE).find(b"\n") + 1
        sizes = first, end + 1, _FIRST + 7 * _WIDTH + 1
        text = self.lines.coming(length * sum(sizes))
        if first < end + 2 * len(marks) + 3 or len(text) < length * sum(sizes) or not text.isascii():
            return False
        table = np.frombuffer(text, np.uint8).reshape(length, -1)
        match, insert, transitions = np.split(table, np.cumsum(sizes)[:2], axis=1)
        words, blanks = match[:, -2 * len(marks) : -1 : 2], match[:, -2 * len(marks) - 1 : -1 : 2]
        places = match[:, end : -2 * len(marks) - 1]
        is_usual = (
            all((lines[:, -1] == _LINE_END).all() for lines in (match, insert, transitions))
            and count_byte(text, _LINE_END) == 3 * length
            and np.array_equal(match[:, :_FIRST], _node_numbers(1 << (length - 1).bit_length())[:length])
            and (insert[:, :_FIRST] == _BLANK).all()
            and (transitions[:, :_FIRST] == _BLANK).all()
            and (blanks == _BLANK).all()
            and (words > _BLANK).all()
            and (places[:, 0] == _BLANK).all()  # else the last number goes on
            and (places[:, -1] > _BLANK).all()
            and (places >= _BLANK).all()
            and len(columns := list(filter(None, places.tobytes().decode().split(" ")))) == length
        )
        numbers = [(match, k_size), (insert, k_size), (transitions, 7)] if is_usual else []
        read = [logs for lines, count in numbers if (logs := _logs_in_columns(lines, count)) is not None]
        if len(read) < 3:
            return False
        found.following = read
        self.node_lines += range(self.lines.number + 2, self.lines.number + 3 * length, 3)
        self.lines.skip(len(text), 3 * length)
        self.number = self.lines.number - 1
        _annotate(found, columns, dict(zip(marks, (column.tobytes().decode() for column in words.T), strict=True)))
        return True

    def _insert_and_transitions(self, words: list[str], k: int, found: _Lines) -> None:
        found.insert.append(self.logs(words, len(found.match[0]), f"the insert emissions of node {k}"))
        words = self.next_words(f"the transitions of node {k}")
        found.transitions.append(self.logs(words, 7, f"the transitions of node {k}"))
        self.node_lines.append(self.number)

    def _match_line(self, words: list[str], version: str, k: int, found: _Lines) -> None:
        if words[0] != str(k):
            raise self.error(f"node {k} was expected, but the line begins with {quoted(words[0])}.")
        k_size, columns = len(found.match[0]), _columns(version)
        found.match.append(self.logs(words[1:], k_size, f"the match emissions of node {k}"))
        rest = words[1 + k_size :]
        if len(rest) < len(columns):
            raise self.error(f"node {k} has {len(rest)} columns of annotation instead of {len(columns)}.")
        _annotate(found, rest[:1], dict(zip(columns[1:], (word[0] for word in rest[1:]), strict=False)))

    def check(self, nodes: _Nodes) -> dict[str, str]:
        """Return the fact about a distribution that does not sum to one, if there is one; refuse a damaged model."""
        odd = odd_sum(nodes.match, nodes.insert, nodes.transitions)
        if odd is None:
            return {}
        if odd.error > MAX_SUM_ERROR:
            line = self.node_lines[odd.node] - {"match emissions": 2, "insert emissions": 1}.get(odd.what, 0)
            raise self.error(f"the {odd}.", line)
        return {ODD_SUM: str(odd)}

    def model(
        self, header: _Header, version: str, alphabet: Alphabet, nodes: _Nodes, more_facts: dict[str, str]
    ) -> Hmm:
        flags = {tag: self._is_yes(header, tag) for tag in ("RF", "CS", "CONS", "MM")}
        is_given = flags["CONS"] and "-" not in nodes.consensus
        return Hmm(
            # Like HMMER, take one word of each.
            name=header.values["NAME"][1].split()[0],
            accession=(header.values.get("ACC", (0, ""))[1].split() or [""])[0],
            description=header.values.get("DESC", (0, ""))[1],
            alphabet=alphabet,
            match=nodes.match,
            insert=nodes.insert,
            transitions=nodes.transitions,
            consensus="".join(nodes.consensus) if is_given else consensus_of(nodes.match, alphabet),
            reference="".join(nodes.reference) if flags["RF"] else "",
            structure="".join(nodes.structure) if flags["CS"] else "",
            cutoffs=Cutoffs(*(self._cutoff(header, tag, alphabet) for tag in ("GA", "TC", "NC"))),
            calibration=None,
            settings=self._settings(header, version, nodes),
            facts=self._facts(header, version) | more_facts,
            mask="".join(nodes.mask) if flags["MM"] else "",
            columns=self._columns(nodes) if self._is_yes(header, "MAP") else None,
        )

    def _columns(self, nodes: _Nodes) -> npt.NDArray[np.int32]:
        try:
            return np.array(nodes.columns, np.int32)
        except (ValueError, OverflowError):
            node = next((k for k, word in enumerate(nodes.columns) if whole(word) is None), 0)
            reason = f"the column {quoted(nodes.columns[node])} of node {node + 1} is not a number."
            raise self.error(reason, self.node_lines[node + 1] - 2) from None

    @staticmethod
    def _is_yes(header: _Header, tag: str) -> bool:
        return header.values.get(tag, (0, "no"))[1][:1].lower() == "y"

    def _cutoff(self, header: _Header, tag: str, alphabet: Alphabet) -> tuple[float, float] | None:
        if tag not in header.values:
            return None
        number, text = header.values[tag]
        words = text.replace(";", " ").split()
        needed = 1 if alphabet.is_nucleic else 2
        if len(words) < needed:
            wanted = "a score" if needed == 1 else "a pair of scores"
            raise self.error(f"{quoted(text)} after {tag} is not {wanted}.", number)
        values = [self.number_of(word, tag, number) for word in words[:2]]
        return values[0], values[-1]

    def _settings(self, header: _Header, version: str, nodes: _Nodes) -> Hmmer3Settings:
        given = {name: values for name, (_, values) in header.statistics.items()}
        msv = viterbi = forward = None
        if given and version == "a":
            slope, location, tau = given["VLAMBDA"][0], given["VMU"][0], given["FTAU"][0]
            msv = viterbi = Calibration("gumbel", location, slope)
            forward = Calibration("exponential", tau, slope)
        elif given:
            msv = Calibration("gumbel", *given["MSV"])
            viterbi = Calibration("gumbel", *given["VITERBI"])
            forward = Calibration("exponential", *given["FORWARD"])
        number, effective = header.values.get("EFFN", (0, ""))
        return Hmmer3Settings(
            version=version,
            msv=msv,
            viterbi=viterbi,
            forward=forward,
            composition=nodes.composition,
            max_length=self.positive(header, "MAXL", MAX_LENGTH) if "MAXL" in header.values else None,
            effective_n=self.number_of(effective, "EFFN", number) if effective else None,
        )

    @staticmethod
    def _facts(header: _Header, version: str) -> dict[str, str]:
        shown = {"NSEQ": "sequences", "EFFN": "effective sequences", "DATE": "date", "CKSUM": "checksum"}
        facts = {"format": f"HMMER3/{version}"}
        facts |= {word: header.values[tag][1] for tag, word in shown.items() if tag in header.values}
        if header.statistics:
            given = header.statistics.items()
            facts["score statistics"] = "; ".join(f"{name} {' '.join(map(str, values))}" for name, (_, values) in given)
        if header.history:
            facts["history"] = "\n".join(header.history)
        return facts


def _columns(version: str) -> list[str]:
    """Return the columns of annotation at the end of a node's match line."""
    return ["map", *(["cons"] if version >= "e" else []), "rf", *(["mm"] if version >= "f" else []), "cs"]


def _annotate(found: _Lines, columns: Sequence[str], marks: Mapping[str, str]) -> None:
    """Add the annotation of nodes: their columns, and the letter of each in the marks that their lines have."""
    found.columns += columns
    kept = {"cons": found.consensus, "rf": found.reference, "cs": found.structure, "mm": found.mask}
    for name, letters in kept.items():
        letters += marks.get(name, "-" * len(columns))


@lru_cache(16)
def _node_numbers(n: int) -> npt.NDArray[np.uint8]:
    """Return the numbers of nodes from 1 on as lines begin with them (uint8[n, 8])."""
    return np.frombuffer(b"".join(b"%7d " % k for k in range(1, n + 1)), np.uint8).reshape(n, _FIRST)


def _logs_in_columns(lines: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.float64] | None:
    """Return negative logarithms that stand in the columns where HMMER writes them (float64[n, count]).

    Each is the nearest to its decimal form, as `float` gives it. None if other text stands there. The letters of a
    number but for the first, a blank, are the bytes of one integer, the first of them the lowest.

    Parameters
    ----------
    lines : uint8[n, :]
        ASCII.
    count : int
    """
    text = np.ascontiguousarray(lines[:, _FIRST : _FIRST + count * _WIDTH]).reshape(-1, _WIDTH)
    letters = np.ndarray(len(text), "<u8", text, 1, (_WIDTH,)).astype(np.uint64)
    is_zero = letters == _STAR
    letters |= np.where((letters & np.uint64(0xFF)) == _BLANK, np.uint64(0x10), np.uint64(0))  # a zero for a blank
    values = letters ^ _NOTHING  # of the digits; 0 for the point
    is_number = ((values | (values + _EXCESS)) & _HIGHEST_BITS) == 0
    if not ((text[:, 0] == _BLANK) & (is_number | is_zero)).all():
        return None
    values = (values & ~np.uint64(0xFFFFFF)) | ((values & np.uint64(0xFFFF)) << np.uint64(8))  # without the point
    for bits, mask in _NEIGHBORS:  # two digits become a number, then two of these, and so on
        values = (values & mask) * np.uint64(10 ** (bits // 8)) + ((values >> np.uint64(bits)) & mask)
    logs: npt.NDArray[np.float64] = values / 1e5
    logs[is_zero] = _ZERO
    return logs.reshape(len(lines), count)

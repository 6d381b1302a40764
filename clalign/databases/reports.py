"""The input report: facts of a sequence file, and issues that a user should know about."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.errors import quoted
from clalign.formats.blocks import WARNINGS
from clalign.formats.tally import DIGITS, MAX_SHOWN_LINES
from clalign.values.alphabets import (
    DOT_CODE,
    DROP,
    ENCODE,
    GAP_CODE,
    N_CODES,
    OTHER_CODE,
    STOP_CODE,
    Alphabet,
    guess_alphabet,
    is_doubtful,
)
from clalign.values.checked import Count, NotNegative, Place

NUMBERED = ("genbank", "embl", "uniprot")
"""Formats in which digits among residues number them."""

Severity = Literal["note", "caution"]


class Issue(Struct, frozen=True):
    """An issue that a user should know about.

    Attributes
    ----------
    kind : str
        Name of the kind of issue: ``letters``, ``duplicate_names``, ``gaps`` and so on.
    severity : str
        ``note`` (harmless) or ``caution`` (may change results).
    text : str
        The message.
    count : int
        How often it occurs.
    lines : tuple of int
        Numbers of the first lines concerned, counted from 1 in the decompressed text.
    """

    kind: str
    severity: Severity
    text: str
    count: Count = 1
    lines: tuple[Count, ...] = ()


class InputReport(Struct, frozen=True):
    """Facts of a sequence file, and issues.

    Attributes
    ----------
    path, digest : str
        The file and its SHA-256.
    format, compression, line_ends : str
        Format, compression and kind of line ends.
    alphabet, alphabet_reason : str
        ``amino``, ``dna`` or ``rna``, and why.
    n_sequences, n_residues, n_empty : int
        `n_sequences` includes the empty ones.
    shortest, longest : int
    mean : float
        Lengths of the sequences.
    length_histogram : tuple of (int, int, int)
        First length, last length and number of sequences of each bin.
    issues : tuple of Issue
    is_doubtful : bool
        Whether the alphabet is guessed from too little.
    """

    path: str
    digest: str
    format: str
    compression: str
    line_ends: str
    alphabet: str
    alphabet_reason: str
    n_sequences: Count
    n_residues: Count
    n_empty: Count
    shortest: Place
    mean: NotNegative
    longest: Place
    length_histogram: tuple[tuple[Count, Count, Count], ...]
    issues: tuple[Issue, ...] = ()
    is_doubtful: bool = False

    def oddities(self, without: Container[str] = ()) -> Iterator[str]:
        """Yield the issues that may change results, with the name of the file and the first line.

        Parameters
        ----------
        without : container of str
            Kinds of issues that are left out.
        """
        for issue in self.issues:
            if (issue.severity == "caution" or issue.kind == "digits") and issue.kind not in without:
                yield self.issue_text(issue)

    def issue_text(self, issue: Issue) -> str:
        """Return the message of an issue, with the name of the file and the first line."""
        line = f", line {issue.lines[0]:,}" if issue.lines else ""
        return f"{self.path}{line}: {issue.text}"


class Facts(Struct, frozen=True):
    """The findings of packing a file, which do not depend on its alphabet.

    Attributes
    ----------
    format : str
    line_ends : dict
        Number of each kind, and whether the last line has one (``final``).
    byte_counts, byte_lines, byte_records : dict
        For each byte among the residues: its number, its first lines, and its first record where known.
    findings : dict
        For each kind: count, lines and a detail.
    n_sequences, n_residues, n_empty, shortest, longest : int
    length_histogram : list
    """

    format: str
    line_ends: dict[str, int]
    byte_counts: dict[str, int]
    byte_lines: dict[str, list[int]]
    byte_records: dict[str, str]
    findings: dict[str, Json]
    n_sequences: int
    n_residues: int
    n_empty: int
    shortest: int
    longest: int
    length_histogram: list[list[int]]

    def counts(self) -> npt.NDArray[np.int64]:
        """Return the number of each letter code among the residues (int64[N_CODES])."""
        counts = np.zeros(256, np.int64)
        for byte, count in self.byte_counts.items():
            counts[int(byte)] = count
        return code_counts(counts, N_CODES)

    @property
    def line_end_label(self) -> str:
        """The kind of line ends: LF, CRLF, CR, mixed or none."""
        used = [kind.upper() for kind in ("lf", "crlf", "cr") if self.line_ends[kind]]
        return "mixed" if len(used) > 1 else (used or ["none"])[0]


def code_counts(byte_counts: npt.NDArray[np.int64], n_codes: int) -> npt.NDArray[np.int64]:
    """Return counts of letter codes (int64[n_codes]) from counts of bytes."""
    kept = ENCODE != DROP
    counts = np.zeros(n_codes, np.int64)
    np.add.at(counts, ENCODE[kept], byte_counts[kept])
    return counts


def make_report(
    facts: Facts, alphabet: Alphabet | None, path: str, digest: str, compression: str
) -> tuple[Alphabet, InputReport]:
    """Return the alphabet of a file, guessed if None is given, and the report on the file."""
    guess, reason = guess_alphabet(facts.counts())
    if alphabet is not None:
        reason = "chosen" if alphabet == guess else f"chosen; it looks like {guess.label}: {reason}"
    is_guessed, alphabet = alphabet is None, alphabet or guess
    report = InputReport(
        path=path,
        digest=digest,
        format=facts.format,
        compression=compression,
        line_ends=facts.line_end_label,
        alphabet=alphabet.name,
        alphabet_reason=reason,
        n_sequences=facts.n_sequences,
        n_residues=facts.n_residues,
        n_empty=facts.n_empty,
        shortest=facts.shortest,
        mean=facts.n_residues / facts.n_sequences,
        longest=facts.longest,
        length_histogram=tuple((a, b, n) for a, b, n in facts.length_histogram),
        issues=(*_letter_issues(facts, alphabet), *_finding_issues(facts), *_line_end_issues(facts)),
        is_doubtful=is_guessed and is_doubtful(guess, facts.counts()),
    )
    return alphabet, report


def _letter_issues(facts: Facts, alphabet: Alphabet) -> Iterator[Issue]:
    legal = alphabet.legal_codes()
    foreign, gaps, stops, digits = [], [], [], []
    for byte in sorted(map(int, facts.byte_counts)):
        code = ENCODE[byte]
        if byte in DIGITS:
            digits.append(byte)
        elif code in (GAP_CODE, DOT_CODE):
            gaps.append(byte)
        elif code == OTHER_CODE or (code < N_CODES and not legal[code]):
            foreign.append(byte)
        elif code == STOP_CODE:
            stops.append(byte)
    if foreign:
        text = f"Characters that are not {alphabet.label} residues: {_listed(facts, foreign)}."
        first = str(min(foreign, key=lambda byte: facts.byte_lines[str(byte)]))
        if record := facts.byte_records.get(first):
            text += f" The first is in the record {quoted(record)}."
        text += " They are scored as unknown."
        yield _byte_issue(facts, "letters", "caution", text, foreign)
    if gaps and "gaps_dropped" not in facts.findings:
        where = "in the sequence" if facts.n_sequences == 1 else "although the sequences are not aligned"
        text = f"Gap characters {where}: {_listed(facts, gaps)}. They are kept and scored as unknown residues."
        yield _byte_issue(facts, "gaps", "caution", text, gaps)
    if stops:
        text = f"Stop characters: {_listed(facts, stops)}. They are kept and scored as unknown residues."
        yield _byte_issue(facts, "stops", "note", text, stops)
    if digits and facts.format not in NUMBERED:
        yield _byte_issue(facts, "digits", "note", WARNINGS["digits"], digits)


def _shown(byte: int) -> str:
    return f'"{chr(byte)}"' if 32 < byte < 127 else f"byte {byte:#04x}"


def _listed(facts: Facts, values: list[int]) -> str:
    shown = ", ".join(f"{_shown(byte)} ({facts.byte_counts[str(byte)]:,})" for byte in values[:12])
    return shown if len(values) <= 12 else f"{shown} and {len(values) - 12} others"


def _byte_issue(facts: Facts, kind: str, severity: Severity, text: str, values: list[int]) -> Issue:
    count = sum(facts.byte_counts[str(byte)] for byte in values)
    lines = sorted({line for byte in values for line in facts.byte_lines.get(str(byte), [])})
    return Issue(kind, severity, text, count, tuple(lines[:MAX_SHOWN_LINES]))


_TEXTS: dict[str, tuple[Severity, str]] = {
    "duplicate_names": (
        "caution",
        'Sequences with a repeated name: {count:,}, for example "{detail}". All are searched.',
    ),
    "empty": ("caution", "Records without residues: {count:,}. They are only counted."),
    "unnamed": ("caution", WARNINGS["unnamed"]),
    "gaps_dropped": ("note", "An alignment: {count:,} gap characters were left out."),
    "joined": ("caution", WARNINGS["joined"]),
    "comment": ("note", "Comment lines were left out: {count:,}."),
    "annotation": ("note", 'Annotation rows were left out: {count:,}, for example "{detail}".'),
    "no_terminator": ("caution", "The last record has no closing //, but {detail}."),
    "length": ("caution", "Records whose length differs from the declared one: {count:,}; the first: {detail}."),
    "no_sequence": ("caution", 'Records without a sequence: {count:,}, for example "{detail}".'),
    "text_between": ("note", "Lines between records were left out: {count:,}."),
}


def _finding_issues(facts: Facts) -> Iterator[Issue]:
    for kind, (severity, text) in _TEXTS.items():
        if kind in facts.findings:
            found = facts.findings[kind]
            words = text.format(count=found["count"], detail=found["detail"])
            yield Issue(kind, severity, words, found["count"], tuple(found["lines"]))


def _line_end_issues(facts: Facts) -> Iterator[Issue]:
    ends = facts.line_ends
    names = {"lf": "Unix (LF)", "crlf": "Windows (CRLF)", "cr": "old Macintosh (CR)"}
    used = [f"{names[kind]} {ends[kind]:,}" for kind in names if ends[kind]]
    if len(used) > 1:
        yield Issue("line_ends", "note", f"Mixed line ends: {', '.join(used)}. All are understood.", len(used))
    elif not ends["lf"] and used:
        yield Issue("line_ends", "note", f"Line ends: {used[0]}.", 1)
    if not ends["final"]:
        yield Issue("no_final_newline", "note", "The last line has no line end; check that the file is complete.", 1)

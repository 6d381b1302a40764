"""An alignment wrapped into lines of text of a width, with two rulers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clalign.values.documents import Card
from clalign.values.hits import Hit

MIN_COLUMNS = 10

TITLE_SHARE, TITLE_ROOM = 1.25, 4
"""Letters of a title for each column, as they are narrower, and those more that the margins have room for."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the view.

    Attributes
    ----------
    kind : str
        ``title``, ``ruler``, ``model``, ``match``, ``target``, ``posterior`` or ``space``.
    text : str
        One character a column (a sentence for ``title``).
    label : str
        In the left margin.
    first, last : int or None
        1-based numbers at the two ends; None where the line has no residue of its own.
    domain : int
        Place of the domain in the hit, from 0.
    begin : int
        First column of the alignment.
    """

    kind: str
    text: str = ""
    label: str = ""
    first: int | None = None
    last: int | None = None
    domain: int = 0
    begin: int = 0


class Layout:
    """How the alignments of an engine's hits are written; the base has none.

    Attributes
    ----------
    has_nodes : bool
        Whether a click on a column means a node of the query, not the column.
    """

    has_nodes = False

    def lines(self, hit: Hit, card: Card, n_columns: int, with_posterior: bool, titled: bool) -> Sequence[Line]:
        """Return the lines of all alignments of a hit, wrapped to a number of columns.

        Parameters
        ----------
        posterior : bool
            With the line of the confidence of each column, if it is known.
        titled : bool
            With a title above each alignment, even if its facts are shown elsewhere.
        """
        return []

    def row_of_column(self, lines: Sequence[Line], alignment: int, column: int) -> int | None:
        """Return the number of the query line with a column of an alignment; None if there is none."""
        return None

    def fasta(self, hit: Hit, card: Card) -> str:
        """Return the aligned parts of the target as FASTA."""
        return ""


def fasta_record(hit: Hit, first: int, last: int, letters: str) -> str:
    """Return a part of a target as FASTA, with its range in the name."""
    body = "\n".join(letters[i : i + 60] for i in range(0, len(letters), 60))
    return f">{hit.name}/{first}-{last} {hit.description}".rstrip() + "\n" + body + "\n"


def title_lines(parts: list[str], place: int, n_columns: int) -> list[Line]:
    """Return the title of an alignment in as many lines as it needs."""
    titles = parts[:1]
    for part in parts[1:]:
        longer = f"{titles[-1]} · {part}"
        if len(longer) > TITLE_SHARE * n_columns + TITLE_ROOM:
            titles.append(part)
        else:
            titles[-1] = longer
    return [Line("title", text, domain=place) for text in titles]


def letter_numbers(text: str, gaps: str, start: int) -> list[int]:
    """Return the number of letters before each column, counted from `start`; one entry more than columns."""
    numbers = [start]
    for letter in text:
        numbers.append(numbers[-1] + (letter not in gaps))
    return numbers


def ruler(text: str, numbers: list[int], gaps: str) -> str:
    """Return a line with every tenth model position ending above its column, if it fits."""
    marks = [" "] * len(text)
    for column, letter in enumerate(text):
        number = numbers[column] + 1
        if letter in gaps or number % 10:
            continue
        digits = str(number)
        begin = column - len(digits) + 1
        if begin >= 0 and all(mark == " " for mark in marks[max(0, begin - 1) : column + 1]):
            marks[begin : column + 1] = digits
    return "".join(marks)


def confidence(mark: str) -> float | None:
    """Return the posterior probability of a mark, the middle of its range; None at a deletion."""
    if mark == "*":
        return 0.975
    if not mark.isdigit():
        return None
    return max(0.025, int(mark) / 10)


def as_text(lines: Iterable[Line]) -> str:
    """Return laid-out lines as plain text with numbers at both ends."""
    lines = list(lines)
    width = max((len(line.label) for line in lines), default=0)
    written = []
    for line in lines:
        if line.kind == "title":
            written += [line.text, ""]
            continue
        left = "" if line.first is None else str(line.first)
        right = "" if line.last is None else str(line.last)
        written.append(f"{line.label:>{width}} {left:>6} {line.text} {right}".rstrip())
    return "\n".join(written) + "\n"


def node_at(line: Line, column: int) -> int | None:
    """Return the node, counted from 1, of a column of a ``model`` line; at an insertion the one before."""
    if line.first is None or not 0 <= column < len(line.text):
        return None
    before = sum(letter != "." for letter in line.text[: column + 1])
    return max(line.first, line.first + before - 1)

"""An alignment cut into lines of text that fit a width, with its two rulers."""

from __future__ import annotations

from dataclasses import dataclass

from clalign.values.hits import Domain, Hit

from .. import formatting

MIN_COLUMNS = 10

TITLE_ROOM = 24
"""A title is in narrower letters than columns are and has no margins: it may be that much longer."""


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
        Column of the alignment that stands first.
    """

    kind: str
    text: str = ""
    label: str = ""
    first: int | None = None
    last: int | None = None
    domain: int = 0
    begin: int = 0


def title_lines(parts: list[str], place: int, n_columns: int, narrow: bool) -> list[Line]:
    """Return the title of an alignment, in as many lines as it needs; `narrow` gives each part its own."""
    titles = parts[:1]
    for part in parts[1:]:
        longer = f"{titles[-1]} · {part}"
        if narrow or len(longer) > n_columns + TITLE_ROOM:
            titles.append(part)
        else:
            titles[-1] = longer
    return [Line("title", text, domain=place) for text in titles]


def letter_numbers(text: str, gaps: str, start: int) -> list[int]:
    """Return the number of letters before each column, from `start` on; one entry more than columns."""
    numbers = [start]
    for letter in text:
        numbers.append(numbers[-1] + (letter not in gaps))
    return numbers


def ruler(text: str, numbers: list[int], gaps: str) -> str:
    """Return a line with every tenth model number ending above its column, where it fits."""
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


def domain_title(hit: Hit, domain: Domain) -> list[str]:
    """Return what stands above an alignment, in parts that may each have a line of their own."""
    n_domains = max(hit.n_domains, len(hit.domains))
    head = f"Domain {domain.number} of {n_domains} · {formatting.score(domain.score)} bits"
    model = f"model {domain.profile_range[0] + 1}–{domain.profile_range[1]}"
    places = f"{model} · sequence {domain.target_range[0] + 1}–{domain.target_range[1]}"
    if domain.conditional_evalue is None:
        return [f"{head} · E {formatting.evalue(domain.evalue)}", places]
    evalues = f"c-E {formatting.evalue(domain.conditional_evalue)} · i-E {formatting.evalue(domain.evalue)}"
    envelope = f"envelope {domain.envelope[0] + 1}–{domain.envelope[1]}"
    if domain.accuracy is not None:
        envelope += f" · accuracy {domain.accuracy:.2f}"
    below = [] if domain.is_reported else ["below the limit for domains"]
    return [head, evalues, *below, places, envelope]


def lay_out(hit: Hit, profile: str, n_columns: int, narrow: bool = False, with_posterior: bool = True) -> list[Line]:
    """Return the lines of all domains of a hit, wrapped to a number of columns; `narrow` breaks the titles."""
    lines: list[Line] = []
    for place, domain in enumerate(hit.domains):
        lines += title_lines(domain_title(hit, domain), place, n_columns, narrow)
        lines += _domain_lines(domain, place, profile, hit.name, max(MIN_COLUMNS, n_columns), with_posterior)
    return lines


def _domain_lines(domain: Domain, place: int, profile: str, name: str, width: int, with_posterior: bool) -> list[Line]:
    text = domain.text
    first_node, first_residue = _starts(domain)
    nodes = letter_numbers(text.model, ".", first_node)
    residues = letter_numbers(text.target, "-", first_residue)
    lines = []
    for begin in range(0, len(text.model), width):
        end = min(begin + width, len(text.model))

        def cut(row: str, begin: int = begin, end: int = end) -> str:
            return row[begin:end]

        lines.append(Line("ruler", ruler(cut(text.model), nodes[begin:], "."), domain=place))
        lines.append(Line("model", cut(text.model), profile, *_ends(nodes, begin, end), place))
        lines.append(Line("match", cut(text.match), domain=place))
        lines.append(Line("target", cut(text.target), name, *_ends(residues, begin, end), place))
        if text.posterior and with_posterior:
            lines.append(Line("posterior", cut(text.posterior), "confidence", domain=place))
        lines.append(Line("space", domain=place))
    return lines


def _starts(domain: Domain) -> tuple[int, int]:
    """Return node and residue of the first column; leading inserts stand before the first match."""
    leading = len(domain.states) - len(domain.states.lstrip("ID"))
    inserts = domain.states[:leading].count("I")
    return domain.profile_range[0], domain.target_range[0] - inserts


def _ends(numbers: list[int], begin: int, end: int) -> tuple[int | None, int | None]:
    if numbers[begin] == numbers[end]:
        return None, None
    return numbers[begin] + 1, numbers[end]


def confidence(mark: str) -> float | None:
    """Return the posterior probability that a mark stands for, the middle of its range; None at a deletion."""
    if mark == "*":
        return 0.975
    if not mark.isdigit():
        return None
    return max(0.025, int(mark) / 10)


def node_at(line: Line, column: int) -> int | None:
    """Return the node, counted from 1, of a column of a ``model`` line; that before it at an insertion."""
    if line.first is None or not 0 <= column < len(line.text):
        return None
    before = sum(letter != "." for letter in line.text[: column + 1])
    return max(line.first, line.first + before - 1)


def as_text(lines: list[Line]) -> str:
    """Return laid-out lines as plain text with numbers at both ends."""
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


def as_fasta(hit: Hit) -> str:
    """Return the aligned part of each reported domain as FASTA, gaps left out."""
    records = []
    for domain in hit.domains:
        if not domain.is_reported:
            continue
        letters = domain.text.target.replace("-", "").upper()
        start, end = domain.target_range
        body = "\n".join(letters[i : i + 60] for i in range(0, len(letters), 60))
        records.append(f">{hit.name}/{start + 1}-{end} {hit.description}".rstrip() + "\n" + body + "\n")
    return "".join(records)

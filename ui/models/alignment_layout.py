"""An alignment cut into lines of text that fit a width, with its two rulers."""

from __future__ import annotations

from dataclasses import dataclass

from clalign.hits import Domain, Hit

from .. import words

MIN_COLUMNS = 10


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
    """

    kind: str
    text: str = ""
    label: str = ""
    first: int | None = None
    last: int | None = None
    domain: int = 0


def _numbers(text: str, gaps: str, start: int) -> list[int]:
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


def domain_title(hit: Hit, domain: Domain) -> str:
    """Return the sentence above an alignment."""
    return (
        f"Domain {domain.number} of {max(hit.n_domains, len(hit.domains))} · {words.score(domain.score)} bits · "
        f"E {words.evalue(domain.evalue)} · model {domain.profile_range[0] + 1}–{domain.profile_range[1]} · "
        f"sequence {domain.target_range[0] + 1}–{domain.target_range[1]}"
    )


def lay_out(hit: Hit, profile: str, n_columns: int, narrow: bool = False) -> list[Line]:
    """Return the lines of all domains of a hit, wrapped to a number of columns; `narrow` breaks the titles."""
    lines: list[Line] = []
    for place, domain in enumerate(hit.domains):
        title = domain_title(hit, domain)
        first, middle, second = title.partition(" · model")
        if narrow:
            lines.append(Line("title", first, domain=place))
            lines.append(Line("title", middle[3:] + second, domain=place))
        else:
            lines.append(Line("title", title, domain=place))
        lines += _domain_lines(domain, place, profile, hit.name, max(MIN_COLUMNS, n_columns))
    return lines


def _domain_lines(domain: Domain, place: int, profile: str, name: str, width: int) -> list[Line]:
    text = domain.text
    first_node, first_residue = _starts(domain)
    nodes = _numbers(text.model, ".", first_node)
    residues = _numbers(text.target, "-", first_residue)
    lines = []
    for begin in range(0, len(text.model), width):
        end = min(begin + width, len(text.model))

        def cut(row: str, begin: int = begin, end: int = end) -> str:
            return row[begin:end]

        lines.append(Line("ruler", ruler(cut(text.model), nodes[begin:], "."), domain=place))
        lines.append(Line("model", cut(text.model), profile, *_ends(nodes, begin, end), place))
        lines.append(Line("match", cut(text.match), domain=place))
        lines.append(Line("target", cut(text.target), name, *_ends(residues, begin, end), place))
        if text.posterior:
            lines.append(Line("posterior", cut(text.posterior), "posterior", domain=place))
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
    """Return the aligned part of each domain as FASTA, gaps left out."""
    records = []
    for domain in hit.domains:
        letters = domain.text.target.replace("-", "").upper()
        start, end = domain.target_range
        body = "\n".join(letters[i : i + 60] for i in range(0, len(letters), 60))
        records.append(f">{hit.name}/{start + 1}-{end} {hit.description}".rstrip() + "\n" + body + "\n")
    return "".join(records)

"""Tables of clans of related families, from Pfam-A.clans.tsv, Pfam-A.hmm.dat or Stockholm files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from clalign.errors import InputError
from clalign.formats.blocks import text_of
from clalign.formats.sources import LINE_BYTES, TextReader, opened
from clalign.values.architectures import Clans, names_of

USUAL_NAMES = ("Pfam-A.clans.tsv", "Pfam-A.clans.tsv.gz", "Pfam-A.hmm.dat", "Pfam-A.hmm.dat.gz")
"""Names of the tables of clans that Pfam distributes with its profiles."""

NO_CLAN = ("", "\\N", "No_clan", "-")
"""Cells that stand for no clan."""

HINT = "Give Pfam-A.clans.tsv, Pfam-A.hmm.dat, a Stockholm file with CL lines, or lines of a family, a tab and a clan."


def clans_beside(profiles: str) -> str:
    """Return the table of clans that lies beside a file of profiles; empty if there is none."""
    folder = Path(profiles).parent
    own = (f"{Path(profiles).name}.dat", f"{Path(profiles).name}.dat.gz")
    return next((str(folder / name) for name in (*own, *USUAL_NAMES) if (folder / name).is_file()), "")


def read_clans(path: str) -> Clans:
    """Read a table of clans, also a compressed one.

    Parameters
    ----------
    path : str
        Lines of accession, clan, name of the clan and name of the family with tabs between (Pfam-A.clans.tsv), or of
        family and clan; or text with ``#=GF`` lines (``ID``, ``AC``, ``CL``, ``NE``).

    Raises
    ------
    InputError
        If it is neither.
    """
    with opened(path) as source:
        lines, is_annotated = _read(TextReader(source))
    return _of_annotations(path, lines) if is_annotated else _of_table(path, lines)


def _read(text: TextReader) -> tuple[list[tuple[int, str]], bool]:
    """Return the lines, and whether they are annotations of alignments; the rows of these are left out."""
    lines: list[tuple[int, str]] = []
    is_annotated = False
    for number, line in text.lines():
        is_annotated = is_annotated or line.startswith(b"#=GF")
        if line.strip() and (not is_annotated or line.startswith((b"#=GF", b"//"))):
            text.keep(len(line) + LINE_BYTES, number)
            lines.append((number, text_of(line)))
    return lines, is_annotated


def _of_table(path: str, lines: Iterable[tuple[int, str]]) -> Clans:
    of: dict[str, str] = {}
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) < 2 and not (len(cells) == 1 and of):
            raise InputError(path, f'the line "{line[:40]}" has no tab between a family and its clan.', HINT, number)
        if len(cells) > 1 and cells[1] not in NO_CLAN:
            names = names_of(cells[3], cells[0]) if len(cells) > 3 and cells[3] else (cells[0].partition(".")[0],)
            of.update(dict.fromkeys((*names, cells[0]), cells[1]))
    return Clans(of)


def _of_annotations(path: str, lines: Iterable[tuple[int, str]]) -> Clans:
    of: dict[str, str] = {}
    nested: set[tuple[str, str]] = set()
    n_families = 0
    for entry in _entries(lines):
        names = names_of(entry.get("ID", [""])[0], entry.get("AC", [""])[0])
        n_families += any(names)
        for clan in entry.get("CL", []):
            of.update((name, clan) for name in names if name and clan not in NO_CLAN)
        for inner in entry.get("NE", []):
            other = inner.partition(";")[0].partition(".")[0].strip()
            nested.update(pair for name in names for pair in ((name, other), (other, name)))
    if not n_families:
        raise InputError(path, "the #=GF lines name no family (ID or AC).", HINT)
    return Clans(of, frozenset(nested))


def _entries(lines: Iterable[tuple[int, str]]) -> Iterator[dict[str, list[str]]]:
    """Yield the annotations of each family by their tags."""
    entry: dict[str, list[str]] = {}
    for _, line in lines:
        if line.startswith("//"):
            yield entry
            entry = {}
        words = line.split(None, 2)
        if words[0] == "#=GF" and len(words) == 3:
            entry.setdefault(words[1], []).append(words[2].strip())
    yield entry

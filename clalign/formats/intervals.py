"""Lines of GFF3 and BED."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from clalign.formats.tables import digits
from clalign.formats.writers import line_name

GFF3_HEAD = "##gff-version 3"

MAX_BED = 1000
"""The highest score in BED."""

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9.:^*$@!+_?|-]")
_NOT_IN_VALUES = re.compile(r"[\x00-\x1f\x7f%;=&,]")


def percent_escape(found: re.Match[str]) -> str:
    """Return the matched text with each byte as two hexadecimal digits after ``%``."""
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def gff3_name(name: str) -> str:
    """Return a name escaped for the first column of GFF3."""
    return _NOT_IN_NAMES.sub(percent_escape, name)


def gff3_value(text: str) -> str:
    """Return a text escaped for the last column of GFF3."""
    return _NOT_IN_VALUES.sub(percent_escape, text)


def gff3_line(
    name: str, kind: str, span: tuple[int, int], score: float | None, strand: str, attributes: Mapping[str, str]
) -> str:
    """Return a line of GFF3.

    Parameters
    ----------
    name : str
        Name of the sequence that the feature is on.
    kind : str
        A term of the Sequence Ontology.
    span : tuple of int
        0-based, half open.
    score : float or None
        An E-value, as the format advises for sequence similarity.
    strand : str
        ``+``, ``-``, or ``.`` where there are none.
    attributes : mapping of str to str
        Several values of one are separated by ``,`` and escaped by the caller; others are escaped here.
    """
    pairs = ";".join(f"{key}={value}" for key, value in attributes.items() if value)
    places = f"{span[0] + 1}\t{span[1]}"
    return "\t".join((gff3_name(name), "clalign", kind, places, digits(score) or ".", strand, ".", pairs))


def bed_line(name: str, spans: Iterable[tuple[int, int]], what: str, score: float, strand: str, blocks: bool) -> str:
    """Return a line of BED: six columns, or twelve with `blocks`; the score is the bits, at most 1000."""
    parts = list(spans)
    start, end = parts[0][0], parts[-1][1]
    columns = [line_name(name), start, end, line_name(what), max(0, min(MAX_BED, round(score))), strand]
    if blocks:
        sizes = ",".join(str(stop - begin) for begin, stop in parts)
        starts = ",".join(str(begin - start) for begin, _ in parts)
        columns += [start, end, 0, len(parts), sizes, starts]
    return "\t".join(map(str, columns))

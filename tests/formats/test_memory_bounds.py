"""Small compressed files that would fill the memory, or take minutes, are refused once they ask for too much."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from clalign.common.amounts import size_text
from clalign.errors import InputError
from clalign.formats import balibase, sources
from clalign.formats.blocks import Reading
from clalign.formats.clans import read_clans
from clalign.formats.genome_places import genome_place
from clalign.formats.posteriors import read_posteriors
from clalign.formats.readers import read_blocks
from clalign.formats.row_alignments import read_rows
from clalign.formats.sources import TextReader, opened
from clalign.formats.taxonomy import read_taxonomy

LIMIT = 1 << 16
"""Bytes that may be kept in these tests."""

TEXT_BYTES = 1 << 18
"""Bytes of text in each file: several times what may be kept of it."""

XML = b'<?xml version="1.0"?>\n<macsim>\n<alignment>\n<sequence seq-type="Protein">\n<seq-name>a</seq-name>\n'
NEXUS = b"#NEXUS\nbegin data;\nformat datatype=protein interleave matchchar=. gap=-;\nmatrix\n"
STOCKHOLM = b"# STOCKHOLM 1.0\n"

Read = Callable[[str], object]


def blocks(form: str) -> Read:
    def read(path: str) -> None:
        with opened(path) as source:
            for _ in read_blocks(form, Reading(TextReader(source))):
                pass

    return read


def posteriors(path: str) -> object:
    return read_posteriors(path, [100_000, 100_000])


def numbered(head: bytes, line: bytes) -> bytes:
    """Return many lines that differ in a number."""
    n = TEXT_BYTES // (len(line) + 4)
    return head + b"".join(line % number for number in range(n))


BOMBS: dict[str, tuple[Read, bytes]] = {
    "NEXUS without a semicolon": (read_rows, b"#NEXUS\n" + b"xx\n" * (TEXT_BYTES // 3)),
    "NEXUS rows": (read_rows, numbered(NEXUS, b"r%d A\n")),
    "NEXUS matches": (read_rows, NEXUS + b"a A\nb .\n" * (TEXT_BYTES // 8)),
    "XML newlines": (read_rows, XML + b"<seq-data>" + b"\n" * TEXT_BYTES),
    "XML comment": (read_rows, XML + b"<!--" + b"x" * TEXT_BYTES),
    "XML rows": (read_rows, numbered(XML, b"<seq-name>%d</seq-name><seq-data>A</seq-data>")),
    "clans": (read_clans, b"PF00001\tCL0001\n" * (TEXT_BYTES // 15)),
    "clans of annotations": (read_clans, b"#=GF ID a\n" * (TEXT_BYTES // 10)),
    "taxonomy": (read_taxonomy, numbered(b"", b"name%d\ta\n")),
    "posteriors of one pair": (posteriors, numbered(b"", b"(0, %d) ~ (1, 1) => 0.5\n")),
    "Stockholm notes of the file": (read_rows, STOCKHOLM + b"#=GF CC x\n" * (TEXT_BYTES // 10)),
    "Stockholm notes of rows": (read_rows, STOCKHOLM + b"#=GS a DE x\n" * (TEXT_BYTES // 12)),
    "Stockholm kinds of notes": (read_rows, numbered(STOCKHOLM, b"#=GR a T%d A\n")),
    "Stockholm columns": (read_rows, numbered(STOCKHOLM, b"#=GC T%d A\n")),
    "Stockholm rows": (read_rows, numbered(STOCKHOLM, b"r%d A\n")),
    "Stockholm sequences": (blocks("stockholm"), numbered(STOCKHOLM, b"r%d A\n")),
    "Stockholm notes of sequences": (blocks("stockholm"), STOCKHOLM + b"#=GS a DE x\n" * (TEXT_BYTES // 12)),
    "FASTA rows": (read_rows, b">a\nA\n" * (TEXT_BYTES // 5)),
    "A3M rows": (read_rows, b">a\nAa\n>b\nA\n" * (TEXT_BYTES // 11)),
    "MSF names": (
        read_rows,
        numbered(b"!!AA_MULTIPLE_ALIGNMENT 1.0\n x MSF: 10 Type: P Check: 1 ..\n", b" Name: a%d\n"),
    ),
    "SELEX rows": (read_rows, numbered(b"#=AU x\n", b"r%d A\n")),
    "SELEX comments": (read_rows, b"#=AU x\n" + b"#=CS xx\n" * (TEXT_BYTES // 8)),
    "SELEX tabulators": (read_rows, b"#=AU x\na A" + b"\t" * LIMIT + b"A\n"),
    "SELEX padding": (read_rows, b"#=AU x\nr A" + b"A" * (LIMIT // 4) + b"\nr1 A\nr2 A\nr3 A\nr4 A\nr5 A\n"),
    "Clustal rows": (read_rows, numbered(b"CLUSTAL W\n\n", b"r%d A\n")),
    "PHYLIP": (read_rows, b"2 10\n" + b"a A\n" * (TEXT_BYTES // 4)),
    "GenBank": (blocks("genbank"), b"LOCUS       a 1 bp\nDEFINITION  a\n" + b"            b\n" * (TEXT_BYTES // 14)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sources, "MAX_KEPT_BYTES", LIMIT)
    monkeypatch.setattr(balibase, "MAX_TEXT_BYTES", LIMIT)
    read, text = BOMBS[name]
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(text, 6))
    with pytest.raises(InputError) as refused:
        read(str(path))
    assert f"{size_text(LIMIT)}" in refused.value.reason
    assert refused.value.line


def test_elements_within_elements_are_refused_from_a_depth_on(tmp_path: Path) -> None:
    path = tmp_path / "file.xml"
    path.write_bytes(XML + b"<a>\n" * 1000)
    with pytest.raises(InputError) as refused:
        read_rows(str(path))
    assert refused.value.line == XML.count(b"\n") + balibase.MAX_DEPTH - 2  # three are open before them


def test_more_posteriors_of_a_pair_than_it_has_cells_are_refused_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "file.probs"
    path.write_bytes(b"(0, 0) ~ (1, 0) => 0.5\n" * 1000)
    with pytest.raises(InputError) as refused:
        read_posteriors(str(path), [5, 5])
    assert refused.value.line == 26


def test_alignments_of_one_file_are_kept_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_KEPT_BYTES", LIMIT)
    path = tmp_path / "file.sto"
    path.write_bytes((STOCKHOLM + b"a ACDEF\nb ACDEF\n//\n") * (4 * LIMIT // sources.LINE_BYTES))
    blocks("stockholm")(str(path))


def test_blanks_behind_counts_are_gone_through_once(tmp_path: Path) -> None:
    blanks = b" " * (1 << 20)  # they would take hours if their square counted
    path = tmp_path / "file.phy"
    for text in (
        b" 2 3\na MKV\nb MKV\n1 2 " + blanks + b"!\n",
        b"1 2" + blanks + b"!\n",
        b"2 3\n" + blanks + b"1 2" + blanks + b"A!\n",
    ):
        path.write_bytes(text)
        with pytest.raises(InputError):
            read_rows(str(path))


def test_places_of_thousands_of_digits_are_none() -> None:
    digits = "1" * 5000
    assert genome_place("a_1", f"# {digits} # 3 # 1 #", 1, True) is None
    assert genome_place(f"a:{digits}-{digits}", "", 1, True) is None
    assert genome_place("a", f"chromosome:x:1:{digits}:{digits}:1", 1, True) is None
    assert genome_place("a_cds", f"[location={digits}..{digits}]", 1, True) is None

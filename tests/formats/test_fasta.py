from __future__ import annotations

import itertools
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.errors import InputError
from clalign.formats.blocks import Reading
from clalign.formats.fasta import read_fasta_blocks
from clalign.formats.sources import TextReader, opened
from clalign.values.alphabets import DECODE

LINE = st.one_of(
    st.text("ACGTacgtNX*-.MKLVW", max_size=30),
    st.sampled_from(["", " ", "\t", "12 ACGT 34", "ACG;T", "AC>GT", ";a comment", "&%$", "J O U"]),
)
HEADER = st.sampled_from([">one", "> two words", ">three\tand more", ">", ">gi|4|x  two  spaces ", ">one", ">é ü"])
END = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def fasta_texts(draw: st.DrawFn) -> bytes:
    """Draw the text of a FASTA file with all the liberties that people take."""
    lines = draw(st.lists(st.sampled_from(["", "  ", ";early"]), max_size=2))
    for _ in range(draw(st.integers(1, 5))):
        lines += [draw(HEADER), *draw(st.lists(LINE, max_size=6))]
    mixed = draw(st.booleans())
    one = draw(END)
    text = "".join(line + (draw(END) if mixed else one) for line in lines)
    if draw(st.booleans()):
        text = re.sub(r"(\r\n|\r|\n)\Z", "", text)
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return mark + text.encode()


def lines_with_headers(text: str) -> list[tuple[int, str]]:
    """Return numbered lines; where a header follows residues in a line, both are lines with its number."""
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        residues, sign, header = ("", "", "") if line.startswith((">", ";")) else line.partition(">")
        lines += [(number, residues), (number, sign + header)] if sign else [(number, line)]
    return lines


def parse_naively(data: bytes) -> tuple[list[tuple[str, str]], list[int], dict[str, set[int]]]:
    """Return names and residues, header lines, and the lines of each residue character, one character at a time."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode()
    records: list[tuple[str, str]] = []
    headers: list[int] = []
    places: dict[str, set[int]] = {}
    for number, line in lines_with_headers(text):
        if line.startswith(">"):
            words = line[1:].split()
            records.append((words[0] if words else f"unnamed_{len(records) + 1}", ""))
            headers.append(number)
        elif not line.startswith(";") and records:
            for letter in line:
                places.setdefault(letter, set()).add(number)
                if not letter.isspace() and not letter.isdigit():
                    known = letter.upper() if letter.isascii() and (letter.isalpha() or letter in "*-") else "?"
                    known = "." if letter == "." else known
                    records[-1] = (records[-1][0], records[-1][1] + known)
    return records, headers, places


def scan(data: bytes, chunk: int) -> tuple[list[tuple[str, str]], list[int], Reading]:
    """Return names, residues and header lines as the scanner finds them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.fasta"
        path.write_bytes(data)
        names: list[str] = []
        residues: list[str] = []
        lines: list[int] = []
        with opened(str(path)) as source:
            reading = Reading(TextReader(source))
            for block in read_fasta_blocks(reading, chunk):
                text = DECODE[np.frombuffer(block.codes, np.uint8)].tobytes().decode()
                cuts = [0, *block.breaks.tolist(), len(text)]
                parts = [text[a:b] for a, b in itertools.pairwise(cuts)]
                if parts[0]:
                    residues[-1] += parts[0]
                residues += parts[1:]
                names += [header.split(b"\t")[0].decode() for header in block.texts]
                lines += block.lines.tolist()
    return list(zip(names, residues, strict=True)), lines, reading


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(fasta_texts(), st.sampled_from([1, 2, 3, 7, 16, 64, 1 << 20]))
def test_the_scanner_finds_what_a_naive_parser_finds(data: bytes, chunk: int) -> None:
    records, headers, places = parse_naively(data)
    found, lines, reading = scan(data, chunk)
    assert found == records
    assert lines == headers
    for letter, numbers in places.items():
        if letter in "JOU&*-":
            assert reading.tally.lines[ord(letter)] == sorted(numbers)[:5]
    text = data.removeprefix(b"\xef\xbb\xbf")
    n_comments = sum(line.startswith(b";") for line in re.split(b"\r\n|\r|\n", text))
    comments = reading.findings.found.get("comment")
    assert (comments.count if comments else 0) == n_comments


@given(fasta_texts(), st.sampled_from([1, 5, 64]))
@settings(max_examples=100, deadline=None)
def test_letters_are_counted_whatever_the_pieces(data: bytes, chunk: int) -> None:
    text = data.removeprefix(b"\xef\xbb\xbf").decode()
    lines = [line.encode() for _, line in lines_with_headers(text)]
    first = next(i for i, line in enumerate(lines) if line.startswith(b">"))
    expected = np.zeros(256, int)
    for line in lines[first:]:
        if not line.startswith((b">", b";")):
            for byte in line:
                expected[byte] += 1
    _, _, reading = scan(data, chunk)
    blanks = list(b" \t\r\n")
    found = reading.tally.counts.copy()
    found[blanks] = 0
    expected[blanks] = 0
    assert (found == expected).all()


def test_a_record_may_be_longer_than_a_piece() -> None:
    sequence = b"ACDEFGHIKLMNPQRSTVWY" * 500
    found, _, _ = scan(b">a long one\n" + sequence + b"\n>b\nMK\n", 64)
    assert found == [("a", sequence.decode()), ("b", "MK")]


def test_a_header_may_be_longer_than_a_piece() -> None:
    found, _, _ = scan(b">a " + b"word " * 1000 + b"\nMK\n", 16)
    assert found == [("a", "MK")]


@pytest.mark.parametrize("chunk", [1, 3, 8, 1 << 20])
def test_a_header_may_follow_residues_in_a_line(chunk: int) -> None:
    data = b">a -> b\n" + b"M" * 7 + b">k one > two\n" + b"K" * 8 + b"\n  >c\nAC>>d\nDE\n>e\nVW\n"
    found, lines, reading = scan(data, chunk)
    assert found == [("a", "M" * 7), ("k", "K" * 8), ("c", "AC"), (">d", "DE"), ("e", "VW")]
    assert lines == [1, 2, 4, 5, 7]
    joined = reading.findings.found["joined"]
    assert (joined.count, joined.lines) == (2, [2, 5])
    assert reading.tally.lines[ord("K")] == [3]


def test_text_after_a_comment_is_refused_with_its_line() -> None:
    with pytest.raises(InputError) as error:
        scan(b";c\nhere\n", 1 << 20)
    assert error.value.line == 2


@pytest.mark.parametrize("chunk", [4, 1 << 20])
def test_a_nul_byte_is_refused_with_its_line(chunk: int) -> None:
    with pytest.raises(InputError) as error:
        scan(b">a\r\nMK\r\nMK\0V\r\n", chunk)
    assert error.value.line == 3


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b">a\nMK\n", "LF"), (b">a\r\nMK\r\n", "CRLF"), (b">a\rMK\r", "CR"), (b">a\r\nMK\n\r", "mixed"), (b">a", "none")],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_line_ends_are_counted(data: bytes, kind: str, chunk: int) -> None:
    _, _, reading = scan(data, chunk)
    ends = reading.text.line_ends
    used = [name.upper() for name in ("lf", "crlf", "cr") if getattr(ends, name)]
    assert (used[0] if len(used) == 1 else "mixed" if used else "none") == kind
    assert ends.final == data.endswith((b"\n", b"\r"))


def test_headers_are_decoded(load) -> None:
    database, report = load(
        b">n\xc3\xa4me \xce\xb1-helix\nMKV\n>l\xe4tin caf\xe9\nMKW\n>\nMKL\n> spaced\tout  text\nMKA\n"
    )
    headers = {database.header(row)[0]: database.header(row)[2] for row in range(4)}
    assert headers == {"näme": "α-helix", "lätin": "café", "unnamed_3": "", "spaced": "out  text"}
    (unnamed,) = [issue for issue in report.issues if issue.kind == "unnamed"]
    assert unnamed.lines == (5,)


def test_a_record_without_residues_is_kept_and_reported(load) -> None:
    database, report = load(b">a\n>b\nMKV\n>c\n\n")
    assert (len(database), database.n_empty, database.n_residues) == (3, 2, 3)
    (empty,) = [issue for issue in report.issues if issue.kind == "empty"]
    assert (empty.count, empty.lines, empty.severity) == (2, (1, 4), "caution")


def test_aligned_fasta_loses_its_gaps_and_says_so(load) -> None:
    database, report = load(b">a\nMK-V\n.LA\n>b\nMKWV\n-LA\n")
    assert report.format == "aligned fasta"
    assert sorted(database[row].text for row in range(2)) == ["MKVLA", "MKWVLA"]
    (gaps,) = [issue for issue in report.issues if issue.kind == "gaps_dropped"]
    assert gaps.count == 3


@pytest.mark.parametrize("data", [b">a\nMK-V\n", b">a\nMK-V\n>b\nMKWVL\n"])
def test_gaps_in_sequences_that_are_not_aligned_stay_and_are_reported(load, data: bytes) -> None:
    database, report = load(data)
    assert "MK-V" in [database[row].text for row in range(len(database))]
    (gaps,) = [issue for issue in report.issues if issue.kind == "gaps"]
    assert (gaps.count, gaps.lines, gaps.severity) == (1, (2,), "caution")


def test_digits_are_left_out_and_reported(load) -> None:
    database, report = load(b">a\n  1 mkvlaa 6\n  7 mk\n")
    assert database[0].text == "MKVLAAMK"
    (digits,) = [issue for issue in report.issues if issue.kind == "digits"]
    assert (digits.count, digits.lines) == (3, (2, 3))


def test_records_without_residues_are_records(load) -> None:
    database, report = load(b">a\n>b c\n\n")
    assert (len(database), database.n_empty, database.n_residues, report.mean, report.is_doubtful) == (2, 2, 0, 0, True)
    assert [database.header(row) for row in range(2)] == [("a", "", ""), ("b", "", "c")]
    assert len(database.batch(0, 2).codes) == 0
    assert [issue.count for issue in report.issues if issue.kind == "empty"] == [2]

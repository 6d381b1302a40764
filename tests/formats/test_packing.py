"""Large FASTA files are packed segment by segment: by several processes as by one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.compute.sessions import no_check
from clalign.databases import loading, packing
from clalign.databases.packed import FILES, HASHES, LINES
from clalign.databases.packing import pack
from clalign.errors import InputError
from clalign.formats import fasta, scratch
from clalign.formats.blocks import Reading
from clalign.formats.fasta import fasta_pieces, in_segments, segment_starts
from clalign.formats.sources import TextReader, opened
from clalign.formats.tally import LetterTally
from clalign.jobs import QuietContext

SEGMENT = 700


def odd_text(rng: np.random.Generator, n: int) -> bytes:
    """Return FASTA with long and empty records, comments, blank lines, repeated names, and headers behind residues."""
    records = []
    for number in range(n):
        length = int(rng.choice([0, 3, 60, 200, 2000], p=[0.1, 0.2, 0.4, 0.25, 0.05]))
        letters = rng.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWYacd*-1", np.uint8), length).tobytes()
        width = int(rng.integers(20, 90))
        lines = [letters[at : at + width] for at in range(0, length, width)]
        header = b">r%d some words > and more" % (number if rng.random() < 0.9 else 0)
        between = [b"", b"", b"; a comment > of one line\n", b"\n\n"][int(rng.integers(4))]
        end = b"" if rng.random() < 0.05 and lines else b"\n"
        records.append(b"\n".join([header, *lines]) + end + (between if end else b""))
    return b"".join(records)


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fasta, "SEGMENT_BYTES", SEGMENT)
    monkeypatch.setattr(packing, "n_cores", lambda: 2)


def packed_to(folder: Path, path: Path) -> dict[str, Any]:
    """Pack a file; return what was found, and the arrays."""
    folder.mkdir()
    with opened(str(path)) as source:
        reading, lengths = pack(source, "fasta", folder, QuietContext(), drop_gaps=False)
    kinds = {**FILES, HASHES: np.int64, LINES: np.int64}
    arrays = {name: np.fromfile(folder / name, kind).tolist() for name, kind in kinds.items()}
    assert {found.name for found in folder.iterdir()} == {*arrays, "sums"}
    return {
        **arrays, "lengths": lengths, "sums": (folder / "sums").read_text(), "counts": reading.tally.counts.tolist(),
        "lines of letters": reading.tally.lines, "records": reading.tally.records, "crc32": reading.text.crc32,
        "findings": reading.findings.found, "ends": reading.text.line_ends,
    }  # fmt: skip


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], tuple[dict[str, Any], bool]]:
    """Packs a file in both ways, which must be the same; returns what was found, and whether segments were joined."""

    def pack_twice(path: Path) -> tuple[dict[str, Any], bool]:
        joined: list[int] = []
        put_together = packing._join
        monkeypatch.setattr(packing, "_join", lambda *given: (joined.append(1), put_together(*given)))
        several = packed_to(tmp_path / "several", path)
        monkeypatch.setattr(packing, "MIN_SEGMENTS", 10**9)
        n_joined = len(joined)
        assert packed_to(tmp_path / "alone", path) == several
        assert len(joined) == n_joined
        return several, n_joined == len(segment_starts_of(path))

    return pack_twice


def segment_starts_of(path: Path) -> list[int]:
    with opened(str(path)) as source:
        return segment_starts(source, no_check)


@pytest.mark.parametrize("seed", range(3))
def test_several_processes_pack_the_same(
    seed: int, both: Callable[[Path], tuple[dict[str, Any], bool]], tmp_path: Path
) -> None:
    path = tmp_path / "many.fa"
    path.write_bytes(odd_text(np.random.default_rng(seed), 60).rstrip(b"\n" if seed else b""))
    found, are_joined = both(path)
    assert are_joined
    assert found["lengths"].n == 60
    assert len(segment_starts_of(path)) >= 5
    again = tmp_path / "compressed"
    packed_path = tmp_path / "many.fa.gz"
    packed_path.write_bytes(gzip.compress(path.read_bytes()))
    compressed = packed_to(again, packed_path)
    assert compressed | {"crc32": 0} == found | {"crc32": 0}, "segments do not hang on the compression"


@pytest.mark.parametrize("seed", range(20))
def test_segments_begin_where_they_are_looked_for(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(100 + seed), tmp_path / "many.fa"
    path.write_bytes(odd_text(rng, 40).rstrip(b"\n") + b"\n")
    with opened(str(path)) as source:
        reading = Reading(TextReader(source))
        pieces = list(in_segments(fasta_pieces(reading, int(rng.integers(10, 3000)))))
    assert b"".join(piece.data for piece, _ in pieces) == path.read_bytes()
    ends = np.cumsum([len(piece.data) for piece, _ in pieces])
    begun = [int(end) - len(piece.data) for end, (piece, is_segment) in zip(ends, pieces, strict=True) if is_segment]
    assert [0, *begun] == segment_starts_of(path)
    lines = np.cumsum([0, *(piece.data.count(b"\n") for piece, _ in pieces)])[:-1] + 1
    assert [piece.line for piece, _ in pieces] == lines.tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text[: len(text) // 2] + b"\n>\nMKV\n" + text[len(text) // 2 :],
    ],
    ids=["line ends", "byte order mark", "no name"],
)
def test_what_cannot_be_joined_is_read_by_one_process(
    change: Callable[[bytes], bytes], both: Callable[[Path], tuple[dict[str, Any], bool]], tmp_path: Path
) -> None:
    path = tmp_path / "odd.fa"
    path.write_bytes(change(odd_text(np.random.default_rng(5), 60)))
    assert not both(path)[1]


@pytest.mark.parametrize("command", [["false"], ["no such program"]])
def test_without_its_processes_this_one_reads_all(
    command: list[str], both: Callable[[Path], tuple[dict[str, Any], bool]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "many.fa"
    path.write_bytes(odd_text(np.random.default_rng(6), 60))
    monkeypatch.setattr(packing, "own_command", lambda *words: command)
    assert not both(path)[1]


def test_the_working_folder_stays_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its segments are removed when one process reads the file after all."""
    path, seen = tmp_path / "odd.fa", list[bool]()
    path.write_bytes(odd_text(np.random.default_rng(5), 60).replace(b"\n", b"\r\n"))
    alone = packing._pack_alone

    def watched(source: Any, name: str, folder: Path, *given: Any) -> Any:
        seen.append(scratch.is_in_use(folder) and not any(folder.glob("segment*")))
        return alone(source, name, folder, *given)

    monkeypatch.setattr(packing, "_pack_alone", watched)
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    assert len(loading.load_database(path)[0]) == 60
    assert seen == [True]


def test_lines_of_letters_do_not_hang_on_how_often_they_stand_in_one() -> None:
    tally = LetterTally()
    tally.add(b"J" * 20_001, lambda places: (places >= 20_000) + 1)
    assert tally.lines[ord("J")] == [1, 2]


def test_names_that_differ_have_other_hashes(tmp_path: Path) -> None:
    path = tmp_path / "ids.fa"
    path.write_text(">MGYP000012345671\nMK\n>MGYP000812345670\nMK\n>100000001\nMK\n>900000000\nMK\n")
    assert len(set(packed_to(tmp_path / "packed", path)[HASHES])) == 4


def test_an_error_is_that_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "damaged.fa"
    text = odd_text(np.random.default_rng(7), 60)
    path.write_bytes(text + b">last\nMK\0V\n")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(InputError) as caught:
        loading.load_database(path)
    assert caught.value.line == text.count(b"\n") + 2

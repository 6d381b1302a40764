from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.databases import packed
from clalign.databases.packed import DamagedPack, PackedWriter, find_duplicates, open_packed
from clalign.formats.blocks import Block
from clalign.formats.checksums import checked_content, checked_json
from clalign.values.alphabets import AMINO, encode
from clalign.values.sequences import SequenceDatabase

Records = list[tuple[str, str]]


def blocks_of(records: Records, cuts: list[int]) -> list[Block]:
    """Cut records into blocks at places among all their residues."""
    text = "".join(residues for _, residues in records)
    begins = np.concatenate([[0], np.cumsum([len(residues) for _, residues in records])])[:-1]
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    blocks, done = [], 0
    for start, end in itertools.pairwise(edges):
        last = end == len(text) and (start, end) == (edges[-2], edges[-1])
        ready = [i for i in range(done, len(records)) if begins[i] < end or last]
        done += len(ready)
        blocks.append(
            Block(
                encode(text[start:end]).tobytes(),
                np.array([begins[i] - start for i in ready], np.int64),
                [f"{records[i][0]}\t\tnumber {i}".encode() for i in ready],
                np.array([10 * i + 1 for i in ready], np.int64),
            )
        )
    return blocks


def pack(folder: Path, records: Records, cuts: list[int], residues: int, sequences: int) -> packed.LengthFacts:
    with PackedWriter(folder, residues, sequences) as writer:
        for block in blocks_of(records, cuts):
            writer.add(block)
        return writer.finish()


def opened_pack(folder: Path, n_empty: int = 0) -> SequenceDatabase:
    packed.write_manifest(folder, {})
    return open_packed(folder, AMINO, "x", "d", n_empty, lambda: pytest.fail("it is not damaged"))


def expected_volumes(records: Records, residues: int, sequences: int) -> list[list[int]]:
    """Return the numbers of the records of each volume, as the documentation says it."""
    volumes: list[list[int]] = []
    current: list[int] = []
    size = 0
    for i, (_, text) in enumerate(records):
        if len(text) > residues:
            volumes += [current, [i]]
            current, size = [], 0
            continue
        current.append(i)
        size += len(text)
        if size >= residues or len(current) == sequences:
            volumes.append(current)
            current, size = [], 0
    return [volume for volume in [*volumes, current] if volume]


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.text("ACDEF", max_size=12)), min_size=1, max_size=30).filter(
        lambda records: any(text for _, text in records)
    ),
    st.lists(st.integers(0, 200), max_size=8),
    st.sampled_from([1, 3, 5, 8, 20, 1000]),
    st.sampled_from([1, 2, 7, 1000]),
)
def test_volumes_are_sorted_and_do_not_depend_on_the_blocks(
    records: Records, cuts: list[int], residues: int, sequences: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lengths = pack(folder, records, cuts, residues, sequences)
        check_duplicates(folder, records)
        database = opened_pack(folder, lengths.n_empty)
        order = [
            i
            for volume in expected_volumes(records, residues, sequences)
            for i in sorted(volume, key=lambda i: -len(records[i][1]))
        ]
        assert database.order[:].tolist() == order
        assert [database[row].text for row in range(len(database))] == [records[i][1] for i in order]
        names = [(records[i][0], "", f"number {i}") for i in order]
        assert [database.header(row) for row in range(len(database))] == names
        assert lengths.n_empty == sum(not text for _, text in records)
        assert (lengths.shortest, lengths.longest) == (
            min(len(text) for _, text in records),
            max(len(text) for _, text in records),
        )
        assert sum(n for _, _, n in lengths.histogram()) == len(records)
        for first, last, n in lengths.histogram():
            assert n == sum(first <= len(text) <= last for _, text in records)


def check_duplicates(folder: Path, records: Records) -> None:
    names = [name for name, _ in records]
    again = [i for i, name in enumerate(names) if name in names[:i]]
    for at_once in (1, 3, 1000):
        found = find_duplicates(folder, at_once)
        assert found.count == len(again)
        assert found.lines == [10 * i + 1 for i in again[:5]]
        assert found.first == (again[0] if again else None)
    if again:
        assert packed.name_of(folder, again[0]) == names[again[0]]


def test_a_long_record_is_written_as_it_comes(tmp_path: Path) -> None:
    """The writer holds no more than a volume of the residues."""
    held = []
    with PackedWriter(tmp_path, 100, 10) as writer:
        for i in range(1000):
            breaks = np.array([0] if i == 0 else [], np.int64)
            texts = [b"long\t\t"] if i == 0 else []
            writer.add(Block(b"\x01" * 60, breaks, texts, breaks + 1))
            held.append(sum(len(piece) for piece in writer._pieces))
        lengths = writer.finish()
    assert max(held) <= 160
    assert (lengths.n, lengths.longest) == (1, 60000)
    assert opened_pack(tmp_path).length(0) == 60000


@pytest.mark.parametrize("damage", ["cut", "gone", "manifest", "version"])
def test_damage_is_noticed(tmp_path: Path, damage: str) -> None:
    pack(tmp_path, [("a", "ACD"), ("b", "EF")], [], 100, 100)
    packed.write_manifest(tmp_path, {"x": 1})
    assert packed.read_manifest(tmp_path).facts == {"x": 1}
    assert not (tmp_path / packed.HASHES).exists()
    if damage == "cut":
        (tmp_path / "codes").write_bytes(b"\0")
    elif damage == "gone":
        (tmp_path / "order").unlink()
    elif damage == "manifest":
        (tmp_path / packed.MANIFEST).write_text("{")
    else:
        content = checked_content((tmp_path / packed.MANIFEST).read_text())
        (tmp_path / packed.MANIFEST).write_text(checked_json(content | {"version": 0}))
    with pytest.raises(DamagedPack):
        packed.read_manifest(tmp_path)

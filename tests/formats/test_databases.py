from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
import zstandard

from clalign.databases import cache, packed
from clalign.databases.loading import UnknownFormat, load_database
from clalign.databases.reports import InputReport
from clalign.errors import Cancelled, InputError, OptionError, OutputError
from clalign.formats import checksums
from clalign.formats.fasta import read_fasta_blocks
from clalign.formats.sources import MAX_HEADER_BYTES, TextReader, opened
from clalign.jobs import QuietContext
from clalign.values.checked import check_as, plain
from clalign.values.sequences import SequenceDatabase

COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}

EXAMPLE = b"".join(
    b">seq%d the number %d\n%s\n" % (i, i, b"ACDEFGHIKLMNPQRSTVWY"[i % 20 :] * (i % 7 + 1)) for i in range(200)
)


class Recorder(QuietContext):
    """Keeps what it is told; stops after a number of questions."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stages: list[tuple[str, float, float | None]] = []
        self._left = stop_after

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        assert unit == "bytes"
        self.stages.append((stage, done, total))

    def check(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise Cancelled


def arrays_of(database) -> list[list[int]]:
    return [getattr(database, name)[:].tolist() for name in packed.FILES]


def entries(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.parametrize("name", COMPRESS)
def test_the_same_sequences_whatever_the_compression(load, name: str) -> None:
    plain, _ = load(EXAMPLE, "plain.fasta")
    database, report = load(COMPRESS[name](EXAMPLE), "misnamed.txt")
    assert report.compression == name
    assert arrays_of(database) == arrays_of(plain)


@pytest.mark.parametrize("name", COMPRESS)
def test_members_of_a_compressed_file_are_read_one_after_the_other(load, name: str) -> None:
    half = EXAMPLE.index(b">seq100")
    parts = COMPRESS[name](EXAMPLE[:half]) + COMPRESS[name](EXAMPLE[half:])
    database, _ = load(parts)
    assert len(database) == 200


@pytest.mark.parametrize("name", COMPRESS)
@pytest.mark.parametrize("kept", [0.3, 0.9, -1])
def test_a_compressed_file_that_ends_early_is_refused(load, cache_folder: Path, name: str, kept: float) -> None:
    random = np.random.default_rng(1)
    text = b">a\n" + bytes(b"ACDEFGHIKLMNPQRSTVWY"[i] for i in random.integers(0, 20, 300_000)) + b"\n"
    data = COMPRESS[name](text)
    cut = len(data) + int(kept) if kept < 0 else int(len(data) * kept)
    with pytest.raises(InputError, match=r"input\.txt"):
        load(data[:cut])
    assert entries(cache_folder) == []


def test_a_zstd_file_may_begin_with_a_frame_to_skip(load) -> None:
    frame = bytes([0x5A, 0x2A, 0x4D, 0x18]) + (5).to_bytes(4, "little") + b"notes"
    database, report = load(frame + COMPRESS["zstd"](EXAMPLE))
    assert (report.compression, len(database)) == ("zstd", 200)


def test_a_header_without_end_is_refused(load) -> None:
    with pytest.raises(InputError) as refused:
        load(b">a\nMKV\n>" + b"b" * (MAX_HEADER_BYTES + 1) + b"\nMKV\n")
    assert refused.value.line == 3


def test_residues_may_stand_on_a_line_of_any_length(load) -> None:
    database, _ = load(b">chromosome\n" + b"ACGT" * (5 << 20) + b"\n>b\nACGT")
    assert [database.header(row)[0] for row in range(2)] == ["chromosome", "b"]
    assert database.n_residues == (20 << 20) + 4


def test_damaged_compressed_data_is_refused(load) -> None:
    data = bytearray(gzip.compress(EXAMPLE))
    data[len(data) // 2] ^= 0xFF
    data[len(data) // 2 + 1] ^= 0xFF
    with pytest.raises(InputError, match="damaged"):
        load(bytes(data))


@pytest.mark.thorough(name=["gzip", "zstd"])
@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz", "zstd"])
def test_the_message_says_how_much_of_a_file_that_was_cut_can_be_read(load, name: str) -> None:
    """Of two thirds of the bytes much can be read, and a command that writes it is told."""
    rng = np.random.default_rng(3)
    text = b"".join(b">s%d\n%s\n" % (n, bytes(rng.choice(list(b"ACDEFGHIKL"), 300).tolist())) for n in range(6000))
    data = COMPRESS[name](text)
    with pytest.raises(InputError, match=name) as caught:
        load(data[: 2 * len(data) // 3])
    n_bytes, n_lines = (
        int(found.replace(",", "")) for found in re.findall(r"([\d,]+) (?:bytes|lines)", caught.value.reason)
    )
    assert 0.3 * len(text) < n_bytes < 0.7 * len(text)
    assert text[:n_bytes].count(b"\n") == n_lines == caught.value.line - 1
    assert f"{name} -dc" in caught.value.hint


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(EXAMPLE))))
    database, report = load_database("-")
    assert (report.path, report.compression, len(database)) == ("-", "gzip", 200)
    assert len(entries(cache_folder)) == 1


def test_an_error_in_standard_input_says_so(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"%PDF-1.4")))
    with pytest.raises(InputError, match=r"standard input: .*PDF"):
        load_database("-")
    assert entries(cache_folder) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf '>a\\nMKV\\n' > {pipe}"]):
        database, _ = load_database(str(pipe))
    assert database[0].text == "MKV"


def test_gaps_of_aligned_fasta_stay_where_the_format_is_named(load) -> None:
    text = b">a\nAC-DE\n>b\nACW-E\n"
    guessed, report = load(text)
    assert [guessed[0].text, guessed[1].text] == ["ACDE", "ACWE"]
    assert "gaps_dropped" in {issue.kind for issue in report.issues}
    named, _ = load(text, sequence_format="fasta")
    assert [named[0].text, named[1].text] == ["AC-DE", "ACW-E"]
    assert load(text)[0][0].text == "ACDE"


@pytest.mark.parametrize("content", [b">b\nWWWWWWWWWWWW\n", b">a\nACDEFGHIKW\n"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    load, cache_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    """Else the new content would be kept under the checksum of the old one; size and time stamp may be the same."""
    checksums_of = cache.checksums_of

    def slow(source, *arguments):
        facts, found = source.file.stat(), checksums_of(source, *arguments)
        source.file.write_bytes(content)
        os.utime(source.file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(cache, "checksums_of", slow)
        with pytest.raises(InputError, match="changed"):
            load(b">a\nACDEFGHIKL\n")
    assert entries(cache_folder) == []
    assert load(b">a\nACDEFGHIKL\n")[0][0].text == "ACDEFGHIKL"


def test_control_characters_of_a_name_are_not_passed_on(load) -> None:
    database, _ = load(b">a\x1b[31m b\x07ell\nACDEFGHIKL\n")
    assert database.header(0) == ("a?[31m", "", "b?ell")


def test_an_unchanged_file_is_neither_read_nor_encoded_again(
    load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SETTLED_SECONDS", -1e9)
    first, watcher = Recorder(), Recorder()
    before, report = load(EXAMPLE, context=first)
    after, again = load_database(str(tmp_path / "input.txt"), context=watcher)
    size = len(EXAMPLE)
    assert [stage for stage in first.stages if stage[1] == size] == [
        ("read", size, size),
        *[("encode", size, size)] * (len(first.stages) - 1),
    ]
    assert watcher.stages == []
    assert again == report
    assert arrays_of(after) == arrays_of(before)


def test_the_same_content_under_another_name_is_encoded_once(load) -> None:
    watcher = Recorder()
    load(EXAMPLE, "one.fasta")
    _, report = load(EXAMPLE, "two.fasta", context=watcher)
    assert {stage for stage, _, _ in watcher.stages} == {"read"}
    assert report.path.endswith("two.fasta")


def test_what_an_earlier_version_kept_is_made_again(load, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an A3M file it kept rows with their gaps, because it took them for sequences of FASTA."""
    content = b">a\nAC-GT\n>b\nACaGT-\n"
    with monkeypatch.context() as before:
        before.setattr("clalign.databases.loading.is_a3m", lambda text: False)
        for module in (cache, packed):
            before.setattr(module, "READING", 2)
        assert load(content)[1].format == "fasta"
    database, report = load(content)
    assert (report.format, database.n_residues) == ("a3m", 9)
    assert len(cache._kept(cache_folder.name)) == 2, "what nobody needs any more is counted, and removed"


def test_a_changed_file_is_read_again(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SETTLED_SECONDS", -1e9)
    assert load(b">a\nMKV\n")[0][0].text == "MKV"
    time.sleep(0.02)
    assert load(b">a\nMKW\n")[0][0].text == "MKW"


def test_a_file_that_is_replaced_while_its_checksum_is_taken_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time stamps of one file must not vouch for the content of another."""
    monkeypatch.setattr(cache, "SETTLED_SECONDS", -1e9)
    path = tmp_path / "x.fasta"
    path.write_bytes(b">a\nMKV\n")

    class Replacing(QuietContext):
        def check(self) -> None:
            (tmp_path / "y").write_bytes(b">a\nMKW\n")
            os.replace(tmp_path / "y", path)

    with opened(str(path)) as source:
        first = cache.checksums_of(source, Replacing())
        second = cache.checksums_of(source, QuietContext())
    assert first.sha256 == hashlib.sha256(b">a\nMKV\n").hexdigest()
    assert second.sha256 == hashlib.sha256(b">a\nMKW\n").hexdigest()


def test_a_file_that_may_still_change_is_not_trusted(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SETTLED_SECONDS", 3600.0)
    load(EXAMPLE)
    watcher = Recorder()
    load(EXAMPLE, context=watcher)
    assert {stage for stage, _, _ in watcher.stages} == {"read"}


def flipped(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


DAMAGES = {"flipped": flipped, "cut": lambda content: content[:-1], "emptied": lambda content: b"", "gone": None}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*packed.FILES, packed.MANIFEST])
def test_a_damaged_entry_is_made_again(load, cache_folder: Path, name: str, damage: str) -> None:
    good, report = load(EXAMPLE)
    expected = arrays_of(good)
    (entry,) = entries(cache_folder)
    damaged, change = entry / name, DAMAGES[damage]
    content = damaged.read_bytes()
    if change is None:
        damaged.unlink()
    else:
        damaged.write_bytes(change(content))
    again, messages = load(EXAMPLE)
    assert (arrays_of(again), messages) == (expected, report)
    assert damaged.read_bytes() == content


def test_damage_met_in_the_middle_is_repaired(load, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before stays as it is; what comes after it is read from the file that was made anew."""
    monkeypatch.setattr(checksums, "PIECE", 256)
    good, _ = load(EXAMPLE)
    expected = arrays_of(good)
    (entry,) = entries(cache_folder)
    database, _ = load(EXAMPLE)
    first, middle = database.batch(0, 10), len(database) // 2
    before, residues = first.codes.tolist(), good.residues(middle).tolist()
    with (entry / "codes").open("r+b") as file:
        file.seek(int(database.offsets[middle]))
        file.write(bytes([residues[0] ^ 1]))
    assert database.residues(middle).tolist() == residues
    assert arrays_of(database) == expected
    assert first.codes.tolist() == before


def test_damage_of_a_file_that_has_changed_since_is_reported(
    load, cache_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(EXAMPLE)
    database, _ = load(EXAMPLE)
    (entry,) = entries(cache_folder)
    (entry / "codes").write_bytes(flipped((entry / "codes").read_bytes()))
    (tmp_path / "input.txt").write_bytes(b">other\nMKV\n")
    with pytest.raises(InputError) as error:
        database.read_through()
    assert error.value.hint
    assert not entry.exists()


def test_a_disk_that_damages_all_that_is_written_is_reported(
    load, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(EXAMPLE)
    monkeypatch.setattr(checksums, "crc32", lambda data, before=0: zlib.crc32(data, before) ^ 1)
    with pytest.raises(OutputError, match="damaged"):
        load(EXAMPLE)[0].read_through()


def test_standard_input_is_checked_while_it_is_there(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    def read() -> SequenceDatabase:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EXAMPLE)))
        return load_database("-")[0]

    expected = arrays_of(read())
    (entry,) = entries(cache_folder)
    (entry / "codes").write_bytes(flipped((entry / "codes").read_bytes()))
    database = read()
    assert [name for name in packed.FILES if getattr(database, name)._left] == []
    assert arrays_of(database) == expected


def test_the_alphabet_can_be_chosen_without_encoding_again(load) -> None:
    text = b">a\n" + b"ACGTACGTNN" * 9 + b"AEC\n"
    database, guessed = load(text, alphabet="auto")
    assert (database.alphabet.name, guessed.alphabet) == ("dna", "dna")
    assert [(i.kind, i.count, i.lines) for i in guessed.issues] == [("letters", 1, (2,))]
    watcher = Recorder()
    database, chosen = load(text, alphabet="amino", context=watcher)
    assert {stage for stage, _, _ in watcher.stages} == {"read"}
    assert database.alphabet.name == "amino"
    assert chosen.issues == ()
    assert "DNA" in chosen.alphabet_reason


def test_unknown_options_are_refused(load) -> None:
    with pytest.raises(OptionError, match="klingon"):
        load(EXAMPLE, alphabet="klingon")
    with pytest.raises(OptionError, match="pdb"):
        load(EXAMPLE, sequence_format="pdb")


@pytest.mark.parametrize("name", ["ncbi", "hmmpgmd", "psiblast", "xyz"])
def test_names_of_formats_that_are_not_read_are_errors_of_usage(load, name: str) -> None:
    with pytest.raises(UnknownFormat) as error:
        load(b">a\nMK\n", sequence_format=name)
    assert error.value.exit_code == 64
    assert name in error.value.message
    assert all(word in error.value.hint for word in ("fasta", "stockholm", "afa"))


def test_files_joined_without_a_line_end_lose_no_record(load) -> None:
    database, report = load(b">a one\nMKVLATGHEW>b two\nQRIPND\n>c\nFCYST>d\nAAGK")
    found = {database.header(row)[0]: database[row].text for row in range(len(database))}
    assert found == {"a": "MKVLATGHEW", "b": "QRIPND", "c": "FCYST", "d": "AAGK"}
    (issue,) = [issue for issue in report.issues if issue.kind == "joined"]
    assert (issue.severity, issue.count, issue.lines) == ("caution", 2, (2, 5))


def test_entries_joined_without_a_line_end_are_both_read(load) -> None:
    entry = b"LOCUS       %s 4 bp\nORIGIN\n        1 acgt\n//"
    database, report = load(entry % b"A1" + entry % b"A2" + b"\n")
    assert {database.header(row)[0] for row in range(len(database))} == {"A1", "A2"}
    assert not [issue for issue in report.issues if issue.severity == "caution"]


def test_a_format_can_be_named(load) -> None:
    with pytest.raises(InputError) as error:
        load(EXAMPLE, sequence_format="fastq")
    assert error.value.line == 1
    _, report = load(EXAMPLE, sequence_format="fasta")
    assert report.format == "fasta"


@pytest.mark.parametrize("after", [0, 1, 2])
def test_cancelling_leaves_nothing_behind(load, cache_folder: Path, after: int) -> None:
    with pytest.raises(Cancelled):
        load(EXAMPLE, context=Recorder(after))
    assert entries(cache_folder) == []


@pytest.mark.parametrize("what", ["folder", "missing", "empty"])
def test_paths_that_are_no_files_are_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    path = str(tmp_path / what)
    with pytest.raises(InputError) as error:
        load_database(path)
    assert error.value.path == path
    assert error.value.hint
    with pytest.raises(OptionError):
        load_database("a\0b")


def test_a_file_that_may_not_be_read_is_refused(load, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    load(EXAMPLE)
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(io, "open", refuse)
    with pytest.raises(InputError, match=Path(__file__).name):
        load_database(str(Path(__file__)))


def test_a_full_disk_is_reported_with_what_to_do(load, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packed.PackedWriter, "_write_rows", no_space)
    with pytest.raises(OutputError) as error:
        load(EXAMPLE)
    assert "CLALIGN_CACHE_DIR" in error.value.hint
    assert entries(cache_folder) == []


def test_a_cache_that_is_no_folder_is_reported(load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "file" / "below"))
    with pytest.raises(OutputError, match="below"):
        load(EXAMPLE)


def test_processes_may_encode_the_same_file(tmp_path: Path, cache_folder: Path) -> None:
    path = tmp_path / "x.fasta"
    path.write_bytes(EXAMPLE * 200)
    load = "import sys; from clalign.databases.loading import load_database; print(len(load_database(sys.argv[1])[0]))"
    command = [sys.executable, "-P", "-c", load, str(path)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [child.communicate()[0] for child in children] == ["40000\n"] * 4
    assert len(entries(cache_folder)) == 1


def test_another_process_that_was_faster_is_believed(load, cache_folder: Path, tmp_path: Path) -> None:
    load(EXAMPLE)
    (entry,) = entries(cache_folder)
    shutil.copytree(entry, tmp_path / "copy")
    with cache.new_entry(entry) as working:
        (working / "manifest.json").write_text("{}")
    assert (entry / "manifest.json").read_text() == (tmp_path / "copy" / "manifest.json").read_text()
    assert entries(cache_folder) == [entry]


def test_the_report_survives_json(load) -> None:
    _, report = load(b">a x\r\nMK1V&\r\n>a\r\n\r\n>c\nMK*")
    again = check_as(InputReport, plain(report) | {"unknown": 1})
    assert again == report
    kinds = {issue.kind: issue for issue in report.issues}
    assert list(kinds) == ["letters", "stops", "digits", "duplicate_names", "empty", "line_ends", "no_final_newline"]
    assert kinds["duplicate_names"].lines == (3,)
    assert '"a"' in kinds["duplicate_names"].text
    assert kinds["letters"].lines == (2,)
    assert '"&" (1)' in kinds["letters"].text
    assert report.line_ends == "mixed"
    assert (report.n_sequences, report.n_empty, report.shortest, report.longest) == (3, 1, 0, 4)


def test_a_database_is_not_written_to(load) -> None:
    database, _ = load(EXAMPLE)
    with pytest.raises(ValueError, match="read-only"):
        database.codes[:][0] = 1
    database.release()
    assert database[0].text


def test_small_volumes_give_the_same_sequences(tmp_path: Path, load) -> None:
    database, _ = load(EXAMPLE)
    from clalign.formats.blocks import Reading

    folder = tmp_path / "small"
    folder.mkdir()
    with opened(str(tmp_path / "input.txt")) as source, packed.PackedWriter(folder, 500, 7) as writer:
        for block in read_fasta_blocks(Reading(TextReader(source)), 64):
            writer.add(block)
        writer.finish()
    packed.write_manifest(folder, {})
    small = packed.open_packed(folder, database.alphabet, "", "", 0, lambda: None)
    rows = {int(small.order[row]): small[row] for row in range(200)}
    for row in range(200):
        other = rows[int(database.order[row])]
        assert (other.name, other.description, other.text) == (
            database[row].name,
            database[row].description,
            database[row].text,
        )
    lengths = np.diff(small.offsets)
    assert (lengths[:-1] < lengths[1:]).sum() > 10

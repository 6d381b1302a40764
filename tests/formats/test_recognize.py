from __future__ import annotations

import gzip
import sqlite3
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.databases.loading import load_database
from clalign.errors import ClalignError, InputError
from clalign.formats.profiles import load_profiles
from clalign.formats.recognize import RUN_APPLICATION, recognize
from clalign.runs.tables import APPLICATION_ID
from tests.formats.damaged_files import FOREIGN

KINDS = [
    (b">a\nMKV\n", "sequences"),
    (b"\xef\xbb\xbf\r\n\r\n>a\r\nMKV\r\n", "sequences"),
    (b";comment\n>a\nMKV\n", "sequences"),
    (b"@r\nACGT\n+\nIIII\n", "sequences"),
    (b"LOCUS       X 4 bp\nORIGIN\n 1 acgt\n//\n", "sequences"),
    (b"ID   X; SV 1; linear; DNA; STD; PLN; 4 BP.\nSQ   x\n     acgt\n//\n", "sequences"),
    (b"ID   X_HUMAN   Reviewed;   4 AA.\nSQ   x\n     MKVL\n//\n", "sequences"),
    (b"# STOCKHOLM 1.0\na MKV\n//\n", "alignment"),
    (b"CLUSTAL W (1.83)\n\na MKV\n", "alignment"),
    (b"MUSCLE (3.8) multiple sequence alignment\n\na MKV\n", "alignment"),
    (b"#NEXUS\nbegin data;\n", "alignment"),
    (b" 5 42\nTurkey    AAGCTNGGGC\n", "alignment"),
    (b"!!AA_MULTIPLE_ALIGNMENT 1.0\n\n x.msf MSF: 3 Type: P Check: 1 ..\n\n Name: a\n//\n\na MKV\n", "alignment"),
    (b"PileUp\n\n  MSF: 3 Type: P Check: 1 ..\n", "alignment"),
    (b"#=AU me\nseq1 ACGT\n", "alignment"),
    (b"seq1  AC-GT\nseq2  ACCGT\n\nseq1  A\nseq2  C\n", "alignment"),
    (b"\xba\xed\xed\xe8rest", "profiles"),
    (b"HMMER2.0  [2.3.2]\nNAME x\n", "profiles"),
    (b"\n\xef\xbb\xbfHMMER3/f".replace(b"\n", b""), "profiles"),
    (b"HMMER3/a [3.0a2]\r\nNAME x\r\n", "profiles"),
]


@pytest.mark.parametrize(("content", "kind"), KINDS, ids=[str(i) for i in range(len(KINDS))])
@pytest.mark.parametrize("compressed", [False, True])
def test_what_is_read_is_recognized(tmp_path: Path, content: bytes, kind: str, compressed: bool) -> None:
    path = tmp_path / "file.misleading"
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert recognize(str(path)) == kind


def test_a_tar_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(">a\nMKV\n")
    for name, mode in [("x.tar", "w"), ("x.tar.gz", "w:gz")]:
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "x", "x")
        with pytest.raises(InputError, match="tar"):
            recognize(str(tmp_path / name))


def test_a_file_compressed_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(gzip.compress(b">a\nMKV\n")))
    with pytest.raises(InputError, match="twice"):
        recognize(str(path))


def test_a_run_file_is_recognized(tmp_path: Path) -> None:
    path = tmp_path / "x.clalign"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("CREATE TABLE x (y)")
    connection.close()
    assert int.from_bytes(RUN_APPLICATION, "big") == APPLICATION_ID
    assert recognize(str(path)) == "run"
    with pytest.raises(InputError):
        load_database(str(path))


SEEDS = [*(content for content, _ in KINDS), *FOREIGN.values()]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_leads_to_anything_but_a_clear_message(tmp_path_factory, data: st.DataObject) -> None:
    """Whatever is cut out of or put into a file, it loads or is refused with a message and a hint."""
    content = bytearray(data.draw(st.sampled_from(SEEDS)) * data.draw(st.integers(1, 3)))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(place, min(len(content), place + 8)))
        content[place:end] = data.draw(st.binary(max_size=6) | st.sampled_from([b"\n", b">", b"//\n", b"\r", b"* "]))
    path = tmp_path_factory.mktemp("fuzz") / "x"
    path.write_bytes(bytes(content))
    for use in (recognize, load_database, load_profiles):
        problem = problem_of(use, path)
        assert problem is None or (problem.exit_code in (1, 2) and problem.message and problem.hint)


def problem_of(use, path: Path) -> ClalignError | None:
    try:
        use(str(path))
    except ClalignError as error:
        return error
    return None

"""Files that are whole or not there, whatever lies beside them and whatever their text holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.alignments import AlignmentText
from clalign.formats import hmmer3_text
from clalign.formats.writers import check_writable, whole_file
from clalign.hits import Domain, Hit


def test_what_a_crash_left_behind_does_not_matter(tmp_path: Path) -> None:
    left, path = tmp_path / f".a.tsv.{os.getpid()}.part", tmp_path / "a.tsv"
    left.touch()
    check_writable(str(path))
    assert list(tmp_path.iterdir()) == [left]
    with whole_file(str(path)) as stream:
        stream.write("whole")
    assert path.read_text() == "whole"
    assert sorted(tmp_path.iterdir()) == sorted([left, path])


def test_names_of_files_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a.sam"
    with whole_file(str(path)) as stream:
        stream.write(os.fsdecode(b"b\xff.fa \xc3\xa9"))
    assert path.read_text(encoding="utf-8") == "b\\udcff.fa \u00e9"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files without a name")
def test_a_process_that_is_killed_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("before")
    code = f"""
from clalign.formats.writers import whole_file
with whole_file({str(path)!r}) as stream:
    stream.write("half")
    print("writing", flush=True)
    input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.kill()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "before"


def test_where_no_file_is_without_a_name_it_has_another_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "a.tsv"
    with whole_file(str(path)) as stream:
        stream.write("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_row_of_deletions_ends_at_the_right() -> None:
    """As hmmsearch prints it: the dash in place of the last coordinate stands where its last digit would."""
    text = AlignmentText("a" * 120, " " * 120, "A" * 20 + "-" * 90 + "A" * 10, "9" * 120)
    path = "M" * 20 + "D" * 90 + "M" * 10
    domain = Domain(1, 10.0, 0.0, 1e-5, (1000, 1120), (2000, 2030), (2000, 2030), 10_000, path, text)
    hit = Hit(0, 0, "target", "", "", 3000, 10.0, 0.0, 1e-5, 0, (domain,), 1)
    card = {"name": "p" * 70, "accession": "", "length": 1200}
    rows = [line for line in hmmer3_text.alignment_lines(card, hit, domain, hmmer3_text.Layout()) if "target" in line]
    place = f"{'target':>72s}"
    assert rows == [
        f"{place} 2001 {'A' * 20}{'-' * 20} 2020", f"{place}    - {'-' * 40}    -",
        f"{place} 2021 {'-' * 30}{'A' * 10} 2030",
    ]  # fmt: skip

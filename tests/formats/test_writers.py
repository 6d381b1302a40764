"""Files that are whole or not there, whatever lies beside them and whatever their text holds."""

from __future__ import annotations

import os
from pathlib import Path

from clalign.formats.writers import check_writable, whole_file


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

"""Small files of the program's own, and what may stand in their places."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clalign.formats.small_files import read_small_file, read_small_json


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_small_file(path, 5) == b"12345"
    with pytest.raises(OSError, match="large"):
        read_small_file(path, 4)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_nothing_else_is_taken_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "none", "/dev/zero"):
        with pytest.raises(OSError):  # noqa: PT011 - each system has its own words
            read_small_file(tmp_path / name)
    assert read_small_file(tmp_path / "link", follows_links=True) == b"1"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text, "latin-1")
    with pytest.raises(ValueError):  # noqa: PT011 - the words are those of the library
        read_small_json(path)
    path.write_text('{"a": [1]}')
    assert read_small_json(path) == {"a": [1]}

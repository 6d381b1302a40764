"""Every damaged file is refused with its path, its line and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clalign.databases.loading import load_database
from clalign.errors import InputError
from clalign.formats.matrices import read_matrix
from clalign.formats.posteriors import read_posteriors
from clalign.formats.profiles import load_profiles
from clalign.formats.recognize import recognize
from tests.formats.damaged_files import FOREIGN, MATRICES, POSTERIORS, PROFILES, SEQUENCES, Table


def check(use: Callable[[str], object], path: Path, content: bytes, line: int | None) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        use(str(path))
    assert (refused.value.path, refused.value.line) == (str(path), line)
    assert refused.value.hint
    assert len(str(refused.value)) < 500


def cases(*tables: tuple[Callable[[str], object], Table]) -> list[object]:
    return [
        pytest.param(use, content, line, id=name) for use, table in tables for name, (content, line) in table.items()
    ]


@pytest.mark.parametrize(
    ("use", "content", "line"),
    cases(
        (load_database, SEQUENCES),
        (load_profiles, PROFILES),
        (read_matrix, MATRICES),
        (lambda path: read_posteriors(path, [2, 3]), POSTERIORS),
    ),
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, use: Callable[[str], object], content: bytes, line: int | None
) -> None:
    check(use, tmp_path / "damaged", content, line)


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("use", [recognize, load_database, load_profiles])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, use: Callable[[str], object], name: str) -> None:
    check(use, tmp_path / "file.fasta", FOREIGN[name], None)

"""A library of HMMER3 profiles is decoded once; what is kept says the same as the file."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

from clalign.databases import cache, profile_library
from clalign.databases.cache import clear_cache, profile_folder
from clalign.databases.profile_library import kept_models, load_library
from clalign.errors import InputError
from clalign.formats.profiles import load_profiles
from clalign.values.profiles import Hmm

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def library(tmp_path: Path, hmmer3_text: str) -> Path:
    path = tmp_path / "library.hmm"
    path.write_text(hmmer3_text + hmmer3_text.replace("NAME  ", "NAME  other"))
    return path


@pytest.fixture(scope="module")
def hmmer3_text() -> str:
    for path in sorted(EXAMPLES.glob("*.hmm")):
        text = path.read_text()
        if text.startswith("HMMER3/"):
            return text
    pytest.fail("there is no HMMER3 profile among the examples")


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, Struct):
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)
    return a == b


def test_kept_models_are_the_file_s(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load_profiles(str(library))
    assert all(same(a, b) for a, b in zip(load_library(str(library))[0], expected, strict=True))
    monkeypatch.setattr(profile_library, "models_in", lambda text: pytest.fail("the text was read again"))
    again, _ = load_library(str(library))
    assert [hmm.name for hmm in again] == [hmm.name for hmm in expected]
    assert all(same(a, b) for a, b in zip(again, expected, strict=True))


def test_large_libraries_are_written_piece_by_piece(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_library, "NODES_AT_ONCE", 1)
    expected = load_profiles(str(library))
    for _ in range(2):
        assert all(same(a, b) for a, b in zip(load_library(str(library))[0], expected, strict=True))


def test_without_room_in_the_cache_models_are_read_into_memory(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    expected = load_profiles(str(library))
    with monkeypatch.context() as patched:
        patched.setattr(profile_library, "_checksum", full)
        assert all(same(a, b) for a, b in zip(load_library(str(library))[0], expected, strict=True))
    assert not list(profile_folder().iterdir())


def test_a_file_of_both_kinds_is_read_into_memory(library: Path) -> None:
    texts = [path.read_text() for path in sorted((EXAMPLES.parents[1] / "tests/golden/profiles").glob("*.hmm"))]
    older = next(text for text in texts if text.startswith("HMMER2.0") and "ALPH  Amino" in text)
    library.write_text(library.read_text() + older)
    models, _ = load_library(str(library))
    assert models[-1].origin == "hmmer2"
    assert models[0].origin == "hmmer3"
    assert not profile_folder().exists()


def test_errors_of_making_are_no_errors_of_the_cache(library: Path) -> None:
    """They are passed on, and nothing is made a second time."""
    given = load_profiles(str(library))
    calls = []

    def make(take: Callable[[Hmm], None]) -> None:
        calls.append(given[0])
        take(given[0])
        raise ValueError("a fault of whoever makes them")

    with pytest.raises(ValueError, match="a fault"):
        kept_models("0" * 64, make)
    assert len(calls) == 1
    assert not profile_folder().exists() or not any(profile_folder().iterdir())


def test_masks_and_columns_are_kept(library: Path) -> None:
    text = library.read_text().replace("\nMAP   yes", "\nMAP   no", 1).replace("\nMM    no", "\nMM    yes")
    library.write_text(text)
    for _ in range(2):
        first, second = load_library(str(library))[0]
        assert first.columns is None
        assert second.columns is not None
        assert len(second.columns) == second.length
        assert second.mask == "-" * second.length


def test_changed_file_is_read_again(library: Path) -> None:
    load_library(str(library))
    library.write_text(library.read_text().replace("NAME  other", "NAME  third"))
    assert load_library(str(library))[0][1].name.startswith("third")


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied"])
@pytest.mark.parametrize("name", ["manifest.json", *profile_library._FILES])
def test_damaged_entry_is_made_again(library: Path, name: str, damage: str) -> None:
    expected, digest = load_profiles(str(library)), load_library(str(library))[1]
    (entry,) = profile_folder().iterdir()
    content = (entry / name).read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    (entry / name).write_bytes({"flipped": flipped, "cut": content[:middle], "emptied": b""}[damage])
    models, again = load_library(str(library))
    assert again == digest
    assert all(same(a, b) for a, b in zip(models, expected, strict=True))
    assert (entry / name).read_bytes() == content


def test_a_file_that_is_replaced_before_it_is_read_is_refused(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its models would be kept, for ever, under the checksum of the file before it."""
    content = library.read_bytes()

    def replaced(*arguments: object) -> cache.Checksums:
        found = checksums_of(*arguments)
        library.write_bytes(content.replace(b"NAME  other", b"NAME  third"))
        return found

    checksums_of = cache.checksums_of
    with monkeypatch.context() as patched:
        patched.setattr(cache, "checksums_of", replaced)
        with pytest.raises(InputError, match="changed"):
            load_library(str(library))
    library.write_bytes(content)
    models, digest = load_library(str(library))
    assert models[1].name.startswith("other")
    assert digest == hashlib.sha256(content).hexdigest()


def test_hmmer2_models_are_read_each_time() -> None:
    path = next(p for p in sorted(EXAMPLES.glob("*.hmm")) if p.read_text().startswith("HMMER2.0"))
    assert load_library(str(path))[0][0].origin == "hmmer2"
    assert not profile_folder().exists()


def test_damaged_file_says_where(library: Path) -> None:
    library.write_text(library.read_text()[:-500])
    with pytest.raises(InputError):
        load_library(str(library))
    assert not profile_folder().exists()


def test_oldest_go_and_clearing_removes_all(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_library, "MAX_LIBRARIES", 1)
    load_library(str(library))
    library.write_text(library.read_text().replace("NAME  other", "NAME  third"))
    load_library(str(library))
    assert len(list(profile_folder().iterdir())) == 1
    assert clear_cache() > 0
    assert not list(profile_folder().iterdir())

"""The cache removes what is its own, and nothing else; what it takes is told in full."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from clalign.databases import cache, profile_library
from clalign.databases.cache_root import MARK, OWN_FOLDER, WORKING, cache_root, make_folder, write_whole
from clalign.databases.profile_library import load_library
from clalign.errors import OutputError
from clalign.formats.readers import FORMATS
from clalign.formats.scratch import OWNER, Scratch

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"

FOREIGN = (
    "old-results/thesis.txt", "new-sequences.fa", "input-data.csv", "profiles/my.hmm", "index/catalog.txt",
    "kernels/mine.cl", "databases/genomes.fa", "locks/key", "devices.json", f"kernels/{'0' * 64}",
)  # fmt: skip
"""Files of the user's, under names that the cache might use."""


def use(load) -> None:
    """Do what removes old things: prepare sequences and profiles, keep to the limit, clear."""
    load(b">a\nACDEFGHIKL\n")
    load_library(str(EXAMPLES / "globins4.hmm"))
    cache.shrink_to_limit(Path())
    cache.clear_cache()


def put(folder: Path) -> dict[Path, bytes]:
    """Put files of the user's into a folder, as if they had been there for long; return them."""
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (time.time() - 3 * cache.DAY,) * 2)
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_of_the_user_stay_where_the_cache_is_put_among_them(
    load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CLALIGN_CACHE_LIMIT", "0")
    files = put(tmp_path / "data")
    use(load)
    assert {path: path.read_bytes() for path in files} == files
    assert (tmp_path / "data" / OWN_FOLDER / MARK).is_file()


def test_a_folder_of_that_name_that_is_somebody_elses_is_refused(
    load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path))
    files = put(tmp_path / OWN_FOLDER)
    with pytest.raises(OutputError, match=OWN_FOLDER) as error:
        load(b">a\nACDEFGHIKL\n")
    assert "CLALIGN_CACHE_DIR" in error.value.hint
    load_library(str(EXAMPLES / "globins4.hmm"))
    cache.clear_cache()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path in files} == files
    assert cache.sizes() == {}


def test_files_of_the_user_stay_in_the_cache_itself(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_LIMIT", "0")
    monkeypatch.setattr(profile_library, "MAX_LIBRARIES", 0)
    monkeypatch.setattr(cache, "MAX_CHECKSUMS", 0)
    monkeypatch.setattr(cache, "SETTLED_SECONDS", -1e9)
    load(b">a\nACDEFGHIKL\n")
    names = [name for name in FOREIGN if not name.startswith(("old-", "new-", "input-"))]
    for name in names[:-1]:
        (cache_root() / name).parent.mkdir(exist_ok=True)
        (cache_root() / name).write_text(name)
    (cache.profile_folder() / "mine").mkdir()
    use(load)
    assert (cache.profile_folder() / "mine").is_dir()
    assert [name for name in names[:-1] if not (cache_root() / name).is_file()] == []


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("name", ["databases", "profiles", "kernels", "index", f"databases/old-{'0' * 16}"])
def test_links_are_not_followed(load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_LIMIT", "0")
    make_folder(cache_root())
    files = put(tmp_path / "elsewhere")
    link = cache_root() / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    use(load)
    assert {path: path.read_bytes() for path in files} == files


def test_everything_in_the_cache_is_counted_and_cleared(load) -> None:
    load(b">a\nACDEFGHIKL\n")
    load_library(str(EXAMPLES / "globins4.hmm"))
    kernels, left = cache.kernel_folder(), cache.cache_folder() / "new-left"
    for folder in (kernels, cache.shard_folder()):
        make_folder(folder)
        (folder / ("a" * 64)).write_bytes(b"x" * 1000)
    left.mkdir()
    (left / "codes").write_bytes(b"x" * 500)
    files = [path for path in cache_root().rglob("*") if path.is_file()]
    sizes = cache.sizes()
    assert sum(sizes.values()) == sum(path.stat().st_size for path in files)
    assert sizes["compiled kernels"] == 1000
    assert min(sizes.values()) > 0
    marks = sum((cache_root() / name).stat().st_size for name in (MARK, "CACHEDIR.TAG"))
    assert cache.clear_cache() == sum(sizes.values()) - marks
    assert sum(cache.sizes().values()) == marks


def test_the_least_recently_used_go_first(load, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i, name in enumerate(["old", "older", "newest"]):
        load(b">a\n" + b"MKV" * (i + 1) + b"\n", name)
    by_source = {Path(cached.source).name: cached for cached in cache.cached_databases()}
    now = time.time()
    for name, age in [("old", 100), ("older", 1000), ("newest", 10)]:
        os.utime(by_source[name].folder / "used", (now - age, now - age))
    assert [Path(cached.source).name for cached in cache.cached_databases()] == ["newest", "old", "older"]
    total = sum(cache.sizes().values())
    monkeypatch.setenv("CLALIGN_CACHE_LIMIT", str(total + 50))
    load(b">a\nMKVMKVMKVMKVMKV\n", "latest")
    assert {Path(cached.source).name for cached in cache.cached_databases()} == {"latest", "newest", "old"}
    monkeypatch.setenv("CLALIGN_CACHE_LIMIT", "0")
    database, _ = load(b">a\nMKVMKV\n", "old")
    assert [Path(cached.source).name for cached in cache.cached_databases()] == ["old"]
    assert database[0].text == "MKVMKV"
    assert cache.clear_cache() > 0
    assert cache.cached_databases() == []


@pytest.mark.parametrize("name", FORMATS)
def test_databases_of_every_format_are_known_as_such(name: str) -> None:
    for form in (name, f"given {name}"):
        entry = cache.entry_folder(cache.cache_folder(), "0" * 64, form)
        assert cache._NAMES["databases"].fullmatch(entry.name)


def test_what_a_process_left_that_died_is_removed(load, cache_folder: Path) -> None:
    make_folder(cache_folder)
    dead, busy = Scratch(cache_folder, WORKING), Scratch(cache_folder, WORKING)
    dead._mark.close()  # as the system does when a process ends
    for name in ("new-old", "new-fresh"):
        (cache_folder / name).mkdir()
    long_ago = time.time() - 2 * cache.DAY
    os.utime(cache_folder / "new-old", (long_ago, long_ago))
    for scratch in (dead, busy):
        (scratch.path / "codes").write_bytes(b"x")
        os.utime(scratch.path / OWNER, (long_ago, long_ago))
    load(b">a\nACDEFGHIKL\n")
    assert [path.exists() for path in (dead.path, busy.path)] == [False, True]
    assert [(cache_folder / name).exists() for name in ("new-old", "new-fresh")] == [False, True]
    busy.remove()


def test_what_a_living_process_works_on_stays(load, cache_folder: Path) -> None:
    make_folder(cache_folder)
    busy, dead = Scratch(cache_folder, WORKING), Scratch(cache_folder, WORKING)
    dead._mark.close()
    (cache_folder / "new-unmarked").mkdir()
    long_ago = time.time() - 2 * cache.DAY
    for path in (busy.path / OWNER, dead.path / OWNER, busy.path):
        os.utime(path, (long_ago, long_ago))
    load(b">a\nACDEFGHIKL\n")
    assert busy.path.exists()
    cache.clear_cache()
    assert [path.name for path in cache_folder.iterdir()] == [busy.path.name]
    busy.remove()


def test_small_files_are_moved_when_they_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows moves no open file."""
    made: list[Any] = []
    new, replace = tempfile.NamedTemporaryFile, os.replace

    def noted(**how: Any) -> Any:
        made.append(new(**how))
        return made[-1]

    def moved(source: str, target: Path) -> None:
        assert made[-1].file.closed
        replace(source, target)

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", noted)
    monkeypatch.setattr(os, "replace", moved)
    for text in ("one", "two"):
        write_whole(tmp_path / "a", text)
    assert (tmp_path / "a").read_text() == "two"
    monkeypatch.setattr(os, "replace", lambda *given: (_ for _ in ()).throw(PermissionError("it is open")))
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "a", "three")
    assert os.listdir(tmp_path) == ["a"]

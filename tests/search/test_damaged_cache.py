"""Whatever file of the cache is damaged, and however: a search finds the same and says the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clalign import hmmscan, hmmsearch
from clalign.databases import cache
from clalign.databases.cache_root import MARK, cache_root
from clalign.engines.export import export
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.formats.profiles import load_profiles
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run
from clalign.values.devices import REFERENCE
from tests.computing import compute_search

PROFILE = Path(__file__).parents[1] / "golden" / "hmmer3" / "profiles" / "3box.hmm"

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a bit flipped": lambda content: (
        content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 4]) + content[len(content) // 2 + 1 :]
    ),
    "cut": lambda content: content[:-1],
    "emptied": lambda content: b"",
}


def searched(kind: str, folder: Path, run: Path) -> None:
    """Search small files on the reference, which compiles nothing; what a driver compiled has tests of its own."""
    if kind == "sw":
        spec = PairwiseSpec(queries=str(folder / "queries.fa"), targets=str(folder / "targets.fa"), device="reference")
        with create_run(run, engine="pairwise", spec=spec.to_dict(), direction=spec.direction, state="new") as file:
            compute_search(file, spec, lambda words: REFERENCE, QuietContext())
        return
    search = hmmscan if kind == "hmmscan" else hmmsearch
    search(PROFILE, folder / "targets.fasta", run, device="reference", evalue=100.0).close()


def answer(kind: str, folder: Path) -> str:
    """Return the text of a search, without the lines that say when it was and how long it took."""
    times = ("seconds", "time", "Time", "Mc/sec", "Date:", "date:")
    run, out = folder / "run.clalign", folder / "out.txt"
    searched(kind, folder, run)
    export(run, "text", out)
    run.unlink()
    return "\n".join(line for line in out.read_text().splitlines() if not any(word in line for word in times))


@pytest.mark.thorough
@pytest.mark.exhaustive(kind=["hmmsearch", "sw"])
@pytest.mark.parametrize("kind", ["hmmsearch", "hmmscan", "sw"])
def test_every_damage_of_every_file_is_made_good(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "SETTLED_SECONDS", -1e9)  # else nothing of new files is remembered
    (tmp_path / "queries.fa").write_text(">q a query\nMKVLAAGHWCDERFG\n")
    (tmp_path / "targets.fa").write_text(">t1 related\nAAKVLAGHWCDEKF\n>t2 other\nPPPPGP\n>t3 short\nHWC\n")
    related = load_profiles(str(PROFILE))[0].consensus.upper()
    (tmp_path / "targets.fasta").write_text(f">related to it\nACG{related}TTA\n>none\nACGTTGCAAC\n")
    expected = answer(kind, tmp_path)
    assert "related" in expected
    files = [path for path in cache_root().rglob("*") if path.is_file() and path.stat().st_size]
    assert {path.parent.name for path in files} >= {"index", "clalign-cache"}
    assert len({path.name for path in files} & {"codes", "offsets", "order", "text", "text_offsets"}) == 5
    for path in files:
        for words, damage in DAMAGES.items():
            content = path.read_bytes()
            path.write_bytes(damage(content))
            assert answer(kind, tmp_path) == expected, f"{path.name} {words}"
            kept = path.name in (MARK, "CACHEDIR.TAG") or path.read_bytes() == content
            assert kept, f"{path.name} {words}: it stays as it is"

"""Texts and tables that are written while the search goes on are those that are written afterwards."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from clalign.cli import main
from clalign.cli.following import Following
from clalign.engines.export import export
from clalign.engines.plan7 import export_source
from clalign.runs.run_file import RunFile, open_run

EXAMPLES = Path(__file__).resolve().parents[2] / "resources" / "examples"
TABLES = {"-o": "text", "--tblout": "tblout", "--domtblout": "domtblout", "--pfamtblout": "pfamtblout", "--tsv": "tsv",
          "--domtsv": "domtsv", "--json": "jsonl", "--fasta-matched": "fasta_matched"}  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> str:
    """Several profiles, one of which finds nothing here."""
    names = ("rrm_1_hmmer3", "globins4", "rrm_1_hmmer3", "globins4")
    path = tmp_path / "library.hmm"
    path.write_text("".join((EXAMPLES / f"{name}.hmm").read_text() for name in names))
    return str(path)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """What was written when the search had ended, by the names of the exports."""
    found: dict[str, bool] = {}
    take: Callable[[Following, str, TextIO], bool] = Following.take

    def noted(self: Following, what: str, stream: TextIO) -> bool:
        found[what] = take(self, what, stream)
        return found[what]

    monkeypatch.setattr(Following, "take", noted)
    return found


def search(folder: Path, profiles: str, *words: str) -> dict[str, str]:
    """Search, and return the outputs by the names of the exports."""
    folder.mkdir()
    outputs = [word for flag, what in TABLES.items() for word in (flag, str(folder / what))]
    targets = str(EXAMPLES / "swissprot_sample.fasta.gz")
    assert main(["hmmsearch", "-q", "--device", "cpu", *outputs, *words, profiles, targets]) == 0
    return {what: (folder / what).read_text() for what in TABLES.values()}


def without_own(text: str) -> list[str]:
    """Return the lines that do not tell of one run alone, such as its time."""
    return [line for line in text.splitlines() if not line.startswith(("# ", "Date:"))]


def test_what_is_written_meanwhile_is_what_an_export_writes(
    library: str, tmp_path: Path, taken: dict[str, bool]
) -> None:
    run = str(tmp_path / "kept.clalign")
    outputs = search(tmp_path / "all", library, "--run", run)
    assert taken.pop("fasta_matched") is False
    assert all(taken.values())
    assert set(taken) == set(TABLES.values()) - {"fasta_matched"}
    for what, text in outputs.items():
        again = tmp_path / f"again.{what}"
        assert export(run, what, again) > 0
        assert again.read_text() == text, what
    assert not list(tmp_path.glob("kept.clalign-*")), "a run is one file in the end"


def test_nothing_is_lost_where_it_fails(
    library: str, tmp_path: Path, taken: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = search(tmp_path / "all", library)
    assert taken["text"]

    def broken(self: Following, run: RunFile, number: int) -> None:
        if number == 2:
            raise ValueError("in the middle of it")

    monkeypatch.setattr(Following, "_await", broken)
    found = search(tmp_path / "again", library)
    assert not any(taken.values())
    assert {what: without_own(text) for what, text in found.items()} == {
        what: without_own(text) for what, text in expected.items()
    }


def test_profiles_of_hmmer2_are_written_afterwards(tmp_path: Path, taken: dict[str, bool]) -> None:
    outputs = search(tmp_path / "all", str(EXAMPLES / "rrm_1.hmm"))
    assert "RRM_1" in outputs["text"].upper()
    assert not any(taken.values())


def test_scans_are_written_afterwards(library: str, tmp_path: Path, taken: dict[str, bool]) -> None:
    words = ["hmmscan", "-q", "--device", "cpu", "-o", str(tmp_path / "text"), library]
    assert main([*words, str(EXAMPLES / "three_proteins.fasta")]) == 0
    assert taken == {"text": False}


def test_each_profile_is_awaited(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    awaited: list[int] = []
    wait = Following._await

    def noted(self: Following, run: RunFile, number: int) -> None:
        wait(self, run, number)
        assert run.best(number) is not None or run.state == "done"
        awaited.append(number)

    monkeypatch.setattr(Following, "_await", noted)
    search(tmp_path / "all", library)
    assert sorted(awaited) == sorted([*range(4)] * len(export_source.FOLLOWED))


@pytest.mark.parametrize("later", ["", "A card"])
def test_a_device_that_comes_later_is_told_of_everywhere(library: str, tmp_path: Path, later: str) -> None:
    """Heads of texts were written when it was not there yet."""
    path = tmp_path / "kept.clalign"
    search(tmp_path / "all", library, "--run", str(path))
    with contextlib.closing(Following(path, {"text": {}})) as following:
        following.look()
        following._threads["text"].join()
        if later:
            with open_run(path, writable=True) as run:
                device = run.facts.device
                run.set_facts(device=replace(device, name=f"{device.name}, {later}"))
        stream = io.StringIO()
        assert following.take("text", stream) is (not later)
        assert bool(stream.getvalue()) is (not later)

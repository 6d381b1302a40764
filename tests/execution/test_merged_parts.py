"""Parts of a search, merged: the run that a search of all sequences makes; what does not belong together is refused."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clalign
from clalign.engines.merging import Merging, merge_runs
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ClalignError, DamagedRun, InputError, OptionError, OutputError
from clalign.jobs import QuietContext
from clalign.runs.run_file import open_run, write_note
from clalign.values.shards import Shard
from clalign.values.specs import Spec

sys.path.insert(0, str(Path(__file__).parent))
from device_runs import Counting, Devices, computed, content, exports, small_units, spec_of

SAMPLE, PROTEINS = (Path(clalign.example(name)) for name in ("swissprot_sample.fasta.gz", "three_proteins.fasta"))

KINDS = ("hmmer2", "hmmer3", "scan2", "scan3", "sw", "adjusted", "fitted", "global")


def asked(kind: str, folder: Path) -> Spec:
    """Return a search of all sequences."""
    spec: Any
    if kind in ("hmmer2", "hmmer3", "sw"):
        return spec_of(kind, folder)
    if kind in ("scan2", "scan3"):
        spec = spec_of(f"hmmer{kind[-1]}", folder)
        return dataclasses.replace(spec, direction="scan")
    if kind == "global":
        spec = spec_of("sw", folder)
        return dataclasses.replace(spec, mode="global", top=4)
    if kind == "adjusted":
        spec = spec_of("sw", folder)
        return dataclasses.replace(spec, composition="scale", top=5)
    return PairwiseSpec(str(PROTEINS), str(SAMPLE), statistics="fitted", top=7)


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Devices:
    return Devices(monkeypatch)


def parts_of(spec: Spec, folder: Path, devices: Devices, n: int = 3) -> list[Path]:
    """Return the runs of all parts."""
    whole: Any = spec
    paths = [folder / f"part{number}.clalign" for number in range(1, n + 1)]
    for number, path in enumerate(paths, 1):
        computed(dataclasses.replace(whole, shard=f"{number}/{n}"), path, devices, ("one",))
    return paths


def merged(paths: list[Path], output: Path, devices: Devices, context: Any = None) -> dict[str, Any]:
    return merge_runs(paths, output, Merging("auto", devices.pick, context or QuietContext()))


@pytest.mark.thorough(kind=["sw"])
@pytest.mark.parametrize("kind", KINDS)
def test_merged_parts_are_the_run_of_the_whole(
    kind: str, tmp_path: Path, devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind != "fitted":  # of so many sequences each would be a unit
        small_units(monkeypatch)
    spec, whole, made = asked(kind, tmp_path), tmp_path / "whole.clalign", tmp_path / "made.clalign"
    computed(spec, whole, devices, ("one",))
    paths = parts_of(spec, tmp_path, devices)
    summary = merged(paths[::-1], made, devices)
    expected, found = content(whole), content(made)
    assert found == expected
    assert any(len(hits) > 2 for hits in expected["hits"])  # as no list is
    assert summary["n_parts"] == 3
    assert exports(made, tmp_path / "made") == exports(whole, tmp_path / "whole")
    with open_run(made) as run:
        assert run.state == "done"
        assert run.facts.shard is None
        assert [Path(one["path"]) for one in run.facts.merged] == paths


def test_parts_have_as_many_residues_each_and_share_none() -> None:
    offsets = np.concatenate([[0], np.cumsum(np.random.default_rng(1).integers(0, 900, 5000))])
    for of in (1, 2, 7, 100):
        rows = [Shard(number, of).rows(offsets) for number in range(1, of + 1)]
        assert [first for first, _ in rows] == [0, *(last for _, last in rows[:-1])]
        assert rows[-1][1] == 5000
        sizes = [int(offsets[last] - offsets[first]) for first, last in rows]
        assert all(abs(size - offsets[-1] / of) <= 900 for size in sizes)  # half of a sequence at each end
    few = np.array([0, 5, 5, 9])
    rows = [Shard(number, 8).rows(few) for number in range(1, 9)]
    assert sorted(row for first, last in rows for row in range(first, last)) == [0, 1, 2]


def test_more_parts_than_sequences_are_merged_all_the_same(tmp_path: Path, devices: Devices) -> None:
    few = tmp_path / "few.fa"
    few.write_text(">a\nMKVLATGHWW\n>b\nMKVATGHKL\n")
    spec = PairwiseSpec(str(few), str(few), evalue=1e6)
    computed(spec, tmp_path / "whole.clalign", devices, ("one",))
    paths = parts_of(spec, tmp_path, devices, 5)
    merged(paths, tmp_path / "made.clalign", devices)
    assert content(tmp_path / "made.clalign") == content(tmp_path / "whole.clalign")


@pytest.mark.thorough
def test_a_part_says_what_it_is(tmp_path: Path, devices: Devices) -> None:
    for kind in ("hmmer2", "hmmer3", "scan2", "scan3", "sw"):
        folder = tmp_path / kind
        folder.mkdir()
        (path,) = parts_of(asked(kind, folder), folder, devices, 1)
        with open_run(path) as run:
            n = run.facts.database.n_sequences
        found = exports(path, folder / "out")
        assert f"part 1 of 1 ({n:,} sequences" in found["text"]
        assert "# partial: yes" in found["text"].splitlines()
        assert "# partial: yes" in found["tsv"].splitlines()


def test_hits_of_a_part_that_wait_for_the_others_are_not_denied(tmp_path: Path, devices: Devices) -> None:
    paths = parts_of(asked("global", tmp_path), tmp_path, devices)
    text = exports(paths[0], tmp_path / "out")["text"]
    assert "parts are merged" in text
    assert "No hits" not in text


def test_notes_of_parts_come_along_and_warnings_of_some(tmp_path: Path, devices: Devices) -> None:
    paths = parts_of(asked("hmmer2", tmp_path), tmp_path, devices)
    with open_run(paths[1], writable=True) as run:
        run.add_message("warning", "The card was hot.")
        row = next(run.hits(0)).row
    write_note(paths[1], 0, row, "seen before")
    merged(paths, tmp_path / "made.clalign", devices)
    with open_run(tmp_path / "made.clalign") as run:
        assert run.notes() == {(0, row): "seen before"}
        assert [text for _, _, text in run.messages()].count("The card was hot.") == 1


def test_a_merge_that_is_stopped_leaves_nothing(tmp_path: Path, devices: Devices) -> None:
    paths = parts_of(asked("sw", tmp_path), tmp_path, devices)

    class Stopping(Counting):
        def progress(self, stage: str, done: float, *more: Any, **facts: Any) -> None:
            if stage == "merge" and done == 2:
                raise OptionError("stopped")

    with pytest.raises(OptionError, match="stopped"):
        merged(paths, tmp_path / "made.clalign", devices, Stopping())
    assert not list(tmp_path.glob("made*"))


class TestRefusals:
    """What cannot be merged is named, and nothing is made."""

    @pytest.fixture
    def parts(self, tmp_path: Path, devices: Devices) -> list[Path]:
        return parts_of(asked("sw", tmp_path), tmp_path, devices)

    def refused(
        self, paths: list[Path], tmp_path: Path, devices: Devices, kind: type[ClalignError] = InputError
    ) -> str:
        with pytest.raises(kind) as caught:
            merged(paths, tmp_path / "made.clalign", devices)
        assert not (tmp_path / "made.clalign").exists()
        return str(caught.value)

    def test_missing_and_repeated_parts(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        text = self.refused([parts[0], parts[2]], tmp_path, devices, OptionError)
        assert "2/3" in text
        assert str(parts[0]) in text
        text = self.refused([*parts, parts[1]], tmp_path, devices)
        assert f"{parts[1]}: " in text
        self.refused([], tmp_path, devices, OptionError)

    def test_the_run_of_all_sequences(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        computed(asked("sw", tmp_path), tmp_path / "all.clalign", devices, ("one",))
        assert "all.clalign: " in self.refused([*parts, tmp_path / "all.clalign"], tmp_path, devices)

    def test_parts_that_are_not_complete(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        with open_run(parts[1], writable=True) as run:
            run.set_facts(state="stopped")
        text = self.refused(parts, tmp_path, devices)
        assert f"clalign resume {parts[1]}" in text

    @pytest.mark.parametrize(
        ("changed", "words"),
        [({"evalue": 3.0}, "-E is 3.0"), ({"matrix": "BLOSUM45"}, "scoring"), ({"shard": "2/4"}, "2 of 4")],
    )
    def test_other_options(
        self, changed: dict[str, Any], words: str, parts: list[Path], tmp_path: Path, devices: Devices
    ) -> None:
        spec: Any = asked("sw", tmp_path)
        other = tmp_path / "other.clalign"
        computed(dataclasses.replace(spec, **{"shard": "2/3", **changed}), other, devices, ("one",))
        text = self.refused([parts[0], other, parts[2]], tmp_path, devices)
        assert words in text
        assert str(other) in text

    def test_other_inputs(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        spec: Any = asked("sw", tmp_path)
        for field, words in (("queries", "other queries"), ("targets", "other sequences to search")):
            changed = tmp_path / f"other_{field}.fa"
            changed.write_text(Path(getattr(spec, field)).read_text().rstrip() + "A\n")
            other = tmp_path / f"{field}.clalign"
            computed(dataclasses.replace(spec, shard="2/3", **{field: str(changed)}), other, devices, ("one",))
            assert words in self.refused([parts[0], other, parts[2]], tmp_path, devices)

    def test_other_versions_and_engines(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        search: Any = asked("hmmer2", tmp_path)
        other = tmp_path / "other.clalign"
        computed(dataclasses.replace(search, shard="2/3"), other, devices, ("one",))
        text = self.refused([parts[0], other, parts[2]], tmp_path, devices)
        assert "clalign hmmsearch" in text
        with open_run(parts[1], writable=True) as run:
            run.set_facts(versions={**run.facts.versions, "clalign": "9.9"})
        assert "clalign 9.9" in self.refused(parts, tmp_path, devices)

    def test_a_part_that_lacks_what_it_says(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        with open_run(parts[1], writable=True) as run, run.transaction():
            run.connection.execute("DELETE FROM batches WHERE query = 1")
        with pytest.raises(DamagedRun, match="part2"):
            merged(parts, tmp_path / "made.clalign", devices)
        assert not (tmp_path / "made.clalign").exists()

    def test_a_file_that_is_there(self, parts: list[Path], tmp_path: Path, devices: Devices) -> None:
        before = parts[0].read_bytes()
        with pytest.raises(OutputError, match="already exists"):
            merged(parts, parts[0], devices)
        assert parts[0].read_bytes() == before


def test_what_is_no_part_is_refused() -> None:
    for text in ("3", "0/3", "4/3", "1/0", "a/b", "1/1000000", "-1/3", ""):
        with pytest.raises(OptionError, match="--shard"):
            Shard.parse(text)
        with pytest.raises(OptionError, match="--shard"):
            SearchSpec("a", "b", shard=text)
    with pytest.raises(OptionError, match="Given pairs"):
        PairwiseSpec("a", "b", in_step=True, shard="1/3")


def test_the_library_searches_parts_and_merges_them(tmp_path: Path) -> None:
    profile, proteins = clalign.example("rrm_1.hmm"), clalign.example("swissprot_sample.fasta.gz")
    with clalign.hmmsearch(profile, proteins) as found:
        expected = [(hit.name, hit.evalue) for hit in found]
    paths = [tmp_path / f"{number}.clalign" for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        clalign.hmmsearch(profile, proteins, path, shard=f"{number}/2").close()
    with clalign.merge(paths, tmp_path / "whole.clalign") as whole:
        assert [(hit.name, hit.evalue) for hit in whole] == expected

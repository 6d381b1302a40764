"""The library: examples of its page, objects and files as input, and what a type checker sees."""

from __future__ import annotations

import doctest
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clalign
from clalign.errors import InputError, OptionError

ROOT = Path(__file__).resolve().parents[2]


def test_examples_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLALIGN_DEVICE", "cpu")
    monkeypatch.chdir(tmp_path)  # where they write files
    result = doctest.testfile(str(ROOT / "docs" / "library.md"), module_relative=False)
    assert result.attempted > 15
    assert result.failed == 0
    assert 'width="120mm"' in (tmp_path / "coverage.svg").read_text()


def test_examples_of_the_functions() -> None:
    from clalign import alignment_api, api

    for module in (api, alignment_api):
        result = doctest.testmod(module)
        assert result.attempted >= 5
        assert result.failed == 0


def test_alignments_are_changed_in_files_and_runs(tmp_path: Path) -> None:
    texts = {"a": "MKVLATGHEWQRIPNDFCYSTAAGKL", "b": "MKVLSTGHDWQKIPNDFCYTAAGK", "c": "KVMATHEWRIPDYFCWSTKAGKL"}
    sequences = [clalign.Sequence.from_text(*one) for one in texts.items()]
    run, file, output = tmp_path / "f.clalign", tmp_path / "f.afa", tmp_path / "out.aln"
    with clalign.align_many(sequences, run, device="reference") as found:
        found.export("fasta", file)
    new = clalign.Sequence.from_text("d", "MKVLATGHEWQRIPNDFCYTAAGKL")
    added = [clalign.add(of, new, device="reference") for of in (run, str(file))]
    assert added[0].names == added[1].names == ["a", "b", "c", "d"]
    assert (added[0].cells == added[1].cells).all()
    made = clalign.realign(file, range(3, 9), output, refinement=0, device="reference")
    assert output.read_text().startswith("CLUSTAL")
    assert made.cells[0].tobytes().replace(b"-", b"").decode() == texts["a"]
    assert clalign.accuracy(output, file).n_characters == 2 * sum(map(len, texts.values()))
    assert clalign.tree(run, "posterior").distances.shape == (3, 3)
    with pytest.raises(OptionError, match="Did you mean gap_factor"):
        clalign.realign(file, range(3), gapfactor=2)
    with pytest.raises(OptionError, match="columns"):
        clalign.realign(file, range(20, 900), device="reference")
    with pytest.raises(InputError):
        clalign.tree(tmp_path / "nothing.afa")


def test_files_and_objects_give_the_same() -> None:
    queries = clalign.example("three_proteins.fasta")
    text = Path(queries).read_text()
    database, _ = clalign.load_database(queries)
    some = [database[int(row)] for row in np.argsort(database.order)]
    found = []
    for given in (queries, Path(queries), io.StringIO(text), io.BytesIO(text.encode()), database, some):
        with clalign.sw(given, queries, device="reference") as results:
            found.append([(hit.query, hit.name, hit.raw, hit.evalue) for hit in results])
    assert found[0]
    assert all(other == found[0] for other in found)


def test_profiles_in_memory_give_the_same(tmp_path: Path) -> None:
    profiles, targets = clalign.example("globins4.hmm"), clalign.example("three_proteins.fasta")
    (hmm,) = clalign.load_profiles(profiles)
    tables = []
    for given in (profiles, hmm, [hmm], iter([hmm])):
        with clalign.hmmsearch(given, targets, device="reference", without_filters=True, evalue=1e3) as found:
            tables.append(found.table())
            if given is hmm:
                found.save(tmp_path / "kept.clalign")
                with pytest.raises(InputError, match="exists already"):
                    found.save(tmp_path / "kept.clalign")
    for table in tables[1:]:
        assert len(table) == len(tables[0]) > 0
        assert all((a == b).all() for a, b in zip(table.to_dict().values(), tables[0].to_dict().values(), strict=True))
    with clalign.open_run(tmp_path / "kept.clalign") as kept:
        assert len(kept) == len(tables[0])
        assert kept.export("tsv", tmp_path / "hits.tsv") == len(kept)


def test_a_kept_run_is_continued_by_the_same_call_and_refused_to_another(tmp_path: Path) -> None:
    profiles, targets, run = clalign.example("motif.hmm"), clalign.example("motif.fasta"), tmp_path / "a.clalign"
    with clalign.hmmsearch(profiles, targets, run=run, device="reference") as found:
        before = [hit.name for hit in found]
        created = found.run.fact("created")
    with clalign.hmmsearch(profiles, targets, run=run, device="reference") as again:
        assert [hit.name for hit in again] == before
        assert again.run.fact("created") == created
    with pytest.raises(OptionError, match="run of another search"):
        clalign.hmmsearch(profiles, targets, run=run, device="reference", evalue=1e-3)


def test_what_is_not_known_is_named() -> None:
    targets = clalign.example("three_proteins.fasta")
    with pytest.raises(OptionError, match="hmmsearch has no option evalu"):
        clalign.hmmsearch(clalign.example("motif.hmm"), targets, evalu=1.0)
    with pytest.raises(TypeError, match="targets holds a int"):
        clalign.sw(targets, [1])
    with clalign.sw(targets, targets, device="reference", top=1) as found:
        with pytest.raises(KeyError):
            next(found.hits("nobody"))
        with pytest.raises(IndexError):
            found.table(3)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    targets = clalign.example("three_proteins.fasta")
    with clalign.sw(targets, targets, device="reference"):
        assert any(tmp_path.iterdir())
    assert not any(tmp_path.iterdir())
    with pytest.raises(InputError):
        clalign.sw(targets, tmp_path / "nothing.fasta", device="reference")
    assert not any(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_type_checker_sees_the_library(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(
        "import clalign\n"
        "with clalign.hmmsearch('a.hmm', 'b.fa', evalue=1e-5) as found:\n"
        "    names: list[str] = [hit.name for hit in found]\n"
        "    best = found.table().score.max()\n"
    )
    (tmp_path / "bad.py").write_text("import clalign\nclalign.no_such_thing\nclalign.hmmsearch('a.hmm', 3)\n")
    files = [str(tmp_path / name) for name in ("good.py", "bad.py")]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "good.py" not in done.stdout
    assert 'has no attribute "no_such_thing"' in done.stdout
    assert 'Argument 2 to "hmmsearch"' in done.stdout

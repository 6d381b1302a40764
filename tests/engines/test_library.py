"""The library: examples of its page, objects and files as input, and what a type checker sees."""

from __future__ import annotations

import doctest
import gc
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clalign
from clalign.api_inputs import Taken, inputs_named
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
    with pytest.raises(OptionError, match="gap_factor"):
        clalign.realign(file, range(3), gapfactor=2)
    with pytest.raises(OptionError, match="columns"):
        clalign.realign(file, range(20, 900), device="reference")
    with pytest.raises(InputError):
        clalign.tree(tmp_path / "nothing.afa")


@pytest.mark.thorough
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
    profiles, targets = clalign.example("motif.hmm"), clalign.example("motif.fasta")
    (hmm,) = clalign.load_profiles(profiles)
    tables = []
    for given in (profiles, hmm, [hmm], iter([hmm])):
        with clalign.hmmsearch(given, targets, device="reference", without_filters=True, evalue=1e3) as found:
            tables.append(found.table())
            if given is hmm:
                found.save(tmp_path / "kept.clalign")
                with pytest.raises(InputError, match=r"kept\.clalign"):
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
        created = found.run.facts.created
    with clalign.hmmsearch(profiles, targets, run=run, device="reference") as again:
        assert [hit.name for hit in again] == before
        assert again.run.facts.created == created
    with pytest.raises(OptionError, match=run.name):
        clalign.hmmsearch(profiles, targets, run=run, device="reference", evalue=1e-3)


def test_what_is_not_known_is_named() -> None:
    targets = clalign.example("three_proteins.fasta")
    with pytest.raises(OptionError, match=r"\bevalu\b"):
        clalign.hmmsearch(clalign.example("motif.hmm"), targets, evalu=1.0)
    with pytest.raises(TypeError, match=r"targets .*\bint\b"):
        clalign.sw(targets, [1])
    with clalign.sw(targets, targets, device="reference", top=1) as found:
        with pytest.raises(KeyError):
            next(found.hits("nobody"))
        with pytest.raises(IndexError):
            found.table(3)


QUERY = clalign.Sequence.from_text("q", "MKVLAARTEWYGHHKLMNPQRSTVWY")


@pytest.mark.parametrize("where", ["reference", "cpu"])
def test_results_may_be_used_by_any_thread(where: str) -> None:
    def make() -> clalign.Results:
        return clalign.sw(QUERY, QUERY, device=where)

    def use(found: clalign.Results) -> tuple[str, list[str], int, int]:
        shown = repr(found), [hit.name for hit in found], len(found.queries), int(found.scores()[0])
        found.close()
        return shown

    with ThreadPoolExecutor(1) as pool:
        here, there = use(pool.submit(make).result(timeout=120)), pool.submit(use, make()).result(timeout=120)
    assert here == there
    assert here[1:3] == (["q"], 1)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems spawn processes")
def test_a_fork_behind_a_used_device_is_refused_and_has_the_reference() -> None:
    script = (
        "import multiprocessing, clalign\n"
        "from clalign.errors import DeviceError\n"
        "query = clalign.Sequence.from_text('q', 'MKVLAARTEWYG')\n"
        "def search(device):\n"
        "    try:\n"
        "        with clalign.sw(query, query, device=device) as found:\n"
        "            return len(found)\n"
        "    except DeviceError as error:\n"
        "        return 'spawn' in error.hint\n"
        "assert search('cpu') == 1\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "    print(*[pool.apply_async(search, (device,)).get(60) for device in ('reference', 'cpu', 'auto')])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout.split() == ["1", "True", "True"], done.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"evalue": "small"}, "evalue"), ({"evalue": None}, "evalue"), ({"top": 3.5}, "top"), ({"top": True}, "top"),
        ({"strand": "x"}, "strand"), ({"mode": "x"}, "mode"), ({"matrix": 3}, "matrix"), ({"device": None}, "device"),
        ({"device": [3]}, "device"), ({"run": 5}, "run"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError) as caught:
        clalign.sw(QUERY, QUERY, **{"device": "reference", **options})
    assert named in caught.value.message
    assert caught.value.hint


def test_numbers_of_numpy_and_paths_are_taken(tmp_path: Path) -> None:
    options: dict[str, Any] = {"evalue": np.float32(5), "top": np.int64(3), "run": tmp_path / "a.clalign"}
    with clalign.sw(QUERY, QUERY, device="reference", **options) as found:
        assert len(found) == 1
        assert len(found.scores(np.int64(0))) == 1


@pytest.mark.parametrize("value", [object(), None, 3, b"q", [3], "", "a\0b"])
def test_what_is_no_input_is_refused(value: Any) -> None:
    for call in (clalign.hmmsearch, clalign.hmmscan, clalign.sw):
        with pytest.raises(OptionError):
            call(value, QUERY, device="reference")
        with pytest.raises(OptionError):
            call(clalign.example("motif.hmm"), value, device="reference")


@pytest.mark.parametrize(
    "call",
    [
        lambda: clalign.load_database(3), lambda: clalign.load_profiles(b"x"), lambda: clalign.read_overview(None),
        lambda: clalign.read_architectures(""), lambda: clalign.read_hit_alignment(3, 0),
        lambda: clalign.open_run(3), lambda: clalign.export(3, "tsv", "x"), lambda: clalign.merge(3, "x"),
        lambda: clalign.tree(3), lambda: clalign.accuracy(3, 3), lambda: clalign.add(3, QUERY),
        lambda: clalign.calibrate(3), lambda: clalign.calibrate("x", n="many"), lambda: clalign.hmmbuild(3),
        lambda: clalign.hmmbuild("x", symfrac="a"), lambda: clalign.align("MKV", None), lambda: clalign.example("none"),
        lambda: clalign.align_many(3), lambda: clalign.align_many([QUERY], gap_factor="x"),
    ],
)  # fmt: skip
def test_other_functions_refuse_such_values_as_well(call: Any) -> None:
    with pytest.raises(OptionError):
        call()


@pytest.mark.parametrize("query", ["nobody", 7, -1, None, 1.5, True, b"q"])
def test_a_query_that_a_run_lacks_is_refused(query: Any) -> None:
    with clalign.sw(QUERY, QUERY, device="reference") as found, pytest.raises(OptionError):
        found.scores(query)


@pytest.mark.parametrize("text", ["MKV1 3", "MKV1", "3", "M{V", "MKV\u00e9", "MK\u03b1"])
def test_letters_that_are_no_residues_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        clalign.Sequence.from_text("q", text)
    assert clalign.Sequence.from_text("q", " mk-v*\n\tw ").text == "MK-V*W"


def test_errors_name_inputs_in_memory_and_not_their_copies() -> None:
    for given in ([], [QUERY, QUERY], io.StringIO("no sequences")):
        with pytest.raises(InputError) as caught:
            clalign.align_many(given, device="reference")
        assert caught.value.path == "sequences"
        assert "clalign-" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        clalign.hmmsearch(io.StringIO("no profiles"), QUERY, device="reference")
    assert caught.value.path == "profiles"


def test_a_line_of_a_copy_is_reported_as_its_sequence() -> None:
    copy = Taken("/copies/targets", name="targets", starts=[1, 3, 6])
    assert [copy.place(line)[0] for line in (1, 2, 3, 5, 6, 9)] == [
        f"sequence {n} of targets" for n in (1, 1, 2, 2, 3, 3)
    ]
    with pytest.raises(InputError) as caught, inputs_named([copy]):
        raise InputError("/copies/targets", "made up.", "See /copies/targets.", 5)
    assert (caught.value.path, caught.value.line) == ("sequence 2 of targets", None)
    assert caught.value.hint == "See targets."
    with pytest.raises(InputError) as caught, inputs_named([Taken("-", [], "profiles")]):
        raise InputError("-", "made up - so.")
    assert (caught.value.path, caught.value.reason) == ("profiles", "made up - so.")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    targets = clalign.example("three_proteins.fasta")
    with clalign.sw(targets, targets, device="reference"):
        assert any(tmp_path.iterdir())
    assert not any(tmp_path.iterdir())
    with pytest.raises(InputError):
        clalign.sw(targets, tmp_path / "nothing.fasta", device="reference")
    assert not any(tmp_path.iterdir())


def test_what_is_never_closed_goes_when_nobody_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hits = iter(clalign.sw(QUERY, QUERY, device="reference"))
    assert any(tmp_path.iterdir())
    assert next(hits).name == QUERY.name
    del hits
    gc.collect()
    assert not any(tmp_path.iterdir())


def test_what_is_never_closed_goes_with_the_process(tmp_path: Path) -> None:
    text = "import clalign\none = clalign.Sequence.from_text('a', 'MKVLATGHEWQRIPNDFCYSTAAGKL')\n"
    calls = "found = clalign.sw(one, one, device='reference')", "rounds = clalign.jackhmmer(one, one, iterations=1)"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for call in calls:
        subprocess.run([sys.executable, "-c", f"{text}{call}\n"], env=environment, check=True)
        assert [path.name for path in tmp_path.rglob("*")] == []


@pytest.mark.parametrize("kind", [str, Path])
def test_functions_that_read_take_paths(tmp_path: Path, kind: type[str] | type[Path]) -> None:
    targets, profiles = (kind(clalign.example(name)) for name in ("three_proteins.fasta", "rrm_1.hmm"))
    path, clans = kind(tmp_path / "a b.clalign"), kind(tmp_path / "clans.tsv")
    Path(clans).write_text("PF00001\tCL1\tone\tmotif\tno words\n")
    clalign.hmmsearch(profiles, targets, path, device="reference").close()
    assert len(clalign.load_database(targets)[0]) == 3
    assert [hmm.name for hmm in clalign.load_profiles(profiles)] == ["RRM_1"]
    assert clalign.read_architectures(path, "clans", clans)[1:] == ("clans", str(clans))
    assert clalign.read_overview(path).lines[0].name == "RRM_1"
    assert clalign.read_hit_alignment(path, 0)[0].n_columns >= 0


@pytest.mark.thorough
def test_a_type_checker_sees_the_library(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(
        "import clalign\n"
        "with clalign.hmmsearch('a.hmm', 'b.fa', evalue=1e-5) as found:\n"
        "    names: list[str] = [hit.name for hit in found]\n"
        "    best = found.table().score.max()\n"
    )
    (tmp_path / "bad.py").write_text("import clalign\nclalign.no_such_thing\nclalign.hmmsearch('a.hmm', 3)\n")
    # As where it is installed: what stands within its functions is not looked at, which would take most of the time.
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n[mypy-clalign.*]\nignore_errors = true\n")
    files = [str(tmp_path / name) for name in ("good.py", "bad.py")]
    places = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *places, *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "good.py" not in done.stdout
    assert 'has no attribute "no_such_thing"' in done.stdout
    assert 'Argument 2 to "hmmsearch"' in done.stdout

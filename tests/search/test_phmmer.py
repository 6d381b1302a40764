"""``clalign phmmer``: the hits of phmmer 3.3.2, and what can be done with such a run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import clalign
from clalign.cli import main
from clalign.engines.plan7.inputs import load_queries
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import Cancelled, ExitCode, InputError, OptionError
from clalign.jobs import QuietContext
from clalign.runs.run_file import open_run
from clalign.values.devices import REFERENCE

pytestmark = pytest.mark.usefixtures("worker_here")

QUICK = {"msv_n": 2, "viterbi_n": 2, "forward_n": 2}
"""Few random sequences: the reference is slow."""

OPTIONS = (
    "",
    "--mx BLOSUM45 --popen 0.01 --pextend 0.5",
    "--max -E 1 --nonull2 --notextw",
    "-T 30 --EmN 50 --EfL 80 --seed 9",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Sequences to search, and three of them as queries, one with letters that stand for several residues."""
    folder = tmp_path_factory.mktemp("phmmer")
    sample = list(clalign.load_database(clalign.example("swissprot_sample.fasta.gz"))[0])
    chosen = sorted(sample, key=lambda one: len(one.text))[100:103]
    texts = [one.text for one in chosen]
    texts[2] = f"XB{texts[2][2:]}"
    targets, queries = folder / "targets.fasta", folder / "queries.fasta"
    targets.write_text("".join(f">{one.name} {one.description}\n{one.text}\n" for one in sample[:400] + chosen))
    queries.write_text("".join(f">q{number} some words\n{text}\n" for number, text in enumerate(texts)) + ">empty\n")
    return {"targets": targets, "queries": queries}


def lines_of(path: Path) -> list[str]:
    """Return the words of an output's lines but those that name programs, files and times.

    Columns are not compared: HMMER makes them as wide as names of sequences need that it does not report in the end.
    """
    return [" ".join(line.split()) for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]


@pytest.mark.parametrize("command", ["phmmer", "jackhmmer"])
@pytest.mark.parametrize("text", ["MK\u00f1VLAAGIVLA", "MK-VLAAGIVLA", "MK?VLAAGIVLA"])
def test_a_query_has_no_characters_that_hmmer_refuses(
    files: dict[str, Path], tmp_path: Path, command: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = tmp_path / "q.fasta"
    query.write_text(f">a\nMKVLAAGIVLA\n>b\n{text}\n")
    assert main([command, "-q", "-o", str(tmp_path / "x.txt"), str(query), str(files["targets"])]) == (
        ExitCode.UNREADABLE
    )
    assert 'line 4: the record "b"' in capsys.readouterr().err
    query.write_text(">a\n1 MKVLAAGIVLA 11\n")
    assert main([command, "-o", str(tmp_path / "x.txt"), str(query), str(files["targets"])]) == ExitCode.DONE
    assert f"{query}, line 2: " in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("phmmer") is None, reason="phmmer 3 is not installed")
@pytest.mark.parametrize("options", OPTIONS)
def test_equals_phmmer(files: dict[str, Path], tmp_path: Path, options: str) -> None:
    names = {"-o": "txt", "--tblout": "tbl", "--domtblout": "dom", "--pfamtblout": "pfam"}

    def words(side: str) -> list[str]:
        outputs = [word for flag, end in names.items() for word in (flag, str(tmp_path / f"{side}.{end}"))]
        return [*options.split(), *outputs, str(files["queries"]), str(files["targets"])]

    subprocess.run(["phmmer", "--cpu", "0", *words("theirs")], check=True)
    assert main(["phmmer", "-q", *words("ours")]) == 0
    for end in names.values():
        assert lines_of(tmp_path / f"ours.{end}") == lines_of(tmp_path / f"theirs.{end}"), end
    assert len(lines_of(tmp_path / "ours.tbl")) >= 3


@pytest.mark.thorough
def test_a_run_is_verified_explained_and_continued(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.clalign"
    options = {"device": "reference", **QUICK}
    few = tmp_path / "few.fasta"
    few.write_text("".join(files["targets"].read_text().splitlines(keepends=True)[:20]) + ">t\nMKVLAAGIVGLLLAQWER\n")
    queries = [
        clalign.Sequence.from_text("one", "MKVLAAGIVGLLLAQWER"),
        clalign.Sequence.from_text("two", "ACDEFGHIKLMN"),
    ]
    with clalign.phmmer(queries, few, path, **options) as found:
        assert [[hit.name for hit in found.hits(query.name)] for query in found.queries] == [["t"], []]
    (tmp_path / "q.fasta").write_text("".join(f">{one.name}\n{one.text}\n" for one in queries))
    kept = tmp_path / "y.clalign"
    with clalign.phmmer(tmp_path / "q.fasta", few, kept, **options):
        pass
    assert main(["verify", "-q", "--device", "reference", str(kept)]) == 0
    assert main(["explain", "-q", "--device", "reference", "--profile", "one", str(kept), "t"]) == 0
    assert main(["resume", "-q", "--device", "reference", str(kept)]) == 0
    with open_run(kept) as run:
        assert run.state == "done"
    (tmp_path / "q.fasta").write_text(">other\nMKVLAAGIVGLLLAQWER\n")
    assert main(["verify", "-q", "--device", "reference", str(kept)]) != 0


def test_a_seed_that_is_left_to_chance_is_drawn_once_for_a_run(files: dict[str, Path], tmp_path: Path) -> None:
    few, query, kept = tmp_path / "few.fasta", tmp_path / "q.fasta", tmp_path / "x.clalign"
    few.write_text("".join(files["targets"].read_text().splitlines(keepends=True)[:20]))
    query.write_text(">one\nMKVLAAGIVGLLLAQWER\n")
    seeds = []
    for _ in range(2):
        with clalign.phmmer(query, few, kept, device="reference", seed=0, **QUICK):
            pass
        with open_run(kept) as run:
            seeds.append(run.spec(SearchSpec).seed)
    assert seeds[0] == seeds[1] > 0, "the same call continues the run"


def test_queries_without_residues_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "q.fasta").write_text(">a\n>b\n")
    with pytest.raises(InputError):
        clalign.phmmer(tmp_path / "q.fasta", files["targets"], device="reference", **QUICK)


def test_options_of_other_commands_are_refused(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    both = str(files["queries"]), str(files["targets"])
    assert main(["phmmer", "--cut_ga", *both]) == ExitCode.USAGE
    assert main(["hmmsearch", "--popen", "0.1", *both]) == ExitCode.USAGE
    for search, options in (
        (clalign.phmmer, {"cutoff": "ga"}), (clalign.phmmer, {"compute_composition": True}),
        (clalign.hmmsearch, {"popen": 0.1}), (clalign.hmmscan, {"query_format": "fasta"}),
        (clalign.hmmsearch, {"direction": "scan"}),
    ):  # fmt: skip
        with pytest.raises(OptionError):
            search(*both, device="reference", **options)


def test_the_text_names_queries_and_matrix_as_phmmer_does(files: dict[str, Path], tmp_path: Path) -> None:
    options = ["--mx", "BLOSUM45", "--popen", "0.03", "--EmL", "150", "--Eft", "0.05", "-Z", "9"]
    words, out = [*options, str(files["queries"]), str(files["targets"])], tmp_path / "ours.txt"
    assert main(["phmmer", "-q", "-o", str(out), *words]) == 0
    head = [line for line in out.read_text().split("\n\n")[0].splitlines() if ": " in line or "::" in line]
    ours = [line for line in head if not line.startswith(("# device", "# command", "# date", "# SHA"))]
    assert ours[0] == "# clalign phmmer :: search a protein sequence against a protein database"
    assert ours[1] == f"# query sequence file:             {files['queries']}"
    assert "# subst score matrix (built-in):   BLOSUM45" in ours
    if program := shutil.which("phmmer"):
        found = subprocess.run([program, "--cpu", "0", *words], check=True, capture_output=True, text=True).stdout
        theirs = [line for line in found.split("\n\n")[0].splitlines() if ": " in line]
        assert ours[1:] == [line for line in theirs if "worker threads" not in line and "::" not in line]


def test_progress_is_reported_while_queries_get_profiles(files: dict[str, Path]) -> None:
    messages, asked = [], []

    class Context(QuietContext):
        def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
            messages.append((stage, done, total, unit))

        def check(self) -> None:
            asked.append(len(messages))
            if ("profiles", 2, 3, "queries") in messages:
                raise Cancelled

    spec = SearchSpec(str(files["queries"]), "", direction="sequence", seed=5, **QUICK)
    with pytest.raises(Cancelled):
        load_queries(spec, lambda words: REFERENCE, Context())
    assert [one[1:] for one in messages if one[0] == "profiles"] == [
        (0, 3, "queries"),
        (1, 3, "queries"),
        (2, 3, "queries"),
    ]
    profiles, _ = load_queries(spec, lambda words: REFERENCE, QuietContext())
    assert [hmm.name for hmm in profiles] == ["q0", "q1", "q2"]
    again, _ = load_queries(spec, lambda words: pytest.fail("they were made again"), QuietContext())
    assert all((one.match == other.match).all() for one, other in zip(again, profiles, strict=True))


def test_a_matrix_from_a_file_belongs_to_the_run(files: dict[str, Path], tmp_path: Path) -> None:
    letters = "ACDEFGHIKLMNPQRSTVWY"

    def write(match: int) -> None:
        rows = [[str(match if a == b else -2) for b in letters] for a in letters]
        lines = [
            " ".join(["  ", *letters]),
            *(f"{letter} {' '.join(row)}" for letter, row in zip(letters, rows, strict=True)),
        ]
        (tmp_path / "m.mat").write_text("\n".join(lines) + "\n")

    write(5)
    few, kept = tmp_path / "few.fasta", tmp_path / "x.clalign"
    few.write_text(">t\nMKVLAAGIVGLLLAQWER\n")
    options = {"device": "reference", "matrix": str(tmp_path / "m.mat"), **QUICK}
    with clalign.phmmer(few, few, kept, **options) as found:
        first = next(iter(found)).score
    words = ["phmmer", "-q", "--mxfile", str(tmp_path / "m.mat"), str(few), str(few)]
    assert main([*words, "-o", str(tmp_path / "m.mat")]) == ExitCode.INPUT
    write(7)
    assert main(["verify", "-q", "--device", "reference", str(kept)]) == ExitCode.UNREADABLE
    with clalign.phmmer(few, few, **options) as found:
        assert next(iter(found)).score != first

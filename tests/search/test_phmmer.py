"""``clalign phmmer``: the hits of phmmer 3.3.2, and what can be done with such a run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import clalign
from clalign.cli import main
from clalign.errors import ExitCode, InputError
from clalign.runs.run_file import open_run

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


def test_queries_without_residues_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "q.fasta").write_text(">a\n>b\n")
    with pytest.raises(InputError):
        clalign.phmmer(tmp_path / "q.fasta", files["targets"], device="reference", **QUICK)


def test_options_of_other_commands_are_refused(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    both = str(files["queries"]), str(files["targets"])
    assert main(["phmmer", "--cut_ga", *both]) == ExitCode.USAGE
    assert main(["hmmsearch", "--popen", "0.1", *both]) == ExitCode.USAGE


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

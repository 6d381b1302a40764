"""``--max-hits``: outputs with the first hits of each query, which are the first lines of the outputs of all."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.errors import ExitCode

pytestmark = pytest.mark.usefixtures("worker_here")

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
SAMPLE = str(EXAMPLES / "swissprot_sample.fasta.gz")

FILES = {"-o": "txt", "--tblout": "tbl", "--domtblout": "dom", "--pfamtblout": "pfam", "--tsv": "tsv", "--json": "json",
         "--domtsv": "dom.tsv", "--fasta": "fasta", "-A": "sto", "--gff": "gff"}  # fmt: skip

SAID = "at most the first 2 of each query"

MOST = 2


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "library.hmm"
    path.write_text("".join((EXAMPLES / name).read_text() for name in ("rrm_1_hmmer3.hmm", "globins4.hmm")))
    return path


def outputs(folder: Path, *words: str) -> dict[str, list[str]]:
    folder.mkdir()
    places = {flag: folder / f"x.{end}" for flag, end in FILES.items()}
    flags = [word for flag, place in places.items() for word in (flag, str(place))]
    assert main([words[0], "-q", *flags, *words[1:]]) == 0
    return {flag: place.read_text().splitlines() for flag, place in places.items()}


def of_queries(lines: list[str], column: int) -> dict[str, list[str]]:
    """Return the lines of a table by the name in a column."""
    rows = [line for line in lines if line and line[0] != "#"]
    rows.sort(key=lambda line: line.split()[column])
    return {name: list(some) for name, some in itertools.groupby(rows, key=lambda line: line.split()[column])}


@pytest.mark.thorough(words=[("hmmsearch", "-E", "1000")])
@pytest.mark.parametrize("words", [("hmmsearch", "-E", "1000"), ("hmmscan", "-E", "1000")])
def test_tables_begin_as_those_of_all(words: tuple[str, ...], library: Path, tmp_path: Path) -> None:
    given = *words, str(library), SAMPLE
    every, first = outputs(tmp_path / "all", *given), outputs(tmp_path / "first", *given, "--max-hits", str(MOST))
    all_hits, hits = (of_queries(one["--tblout"], 2) for one in (every, first))
    assert hits == {name: lines[:MOST] for name, lines in all_hits.items()}
    assert max(map(len, all_hits.values())) > MOST or words[0] == "hmmscan"
    names = {(line.split()[2], line.split()[0]) for lines in hits.values() for line in lines}
    all_domains, domains = (of_queries(one["--domtblout"], 3) for one in (every, first))
    assert domains == {
        name: [line for line in lines if (name, line.split()[0]) in names] for name, lines in all_domains.items()
    }
    n = len(names)
    assert n == len(hits) * MOST or words[0] == "hmmscan"
    assert len(first["--tsv"]) == n + 1
    assert len(first["--json"]) == n
    found = {tuple(line.split("\t")[:2]) for line in first["--tsv"][1:]}
    assert found <= names | {(target, query) for query, target in names}
    for flag in ("-o", "--tblout", "--domtblout", "--gff"):
        assert any(SAID in line for line in first[flag]), flag
        assert not any(SAID in line for line in every[flag]), flag


def test_text_begins_as_that_of_all(library: Path, tmp_path: Path) -> None:
    given = "hmmsearch", "-E", "1000", "--domE", "1000", str(EXAMPLES / "rrm_1_hmmer3.hmm"), SAMPLE
    every, first = outputs(tmp_path / "all", *given), outputs(tmp_path / "first", *given, "--max-hits", str(MOST))

    def listed(lines: list[str]) -> list[str]:
        start = next(place for place, line in enumerate(lines) if line.startswith("    ------- ------"))
        end = lines.index("", start)
        return [line for line in lines[start + 1 : end] if "inclusion threshold" not in line]

    def statistics(lines: list[str]) -> list[str]:
        start = lines.index("Internal pipeline statistics summary:")
        return [line for line in lines[start:] if not line.startswith("# ")]

    assert listed(first["-o"]) == listed(every["-o"])[:MOST]
    assert statistics(first["-o"]) == statistics(every["-o"])
    assert sum(line.startswith(">>") for line in first["-o"]) == MOST
    assert sum(line.startswith(">") for line in first["--fasta"]) == MOST


def test_exports_of_a_run_take_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "x.clalign")
    files = str(EXAMPLES / "rrm_1_hmmer3.hmm"), SAMPLE
    assert main(["hmmsearch", "-q", "-o", str(tmp_path / "x"), "--run", run, *files]) == 0
    capsys.readouterr()
    assert main(["export", run, "--tblout", "-", "--max-hits", "3"]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line[0] != "#"]) == 3
    assert main(["hmmsearch", "--max-hits", "x", *files]) == ExitCode.USAGE
    assert main(["sw", "--max-hits", "3", *files]) == ExitCode.USAGE

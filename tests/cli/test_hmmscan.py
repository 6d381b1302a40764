"""``clalign hmmscan`` from end to end: profiles are the targets, sequences the queries."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.engines.plan7.columns import TABLES
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run

pytestmark = pytest.mark.usefixtures("worker_here")

GOLDEN = Path(__file__).parents[1] / "golden"
FAMILIES = ("globins_ls", "rrm_ls", "thioesterase")
SEQUENCES = str(GOLDEN / "sequences" / "built.fa")


@pytest.fixture
def library(tmp_path: Path) -> str:
    path = tmp_path / "families.hmm"
    path.write_text("".join((GOLDEN / "profiles" / f"{name}.hmm").read_text() for name in FAMILIES))
    return str(path)


def scan(*words: str) -> int:
    return main(["hmmscan", "-q", "--device", "cpu", *words])


def test_every_output(library: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {
        "-o": "a.txt", "--tblout": "b.tbl", "--domtblout": "c.tbl", "--tsv": "d.tsv", "--domtsv": "e.tsv",
        "-A": "f.sto", "--fasta": "g.fa", "--run": "h.clalign",
    }  # fmt: skip
    words = [word for flag, name in flags.items() for word in (flag, str(tmp_path / name))]
    assert scan(*words, "-E", "1e-5", library, SEQUENCES) == 0
    assert capsys.readouterr().out == ""
    table = (tmp_path / "b.tbl").read_text().splitlines()
    rows = [line.split() for line in table if not line.startswith("#")]
    assert {row[0] for row in rows} == {"globins_ls", "rrm_ls"}
    assert {row[2] for row in rows} >= {"both_families", "globin0", "tandem"}
    assert "# Program:         clalign hmmscan" in table
    assert "# Pipeline mode:   SCAN" in table
    assert "clalign hmmscan" in next(line for line in table if line.startswith("# Option settings"))
    both = [row[0] for row in rows if row[2] == "both_families"]
    assert len(both) == 2, "both profiles of a sequence stand together"
    assert [row[2] for row in rows] == [row[0] for row in tsv(tmp_path / "d.tsv")]
    assert [row[0] for row in rows] == [row[1] for row in tsv(tmp_path / "d.tsv")]
    assert (tmp_path / "f.sto").read_text().count("# STOCKHOLM 1.0") == 2
    assert (tmp_path / "g.fa").read_text().count(">both_families") == 1


def tsv(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]


def test_lengths_are_those_of_their_columns(library: str, tmp_path: Path) -> None:
    table = tmp_path / "c.tbl"
    assert scan("--domtblout", str(table), "-o", str(tmp_path / "a.txt"), "-E", "1e-5", library, SEQUENCES) == 0
    sequences = {
        part.split()[0]: sum(map(len, part.split("\n")[1:])) for part in Path(SEQUENCES).read_text().split(">")[1:]
    }
    profiles = {"globins_ls": 150, "rrm_ls": 74}
    rows = [line.split() for line in table.read_text().splitlines() if not line.startswith("#")]
    assert len(rows) > 12
    for row in rows:
        assert int(row[2]) == profiles[row[0]]
        assert int(row[5]) == sequences[row[3]]
        assert int(row[16]) <= profiles[row[0]]
        assert int(row[18]) <= sequences[row[3]]


def test_text_by_sequence(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert scan("-E", "1e-5", library, SEQUENCES) == 0
    text = capsys.readouterr().out
    part = text.split("Query sequence: both_families")[1].split("\n//")[0]
    starts = [int(line.split()[2]) for line in part.splitlines() if "/" in line and line[:7] in ("globins", "rrm_ls ")]
    assert starts == sorted(starts)
    assert len(starts) == 3
    assert "globins_ls: domain 1 of 2, from" in part
    assert "Profiles for E-values:      3" in text
    assert text.rstrip().endswith("# [ok]")
    assert text.count("\n//\n") == text.count("Query sequence:")


def test_profiles_of_one_evalue_stand_in_the_order_of_the_library(
    library: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As hmmpfam has it: those that are not calibrated have an E-value of 1 below a score of about -53."""
    profiles = re.sub(r"^EVD .*\n", "", Path(library).read_text(), flags=re.M)
    path, target = tmp_path / "uncalibrated.hmm", tmp_path / "t.fa"
    path.write_text(profiles)
    target.write_text(">t\nMKVLAARTEWYGHHKLMN\n")
    assert scan("-Z", "1", "-E", "10", "--alphabet", "amino", str(path), str(target)) == 0
    table = capsys.readouterr().out.split("Parsed for domains:")[0]
    rows = [line.split() for line in table.splitlines() if line.startswith(FAMILIES)]
    names, scores, evalues = zip(*((row[0], float(row[-3]), row[-2]) for row in rows), strict=True)
    assert set(evalues) == {"1"}
    assert list(names) == [name for name in FAMILIES if name in names]
    assert list(scores) != sorted(scores, reverse=True), "else the order by scores is the same"


def test_evalues_count_profiles(library: str, tmp_path: Path) -> None:
    alone = str(GOLDEN / "profiles" / "globins_ls.hmm")
    evalues = {}
    for name, profiles, more in (("one", alone, ()), ("three", library, ()), ("given", library, ("-Z", "600"))):
        path = tmp_path / f"{name}.tsv"
        assert scan("--tsv", str(path), "-o", str(tmp_path / "a.txt"), "-E", "1e-9", *more, profiles, SEQUENCES) == 0
        row = next(row for row in tsv(path) if row[:2] == ["globin0", "globins_ls"])
        evalues[name] = float(row[[column.file for column in TABLES["hits"]].index("evalue")])
    assert evalues["three"] == pytest.approx(3 * evalues["one"], rel=1e-5)
    assert evalues["given"] == pytest.approx(600 * evalues["one"], rel=1e-5)


def test_nothing_found(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert scan("-T", "100000", library, SEQUENCES) == 0
    text = capsys.readouterr().out
    assert text.count("Query sequence:") == Path(SEQUENCES).read_text().count(">")
    assert text.count("[no hits above thresholds]") == 3 * text.count("Query sequence:")
    assert "Sequences with a match:     0" in text


@pytest.mark.thorough
def test_the_run_says_what_it_is_and_can_be_verified(library: str, tmp_path: Path) -> None:
    run = tmp_path / "scan.clalign"
    assert scan("--run", str(run), "-o", str(tmp_path / "a.txt"), library, SEQUENCES) == 0
    with open_run(run) as kept:
        assert kept.facts.direction == "scan"
        spec = SearchSpec.from_dict(kept.facts.spec)
        assert spec.direction == "scan"
        assert spec.command_line()[:2] == ["clalign", "hmmscan"]
        assert {card["n_targets"] for card in kept.cards()} == {3}
    assert main(["verify", "--device", "reference", str(run)]) == 0
    out = tmp_path / "again.tbl"
    assert main(["export", "--tblout", str(out), str(run)]) == 0
    assert "Pipeline mode:   SCAN" in out.read_text()


def test_progress_is_that_of_a_search(library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "cpu", "--progress", "json", "-o", str(tmp_path / "a.txt")]
    assert main(["hmmscan", *words, library, SEQUENCES]) == 0
    events = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert events[-1]["kind"] == "finished"
    assert {e["value"]["query"] for e in events if e["kind"] == "partial"} == {0, 1, 2}


def test_help_speaks_of_what_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hmmscan", "--help"]) == 0
    scan = " ".join(capsys.readouterr().out.split())
    assert "profiles for E-values" in scan
    assert main(["hmmsearch", "--help"]) == 0
    search = " ".join(capsys.readouterr().out.split())
    assert "sequences for E-values" in search
    assert "{" not in scan + search


def test_a_query_of_a_scan_is_a_sequence_in_every_export(
    library: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "x.clalign"
    assert scan("-o", str(tmp_path / "o"), "-E", "1e-5", "--run", str(run), library, SEQUENCES) == 0

    def exported(*words: str) -> list[str]:
        assert main(["export", str(run), *words]) == 0
        return capsys.readouterr().out.splitlines()

    pairs = [tuple(line.split("\t")[:2]) for line in exported("--tsv", "-")[1:]]
    for chosen, place, name in (("--query", 0, "both_families"), ("--target", 1, "rrm_ls")):
        found = [tuple(line.split("\t")[:2]) for line in exported(chosen, name, "--tsv", "-")[1:]]
        assert found == [pair for pair in pairs if pair[place] == name]
        assert 0 < len(found) < len(pairs)
    order = [line[1:].split()[0] for line in Path(SEQUENCES).read_text().splitlines() if line.startswith(">")]
    by_number = exported("--query", str(order.index("both_families") + 1), "--tsv", "-")
    assert by_number == exported("--query", "both_families", "--tsv", "-")
    assert {line.split("\t")[1] for line in exported("--target", "2", "--tsv", "-")[1:]} == {"rrm_ls"}
    comments = exported("--gff3", "-")
    assert f"# query: {SEQUENCES}" in comments
    assert f"# target: {library}" in comments
    table = exported("--query-table", "-")
    assert table[0].split("\t")[:3] == ["profile", "profile_accession", "profile_length"]
    assert [line.split("\t")[0] for line in table[1:4]] == ["globins_ls", "rrm_ls", "Thioesterase"]
    assert exported("--hit-matrix", "-")[0].split("\t")[0] == "sequence"
    report = "\n".join(exported("--html", "-"))
    assert "<h2>Profiles</h2>" in report
    assert " of 2 profiles " in report
    comes_from = report.partition("Where this comes from")[2]
    for path in (library, SEQUENCES):
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert f"<tr><td>sha256</td><td>{digest}  {path}</td></tr>" in comes_from
        assert comes_from.count(digest) == 1, "under its own name only"
    for kind, words in (("score-length", ("sequence", "score", "length_of_the_sequence")),
                        ("species", ("species", "sequences", "significant"))):  # fmt: skip
        numbers = tmp_path / f"{kind}.tsv"
        assert main(["picture", str(run), "--kind", kind, "-o", str(numbers)]) == 0
        assert tuple(numbers.read_text().splitlines()[0].split("\t")[:3]) == words
    assert exported("--target", "rrm_ls", "--afa", "-")
    for words, messages in (
        (("--query", "rrm_ls"), 'query "rrm_ls"'),
        (("--query", "rrm_ls"), "--target"),
        (("--query", ""), 'query ""'),
        (("--target", "tandem"), 'profile "tandem"'),
        (("--target", ""), 'profile ""'),
        (("--afa", "-"), "globins_ls, rrm_ls"),
    ):
        assert main(["export", str(run), *words]) == ExitCode.INPUT
        assert messages in capsys.readouterr().err
    assert main(["export", str(run), "--afa", "-"]) == ExitCode.INPUT
    assert "`clalign export --target NAME RUN`" in capsys.readouterr().err
    picture = ["picture", str(run), "-o", str(tmp_path / "p.svg")]
    assert main([*picture, "--profile", "both_families"]) == ExitCode.INPUT
    assert '"both_families"' in capsys.readouterr().err
    assert main([*picture, "--profile", "rrm_ls"]) == ExitCode.DONE


@pytest.mark.parametrize("command", ["hmmscan", "hmmsearch"])
def test_matched_parts_name_their_profile_if_that_is_asked_for(command: str, library: str, tmp_path: Path) -> None:
    plain, named, domains = (tmp_path / name for name in ("plain.fa", "named.fa", "d.tsv"))
    run = tmp_path / "x.clalign"
    words = ["-q", "--device", "cpu", "-E", "1e-5", "-o", str(tmp_path / "o"), "--run", str(run)]
    assert main([command, *words, "--domtsv", str(domains), library, SEQUENCES]) == 0
    assert main(["export", str(run), "--with-matched-by", "--fasta-matched", str(named)]) == 0
    assert main(["export", str(run), "--fasta-matched", str(plain)]) == 0
    heads = [line for line in named.read_text().splitlines() if line.startswith(">")]
    place = 1 if command == "hmmscan" else 0
    profiles = [row[place] for row in tsv(domains)]
    assert [head.rpartition("[matched_by=")[2] for head in heads] == [f"{profile}]" for profile in profiles]
    assert len(set(profiles)) == 2
    assert re.sub(r" \[matched_by=.*\]", "", named.read_text()) == plain.read_text()

"""The report of a run: which hits it lists, and what it says of how they were found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clalign.cli import main

pytestmark = pytest.mark.usefixtures("worker_here")

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
TEXT = "MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two queries with 240 and 3 hits."""
    folder = tmp_path_factory.mktemp("many")
    queries, targets, path = folder / "q.fa", folder / "t.fa", folder / "x.clalign"
    other = "".join(reversed(TEXT)).replace("A", "W")
    queries.write_text(f">first\n{TEXT}\n>second\n{other}\n")
    copies = [f">a{number}\n{TEXT[: len(TEXT) - number % 20]}\n" for number in range(240)]
    targets.write_text("".join([*copies, *(f">b{number}\n{other[number:]}\n" for number in range(3))]))
    words = ["--device", "reference", "-E", "1e-3", "-o", str(folder / "o"), "--run", str(path)]
    assert main(["sw", "-q", *words, str(queries), str(targets)]) == 0
    return path


def report(run: Path, *words: str) -> str:
    made = run.with_suffix(".html")
    assert main(["export", str(run), *words, "--html", str(made)]) == 0
    return made.read_text("utf-8")


def listed(text: str) -> list[tuple[str, str]]:
    table = text.partition("<h2>Hits</h2>")[2].partition("</table>")[0]
    return re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td>", table)


@pytest.mark.thorough
def test_the_best_hits_of_each_query_are_listed_and_how_many_there_are(many: Path) -> None:
    rows = listed(report(many))
    assert len([row for row in rows if row[0] == "first"]) == 200
    assert [row[1] for row in rows if row[0] == "second"] == ["b0", "b1", "b2"]
    assert " 203 of 243 " in report(many)
    best = listed(report(many, "--html-hits", "2"))
    assert best == [row for query in ("first", "second") for row in [one for one in rows if one[0] == query][:2]]
    assert " 4 of 243 " in report(many, "--html-hits", "2")
    whole = report(many, "--html-hits", "0")
    assert len(listed(whole)) == 243
    assert "--html-hits" not in whole
    assert " 2 of 3 " in report(many, "--query", "second", "--html-hits", "2"), "of those that were chosen"


def test_commands_for_more_hits_can_be_typed(many: Path, tmp_path: Path) -> None:
    messages = re.findall(r": (clalign export .*? RUN)\b", report(many))
    assert len(messages) == 2
    for number, command in enumerate(messages):
        made = tmp_path / f"made{number}"
        words = command.replace(" F ", f" {made} ").replace(" N ", " 0 ").replace(" RUN", f" {many}").split()
        assert main(words[1:]) == 0
        assert made.read_text("utf-8").count("\n") > 200


def test_there_is_a_bound(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clalign.engines.report.MAX_HITS", 5)
    text = report(many, "--html-hits", "0")
    assert " 5 of 243 " in text
    assert [row[0] for row in listed(text)].count("second") == 2, "each query has its best before one has others"


@pytest.mark.thorough
def test_the_best_of_a_scan_are_of_each_sequence(tmp_path: Path) -> None:
    profiles = tmp_path / "two.hmm"
    profiles.write_text("".join((EXAMPLES / name).read_text() for name in ("rrm_1_hmmer3.hmm", "globins4.hmm")))
    run, targets = tmp_path / "x.clalign", str(EXAMPLES / "swissprot_sample.fasta.gz")
    words = ["-E", "1e6", "--max", "-o", str(tmp_path / "o"), "--run", str(run)]
    assert main(["hmmscan", "-q", "--device", "cpu", *words, str(profiles), targets]) == 0
    text = report(run, "--html-hits", "1")
    queries = [row[0] for row in listed(text)]
    assert len(queries) == len(set(queries)) > 10


def methods(*words: str, command: str, tmp_path: Path, query: str) -> str:
    made = tmp_path / "x.html"
    files = [str(EXAMPLES / query), str(EXAMPLES / "three_proteins.fasta")]
    flags = ["-q", "--device", "reference", "-o", str(tmp_path / "o"), "--html", str(made)]
    assert main([command, *flags, *words, *files]) == 0
    return made.read_text("utf-8").partition("<h2>Methods</h2>")[2].partition("<h2>")[0].replace("&lt;", "<")


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("", "Reported were targets with E <= 10, of each query at most the best 500."),
        ("-E 0.5 -T 40 --top 7", "with E <= 0.5 and score &gt;= 40, of each query at most the best 7."),
        ("--pairs", "All pairs were reported."),
        ("--composition scale", "adjusted to"),
    ],
)
def test_methods_of_sw_name_every_limit(words: str, messages: str, tmp_path: Path) -> None:
    found = methods(*words.split(), command="sw", tmp_path=tmp_path, query="three_proteins.fasta")
    assert found.replace("&gt;", ">").count(messages.replace("&gt;", ">")) == 1


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("", "(P-values of at most 0.02, 0.001 and 1e-05)"),
        ("", "with an E-value of at most 10, of their domains those with a conditional E-value of at most 10;"),
        ("", "called significant, of their domains those with a conditional E-value of at most 0.01."),
        ("-T 5 --domT 4 --incT 9 --incdomT 8", "a score of at least 5 bits, of their domains those with a score of at"
         " least 4 bits;"),
        ("-T 5 --domT 4 --incT 9 --incdomT 8", "Hits with a score of at least 9 bits are called significant, of their"
         " domains those with a score of at least 8 bits."),
        ("-Z 5000 --domZ 70 --nonull2", "for a database of 5,000 sequences, those of domains for one of 70."),
        ("--nonull2", "Scores were not corrected for biased composition (null2)."),
        ("--max", "without filters."),
    ],
)  # fmt: skip
def test_methods_of_profiles_name_every_limit(words: str, messages: str, tmp_path: Path) -> None:
    assert messages in methods(*words.split(), command="hmmsearch", tmp_path=tmp_path, query="globins4.hmm")

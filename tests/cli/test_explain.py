"""``clalign explain`` tells of every step, and agrees with the search."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.engines.pairwise import explain
from clalign.engines.pairwise.report_text import explanation_lines as pair_lines
from clalign.engines.plan7.explanation_text import explanation_lines
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run

pytestmark = pytest.mark.usefixtures("worker_here")

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
GOLDEN = Path(__file__).parents[1] / "golden"
GLOBINS = str(EXAMPLES / "globins4.hmm")
BUILT = str(GOLDEN / "sequences" / "built.fa")

STAGES = ["msv", "bias", "viterbi", "forward", "domains", "reported"]


def names_of(table: Path) -> list[str]:
    return [line.split()[0] for line in table.read_text().splitlines() if not line.startswith("#")]


def test_every_step_of_a_hit_and_of_a_miss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "hits.tbl"
    words = ["-q", "--device", "cpu"]
    assert main(["hmmsearch", *words, "--tblout", str(table), "-o", str(tmp_path / "x"), GLOBINS, BUILT]) == 0
    hits = names_of(table)
    every = [line[1:].split()[0] for line in Path(BUILT).read_text().splitlines() if line.startswith(">")]
    missed = [name for name in every if name not in hits]
    assert hits
    assert missed
    for name in (hits[0], missed[0]):
        assert main(["explain", *words, "--json", GLOBINS, BUILT, name]) == 0
        value = json.loads(capsys.readouterr().out)
        assert value["target"] == name
        assert [step["stage"] for step in value["steps"]][:4] == STAGES[:4]
        came = [step for step in value["steps"] if step["ran"]]
        assert all(step["passed"] for step in came) == (name in hits)
        text = "\n".join(explanation_lines(value))
        assert value["verdict"].split(",")[0] in text
        assert text.count("passed") >= len(came)


def test_the_profile_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "two.hmm"
    library.write_text(Path(GLOBINS).read_text() + (GOLDEN / "profiles" / "globins_ls.hmm").read_text())
    name = Path(BUILT).read_text().split()[0][1:]
    assert main(["explain", "-q", "--device", "reference", "--profile", "2", str(library), BUILT, name]) == 0
    assert "Viterbi score" in capsys.readouterr().out


def test_what_has_the_name_of_another_is_not_taken_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice, run = tmp_path / "twice", tmp_path / "x.clalign"
    twice.write_text(2 * Path(GLOBINS).read_text())
    name = Path(BUILT).read_text().split()[0][1:]
    assert main(["hmmsearch", "-q", "-o", str(tmp_path / "o"), "--run", str(run), str(twice), BUILT]) == 0
    capsys.readouterr()
    assert main(["export", "--query", "globins4", "--tsv", "-", str(run)]) == ExitCode.INPUT
    assert capsys.readouterr().err.endswith(": 1, 2.\n")
    twice.write_text(2 * Path(BUILT).read_text())
    assert main(["explain", GLOBINS, str(twice), name]) == 0
    assert f'"{name}"' in capsys.readouterr().err
    assert main(["explain", "-q", GLOBINS, BUILT]) == ExitCode.UNREADABLE
    assert GLOBINS in capsys.readouterr().err


def test_unknown_sequences_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-q", "--device", "reference", GLOBINS, BUILT, "nobody"]) == ExitCode.UNREADABLE
    assert '"nobody"' in capsys.readouterr().err
    assert main(["explain", "-q", GLOBINS, "/no/such/file", "x"]) == ExitCode.UNREADABLE


def test_no_two_numbers_on_different_sides_of_a_limit_look_alike() -> None:
    step = {"stage": "bias", "label": "Bias filter", "text": "", "pvalue": 0.021, "limit": 0.02, "ran": True}
    steps = [
        {**step, "score": -3.24, "threshold": -3.21, "passed": False},
        {**step, "score": None, "threshold": -3.21, "pvalue": 0.0, "passed": True},
    ]
    value = {"profile": "p", "target": "t", "length": 9, "steps": steps, "verdict": "v"}
    close, beyond = explanation_lines(value)[4:6]
    assert close.split()[2:4] == ["-3.24", "-3.21"]
    assert beyond.split()[2:6] == ["inf", "-3.2", "0.02", "passed"], "a full counter has no P-value"


PROTEINS = """>t1 the same with a place
CCCMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAACCC
>t2 a gap
MKVLAARTEWYGHHKLMNPQRSTVWYAAAACDEFGHIKLMNAA
>t3
GGSGGSGGSGPPGPPGPGSSS
"""
ONE, OTHER = "ACGTTGCAAGGCTTACGATTCGAT", "TTGACCGATAGGCATTACGGATCC"


def pairwise_run(folder: Path, queries: str, targets: str, *flags: str) -> str:
    (folder / "q.fa").write_text(queries)
    (folder / "t.fa").write_text(targets)
    words = ["-q", "--device", "reference", "-o", str(folder / "o"), "--run", str(folder / "a.clalign"), *flags]
    assert main(["sw", *words, str(folder / "q.fa"), str(folder / "t.fa")]) == 0
    return str(folder / "a.clalign")


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["explain", "-q", "--json", *words]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


@pytest.mark.parametrize(
    "flags", [(), ("--mode", "global"), ("--mode", "ungapped"), ("--gap-first", "3", "--gap-next", "3")]
)
def test_the_columns_of_a_pair_add_up_to_what_the_search_found(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = PROTEINS.split("\n")[1][3:-3]
    run = pairwise_run(tmp_path, f">q1\n{query}\n>q2\nWWWWW\n", PROTEINS, "-E", "1e-3", *flags)
    with open_run(Path(run)) as found:
        hit = next(hit for hit in found.hits(0) if hit.name == "t2")
    value = explained(capsys, run, "t2", "--query", "q1")
    columns = value["columns"]
    assert value["score"] == hit.raw == sum(column["score"] for column in columns) == columns[-1]["sum"]
    assert "".join(column["target"] for column in columns) == hit.domains[0].text.target
    assert [c["query_at"] for c in columns if c["query_at"]] == [*range(*(x + 1 for x in hit.domains[0].query_range))]
    assert (value["bits"], value["evalue"]) == ((hit.score, hit.evalue) if value["statistics"] else (None, None))
    if not flags:
        assert [c["score"] for c in columns if c["query"] == "-"] == [-12, -1, -1]
    text = "\n".join(pair_lines(value))
    assert text.count("\n") > len(columns)
    assert text.endswith("t2 is reported.")
    numbers = re.search(r"E-value: .* = (\S+) x ([\d,]+) x ([\d,]+) x exp\(-(\S+) x (\d+)\)", text)
    assert (numbers is None) == (value["statistics"] is None)
    if numbers:
        k, m, n, slope, raw = (float(number.replace(",", "")) for number in numbers.groups())
        assert k * m * n * math.exp(-slope * raw) == pytest.approx(hit.evalue, rel=0.05)


def test_the_other_strand_is_explained_as_it_was_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    back = OTHER.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    run = pairwise_run(tmp_path, f">q\n{OTHER}\n", f">t\n{ONE}{back}\n")
    value = explained(capsys, run, "t")
    assert (value["strand"], value["score"]) == ("minus", 48)
    assert [(c["query_at"], c["target_at"]) for c in value["columns"]] == [(24 - i, 25 + i) for i in range(24)]
    assert "".join(c["query"] for c in value["columns"]) == back
    assert "reverse complement" in "\n".join(pair_lines(value))


@pytest.mark.parametrize("strand", [1, -1])
def test_many_columns_are_taken_together(
    strand: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = ONE + OTHER[::-1] + ONE[::-1] + OTHER
    other = long[:30] + "ACG" + long[30:50] + long[53:]
    query = other if strand > 0 else other.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    run = pairwise_run(tmp_path, f">q\n{query}\n", f">t\n{long}\n", "--gap-first", "2", "--gap-next", "1")
    each = explained(capsys, run, "t")
    monkeypatch.setattr(explain, "MAX_COLUMNS", 40)
    monkeypatch.setattr(explain, "STRETCHES", 7)
    value = explained(capsys, run, "t")
    columns, stretches = each["columns"], value["stretches"]
    assert (value["columns"], each["stretches"]) == ([], [])
    assert value | {"columns": columns, "stretches": []} == each
    assert 4 < len(stretches) <= 7
    assert [row["first"] for row in stretches] == [1, *(row["last"] + 1 for row in stretches[:-1])]
    assert stretches[-1]["last"] == value["n_columns"] == len(columns)
    for row in stretches:
        some = columns[row["first"] - 1 : row["last"]]
        assert row["score"] == sum(column["score"] for column in some)
        assert row["sum"] == some[-1]["sum"]
        assert row["n_pairs"] == sum("-" not in (column["query"], column["target"]) for column in some)
        assert row["n_identical"] == sum(column["query"] == column["target"] for column in some)
        assert some[-1]["query_at"] in (None, row["query_at"])
        assert some[-1]["target_at"] in (None, row["target_at"])
    lines = list(pair_lines(value))
    assert lines.count("") == list(pair_lines(each)).count("")
    assert f"Of {len(columns)} columns" in "\n".join(lines)
    assert [line for line in lines if line.startswith("Score:")] == [
        line for line in pair_lines(each) if line.startswith("Score:")
    ]
    assert " 6 residues" in "\n".join(lines)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-E", "1e-3"], "0.001"),
        (["-T", "60"], "-T 60"),
        (["-E", "1e9", "--top", "1"], "--top 1"),
        (["--pair-list", "pairs"], "pairs"),
    ],
)
def test_it_is_said_why_a_target_is_not_reported(
    flags: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs").write_text("q\tt1\n")
    run = pairwise_run(tmp_path, ">q\nMKVLAARTEWYGHHKLMNPGSG\n", PROTEINS, *flags)
    assert words in explained(capsys, run, "t3")["verdict"]
    assert explained(capsys, run, "t1")["verdict"] in ("t1 is reported.", "t1 is aligned, as asked.")


def test_a_run_and_the_options_of_a_search_do_not_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = pairwise_run(tmp_path, ">sp|Q1|ONE\nMKVLAA\n>q2\nMKV\n", PROTEINS)
    assert main(["explain", run, "t1", "--F3", "1"]) == ExitCode.USAGE
    assert main(["explain", run, "t1"]) == ExitCode.INPUT
    assert "sp|Q1|ONE, q2" in capsys.readouterr().err
    assert explained(capsys, run, "t1", "--query", "ONE")["query"] == "sp|Q1|ONE"
    assert main(["explain", "-q", run, "nobody", "--query", "2"]) == ExitCode.UNREADABLE


def test_a_run_of_profiles_is_explained_like_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, name = str(tmp_path / "a.clalign"), Path(BUILT).read_text().split()[0][1:]
    words = ["-q", "--device", "cpu"]
    assert main(["hmmsearch", *words, "--run", run, "-o", str(tmp_path / "x"), GLOBINS, BUILT]) == 0
    assert explained(capsys, run, name) == explained(capsys, "--device", "cpu", GLOBINS, BUILT, name)

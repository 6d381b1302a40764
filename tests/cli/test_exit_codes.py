"""Exit codes: documents, help and program know the same; one mistake of each kind for every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.parser import EXIT_CODES
from clalign.cli.program import all_commands
from clalign.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"

COMMON = ("hmmsearch {} p.hmm s.fa", "hmmscan {} p.hmm s.fa", "sw {} s.fa s.fa")

MISTAKES: dict[ExitCode, tuple[str, ...]] = {
    ExitCode.USAGE: (
        *(f"{name} --no-such-option" for name in all_commands()),
        "hmmsearch p.hmm", "hmmscan p.hmm", "sw s.fa", "align", "align s.fa --tsv x",
        "hmmbuild n.hmm", "calibrate", "calibrate p.hmm", "logo p.hmm",
        "picture run.clalign",
        "resume", "export", "verify", "note", "explain p.hmm", "lab", "lab ladder nonsense", "desktop",
        "lab ladder", "lab sync viterbi",
        "desktop nonsense", "cache more", "doctor more", "devices more", "selftest more", "tune more", "bench more",
        "accuracy a.sto", "anneal --maxsn run.clalign",
        "anneal --run x run.clalign", "anneal --maxsn --gapfactor 2 --run x run.clalign", "add a.sto", "realign a.sto",
        "realign --columns 1-2", "tree",
        "tree --draw - --matrix - a.sto", "frobnicate", "",
        "hmmsearch -o - --tsv - p.hmm s.fa", "verify --sample many run.clalign", "explain -E 1 run.clalign s1",
        "shard 2", "shard two hmmsearch p.hmm s.fa", "shard 2 hmmsearch p.hmm", "merge -o x", "merge run.clalign",
        "shard 2 hmmsearch --tsv x p.hmm s.fa",
    ),
    ExitCode.INPUT: (
        *(line.format("--shard 3/2") for line in COMMON), "shard 2 align s.fa", "shard 2 sw - s.fa",
        "shard 2 sw --pairs s.fa s.fa",
        *(line.format(words) for line in COMMON for words in ("-o s.fa", "--tsv x -o x")), "hmmsearch - -", "sw - -",
        "hmmsearch --textw 20 p.hmm s.fa", "hmmscan -Z -3 p.hmm s.fa", "sw -E 0 s.fa s.fa", "sw --matrix no s.fa s.fa",
        "sw --gapopen 3 s.fa s.fa", "hmmbuild a.sto a.sto", "hmmbuild --symfrac 7 n.hmm a.sto",
        "calibrate -o - p.hmm", "calibrate --num 0 -o n.hmm p.hmm", "logo -o l.xyz p.hmm",
        "picture -o l.xyz run.clalign", "picture -o l.svg --width 1 run.clalign",
        "picture -o l.svg --query no run.clalign",
        "picture -o l.svg --taxonomy s.fa run.clalign",
        "verify --sample 0 run.clalign", "align -o s.fa s.fa", "align - -", "align --gui -", "align --minprob 2 s.fa",
        "align --maxsn --gapfactor 2 s.fa", "align --refalign --fast s.fa", "align --refinement -2 s.fa",
        "export run.clalign --sam x", "resume run.clalign --sam x", "note run.clalign nobody text", "gui",
        "accuracy . a.sto", "accuracy - -", "add - -", "add --refinement -3 a.sto s.fa", "realign --columns x a.sto",
        "tree --draw t.xyz a.sto", "tree --distance posterior a.sto", "anneal --maxsn --run x run.clalign",
    ),
    ExitCode.UNREADABLE: (
        *(f"{name} {files}" for name in ("hmmsearch", "hmmscan") for files in ("none s.fa", "p.hmm none", "none none")),
        "align none", "align s.fa none", "align --load-probs none s.fa", "align --treeweights none s.fa",
        "sw none s.fa", "sw s.fa none", "sw --pair-list none s.fa s.fa", "sw --matrix s.fa s.fa s.fa",
        *(f"{name} {run}" for name in ("resume", "export", "verify") for run in ("none", "s.fa", "circle.clalign")),
        "note none s1 text", "note s.fa s1 text", "explain none s1", "explain s.fa s1", "explain none s.fa s1",
        "explain s.fa s.fa s1", "calibrate -o n.hmm none", "hmmbuild n.hmm none", "logo -o l.svg none",
        "logo -o l.svg s.fa", "picture -o l.svg none", "picture -o l.svg s.fa",
        "picture -o l.svg --kind species --taxonomy none run.clalign",
        "accuracy a.sto none", "accuracy p.hmm a.sto", "bench --import none",
        "add none s.fa", "add a.sto none", "realign --columns 1-2 none", "tree none", "tree p.hmm",
        "tree --probs none --distance posterior a.sto", "anneal --maxsn --run x none", "anneal --maxsn --run x s.fa",
        "bench --import s.fa", "shard 2 sw s.fa none", "runs name none x", "runs compare none none",
        "runs delete --yes none",
    ),
    ExitCode.CANNOT_WRITE: (
        *(line.format(f"-o {path}") for line in COMMON for path in ("none/x", ".", "none/")),
        *(line.format(f"--run {path}") for line in COMMON for path in ("none/x", "run.clalign")),
        *(line.format(f"{flag}=") for line in COMMON for flag in ("--tsv", "--run")),
        "align -o none/x s.fa", "align --run run.clalign s.fa",
        "export run.clalign --tsv none/x", "resume run.clalign --tsv none/x", "calibrate -o none/x p.hmm",
        "calibrate -o s.fa p.hmm", "hmmbuild none/x a.sto", "logo -o none/l.svg p.hmm",
        "picture -o none/l.svg run.clalign",
        "add -o none/x a.sto s.fa", "realign --columns 1-2 -o none/x a.sto",
        "tree --matrix none/x a.sto", "shard 2 --script none/x sw s.fa s.fa", "merge -o run.clalign run.clalign",
        "merge -o none/x run.clalign",
    ),
}  # fmt: skip

BY_A_WORKER: dict[ExitCode, tuple[str, ...]] = {
    ExitCode.NO_DEVICE: (
        *(line.format("-q --device nobody") for line in (*COMMON, "align {} s.fa")),
        "verify -q --device nobody run.clalign",
        "calibrate -q --device nobody -o n.hmm p.hmm", "selftest --device nobody", "tune -q --device nobody",
        "bench -q --device nobody", "lab -q ladder viterbi --device nobody", "lab -q ladder sw --device nobody",
        "lab -q ladder pairhmm --device nobody", "lab -q sync --device nobody",
        "add -q --device nobody a.sto s.fa", "realign -q --device nobody --columns 1-2 a.sto",
    ),
    ExitCode.UNREADABLE: (
        "hmmsearch -q s.fa s.fa", "hmmsearch -q p.hmm p.hmm", "hmmscan -q s.fa s.fa", "sw -q p.hmm s.fa",
        "sw -q s.fa p.hmm", "align -q p.hmm", "align -q --load-probs s.fa s.fa",
        "calibrate -q -o n.hmm s.fa", "hmmbuild -q n.hmm p.hmm", "explain -q p.hmm s.fa nobody",
        "merge -q -o y none", "merge -q -o y s.fa", "merge -q -o y run.clalign", "explain -q run.clalign nobody",
        "add -q s.fa a.sto", "realign -q --columns 1-2 p.hmm",
    ),
}  # fmt: skip


def cases(mistakes: dict[ExitCode, tuple[str, ...]]) -> list[tuple[ExitCode, str]]:
    return [(code, line) for code, lines in mistakes.items() for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files to make mistakes with."""
    made = tmp_path_factory.mktemp("mistakes")
    (made / "p.hmm").write_bytes((GOLDEN / "profiles" / "katdna_ls.hmm").read_bytes())
    (made / "s.fa").write_bytes((GOLDEN / "sequences" / "kat.fa").read_bytes())
    (made / "a.sto").write_text("# STOCKHOLM 1.0\na ACDEF\nb ACDEF\n//\n", encoding="utf-8")
    (made / "circle.clalign").symlink_to("circle.clalign")
    files = ["-o", str(made / "x"), "--run", str(made / "run.clalign"), str(made / "p.hmm"), str(made / "s.fa")]
    assert main(["hmmsearch", "-q", "--device", "reference", *files]) == ExitCode.DONE
    (made / "x").unlink()
    return made


def check(line: str, code: ExitCode, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir() if path.suffix != ".clalign"}
    words = line.split()
    assert main(words) == code
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert told.startswith("clalign") or not words, "who says it"
    assert {path: path.read_bytes() for path in folder.iterdir() if path.suffix != ".clalign"} == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("export circle.clalign", "a link in a circle"),
        ("export /dev/null", "a device or a pipe"),
        ("hmmsearch --tsv none/ p.hmm s.fa", "none/ is the name of a folder"),
        ("hmmsearch --tblout= p.hmm s.fa", "name of an output file is empty"),
    ],
)
def test_it_is_said_what_a_path_leads_to(
    line: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(line.split()) != ExitCode.DONE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("code", "line"), cases(MISTAKES), ids=lambda value: str(value) or "nothing")
def test_a_mistake_has_the_code_of_its_kind(
    code: ExitCode, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    check(line, code, folder, capsys)


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize(("code", "line"), cases(BY_A_WORKER), ids=str)
def test_a_mistake_that_the_worker_notices_has_the_code_of_its_kind(
    code: ExitCode, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    check(line, code, folder, capsys)


def test_no_command_is_left_out() -> None:
    tried = {line.split()[0] for code, line in cases(MISTAKES) if code != ExitCode.USAGE and line}
    assert set(all_commands()) - tried <= {
        "cache",
        "completion",
        "desktop",
        "devices",
        "doctor",
        "lab",
        "selftest",
        "tune",
    }
    assert {line.split()[0] for _, line in cases(BY_A_WORKER)} >= {"lab", "selftest", "tune", "bench"}


def test_documents_help_and_program_know_the_same_codes() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    table = re.search(r"## Exit codes\n(.*?)\n## ", page, re.DOTALL)
    assert table
    in_page = sorted(int(found) for found in re.findall(r"\| (\d+) \|", table[1]))
    in_help = sorted(int(found) for found in re.findall(r"\b(\d+)  ?\w", EXIT_CODES))
    assert in_page == sorted(ExitCode) == in_help

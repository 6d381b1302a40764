"""Mistakes and warnings: each has its exit code, is told as ``messages.txt`` says, and harms no file."""

from __future__ import annotations

import gzip
import os
import re
import shlex
from pathlib import Path
from textwrap import dedent, indent

import pytest

from clalign.cli import main
from clalign.cli.parser import EXIT_CODES
from clalign.cli.program import all_commands
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run
from tests.formats.damaged_files import FOREIGN, MATRICES, POSTERIORS, PROFILES, SEQUENCES

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
MESSAGES = GOLDEN / "messages.txt"

HEAD = re.compile(r"^\[\d+\] clalign.*\n?", re.MULTILINE)

VARYING = (
    (r"(?<=There are: ).*(?= See: )", "DEVICES"),
    (r"(?<=The matrices are: ).*(?=\.$)", "MATRICES"),
    (r"(?<=choose from ).*(?=\)$)", "CHOICES"),
)
"""What depends on the machine, or on the versions of Python and of libraries."""

AVOIDED = ("abort", "kill", "fatal", "invalid", "illegal", "failed to", "exception", "oops", "please wait")


def expected_messages() -> dict[str, str]:
    """Return what is said of each mistake, by its line with exit code and command."""
    text = MESSAGES.read_text("utf-8")
    heads = [found.strip() for found in HEAD.findall(text)]
    assert len(set(heads)) == len(heads)
    return {head: dedent(messages) for head, messages in zip(heads, HEAD.split(text)[1:], strict=True)}


EXPECTED = expected_messages()


def renew(head: str, messages: str) -> None:
    """Replace what is said of a mistake."""
    text = MESSAGES.read_text("utf-8")
    start = re.search(rf"^{re.escape(head)}\n", text, re.MULTILINE)
    assert start
    end = HEAD.search(text, start.end())
    rest = text[end.start() :] if end else ""
    MESSAGES.write_text(text[: start.end()] + indent(messages, "    ") + rest, "utf-8")


ROWS = {"a": "MKVLATGHEWQRI--PNDFCYSTAAGKL", "b": "MKVLSTGHDWQKI--PNDFCYTA-AGK-", "c": "-KVMAT-HEW-RIPDYFC--WSTKAGKL"}
ALIGNED = "# STOCKHOLM 1.0\n" + "".join(f"{name} {row}\n" for name, row in ROWS.items()) + "//\n"
TEST, REFERENCE = ">b\nA-CDE\n>a\nAC-D-\n>more\nACCDE\n", ">a\nACd-\n>b\nACdE\n"
DNA_PROFILE = (GOLDEN / "profiles" / "katdna_ls.hmm").read_text()

TEXTS = {
    "p.hmm": DNA_PROFILE,
    "s.fa": (GOLDEN / "sequences" / "kat.fa").read_text(),
    "several.hmm": DNA_PROFILE + DNA_PROFILE.replace("katdna_ls", "other"),
    "twice.hmm": DNA_PROFILE * 2,
    "p3.hmm": (ROOT / "resources" / "examples" / "rrm_1_hmmer3.hmm").read_text(),
    "q.fa": ">q1 first query\nMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA\n>q2\nGGGGSSSSTTTTPPPPLLLL\n",
    "t.fa": ">t1\nCCCMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAACCC\n>t2\nMKVLAARTEWYGHHKLMNPWWWWWWW\n>t3\nDDEEKK\n",
    "a.sto": "# STOCKHOLM 1.0\na ACDEF\nb ACDEF\n//\n",
    "old.sto": ALIGNED,
    "several.sto": ALIGNED.replace("1.0\n", "1.0\n#=GF ID first\n") + ALIGNED,
    "bases.sto": "# STOCKHOLM 1.0\na ACGT\nb ACGA\n//\n",
    "new.fa": ">d like a\nMKVLATGHEWQRIPNDFCYSTAAGKL\n>e\nMKVMATHEWRIPDYFCWSTKAGKL\n",
    "two.fa": ">a\nMK\n>b\nMKV\n",
    "two.afa": ">a\nAC\n>b\nAC\n",
    "three.afa": ">a\nAC\n>b\nAC\n>c\nA-\n",
    "two.probs": "(0, 0) ~ (1, 0) => 0.9\n(0, 1) ~ (1, 1) => 0.5\n",
    "test.afa": TEST,
    "reference.afa": REFERENCE,
    "lower.afa": REFERENCE.lower(),
    "other.afa": TEST.replace("AC-D-", "AC-E-"),
    "unequal.afa": TEST + "A\n",
    "twice.afa": TEST + ">a\nAC-D-\n",
    **dict.fromkeys(("three/one.afa", "two/one.afa", "both/one.afa", "both/one.sto"), REFERENCE),
    **dict.fromkeys(("found/one.afa", "wanted/one.afa", "wanted/other.afa"), REFERENCE),
    "again.fa": ">s1\nACGTTGACGTACGT\n" * 2,
    "odd.fa": ">x\nACDEUUOFGHIKLMN\n>x\n1 WWWW 4\n>y\nMKV&L\n>nothing\n",
    "nothing.fa": ">a\n>b\n",
    "empty": "",
}


DAMAGED = {**SEQUENCES, **PROFILES, **MATRICES, **POSTERIORS, **{name: (data, None) for name, data in FOREIGN.items()}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files to make mistakes with."""
    made = tmp_path_factory.mktemp("mistakes")
    for name in ("bad", "tests", "references", "three", "two", "both", "found", "wanted"):
        (made / name).mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text)
    for name, (content, _) in DAMAGED.items():
        (made / "bad" / name).write_bytes(content)
    (made / "p.hmm.gz").write_bytes(gzip.compress(DNA_PROFILE.encode()))
    (made / "circle.clalign").symlink_to("circle.clalign")
    for words in (
        "hmmsearch --run run.clalign p.hmm s.fa",
        "sw --run sw.clalign q.fa t.fa",
        "align --run align.clalign new.fa",
    ):
        name, *rest = (str(made / word) if "." in word else word for word in words.split())
        assert main([name, "-q", "--device", "reference", "-o", str(made / "x"), *rest]) == ExitCode.DONE
    (made / "x").unlink()
    (made / "partial.clalign").write_bytes((made / "run.clalign").read_bytes())
    with open_run(made / "partial.clalign", writable=True) as run:
        run.set_facts(state="stopped")
        run.seal()
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: b"" if path.is_dir() else path.read_bytes() for path in folder.iterdir() if path.suffix != ".clalign"
    }


@pytest.mark.skipif(os.name != "posix", reason="paths and devices of POSIX")
@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize("head", EXPECTED)
def test_a_mistake_has_its_code_and_is_reported(
    head: str,
    folder: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLALIGN_DEVICE", "reference")
    monkeypatch.chdir(folder)
    before = contents(folder)
    code, _, *words = shlex.split(head)
    assert f"[{main(words)}]" == code
    messages = capsys.readouterr().err.replace(str(folder), "$HERE")
    for pattern, name in VARYING:
        messages = re.sub(pattern, name, messages, flags=re.MULTILINE)
    if pytestconfig.getoption("--renew"):
        renew(head, messages)
    else:
        assert messages == EXPECTED[head]
    assert messages.startswith("clalign") or not words, "who says it"
    assert contents(folder) == before


@pytest.mark.parametrize("name", all_commands())
def test_every_command_refuses_what_it_does_not_know(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--no-such-option"]) == ExitCode.USAGE
    assert "--no-such-option" in capsys.readouterr().err


def test_no_command_is_left_out() -> None:
    tried = {head.split()[2] for head in EXPECTED if not head.startswith("[64]")}
    assert set(all_commands()) - tried <= {"cache", "completion", "desktop", "devices", "doctor"}


def test_of_each_damaged_file_is_reported() -> None:
    messages = {word.removeprefix("bad/") for head in EXPECTED for word in head.split() if word.startswith("bad/")}
    assert messages == set(DAMAGED)


def test_nobody_is_blamed() -> None:
    """Neither by messages nor by help texts."""
    texts = {**EXPECTED, "help": (ROOT / "docs" / "cli.md").read_text("utf-8")}
    assert len(texts) > 500
    assert not [(word, name) for name, text in texts.items() for word in AVOIDED if word in text.lower()]
    assert not [head for head, messages in EXPECTED.items() if "Traceback" in messages]


def test_documents_help_and_program_know_the_same_codes() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    table = re.search(r"## Exit codes\n(.*?)\n## ", page, re.DOTALL)
    assert table
    in_page = sorted(int(found) for found in re.findall(r"\| (\d+) \|", table[1]))
    in_help = sorted(int(found) for found in re.findall(r"\b(\d+)  ?\w", EXIT_CODES))
    assert in_page == sorted(ExitCode) == in_help

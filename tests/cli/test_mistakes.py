"""Mistakes on the command line: each has its exit code, is told as ``messages.txt`` says, and harms no file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from textwrap import dedent, indent

import pytest

from clalign.cli import main
from clalign.cli.parser import EXIT_CODES
from clalign.cli.program import all_commands
from clalign.errors import ExitCode
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


def told_of() -> dict[str, str]:
    """Return what is said of each mistake, by its line with exit code and command."""
    text = MESSAGES.read_text("utf-8")
    heads = [found.strip() for found in HEAD.findall(text)]
    assert len(set(heads)) == len(heads)
    return {head: dedent(told) for head, told in zip(heads, HEAD.split(text)[1:], strict=True)}


TOLD = told_of()


def renew(head: str, told: str) -> None:
    """Replace what is said of a mistake."""
    text = MESSAGES.read_text("utf-8")
    start = re.search(rf"^{re.escape(head)}\n", text, re.MULTILINE)
    assert start
    end = HEAD.search(text, start.end())
    rest = text[end.start() :] if end else ""
    MESSAGES.write_text(text[: start.end()] + indent(told, "    ") + rest, "utf-8")


FILES: dict[str, bytes] = {
    "p.hmm": (GOLDEN / "profiles" / "katdna_ls.hmm").read_bytes(),
    "s.fa": (GOLDEN / "sequences" / "kat.fa").read_bytes(),
    "two.fa": b">a\nMK\n>b\nMKV\n",
    "a.sto": b"# STOCKHOLM 1.0\na ACDEF\nb ACDEF\n//\n",
}


DAMAGED = {**SEQUENCES, **PROFILES, **MATRICES, **POSTERIORS, **{name: (data, None) for name, data in FOREIGN.items()}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files to make mistakes with."""
    made = tmp_path_factory.mktemp("mistakes")
    for name, content in FILES.items():
        (made / name).write_bytes(content)
    (made / "bad").mkdir()
    for name, (content, _) in DAMAGED.items():
        (made / "bad" / name).write_bytes(content)
    (made / "circle.clalign").symlink_to("circle.clalign")
    files = ["-o", str(made / "x"), "--run", str(made / "run.clalign"), str(made / "p.hmm"), str(made / "s.fa")]
    assert main(["hmmsearch", "-q", "--device", "reference", *files]) == ExitCode.DONE
    (made / "x").unlink()
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: b"" if path.is_dir() else path.read_bytes() for path in folder.iterdir() if path.suffix != ".clalign"
    }


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize("head", TOLD)
def test_a_mistake_has_its_code_and_is_told(
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
    told = capsys.readouterr().err.replace(str(folder), "$HERE")
    for pattern, name in VARYING:
        told = re.sub(pattern, name, told, flags=re.MULTILINE)
    if pytestconfig.getoption("--renew"):
        renew(head, told)
    else:
        assert told == TOLD[head]
    assert told.startswith("clalign") or not words, "who says it"
    assert contents(folder) == before


@pytest.mark.parametrize("name", all_commands())
def test_every_command_refuses_what_it_does_not_know(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--no-such-option"]) == ExitCode.USAGE
    assert "--no-such-option" in capsys.readouterr().err


def test_no_command_is_left_out() -> None:
    tried = {head.split()[2] for head in TOLD if not head.startswith("[64]")}
    assert set(all_commands()) - tried <= {"cache", "completion", "desktop", "devices", "doctor"}


def test_of_each_damaged_file_is_told() -> None:
    told = {word.removeprefix("bad/") for head in TOLD for word in head.split() if word.startswith("bad/")}
    assert told == set(DAMAGED)


def test_messages_blame_nobody() -> None:
    assert TOLD
    assert not [(word, head) for head, told in TOLD.items() for word in AVOIDED if word in told.lower()]
    assert not [head for head, told in TOLD.items() if "Traceback" in told]


def test_documents_help_and_program_know_the_same_codes() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    table = re.search(r"## Exit codes\n(.*?)\n## ", page, re.DOTALL)
    assert table
    in_page = sorted(int(found) for found in re.findall(r"\| (\d+) \|", table[1]))
    in_help = sorted(int(found) for found in re.findall(r"\b(\d+)  ?\w", EXIT_CODES))
    assert in_page == sorted(ExitCode) == in_help

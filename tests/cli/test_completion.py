"""``clalign completion``: scripts that the shells take, with every command and option; bash completes with its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.completion import SHELLS, device_words, script_for
from clalign.cli.program import all_commands, parser_of
from clalign.formats.matrices import matrix_names

CHECKS = {"bash": ["-n"], "zsh": ["-n"], "fish": ["--no-execute"]}
"""How a shell reads a script without running it."""

ASK = """\
source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_clalign clalign "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What bash does when somebody presses the tabulator."""

Complete = Callable[..., set[str]]


@pytest.fixture(scope="module", params=SHELLS)
def script(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    path = tmp_path_factory.mktemp("completion") / f"clalign.{request.param}"
    path.write_text(script_for(request.param), encoding="utf-8")
    return request.param, path


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Complete:
    """Words that bash offers for the last of some words."""
    folder = tmp_path_factory.mktemp("bash")
    (folder / "script").write_text(script_for("bash"), encoding="utf-8")
    (folder / "proteins.fasta").write_text(">a\nACD\n", encoding="utf-8")
    (folder / "with space.fasta").write_text(">a\nACD\n", encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

    def completed(*words: str) -> set[str]:
        done = subprocess.run(
            ["bash", "-c", ASK, "bash", *words], cwd=folder, capture_output=True, text=True, check=True,
            env={**os.environ, "SCRIPT": str(folder / "script"), "PATH": path},
        )  # fmt: skip
        return set(done.stdout.split("\n")) - {""}

    return completed


def test_the_shell_takes_the_script(script: tuple[str, Path]) -> None:
    shell, path = script
    if shell != "bash" and (shell not in CHECKS or shutil.which(shell) is None):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, *CHECKS[shell], path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_and_option_is_in_the_script(script: tuple[str, Path]) -> None:
    text = script[1].read_text("utf-8")
    for name in all_commands():
        assert name in text
        parser = parser_of(name)
        assert parser is not None
        for flag in parser._option_string_actions:
            if flag.startswith("--"):
                assert flag.removeprefix("--") in text


def test_a_script_that_bash_does_not_take_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "cut").write_text(script_for("bash")[:-200], encoding="utf-8")
    done = subprocess.run(["bash", "-n", tmp_path / "cut"], capture_output=True, text=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("hmm", {"hmmsearch", "hmmscan", "hmmbuild", "hmmalign"}),
        ("hmmsearch --dom", {"--domtblout", "--domtsv", "--domcsv", "--domparquet", "--domE", "--domT", "--domZ"}),
        ("sw --mode ", {"local", "global", "semiglobal", "ungapped"}),
        ("hmmsearch pro", {"proteins.fasta"}),
        ("hmmsearch --tblout with", {"with space.fasta"}),
        ("hmmscan library.hmm pro", {"proteins.fasta"}),
        ("desktop ", {"install", "remove"}),
        ("tree --distance p", {"p", "posterior"}),
    ],
)
def test_bash_completes(words: str, offered: set[str], complete: Complete) -> None:
    assert complete("clalign", *words.split(" ")) == offered


def test_bash_offers_all_commands(complete: Complete) -> None:
    assert complete("clalign", "") >= set(all_commands())


def test_bash_offers_devices(complete: Complete) -> None:
    assert complete("clalign", "align", "--device", "") >= {"auto", "gpu", "cpu", "gpus", "all", "reference"}


@pytest.mark.parametrize(("begin", "offered"), [("BLOSUM6", {"BLOSUM62"}), ("with", {"with space.fasta"})])
def test_bash_offers_matrices_and_files(begin: str, offered: set[str], complete: Complete) -> None:
    assert complete("clalign", "sw", "--matrix", begin) == offered


def test_every_script_has_the_matrices(script: tuple[str, Path]) -> None:
    text = script[1].read_text("utf-8")
    assert all(name in text for name in matrix_names())


def test_what_a_script_asks_goes_where_its_shell_has_nothing() -> None:
    assert "completion devices 2>$null" in script_for("powershell")
    assert "/dev/null" not in script_for("powershell")
    assert "completion devices 2>/dev/null" in script_for("bash")


def test_what_the_scripts_ask_for_is_not_offered(complete: Complete, capsys: pytest.CaptureFixture[str]) -> None:
    assert complete("clalign", "completion", "") == set(SHELLS)
    assert main(["completion", "nosh"]) == 64
    assert "devices" not in capsys.readouterr().err


def test_devices_are_listed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "devices"]) == 0
    messages = capsys.readouterr().out.splitlines()
    assert messages == device_words()
    assert len(messages) == len(set(messages))


def test_without_the_package_that_writes_scripts_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install shtab" in capsys.readouterr().err

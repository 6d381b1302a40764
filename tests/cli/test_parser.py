"""The command line's words: flags, help, messages, exit codes."""

from __future__ import annotations

import argparse
import dataclasses
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clalign.cli import main, starting
from clalign.cli.options import spec_of
from clalign.cli.parser import OPTIONS, UsageError, suggestion
from clalign.cli.program import all_commands, parser_of
from clalign.engines import COMMANDS
from clalign.engines.engine import BUILT_IN, engine_named
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ExitCode, command_for, named, typed
from clalign.values.specs import has_meaning


def parsed(*words: str) -> SearchSpec:
    parser, engine = parser_of("hmmsearch"), engine_named("plan7")
    assert parser is not None
    spec = spec_of(parser.parse_args([*words, "a.hmm", "b.fa"]), engine, engine.command("hmmsearch"))
    assert isinstance(spec, SearchSpec)
    return spec


def test_defaults_are_those_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLALIGN_DEVICE", raising=False)
    assert parsed() == SearchSpec("a.hmm", "b.fa")


def test_every_field_with_a_flag_is_set_by_it() -> None:
    words = {
        "evalue": ("-E", "1e-3"), "score": ("-T", "-5.5"), "domain_evalue": ("--domE", "2"),
        "domain_score": ("--domT", "-1e1"), "inclusion_evalue": ("--incE", "0.5"), "inclusion_score": ("--incT", "7"),
        "inclusion_domain_evalue": ("--incdomE", "3"), "inclusion_domain_score": ("--incdomT", "4"),
        "n_targets": ("-Z", "1000"), "n_domain_targets": ("--domZ", "10"), "cutoff": ("--cut_tc",),
        "without_filters": ("--max",), "without_null2": ("--nonull2",), "alphabet": ("--alphabet", "dna"),
        "sequence_format": ("--tformat", "fasta"), "f1": ("--F1", "0.1"), "f2": ("--F2", "0.01"), "f3": ("--F3", "1"),
        "without_bias_filter": ("--nobias",), "compute_composition": ("--compute_compo",), "seed": ("--seed", "7"),
        "skip_bad": ("--skip_bad",), "shard": ("--shard", "3/16"),
    }  # fmt: skip
    options = [f for f in dataclasses.fields(SearchSpec) if "flag" in f.metadata]
    flagged = [f.name for f in options if has_meaning(f, SearchSpec, {})]
    assert sorted(words) == sorted(flagged)
    usual = parsed()
    for name, flags in words.items():
        given = parsed(*flags)
        assert [f for f in flagged if getattr(given, f) != getattr(usual, f)] == [name]


def test_the_shown_command_means_the_same_spec() -> None:
    spec = parsed("-E", "1e-3", "-T", "-5.5", "--cut_nc", "--nonull2", "-Z", "45", "--device", "gpu")
    words = spec.command_line()[2:-2]
    assert parsed(*words) == spec


def test_device_comes_from_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLALIGN_DEVICE", "Radeon")
    assert parsed().device == "Radeon"
    assert parsed("--device", "cpu").device == "cpu"


def test_the_beginning_of_a_long_option_will_do_where_it_begins_no_other() -> None:
    parser = parser_of("hmmsearch")
    assert parser is not None
    found = parser.parse_args(["--domtbl", "x", "--tblo=y", "--cut_g", "a", "b"])
    assert (found.out_domtblout, found.out_tblout, found.cutoff) == ("x", "y", "ga")
    for words in (["--dom", "x"], ["--cut", "a"], ["--format", "a"]):
        with pytest.raises(UsageError):
            parser.parse_args([*words, "a", "b"])


@pytest.mark.parametrize(
    "words", [["-E1e-3", "-oout.txt"], ["-T", "-1.5e1"], ["-T-5"], ["-o", "-"], ["--tformat=fasta"]]
)
def test_options_with_values_attached_or_negative_are_known(words: list[str]) -> None:
    parsed(*words)


@pytest.mark.parametrize("name", all_commands())
def test_every_suggestion_is_an_option_of_its_command(name: str) -> None:
    parser = parser_of(name)
    assert parser is not None
    flags = [flag for action in parser._actions for flag in action.option_strings]
    for names, _ in OPTIONS:
        for word in names.split():
            meant = re.match(r" \(did you mean (-\S+?)[ ?]", suggestion(f"--{word}", flags))
            assert meant is None or meant[1] in flags


def test_help_of_a_command_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "hmmsearch"]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("Usage: clalign hmmsearch")
    assert main(["help"]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("Usage: clalign COMMAND")


@pytest.mark.parametrize("name", ["hmmsearch", "hmmscan", "sw", "calibrate", "hmmbuild"])
def test_commands_that_hmmer_has_take_its_cpu(name: str) -> None:
    parser = parser_of(name)
    assert parser is not None
    files = [action.dest for action in parser._get_positional_actions()]
    assert parser.parse_args(["--cpu", "4", *files]).cpu == 4


def test_parser_raises_what_main_tells() -> None:
    with pytest.raises(UsageError):
        parsed("--no-such-flag")


@pytest.mark.parametrize("name", all_commands())
def test_help_of_every_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "-h"]) == 0
    short = capsys.readouterr().out
    assert main([name, "--help"]) == 0
    long = capsys.readouterr().out
    assert short.startswith(f"Usage: clalign {name}")
    assert len(short.splitlines()) <= 30
    assert "exit codes:" in long
    assert len(long) > len(short)


@pytest.mark.parametrize("name", all_commands())
def test_the_short_help_names_every_option(name: str) -> None:
    parser = parser_of(name)
    assert parser is not None
    words = parser.short_help().replace(",", " ").split()
    flags = {flag for flag, action in parser._option_string_actions.items() if action.help != argparse.SUPPRESS}
    assert not flags - {"-h", "--help"} - set(words)
    assert "(sync):--" not in parser.short_help()


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("merge", "-o F RUN ..."), ("note", "RUN NAME [TEXT]"), ("gui", "[FILES ...]"), ("align", "SEQS ..."),
        ("explain", "HMMFILE|RUN [SEQDB] NAME"), ("picture", "-o OUT RUN"),
        ("runs", "list|name|compare|delete [WORDS ...]"),
    ],
)  # fmt: skip
def test_usage_tells_what_may_be_repeated_or_left_out(
    name: str, usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "-h"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: clalign {name} [options] {usage}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("buffering", [[], ["-u"]])
@pytest.mark.parametrize("words", [["--help"], ["sw", "--help"], ["sw", "-h"]])
def test_no_space_for_standard_output_is_reported(words: list[str], buffering: list[str]) -> None:
    command = [sys.executable, *buffering, "-m", "clalign", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == ExitCode.CANNOT_WRITE
    assert done.stderr.startswith("clalign: ")
    assert "Traceback" not in done.stderr


def test_every_command_has_a_parser() -> None:
    for name in all_commands():
        parser = parser_of(name)
        assert parser is not None
        assert callable(parser.get_default("run"))
    assert parser_of("no-such-command") is None


def test_overview_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "hmmsearch" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("clalign 0.")
    assert main(["--version", "-v"]) == 0
    assert "numpy" in capsys.readouterr().out
    assert main([]) == ExitCode.USAGE


def test_version_loads_nothing_heavy() -> None:
    code = (
        "import sys; from clalign.cli import main; main(['--version']); main(['hmmsearch', '-h']);"
        "heavy = {'numpy', 'pyopencl', 'PySide6', 'Bio', 'dnaio', 'sqlite3'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    began = time.process_time()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert time.process_time() - began < 5.0


def test_the_commands_of_engines_are_known_before_these_are_loaded() -> None:
    assert {command: name for name in BUILT_IN for command in engine_named(name).commands} == COMMANDS
    script = (
        "import sys\nfrom clalign import cli\nfrom clalign.cli import starting\n"
        "heavy = {'msgspec', 'argparse', 'sqlite3'}\n"
        "starting.WorkerAhead = lambda *words: sys.exit(str([*words, *(heavy & set(sys.modules))]))\n"
        "cli.main(['sw', 'a', 'b', '--device', 'cpu'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "['pairwise', 'cpu']"


def test_the_variable_s_device_is_what_is_looked_at_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starting.device_in(["sw", "a", "b"]) == "auto"
    monkeypatch.setenv("CLALIGN_DEVICE", "Radeon")
    assert starting.device_in(["sw", "a", "b"]) == starting.device_in(["sw", "--device="]) == "Radeon"
    assert starting.device_in(["sw", "--device=cpu"]) == starting.device_in(["sw", "--device", "cpu"]) == "cpu"


def test_the_command_that_goes_on_is_quoted_as_the_shell_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["clalign", "resume", r"C:\my runs\x.clalign", r"C:\y"]
    assert typed(words) == r"clalign resume 'C:\my runs\x.clalign' 'C:\y'"
    monkeypatch.setattr(sys, "platform", "win32")
    assert typed(words) == r'clalign resume "C:\my runs\x.clalign" C:\y'


def test_a_path_with_a_dash_in_a_command_is_no_option() -> None:
    assert [named(path) for path in ("-x.fa", "-", "a-b", "/-x")] == ["./-x.fa", "-", "a-b", "/-x"]


def test_commands_in_messages_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my run.clalign", "a.hmm", "b.fa"):
        Path(name).touch()
    assert main(["hmmsearch", "--run", "my run.clalign", "a.hmm", "b.fa"]) == ExitCode.CANNOT_WRITE
    assert capsys.readouterr().err.endswith("clalign resume 'my run.clalign'\n")
    monkeypatch.setattr("sys.platform", "linux")
    assert command_for("export", "-odd one", "--tsv", "-") == "clalign export --tsv - './-odd one'"

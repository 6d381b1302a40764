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

from clalign.cli import main, starting, suggestions
from clalign.cli.options import spec_of
from clalign.cli.parser import UsageError
from clalign.cli.program import all_commands, parser_of
from clalign.engines import COMMANDS
from clalign.engines.engine import BUILT_IN, engine_named
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ExitCode, command_for, named, typed

AVOIDED = ("abort", "kill", "fatal", "invalid", "illegal", "failed to", "exception", "oops", "please wait")


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
    flagged = [f.name for f in dataclasses.fields(SearchSpec) if "flag" in f.metadata]
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hmmsearch", "a"], "missing: SEQDB"),
        (["desktop"], "missing: install|remove"),
        (["hmmsearch", "-E", "many", "a", "b"], "-E: 'many' is not a number"),
        (["hmmsearch", "-E", "nan", "a", "b"], "-E: 'nan' is not a number"),
        (["hmmsearch", "--tblot", "x", "a", "b"], "did you mean --tblout?"),
        (["hmmsearch", "--cut_ga", "--cut_nc", "a", "b"], "--cut_nc: not allowed with argument --cut_ga"),
        (["hmmsearch", "--progress", "dots", "a", "b"], "unknown choice 'dots'"),
        (["hmmsearch", "-o", "-", "--tsv", "-", "a", "b"], "only one output can go to standard output"),
        (["hmmsearch", "-E"], "-E: a value is missing"),
        (["hmsearch"], "did you mean hmmsearch?"),
        (["verify", "--sample", "some", "x"], "--sample: 'some' is not a whole number"),
    ],
)
def test_usage_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert message in told
    assert "Try: clalign" in told
    assert not [word for word in AVOIDED if word in told.lower()]


def test_the_beginning_of_a_long_option_will_do_where_it_begins_no_other() -> None:
    parser = parser_of("hmmsearch")
    assert parser is not None
    found = parser.parse_args(["--domtbl", "x", "--tblo=y", "--cut_g", "a", "b"])
    assert (found.out_domtblout, found.out_tblout, found.cutoff) == ("x", "y", "ga")
    for words in (["--dom", "x"], ["--cut", "a"], ["--format", "a"]):
        with pytest.raises(UsageError):
            parser.parse_args([*words, "a", "b"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hmmsearch", "--dom", "x", "a", "b"], "did you mean --domtblout, --domtsv, "),
        (["sw", "--out", "x", "a", "b"], "--out (did you mean -o?)"),
        # those of BLAST, DIAMOND, MMseqs2, FASTA and HMMER2
        (["sw", "-matrix", "mg.faa", "a", "b"], "-matrix (did you mean --matrix?)"),
        (["sw", "--evalue", "1e-3", "a", "b"], "--evalue (did you mean -E?)"),
        (["hmmsearch", "-evalue", "1e-3", "a", "b"], "-evalue (did you mean -E?)"),
        (["sw", "-out", "f", "a", "b"], "-out (did you mean -o?)"),
        (["sw", "-outfmt", "6", "a", "b"], "-outfmt (did you mean --outfmt?)"),
        (["hmmsearch", "--format-output=6", "a", "b"], "--format-output (did you mean --outfmt?)"),
        (["sw", "--max-target-seqs", "5", "a", "b"], "--max-target-seqs (did you mean --top?)"),
        (["sw", "-num_threads", "5", "a", "b"], "-num_threads (leave it out"),
        (["resume", "--cpu", "5", "a"], "--cpu (leave it out"),
        (["sw", "-query", "a", "b"], "-query (files are given without an option"),
        (["hmmscan", "-db", "a", "b"], "-db (files are given without an option"),
        (["hmmsearch", "--informat", "fasta", "a", "b"], "--informat (did you mean --tformat?)"),
        (["hmmsearch", "--gpu", "a", "b"], "--gpu (did you mean --device gpu?)"),
        (["hmmsearch", "--null2", "a", "b"], "--null2 (did you mean --nonull2?)"),
        (["sw", "--tblout", "f", "a", "b"], "--tblout (did you mean --tsv?)"),
        # written otherwise, the beginning, or misspelled
        (["hmmsearch", "--cut-ga", "a", "b"], "--cut-ga (did you mean --cut_ga?)"),
        (["hmmsearch", "--dome", "1", "a", "b"], "--dome (did you mean --domE?)"),
        (["sw", "-help"], "-help (did you mean --help?)"),
        (["sw", "--mat", "x", "a", "b"], "--mat (did you mean --matrix or --match?)"),
        (["sw", "--martix", "x", "a", "b"], "--martix (did you mean --matrix?)"),
        (["sw", "--min-seq-id", "0.3", "a", "b"], "--min-seq-id\n"),
        (["sw", "-X", "-Y=1", "a"], "unknown options -X, -Y\n"),
    ],
)
def test_an_unknown_option_is_named_alone_with_what_may_be_meant(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert told in said
    assert said.startswith(f"clalign {words[0]}: unknown option")
    assert not {"mg.faa", "1e-3", "fasta"} & set(said.split()), "no file and no value is blamed"


@pytest.mark.parametrize(
    "words", [["-E1e-3", "-oout.txt"], ["-T", "-1.5e1"], ["-T-5"], ["-o", "-"], ["--tformat=fasta"]]
)
def test_options_with_values_attached_or_negative_are_known(words: list[str]) -> None:
    parsed(*words)


@pytest.mark.parametrize(
    ("words", "told"),
    [(["tune", "file"], "too many arguments: file"), (["sw", "a", "b", "c d", "e"], "too many arguments: c d e")],
)
def test_what_is_too_many_is_named(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == ExitCode.USAGE
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "meant"),
    [("hmmsarch", "hmmsearch"), ("hmmpfam", "hmmscan"), ("blastp", "sw"), ("hmmcalibrate", "calibrate"), ("frob", "")],
)
def test_a_command_of_other_programs_or_misspelled_is_understood(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word, "a", "b"]) == ExitCode.USAGE
    told = f" (did you mean {meant}?)" if meant else ""
    assert capsys.readouterr().err == f"clalign: there is no command {word}{told}\nTry: clalign -h\n"


@pytest.mark.parametrize("name", all_commands())
def test_every_suggestion_is_an_option_of_its_command(name: str) -> None:
    parser = parser_of(name)
    assert parser is not None
    flags = [flag for action in parser._actions for flag in action.option_strings]
    for names, _ in suggestions.OPTIONS:
        for word in names.split():
            meant = re.match(r" \(did you mean (-\S+?)[ ?]", suggestions.suggestion(f"--{word}", flags))
            assert meant is None or meant[1] in flags


def test_help_of_a_command_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "hmmsearch"]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("Usage: clalign hmmsearch")
    assert main(["help", "hmmsarch"]) == ExitCode.USAGE
    assert "did you mean hmmsearch?" in capsys.readouterr().err
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sw", "--top", "0", "a", "b"], "--top is 0.\nGive a whole number above 0"),
        (["sw", "--top", "-1", "a", "b"], "--top is -1.\nGive a whole number above 0"),
        (["hmmsearch", "--textw", "20", "a", "b"], "--textw is 20.\nGive a whole number from 120 on."),
        (["verify", "--sample", "0", "x"], "--sample is 0.\nGive a whole number above 0."),
    ],
)
def test_numbers_without_sense_end_with_one_code(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.INPUT
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-", "-"], ["-E", "-1", "a", "b"], ["-Z", "-3", "a", "b"]])
def test_options_without_sense(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hmmsearch", *words]) == ExitCode.INPUT
    assert "clalign: " in capsys.readouterr().err


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
    assert not [word for word in AVOIDED if word in (short + long).lower()]


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
def test_no_space_for_standard_output_is_told(words: list[str], buffering: list[str]) -> None:
    command = [sys.executable, *buffering, "-m", "clalign", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == ExitCode.CANNOT_WRITE
    assert re.fullmatch(r"clalign: .*space left.*\n.*choose another place\.\n", done.stderr, re.IGNORECASE)


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

"""Runs the sub-command that a command line names, or shows what there is; reports errors."""

from __future__ import annotations

import contextlib
import errno
import importlib
import shlex
import traceback
from collections.abc import Callable
from functools import partial

import clalign
from clalign.cli import starting
from clalign.cli.environment import begin_loading, check_environment, end_at_once, end_loading, leave_threads_out
from clalign.cli.interruptions import Ended, endings_raised
from clalign.cli.parser import EXIT_CODES, CommandParser, ShownError, UsageError, command_meant
from clalign.cli.streams import drop_unread_stdout, enough_read, flush_stdout, show, write_stderr
from clalign.engines import COMMANDS
from clalign.engines.engine import engine_with, engines
from clalign.errors import ClalignError, ExitCode
from clalign.system.processes import INNER_COMMANDS

TOOLS = {
    "add": "add sequences to a finished alignment",
    "anneal": "align the sequences of a finished run with another gap factor",
    "realign": "realign a block of columns of an alignment",
    "tree": "make a tree of the sequences of an alignment",
    "accuracy": "compare alignments with reference alignments",
    "hmmbuild": "build HMMER3 profiles from alignments",
    "hmmalign": "align sequences to a HMMER3 profile",
    "calibrate": "fit the score statistics of HMMER2 profiles",
    "resume": "continue a search that stopped early",
    "shard": "plan a search in parts for several computers",
    "merge": "merge the runs of all parts of a search",
    "export": "write the results of a run as tables, sequences or alignments",
    "picture": "draw the hits of a run: coverage, scores, identity, species",
    "runs": "list, name, compare and delete runs",
    "note": "write a note beside a hit, or print it",
    "explain": "show why a sequence was found or missed",
    "verify": "recompute results of a run on the reference",
    "devices": "list the devices that clalign can run on",
    "tune": "find the fastest settings for a device",
    "selftest": "check that a device computes the right scores",
    "logo": "draw a profile as a logo",
    "lab": "measure published ladders of kernels on a device",
    "bench": "run the same job on several devices and compare",
    "doctor": "check this installation and show what is missing",
    "gui": "open the window",
    "desktop": "add clalign to the desktop's menu and file types, or remove it",
    "cache": "show or clear the cache",
    "shims": "write programs with HMMER's names, which run clalign",
    "completion": "print a completion script for your shell",
}
"""Commands that belong to no engine."""

OWN_COMMANDS = {*TOOLS, *INNER_COMMANDS}

OWN_SIGNALS = (["gui"], *([name] for name in INNER_COMMANDS))
"""Words of commands that handle signals themselves."""

EXAMPLES = """\
examples:
  clalign hmmsearch globins.hmm proteins.fasta
  clalign sw queries.fasta proteins.fasta
  clalign devices
  clalign gui
"""


def run_words(words: list[str], worker_ahead: starting.WorkerAhead, command: str = "") -> int:
    """Do what the words of the command line ask for and return the exit code.

    Parameters
    ----------
    words : list of str
    worker_ahead : WorkerAhead
        The worker that was started for a command of an engine.
    command : str
        The command line to report, if not this one.
    """
    unwinding = contextlib.nullcontext() if words[:1] in OWN_SIGNALS else endings_raised()
    try:
        with unwinding:
            check_environment()
            code = _run(words, worker_ahead, command or shlex.join(["clalign", *words]))
        with enough_read():
            flush_stdout()
        return code
    except UsageError as error:
        write_stderr(f"{error.command}: {error.message}\nTry: {error.command} -h")
        return error.exit_code
    except ClalignError as error:
        write_stderr("\n".join(line for line in (f"clalign: {error.message}", error.hint) if line))
        write_stderr(getattr(error, "traceback", None) or "", end="")
        return error.exit_code
    except ShownError as error:
        return error.exit_code
    except KeyboardInterrupt:
        write_stderr("clalign: Interrupted.")
        return ExitCode.INTERRUPTED
    except Ended as ending:
        write_stderr("clalign: Terminated.")
        return ending.exit_code
    except BrokenPipeError:
        if drop_unread_stdout():
            return ExitCode.DONE  # a reader that closes its pipe has read enough
        write_stderr("clalign: An output could not be written because its reader has gone.\nChoose another place.")
        return ExitCode.CANNOT_WRITE
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            write_stderr("clalign: There is no space left for the output.\nFree some, or choose another place.")
            return ExitCode.CANNOT_WRITE
        write_stderr(
            f"{traceback.format_exc()}clalign: This is a fault of clalign. Please report it with the text above."
        )
        return ExitCode.ENGINE


def _alone(name: str, **more: str) -> CommandParser:
    return CommandParser(f"clalign {name}", **more)


def parser_of(name: str, make: Callable[..., CommandParser] = _alone) -> CommandParser | None:
    """Return the parser of a sub-command, made from name, description and examples; None if there is none."""
    if name in OWN_COMMANDS:
        module = importlib.import_module(f"clalign.cli.{name}")
        parser = make(name, description=getattr(module, "DESCRIPTION", None), examples=getattr(module, "EXAMPLES", ()))
        module.add_arguments(parser)
        parser.set_defaults(run=module.run)
    elif (engine := engine_with(name)) is not None:
        from clalign.cli.engine_command import add_arguments, run

        command = engine.command(name)
        parser = make(name, description=command.description, examples=command.examples)
        add_arguments(parser, engine, name)
        parser.set_defaults(run=partial(run, engine=engine, name=name))
    else:
        return None
    return parser


def _run(words: list[str], worker_ahead: starting.WorkerAhead, command: str) -> int:
    is_engines = bool(words) and not (words[0] in OWN_COMMANDS or {"-h", "--help"} & set(words))
    engine = engine_with(words[0]) if is_engines else None
    if engine is None:
        return _run_command(words, worker_ahead, command)
    leave_threads_out()
    begin_loading()
    end_at_once()
    try:
        if words[0] in COMMANDS:
            return _run_command(words, worker_ahead, command)
        with starting.WorkerAhead(engine.name, starting.device_in(words)) as own:  # of an engine of another package
            return _run_command(words, own, command)
    finally:
        end_loading()


def _run_command(words: list[str], worker_ahead: starting.WorkerAhead, command: str) -> int:
    parser = parser_of(words[0]) if words and not words[0].startswith("-") else None
    if parser is None:
        return _general(words, worker_ahead)
    try:
        arguments = parser.parse_args(words[1:])
    except SystemExit as ending:  # argparse ends this way after a help text
        return int(ending.code or 0)
    arguments.worker_ahead = worker_ahead
    arguments.command = command
    code: int = arguments.run(arguments)
    return code


def all_commands() -> dict[str, str]:
    """Return a sentence on each command, those of the engines first."""
    return {name: text for engine in engines() for name, text in engine.commands.items()} | TOOLS


def _general(words: list[str], worker_ahead: starting.WorkerAhead) -> int:
    """Show help or version, which need no sub-command."""
    if words[:1] == ["help"] and len(words) > 1:
        return _run([words[1], "--help"], worker_ahead, "")
    if not words or words[0] in ("-h", "--help", "help"):
        show(_overview())
        return ExitCode.DONE if words else ExitCode.USAGE
    if words[0] in ("--version", "-V"):
        show(f"clalign {clalign.__version__}")
        if set(words[1:]) & {"-v", "--verbose"}:
            from clalign.cli.doctor import version_lines

            show("\n".join(version_lines()))
        return ExitCode.DONE
    meant = command_meant(words[0], all_commands())
    hint = f" (did you mean {meant}?)" if meant else ""
    what = "option" if words[0].startswith("-") else "command"
    raise UsageError("clalign", f"there is no {what} {words[0]}{hint}")


def _overview() -> str:
    commands = "\n".join(f"  {name:<11s} {text}" for name, text in all_commands().items())
    return (
        "Usage: clalign COMMAND [options]\n\n"
        "Profile HMM search, Smith-Waterman and multiple alignment on any OpenCL device.\n\n"
        f"{EXAMPLES}\ncommands:\n{commands}\n\n"
        "  clalign COMMAND -h       short help\n"
        "  clalign COMMAND --help   all options (same as: clalign help COMMAND)\n"
        f"  clalign --version [-v]   versions\n\n{EXIT_CODES}"
    )

"""An argument parser with a short help that fits a screen, a full help, and suggestions for unknown words."""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import sys
import textwrap
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from clalign.cli.streams import show
from clalign.errors import ExitCode, OptionError
from clalign.values.typed_numbers import OutOfRange

MIN_SIMILARITY = 0.75
"""Ratio of `difflib` from which on a word counts as a misspelling of another."""

MIN_PREFIX = 3
"""Letters from which on a word counts as the beginning of another."""

IN_PARTS = "only hmmsearch, hmmscan and sw can be done in parts"
FILES_BARE = "files are given without an option, in the order of the help"

OPTIONS = (
    # what HMMER, BLAST, FASTA, MMseqs2, DIAMOND and others call it; what it is here, the first that a command has
    ("e evalue e-value expect max-evalue evalue-threshold", ("-E",)),
    ("T bits bitscore min-score minscore score score-threshold", ("-T",)),
    ("z dbsize db-size effective-db-size", ("-Z",)),
    ("out outfile out-file output output-file", ("-o",)),
    ("m outfmt out-format format-output format-mode output-format", ("--outfmt", "--tblout")),
    ("m8 tab table tabular csv blasttab", ("--tsv", "--outfmt")),
    ("tbl tblout", ("--tblout", "--tsv")),
    ("domtbl domtblout", ("--domtblout", "--domtsv", "--tsv")),
    ("sto aln alignment alignments afa", ("-A", "--stockholm")),
    ("b k max-hits max-seqs max-target-seqs max-targets num-alignments num-descriptions top-hits", ("--top",)),
    ("M s sub-mat score-matrix scoring-matrix substitution-matrix", ("--matrix",)),
    ("r reward", ("--match",)),
    ("penalty", ("--mismatch",)),
    ("G gap-open gop", ("--gapopen",)),
    ("gap-extend gap-ext gapext gep", ("--gapextend",)),
    ("global", ("--mode global",)),
    ("semiglobal glocal", ("--mode semiglobal",)),
    ("gpu cuda opencl platform", ("--device gpu",)),
    ("dna nucl nucleotide", ("--dna", "--alphabet dna")),
    ("rna", ("--rna", "--alphabet rna")),
    ("amino protein prot", ("--amino", "--alphabet amino")),
    ("format informat in-format input-format", ("--tformat",)),
    ("nofilter nofilters no-filter no-filters nofilt", ("--max",)),
    ("null2", ("--nonull2",)),
    ("silent", ("-q",)),
    ("random-seed rng-seed", ("--seed",)),
    ("a cores cpus jobs nproc num-cores num-threads nthreads thread threads", ("--cpu",)),
    ("chunk chunks n-chunks part parts shards split split-db", ("--shard",)),
    ("shard", IN_PARTS),
    ("d database db hmmdb hmmfile i in input queries query reference seqdb seqfile subject target targets", FILES_BARE),
)

COMMANDS = (
    ("hmmsearch", "hmm2search hmmsearch2 hmmsearch3 nhmmer search"),
    ("hmmscan", "hmm2pfam hmmpfam nhmmscan pfamscan scan"),
    ("jackhmmer", "psiblast"),
    ("calibrate", "hmm2calibrate hmmcalibrate"),
    ("hmmbuild", "build hmm2build"),
    ("hmmalign", "hmm2align"),
    ("logo", "hmmlogo skylign weblogo"),
    ("picture", "chart draw figure plot"),
    ("sw", "align blast blastn blastp diamond fasta36 mmseqs needle parasail smith-waterman ssearch ssearch36"
           " swipe water"),
    ("devices", "clinfo list"),
    ("gui", "open start ui window"),
    ("resume", "continue restart"),
    ("doctor", "check diagnose info status"),
    ("selftest", "self-test test"),
)  # fmt: skip


def whole_option(word: str, flags: Collection[str]) -> str:
    """Return the long option that a word begins, if it begins only one and means no other; else the word.

    Parameters
    ----------
    word : str
        Word of the command line; a value may follow after ``=``.
    flags : collection of str
        The options that the command has.
    """
    name, sign, value = word.partition("=")
    begun = [flag for flag in flags if flag.startswith(name)]
    if not name.startswith("--") or name == "--" or name in begun or len(begun) != 1:
        return word
    return begun[0] + sign + value if _meaning(_plain(name), flags) in (None, begun[0]) else word


def suggestion(word: str, flags: Collection[str]) -> str:
    """Return advice about an option that a command does not have, in brackets; an empty text for none.

    Parameters
    ----------
    word : str
        The unknown option.
    flags : collection of str
        The options that the command has.
    """
    name = _plain(word)
    by_name = {_plain(flag): flag for flag in flags}
    alike = [flag for plain, flag in by_name.items() if len(name) > 1 and plain.lower() == name.lower()]
    advice = alike[0] if alike else _meaning(name, flags)
    if not isinstance(advice, str):
        begun = [flag for plain, flag in by_name.items() if len(name) >= MIN_PREFIX and plain.startswith(name)]
        near = difflib.get_close_matches(name, [plain for plain in by_name if len(plain) > 1], 1, MIN_SIMILARITY)
        advice = _one_of(begun or [by_name[plain] for plain in near])
    elif advice.startswith("-"):
        advice = _one_of([advice])
    return f" ({advice})" if advice else ""


def is_taken_apart(word: str, flags: Collection[str]) -> bool:
    """Return whether a word is an option with one dash, as BLAST has them: ``-out`` is not ``-o ut``."""
    if word.startswith("--") or len(word) <= 2 or word in flags:
        return False
    name = _plain(word)
    return any(_plain(flag) == name for flag in flags) or _meaning(name, flags) is not None


def command_meant(word: str, commands: Collection[str]) -> str:
    """Return the command that may be meant by an unknown one; an empty text if there is none."""
    plain = word.lower()
    for command, names in COMMANDS:
        if plain in names.split():
            return command
    near = difflib.get_close_matches(plain, commands, 1, MIN_SIMILARITY)
    return near[0] if near else ""


def _plain(word: str) -> str:
    """Return an option without leading dashes and value, its words joined by dashes."""
    return word.partition("=")[0].lstrip("-").replace("_", "-")


def _meaning(name: str, flags: Collection[str]) -> str | None:
    """Return the option with the meaning of a name, or advice; None if the name is not known."""
    name = name if len(name) == 1 else name.lower()
    for names, here in OPTIONS:
        if name not in names.split():
            continue
        if isinstance(here, str):
            return here
        known = [flag for flag in here if flag.split()[0] in flags]
        if known:
            return known[0]
    return None


def _one_of(flags: list[str]) -> str:
    *first, last = flags or [""]
    return f"did you mean {', '.join(first)}{' or ' if first else ''}{last}?" if last else ""


WIDTH = 100

EXIT_CODES = """\
exit codes:
  0  done, also if nothing was found or       6  an output cannot be written
     the reader of a pipe has gone            7  no usable device
  1  an option or an input makes no sense     8  a self-test, verification or comparison differed
  2  an input (profiles, sequences, a run)    9  stopped early; the run can be continued
     cannot be read                          64  the command line is not understood
  3  the engine or a driver failed          129  the terminal was closed
  4  out of memory                          130  interrupted; 143  terminated
"""

_WORDS = {
    "invalid choice: ": "unknown choice ",
    "the following arguments are required": "missing",
    "expected one argument": "a value is missing",
}
"""Words of argparse's messages, and those used instead."""


class UsageError(Exception):
    """An error for a command line that is not understood.

    Parameters
    ----------
    command : str
        The command, as in ``clalign hmmsearch``.
    message : str
        What is wrong.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, command: str, message: str) -> None:
        super().__init__(message)
        self.command = command
        self.message = message


class ShownError(Exception):
    """An error that was already shown.

    Parameters
    ----------
    exit_code : ExitCode
        Exit code of the program because of it.
    """

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class ShortHelp(argparse.Action):
    """Print the short help and end."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **more)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print the short help and end."""
        assert isinstance(parser, CommandParser)
        show(parser.short_help())
        raise SystemExit(ExitCode.DONE)


class CommandParser(argparse.ArgumentParser):
    """The parser of a sub-command.

    Parameters
    ----------
    prog : str
        Name of the command, as in ``clalign hmmsearch``.
    examples : sequence of str
        Command lines; a comment may follow after ``#``.
    description : str
        What the command does.
    **more
        Further arguments of `argparse.ArgumentParser`.

    Attributes
    ----------
    is_mixed : bool
        Whether options may stand between the words of a list.
    """

    is_mixed = False

    def __init__(self, prog: str, *, examples: Sequence[str] = (), description: str | None = None, **more: Any) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=EXIT_CODES,
            formatter_class=_Formatter,
            add_help=False,
            allow_abbrev=False,  # `whole_option` knows what options of other programs mean
            **more,
        )
        self._positionals.title = "Files"
        self.examples = tuple(examples)
        self.leads_to: set[str] = set()  # commands whose words are not parsed
        # Scores are often negative, and may be given as -1e3.
        self._negative_number_matcher = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)
        general = self.add_argument_group("Help")
        general.add_argument("-h", action=ShortHelp, help="show a short help")
        general.add_argument("--help", action="help", help="show all options")

    def short_help(self) -> str:
        """Return the help that fits a screen: usage, examples, and the flags by group."""
        usage = self.format_usage_line()
        lines = [usage, "", *textwrap.wrap(self.description or "", WIDTH), ""]
        if self.examples:
            lines += ["Examples:", *(f"  {example}" for example in self.examples), ""]
        for group in self._action_groups:
            title = group.title or ""
            flags = [self._flag(action) for action in group._group_actions if action.option_strings]
            if flags and title != "Help":
                lines += textwrap.wrap(
                    "  ".join(f.replace(" ", "\0") for f in flags), WIDTH, break_on_hyphens=False,
                    initial_indent=f"{title[:1].upper()}{title[1:] + ':':<17s} ", subsequent_indent=" " * 19,
                )  # fmt: skip
        return "\n".join([*lines, "", f"All options: {self.prog} --help"]).replace("\0", " ")

    @staticmethod
    def _flag(action: argparse.Action) -> str:
        flag = ", ".join(action.option_strings)
        return flag if action.nargs == 0 else f"{flag} {action.metavar or action.dest.upper()}"

    def format_usage_line(self) -> str:
        """Return the usage line, which lists only flags that are required."""
        must = [
            f"{a.option_strings[-1]} {a.metavar or a.dest.upper()}"
            for a in self._actions
            if a.option_strings and a.required
        ]
        words = [self._argument(a) for a in self._get_positional_actions() if a.help != argparse.SUPPRESS]
        return " ".join(["Usage:", self.prog, "[options]", *must, *words])

    @staticmethod
    def _argument(action: argparse.Action) -> str:
        word = str(action.metavar or action.dest)
        nargs = getattr(action, "save_nargs", action.nargs)  # put aside while words and options may be mixed
        return {"?": f"[{word}]", "+": f"{word} ...", "*": f"[{word} ...]"}.get(str(nargs), word)

    def format_help(self) -> str:
        """Return the full help, examples before options."""
        examples = ["Examples:", *(f"  {example}" for example in self.examples), ""] if self.examples else []
        body = super().format_help()
        start = body.index("\n\n") + 2 if "\n\n" in body else 0
        return "\n".join([self.format_usage_line(), "", *examples, body[start:]])

    def print_help(self, file: object = None) -> None:
        """Print the full help; argparse's own method hides errors of writing."""
        show(self.format_help(), end="")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed words. Unknown options are reported before errors that follow from them.

        A prefix of a long option is enough if it begins no other option.
        """
        every = list(args)
        words = list(itertools.takewhile(lambda word: word not in self.leads_to, every))
        flags = self._option_string_actions
        end = (*words, "--").index("--")
        words[:end] = [whole_option(word, flags) for word in words[:end]]
        options = [word for word in words[:end] if self._is_foreign(word)]
        if options:
            listed = ", ".join(word.partition("=")[0] + suggestion(word, flags) for word in options)
            raise UsageError(self.prog, f"unknown option{'s' if len(options) > 1 else ''} {listed}")
        parse = self.parse_known_intermixed_args if self.is_mixed else self.parse_known_args
        found, left = parse(words, namespace)
        if left:
            raise UsageError(self.prog, f"too many arguments: {' '.join(left)}")
        if self.leads_to:
            found.leads_to = every[len(words) :]
        return found

    def _is_foreign(self, word: str) -> bool:
        """Return whether a word is an option that the command does not have, by the rules of argparse."""
        flags = self._option_string_actions
        if not word.startswith("-") or word == "-" or " " in word or self._negative_number_matcher.match(word):
            return False
        attached = word[:2] if not word.startswith("--") else word.partition("=")[0]
        return attached not in flags or is_taken_apart(word, flags)

    def error(self, message: str) -> NoReturn:
        """Raise an error of the command line."""
        error = sys.exc_info()[1]
        if isinstance(error, argparse.ArgumentError) and isinstance(error.__context__, OutOfRange):
            wrong = error.__context__
            raise OptionError(f"{error.argument_name} is {wrong.value}.", f"Give {wrong.wanted}.") from None
        for theirs, ours in _WORDS.items():
            message = message.replace(theirs, ours)
        message = message.removeprefix("argument ")
        raise UsageError(self.prog, message)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)

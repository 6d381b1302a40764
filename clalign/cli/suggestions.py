"""Suggestions for unknown options and commands: by meaning, else by spelling."""

from __future__ import annotations

import difflib
from collections.abc import Collection

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

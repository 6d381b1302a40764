"""What the user asked of a pairwise search, as plain data with the words that the command line and the forms use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from clalign.errors import OptionError
from clalign.values.scoring import MODES, GapCosts, Mode
from clalign.values.shards import FLAG, Shard, shard_option
from clalign.values.specs import INPUT, REPORT, Spec, option

SCORING = "Scoring"
PAIRS = "Pairs"

AS_THE_MATRIX, CUSTOMARY = "as the matrix has it", "customary for the matrix"
"""What is said in place of a number that is not given."""

MAX_HITS = 1_000_000_000

Strand = Literal["auto", "both", "plus", "minus"]


OF_SEARCHES = ("top", "evalue", "score", "statistics")
"""Options without a meaning for given pairs."""

ALL_REPORTED = "All given pairs are reported, without E-values."


@dataclass(frozen=True, slots=True)
class PairwiseSpec(Spec):
    """A search of sequences against sequences, or the alignment of given pairs of them.

    Attributes
    ----------
    queries, targets : str
        Files; ``-`` is standard input.
    device : str
        What to run on: an id, part of a name, ``gpu``, ``cpu``, ``auto`` or ``reference``.
    direction : str
        ``pairwise``, which distinguishes such a run from one of profiles.
    matrix : str or None
        A name or a file; None for `match` and `mismatch`, or for what BLAST takes for the kind of sequences.
    match, mismatch : int or None
        Scores of equal and of different bases.
    gap_first, gap_next : int or None
        What the first residue of a gap and each further one cost; None for the costs that go with the matrix.
    """

    inputs: ClassVar[tuple[str, ...]] = ("queries", "targets")
    more_files: ClassVar[tuple[str, ...]] = ("matrix", "pair_list")

    queries: str
    targets: str
    device: str = "auto"
    direction: Literal["pairwise"] = "pairwise"
    matrix: str | None = option(
        None, "--matrix", "Matrix", "substitution matrix: a name (any case) or a file as the NCBI has them"
        " [BLOSUM62; for nucleic acids match 2, mismatch -3]", SCORING, choices={None: "usual"},
        file="Open a matrix", names="clalign.formats.matrices:matrix_names",
    )  # fmt: skip
    match: int | None = option(
        None, "--match", "Match", "score of equal bases, with --mismatch in place of a matrix", SCORING, signed=True,
        empty=AS_THE_MATRIX,
    )  # fmt: skip
    mismatch: int | None = option(
        None, "--mismatch", "Mismatch", "score of different bases", SCORING, signed=True, empty=AS_THE_MATRIX
    )
    gap_first: int | None = option(
        None, "--gap-first", "First gap residue", "cost of a gap's first residue [customary for the matrix]", SCORING,
        empty=CUSTOMARY,
    )  # fmt: skip
    gap_next: int | None = option(
        None, "--gap-next", "Next gap residues", "cost of each further residue of a gap; equal costs make linear gaps",
        SCORING, empty=CUSTOMARY,
    )  # fmt: skip
    mode: Mode = option(
        "local", "--mode", "Alignment", "the best parts of both, all of both, all but overhanging ends, or the"
        " best parts without gaps [local]", SCORING, first=True, choices={
            "local": "local: the best parts of both",
            "global": "global: all of both",
            "semiglobal": "semiglobal: overhanging ends cost nothing",
            "ungapped": "ungapped: the best parts without gaps",
        },
    )  # fmt: skip
    strand: Strand = option(
        "auto", "--strand", "Strand", "strands of nucleic queries [both in a search, plus for pairs]", SCORING,
        choices={"auto": "both in a search, plus for pairs", "both": "both", "plus": "plus", "minus": "minus"},
    )  # fmt: skip
    top: int = option(500, "--top", "Most hits", "report at most so many targets for each query", REPORT, positive=True)
    evalue: float = option(
        10.0, "-E", "E-value at most", "report targets with at most this E-value", REPORT, positive=True, first=True
    )
    score: int | None = option(
        None, "-T", "Score at least", "report targets with at least this raw score", REPORT, signed=True
    )
    statistics: Literal["auto", "published", "fitted"] = option(
        "auto", "--statistics", "Statistics", "E-values from published parameters, from a fit to the scores of the run,"
        " or published ones where there are any [auto]", REPORT, choices={
            "auto": "published ones, or else fitted to the run",
            "published": "published ones only",
            "fitted": "fitted to the run",
        },
    )  # fmt: skip
    composition: Literal["off", "scale"] = option(
        "off", "--composition", "Composition", "adjust E-values and bits of proteins to the composition of query and"
        " target, which scales lambda [off]", REPORT,
        choices={"off": "does not count", "scale": "scales lambda of each pair"},
    )  # fmt: skip
    alphabet: Literal["auto", "amino", "dna", "rna"] = option(
        "auto", "--alphabet", "Sequences are", "take queries and targets for this alphabet", INPUT, of_file=True
    )
    query_format: str = option("auto", "--qformat", "Query format", "format of the query file", INPUT, of_file=True)
    sequence_format: str = option(
        "auto", "--tformat", "Target format", "format of the target file", INPUT, of_file=True
    )
    shard: str | None = shard_option()
    in_step: bool = option(
        False, "--pairs", "Pairs in step", "align the first query with the first target, the second ones, ...", PAIRS
    )
    pair_list: str | None = option(
        None, "--pair-list", "List of pairs", "align the pairs of names in this file: query, tabulator, target", PAIRS,
        empty="no list: all queries with all targets", file="Open a list of pairs",
    )  # fmt: skip
    long: bool = option(
        False, "--long", "Long sequences", "align pair by pair, each with all of the device: those in step, or of a"
        " file of one sequence with each of the other file [only pairs that are long]", PAIRS,
    )  # fmt: skip

    def __post_init__(self) -> None:
        self.check_inputs()
        if self.in_step and self.pair_list is not None:
            raise OptionError("Pairs come either in step or from a list.", "Leave out --pairs or --pair-list.")
        if self.pair_list == "-":
            raise OptionError("The list of pairs cannot be standard input (-).", "Give it as a file.")
        if (self.match is None) != (self.mismatch is None):
            raise OptionError("A match and a mismatch belong together.", "Give both --match and --mismatch.")
        if self.match is not None and self.matrix is not None:
            raise OptionError("There is a matrix, and a match and mismatch.", "Leave out --matrix, or the other two.")
        if (self.gap_first is None) != (self.gap_next is None):
            raise OptionError(
                "Only one of the two gap costs is given.",
                "Give both --gap-first and --gap-next, or both --gapopen and --gapextend.",
            )
        if self.gap_first is not None and self.gap_next is not None:
            GapCosts(self.gap_first, self.gap_next)
        if self.mode not in MODES:
            raise OptionError(f'There is no mode "{self.mode}".', f"Choose one of {', '.join(MODES)}.")
        if self.composition == "scale" and self.is_pairs:
            raise OptionError("Given pairs have no E-values to adjust.", "Leave out --composition scale.")
        if self.composition == "scale" and self.statistics == "fitted":
            raise OptionError(
                "Fitted statistics hold the composition of the query already.",
                "Leave out --composition scale or --statistics fitted.",
            )
        if self.shard is not None:
            Shard.parse(self.shard)
        if self.shard is not None and self.is_pairs:
            raise OptionError("Given pairs are no database of which a part could be searched.", f"Leave out {FLAG}.")
        if not 0 < self.evalue < math.inf:
            raise OptionError(f"-E is {self.evalue:g}.", "Give a number above 0.")
        if not 0 < self.top <= MAX_HITS:
            raise OptionError(f"--top is {self.top}.", f"Give a whole number above 0, at most {MAX_HITS:,}.")

    @property
    def is_pairs(self) -> bool:
        """Whether given pairs are aligned, instead of a search."""
        return self.in_step or self.long or self.pair_list is not None

    @property
    def command(self) -> str:
        """``sw``."""
        return "sw"

"""What the user asked of an alignment of many sequences, with the words that the command line and the forms use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from clalign.errors import OptionError
from clalign.values.pair_hmm import MIN_POSTERIOR
from clalign.values.specs import INPUT, Spec, flag_of, option

MODEL = "Model"
LEARNING = "Learning"
ALIGNING = "Alignment"
PAIRS = "Pairs"

MAX_ROUNDS = 3
"""Limit of the rounds of learning, as in FSA."""

GAPS = ("gap_open_1", "gap_extend_1", "gap_open_2", "gap_extend_2")


@dataclass(frozen=True, slots=True)
class AlignmentSpec(Spec):
    """An alignment of many sequences; names and defaults of its options are those of FSA.

    Attributes
    ----------
    sequences : tuple of str
        Files; ``-`` is standard input.
    device : str
        What to run on: an id, part of a name, ``gpu``, ``cpu``, ``auto`` or ``reference``.
    """

    inputs: ClassVar[tuple[str, ...]] = ("sequences",)
    more_files: ClassVar[tuple[str, ...]] = ("load_posteriors", "tree_weights")

    sequences: tuple[str, ...]
    device: str = "auto"
    is_fast: bool = option(
        False, "--fast", "Fewer pairs", "compare each sequence with only some others, mostly similar ones: much"
        " faster where there are many (no difference below 15)", PAIRS, first=True,
    )  # fmt: skip
    gap_factor: float = option(
        1.0, "--gapfactor", "Gap factor", "what aligning must be worth: less than 1 for a more sensitive alignment,"
        " more for one that only says what is certain", ALIGNING, first=True,
    )  # fmt: skip
    is_sensitive: bool = option(
        False, "--maxsn", "Most sensitive", "align whatever may be homologous (as --gapfactor 0)", ALIGNING
    )
    refinement: int = option(
        -1, "--refinement", "Sweeps of refinement", "move single residues in at most so many sweeps; -1 for as many as"
        " it takes", ALIGNING, signed=True, empty="until nothing improves",
    )  # fmt: skip
    without_dynamic_weights: bool = option(
        False, "--nodynamicweights", "Fixed weights", "keep what a merge is worth when its columns have grown", ALIGNING
    )
    tree_weights: str | None = option(
        None, "--treeweights", "Weights of pairs", "file with two names and a weight on each line; pairs that are not"
        " there count nothing", ALIGNING, file="Open weights of pairs", empty="all pairs count alike",
    )  # fmt: skip
    requires_homology: bool = option(
        False, "--require-homology", "Demand homology", "refuse sequences of which two have nothing in common", ALIGNING
    )
    has_one_gap_set: bool = option(
        False, "--noindel2", "One kind of gap", "model gaps by one length distribution in place of a mixture of two",
        MODEL,
    )  # fmt: skip
    gap_open_1: float | None = option(
        None, "--gapopen1", "Gap open 1", "probability of opening a gap of the first kind, before learning", MODEL,
        empty="as published",
    )  # fmt: skip
    gap_extend_1: float | None = option(
        None, "--gapextend1", "Gap extend 1", "probability of extending such a gap, before learning", MODEL,
        empty="as published",
    )  # fmt: skip
    gap_open_2: float | None = option(
        None, "--gapopen2", "Gap open 2", "the same for gaps of the second kind", MODEL, empty="as published"
    )
    gap_extend_2: float | None = option(
        None, "--gapextend2", "Gap extend 2", "the same for gaps of the second kind", MODEL, empty="as published"
    )
    model: Literal["1", "5"] = option(
        "1", "--model", "Substitutions", "before learning: 1 adjusts them to the composition of the sequences, 5 takes"
        " them as published [1]", MODEL, choices={"1": "adjusted to the composition", "5": "as published"},
    )  # fmt: skip
    least_posterior: float = option(
        MIN_POSTERIOR, "--minprob", "Least probability", "forget residue pairs that are less probable", MODEL
    )
    without_learning: bool = option(
        False, "--nolearn", "Use published parameters",
        "take gaps and substitutions as published, do not learn them from the sequences", LEARNING,
    )  # fmt: skip
    without_gap_learning: bool = option(
        False, "--nolearngap", "Keep gaps", "do not learn how gaps open and go on", LEARNING
    )
    emissions: Literal["auto", "all", "pair", "none"] = option(
        "auto", "--learnemit-all|--learnemit-bypair|--nolearnemit", "Learn substitutions", "substitutions are learned",
        LEARNING, values={
            "all": "from all pairs together (as those of proteins are, where there are enough)",
            "pair": "from each pair (as those of nucleic acids are)",
            "none": "not at all",
        },
        choices={
            "auto": "as FSA does", "all": "from all pairs together", "pair": "from each pair", "none": "not at all",
        },
    )  # fmt: skip
    without_prior: bool = option(
        False, "--noregularize", "No prior", "learn from the counts alone, without those expected before", LEARNING
    )
    gap_scale: float = option(
        3.0, "--regularization-gapscale", "Weight of gap prior", "weight of what is expected of gaps", LEARNING
    )
    emission_scale: float | None = option(
        None, "--regularization-emitscale", "Weight of substitution prior",
        "weight of what is expected of substitutions [210 for proteins, 10 for nucleic acids]", LEARNING,
        empty="210, of nucleic acids 10",
    )  # fmt: skip
    least_increase: float = option(
        0.1,
        "--mininc",
        "Least increase",
        "stop learning when the logarithm of the likelihood changes by less",
        LEARNING,
    )
    most_rounds: int = option(
        MAX_ROUNDS, "--maxrounds", "Most rounds", f"learn in at most so many rounds, at most {MAX_ROUNDS}", LEARNING,
        positive=True,
    )  # fmt: skip
    least_gap_data: int = option(
        60, "--mingapdata", "Least data for gaps", "mean length of a pair above which its gaps are learned", LEARNING
    )
    least_emission_data: int | None = option(
        None, "--minemitdata", "Least data for substitutions",
        "the same for substitutions, where they are learned from each pair [1596 for proteins, 60 for nucleic acids]",
        LEARNING,
        empty="1596, of nucleic acids 60",
    )  # fmt: skip
    to_first: bool = option(
        False, "--refalign", "Only with the first", "compare only the first sequence with all others", PAIRS
    )
    n_pairs: int | None = option(
        None, "--alignment-number", "Number of pairs", "compare so many pairs, trees included", PAIRS, positive=True,
        empty="all",
    )  # fmt: skip
    fraction: float = option(1.0, "--alignment-fraction", "Share of pairs", "compare such a share of all pairs", PAIRS)
    nearest_trees: int = option(
        3,
        "--mst-min",
        "Trees of near pairs",
        "spanning trees of the most similar pairs that are always compared",
        PAIRS,
    )
    farthest_trees: int = option(0, "--mst-max", "Trees of far pairs", "the same of the least similar pairs", PAIRS)
    stars: int = option(0, "--mst-palm", "Stars", "sequences that are always compared with all others", PAIRS)
    degree: int = option(
        0, "--degree", "Nearest sequences", "always compare each sequence with so many most similar ones", PAIRS
    )
    word_length: int | None = option(
        None, "--kmer", "Length of words", "judge by words of this length how similar sequences are", PAIRS,
        positive=True,
        empty="as fits the letters",
    )  # fmt: skip
    seed: int = option(1, "--seed", "Random seed", "seed of random pairs and of residues for ambiguous letters", PAIRS)
    load_posteriors: str | None = option(
        None, "--load-probs", "Known probabilities", "take the posterior probabilities of this file (.probs), and"
        " compute none", INPUT, of_file=True,
    )  # fmt: skip
    alphabet: Literal["auto", "amino", "dna", "rna"] = option(
        "auto", "--alphabet", "Sequences are", "take the sequences for this alphabet", INPUT, of_file=True
    )

    def __post_init__(self) -> None:
        self.check_inputs()
        if not self.sequences:
            raise OptionError("No sequences are given.", "Name at least one file.")
        for name in ("load_posteriors", "tree_weights"):
            if getattr(self, name) == "-":
                raise OptionError(f"{flag_of(name, AlignmentSpec)} cannot be standard input (-).", "Give it as a file.")
        self._check_range(0.0, math.inf, "gap_factor", "gap_scale", "emission_scale", "least_increase")
        self._check_range(0.0, 1.0, *GAPS, "least_posterior", "fraction")
        if self.refinement < -1:
            raise OptionError(f"--refinement is {self.refinement}.", "Give a number of sweeps, or -1 for no limit.")
        if self.is_sensitive and self.gap_factor != 1:
            raise OptionError("--maxsn is the gap factor 0.", "Leave out --gapfactor or --maxsn.")
        if self.is_fast and self.to_first:
            raise OptionError("Pairs with the first sequence alone cannot be thinned out.", "Leave out one of the two.")

    def _check_range(self, least: float, most: float, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and not (least <= value <= most and math.isfinite(value)):
                what = f"from {least:g} to {most:g}" if math.isfinite(most) else f"of at least {least:g}"
                raise OptionError(f"{flag_of(name, AlignmentSpec)} is {value:g}.", f"Give a number {what}.")

    @property
    def command(self) -> str:
        """``align``."""
        return "align"

    @property
    def used_gap_factor(self) -> float:
        """The gap factor that columns are merged with."""
        return 0.0 if self.is_sensitive else self.gap_factor

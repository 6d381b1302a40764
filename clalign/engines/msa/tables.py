"""What the run of an alignment holds beside what every run does: sequences, pairs, counts, posteriors, merges; cards.

A run file of it differs from those of searches in this:

* It has all that is needed to go on, and to write the alignment again; its input files are not read any more.
* Its queries are phases: rounds of the training on all pairs, if there is any, then the comparison of pairs. Its rows
  are the pairs, which are counted in `PAIRS`; the score of a pair is the logarithm of its likelihood for each residue,
  in thousandths. It has no hits.
* Pairs are in blocks, the pieces of the tables of counts and posteriors; batches are of whole blocks.
* The alignment is its only one with many rows; merges and moves that it came about by are in `ANNEALING`.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from clalign.runs.facts import Alphabet, BegunRun, Finished, QueryCard
from clalign.runs.tables import Declaration, EngineTable
from clalign.values.checked import Count, Finite, Line, Number, Probability

SEQUENCES = EngineTable(name="msa_sequences", columns={"name": Line, "description": Line, "residues": str})
"""All sequences, with their letters as they were read."""

PAIRS = EngineTable(name="msa_pairs", columns={"pairs": bytes, "block_ends": bytes})
"""One row: the pairs (int32[P, 2]), and where each block of them ends (int64[n_blocks])."""

COUNTS = EngineTable(name="msa_counts", of="pieces", columns={"sums": bytes})
"""For each block in a round the sums of its expected counts."""

POSTERIORS = EngineTable(
    name="msa_posteriors",
    of="pieces",
    columns={"n_entries": Count, "likelihoods": bytes, "gaps": bytes, "entries": bytes},
)
"""For each block logarithms of likelihoods (float64[n]), gap parameters (float64[n, 2, n_sets]), and posteriors."""

ANNEALING = EngineTable(
    name="msa_annealing",
    columns=dict.fromkeys(
        ("merges", "weights", "final_columns", "moves", "sweep_ends", "sweep_scores", "accuracies"), bytes
    ),
)
"""One row: how the alignment came about, and the expected accuracy of each column (float32[n_columns])."""


class Outcome(TypedDict):
    """What a round of training came to."""

    log_likelihood: Number
    goes_on: bool
    opens: list[Probability]
    extends: list[Probability]
    singles: list[Probability]
    pairs: list[list[Probability]]


class PairsCard(QueryCard):
    """The card of the comparison of all pairs."""

    cells_per_residue: Finite


class TrainingCard(PairsCard):
    """The card of a round of training."""

    outcome: NotRequired[Outcome | None]


class AlignmentFinished(Finished):
    """What a finished alignment says of its computation."""

    n_pairs: Count
    gap_factor: Finite
    accuracy: Finite
    n_columns: Count
    n_merges: Count
    n_sweeps: Count


class AlignmentFacts(BegunRun, frozen=True, kw_only=True):
    """The facts of an alignment that has begun."""

    alphabet: Alphabet
    n_pairs: Count
    n_targets: Count
    sequence_digests: list[str]
    finished: AlignmentFinished | None = None


RUNS = Declaration(
    engine="msa",
    begun=AlignmentFacts,
    tables=(SEQUENCES, PAIRS, COUNTS, POSTERIORS, ANNEALING),
    cards={"training": TrainingCard, "pairs": PairsCard},
)

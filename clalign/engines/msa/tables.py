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

from clalign.runs.declarations import Declaration, EngineTable
from clalign.runs.opening import BegunRun
from clalign.runs.plain_data import ALPHABET, ANY_CARD, any_number, count, finite, text, truth

SEQUENCES = EngineTable(name="msa_sequences", columns="name line, description line, residues text")
"""All sequences, with their letters as they were read."""

PAIRS = EngineTable(name="msa_pairs", columns="pairs blob, block_ends blob")
"""One row: the pairs (int32[P, 2]), and where each block of them ends (int64[n_blocks])."""

COUNTS = EngineTable(name="msa_counts", of="pieces", columns="sums blob")
"""Of each block in a round: the sums of its expected counts."""

POSTERIORS = EngineTable(
    name="msa_posteriors", of="pieces", columns="n_entries count, likelihoods blob, gaps blob, entries blob"
)
"""Of each block: logarithms of likelihoods (float64[n]), gap parameters (float64[n, 2, n_sets]), and posteriors."""

ANNEALING = EngineTable(
    name="msa_annealing",
    columns="merges blob, weights blob, final_columns blob, moves blob, sweep_ends blob, sweep_scores blob,"
    " accuracies blob",
)
"""One row: how the alignment came about, and the expected accuracy of each column (float32[n_columns])."""

_ROUND = {
    "log_likelihood": any_number, "goes_on": truth, "opens": [finite], "extends": [finite], "singles": [finite],
    "pairs": [[finite]],
}  # fmt: skip


class AlignmentFacts(BegunRun, kw_only=True):
    """The facts of an alignment that has begun."""

    alphabet: str
    n_pairs: int
    n_targets: float
    sequence_digests: list[str]


RUNS = Declaration(
    engine="msa",
    begun=AlignmentFacts,
    tables=(SEQUENCES, PAIRS, COUNTS, POSTERIORS, ANNEALING),
    cards={"training": ANY_CARD | {"outcome?": _ROUND}, "pairs": ANY_CARD},
    facts={"alphabet": ALPHABET, "n_pairs": count, "sequence_digests": [text]},
)

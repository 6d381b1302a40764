"""What a spec asks of models, learning and pairs, in the words of what computes them."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from clalign.compute.sessions import Check, no_check
from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.pairs import PairChoice, Pairs, Similarities, chosen_pairs
from clalign.engines.msa.spec import GAPS, MAX_ROUNDS, AlignmentSpec
from clalign.engines.msa.training import NUCLEIC_TRAINING, PROTEIN_TRAINING, TrainingOptions
from clalign.engines.msa.word_similarities import WordSimilarities
from clalign.errors import OptionError
from clalign.values.alphabets import Alphabet
from clalign.values.pair_hmm import SEED_GAPS, TO_END, GapParameters, PairHmm, fixed_emissions, seed_emissions


def choice_of(spec: AlignmentSpec) -> PairChoice:
    """Return how pairs are chosen."""
    return PairChoice(
        spec.is_fast, spec.to_first, spec.n_pairs, spec.fraction, spec.nearest_trees, spec.farthest_trees, spec.stars,
        spec.degree, spec.seed,
    )  # fmt: skip


def pairs_of(given: AlignmentInput, spec: AlignmentSpec, check: Check = no_check) -> Pairs:
    """Return the pairs that are compared, in rising order (int32[P, 2])."""
    n, choice = len(given), choice_of(spec)
    is_chosen = not choice.to_first and choice.wanted(n) < n * (n - 1) // 2
    similar: Similarities = np.broadcast_to(0.0, (n, n))
    if is_chosen:
        similar = WordSimilarities(given.residues, given.alphabet.size, spec.word_length, check)
    return chosen_pairs(similar, choice, given.n_drawn, check)


def training_of(spec: AlignmentSpec, alphabet: Alphabet) -> TrainingOptions:
    """Return the options of the training on sequences of an alphabet.

    As in FSA, substitutions that the user asks for are learned however little there is to learn them from.
    """
    usual = NUCLEIC_TRAINING if alphabet.is_nucleic else PROTEIN_TRAINING
    chosen: object = usual.emissions if spec.emissions == "auto" else spec.emissions
    given = {name: getattr(spec, name) for name in ("emission_scale", "least_emission_data")}
    return replace(
        usual,
        gaps=not (spec.without_learning or spec.without_gap_learning),
        emissions="none" if spec.without_learning else chosen,
        regularize=not spec.without_prior,
        gap_scale=spec.gap_scale,
        least_gap_data=spec.least_gap_data,
        least_increase=spec.least_increase,
        most_rounds=min(spec.most_rounds, MAX_ROUNDS),
        least_total_emission_data=usual.least_total_emission_data if spec.emissions == "auto" else -1,
        **{name: value for name, value in given.items() if value is not None},
    )


def seed_of(given: AlignmentInput, spec: AlignmentSpec) -> PairHmm:
    """Return the model before anything is learned.

    Raises
    ------
    OptionError
        If the gap parameters leave no room for matches, or for the end of a gap.
    """
    alphabet, fixed = given.alphabet, fixed_emissions(given.alphabet)
    gaps = _seed_gaps(spec, alphabet)
    if spec.without_learning or spec.model == "5":
        return PairHmm(gaps, fixed)
    codes = given.codes().codes
    return PairHmm(gaps, seed_emissions(alphabet, np.bincount(fixed.indices[codes], minlength=len(fixed.letters))))


def _seed_gaps(spec: AlignmentSpec, alphabet: Alphabet) -> GapParameters:
    usual = SEED_GAPS[alphabet.is_nucleic, 1 if spec.has_one_gap_set else 2]
    given = np.array([getattr(spec, name) or 0.0 for name in GAPS]).reshape(2, 2)[: usual.n_sets]
    opens, extends = (
        np.where(new > TO_END, new, old) for new, old in zip(given.T, (usual.opens, usual.extends), strict=True)
    )
    if opens.sum() >= 1 - TO_END or (extends >= 1 - TO_END).any():
        raise OptionError(
            "The probabilities of gaps leave nothing for anything else.",
            "Those of opening must add up to less than 0.999, and each of extending must be less.",
        )
    return GapParameters.of(opens, extends)

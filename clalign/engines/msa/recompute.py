"""Pairs of a run computed again: to see how they fare, and to compare them with what the run keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.engines.msa.contradictions import contradictions_of
from clalign.engines.msa.parameters import seed_of, training_of
from clalign.engines.msa.phases import ComparePairs, batch_of
from clalign.engines.msa.reading import (
    Blocks,
    alignment_of,
    annealing_of,
    blocks_of_run,
    given_of,
    pair_facts,
    pair_posteriors,
    rounds_of,
    sums_of_round,
)
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.training import TrainingRound, next_round, total_counts, train_pairs, what_to_learn
from clalign.engines.recomputing import Check, Count, Pieces, recompute
from clalign.engines.verification import MAX_CELLS, SAMPLE, SEED, Findings, judge
from clalign.errors import InputError, OptionError, quoted
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS
from clalign.stages.pairhmm.posteriors import PosteriorsStage
from clalign.values.devices import Device
from clalign.values.documents import Explanation, Verification
from clalign.values.pair_hmm import PairHmm, PairHmms, PosteriorBatch

POSTERIOR_ERROR = 2e-5
"""Posteriors of two devices differ by no more, and those that are so near to the least one that is kept may be lost."""

PARAMETER_ERROR = 1e-4
"""Learned parameters of two devices differ by no larger share."""

LIKELIHOOD_ERROR = 1e-5


class PairsAgain:
    """The pairs of a run with the models that they were compared under.

    Parameters
    ----------
    run : RunFile
    """

    def __init__(self, run: RunFile) -> None:
        self.run, self.spec = run, run.spec(AlignmentSpec)
        self.given = given_of(run)
        self.blocks: Blocks = blocks_of_run(run, len(self.given))
        self.options = training_of(self.spec, self.given.alphabet)

    @cached_property
    def rounds(self) -> list[TrainingRound]:
        """What the training on all pairs came to."""
        return rounds_of(self.run, self.given)

    @cached_property
    def seed(self) -> PairHmm:
        """The model before anything was learned."""
        return seed_of(self.given, self.spec)

    @property
    def common(self) -> PairHmm:
        """The model that the pairs began with."""
        return self.rounds[-1].model if self.rounds else self.seed

    def compared(self, session: Session, pairs: list[tuple[int, int]]) -> tuple[PairHmms, PosteriorBatch]:
        """Compare pairs as the run has done it."""
        stage = PosteriorsStage(least=self.spec.least_posterior)
        compare = ComparePairs(self.common, self.seed, self.given.lengths, self.options, stage)
        return compare.compared(session, batch_of(self.given, np.array(pairs, np.int32)))

    def check(self, pair: tuple[int, int], session: Session, found: Findings, count: Count) -> None:
        """Check a pair, if the run keeps anything of it; see `clalign.engines.recomputing.Check`."""
        kept = None if self.spec.load_posteriors is not None else pair_facts(self.run, self.given, *pair)
        if kept is not None:
            found.add_others(1, list(_differences(self, session, *pair, kept.log_likelihood)))
        count(1)

    def rounds_of_pair(self, session: Session, i: int, j: int) -> Iterator[tuple[float, PairHmm]]:
        """Yield of each round of the training of a pair the likelihood before it, and the model after it."""
        batch, model = batch_of(self.given, np.array([[i, j]], np.int32)), self.common
        for most in range(1, self.options.most_rounds + 1):
            options = replace(self.options, most_rounds=most)
            after = train_pairs(session, batch, self.common, self.seed, self.given.lengths, options)[0]
            if after.gaps.opens.tolist() == model.gaps.opens.tolist() and after.emissions is model.emissions:
                return
            counts = session.run(EXPECTED_COUNTS, batch, PairHmms.same(model, 1))
            yield float(counts.log_likelihoods[0]), after
            model = after


def names_of(run: RunFile) -> list[tuple[str, str]]:
    """Return the names of the sequences of a run; they have no accessions."""
    return [(name, "") for name in given_of(run).names]


def explain_pair(
    run: RunFile, number: int, target: int | str, pick_device: Callable[[str], Device], context: JobContext
) -> Explanation:
    """Compare two sequences of a run again, and return how they fare with each other.

    Parameters
    ----------
    run : RunFile
    number : int
        Of the first sequence, from 0.
    target : int or str
        Number or name of the second one.
    pick_device : callable
        Returns the device for the user's words.
    context : JobContext

    Returns
    -------
    dict
        ``first``, ``second``, ``lengths``, ``is_compared``, ``common`` (rounds of the training on all pairs) and
        ``rounds`` (of the pair's own), each with ``log_likelihood`` (before it), ``opens`` and ``extends`` (after it);
        ``log_likelihood``, ``n_posteriors``, ``n_kept`` (in the run; None if there is nothing of the pair), and
        ``n_aligned`` and ``expected`` (residues that share a column, and how many of them probably do so by rights;
        None before there is an alignment), ``device``.
    """
    again = PairsAgain(run)
    given, names = again.given, again.given.names
    other = names.index(target) if isinstance(target, str) and target in names else target
    if isinstance(other, str) or not 0 <= other < len(names):
        raise InputError(run.path, f"there is no sequence {quoted(str(target))}.", "Check the name.")
    if other == number:
        raise OptionError("A sequence is not compared with itself.", "Name two different ones.")
    i, j = sorted((number, other))
    with opening_of(lambda: pick_device("reference"), context) as opening, opening.result(context.check) as session:
        own = [_round(*one) for one in again.rounds_of_pair(session, i, j)] if given.lengths[[i, j]].all() else []
        _, found = again.compared(session, [(i, j)])
        name = session.device.name
    kept = pair_posteriors(run, given, i, j)
    value = {
        "first": names[i], "second": names[j], "lengths": given.lengths[[i, j]].tolist(),
        "is_compared": again.blocks.number(i, j) is not None,
        "common": [_round(one.log_likelihood, one.model) for one in again.rounds], "rounds": own,
        "log_likelihood": float(found.log_likelihoods[0]) if np.isfinite(found.log_likelihoods[0]) else None,
        "n_posteriors": len(found.values), "n_kept": None if kept is None else len(kept.columns), "device": name,
        "n_aligned": None, "expected": None,
    }  # fmt: skip
    if run.alignments():
        positions = alignment_of(run, given).positions()
        both = (positions[i] >= 0) & (positions[j] >= 0)
        value["n_aligned"] = int(both.sum())
        if kept is not None:
            value["expected"] = float(kept.at(positions[i][both], positions[j][both]).sum(dtype=np.float64))
    return value


def _round(log_likelihood: float, model: PairHmm) -> dict[str, object]:
    gaps = model.gaps
    return {"log_likelihood": log_likelihood, "opens": gaps.opens.tolist(), "extends": gaps.extends.tolist()}


def explanation_lines(value: Explanation) -> Iterable[str]:
    """Return the result of `explain_pair` as lines of text."""
    x, y = value["lengths"]
    yield f"{value['first']} ({x:,} residues) and {value['second']} ({y:,} residues)"
    if not value["is_compared"]:
        yield "The run has not compared them with each other: fewer pairs were chosen."
    for title, key in (("Training on all pairs", "common"), ("Training on this pair", "rounds")):
        yield f"{title}: {'none' if not value[key] else ''}".strip()
        for number, one in enumerate(value[key], 1):
            gaps = ", ".join(
                f"gaps {k} open {opens:.6g}, extend {extends:.6g}"
                for k, (opens, extends) in enumerate(zip(one["opens"], one["extends"], strict=True), 1)
            )
            yield f"  round {number}: ln likelihood {one['log_likelihood']:.6g}, then {gaps}"
    if value["log_likelihood"] is None:
        yield "Nothing can be said of them: one is empty."
    else:
        per_site = value["log_likelihood"] / (x + y)
        yield f"ln likelihood: {value['log_likelihood']:.6g}, {per_site:.6g} for each residue"
    kept = "" if value["n_kept"] is None else f", {value['n_kept']:,} in the run"
    yield f"Residue pairs that are probable enough to be kept: {value['n_posteriors']:,}{kept}"
    if value["n_aligned"] is not None:
        expected = "" if value["expected"] is None else f", of which {value['expected']:.4g} are expected to be right"
        yield f"Residue pairs in the alignment: {value['n_aligned']:,}{expected}"


def verify_alignment(
    run: RunFile, _: list[int] | None, sample: int | None, device: Device, context: JobContext
) -> Verification:
    """Compare some pairs again on a device, and the alignment with what it is made of; see `Engine.verify`."""
    again = PairsAgain(run)
    drawn = np.random.default_rng(SEED).permutation(len(again.blocks.pairs))[: SAMPLE if sample is None else sample]
    pairs = [(int(i), int(j)) for i, j in again.blocks.pairs[drawn]]
    cells = [float(again.given.lengths[i]) * float(again.given.lengths[j]) for i, j in pairs]
    if sample is None:
        pairs = pairs[: max(1, int(np.searchsorted(np.cumsum(cells), MAX_CELLS["msa"], side="right")))]

    job = Pieces(pairs, [1.0] * len(pairs), sum(cells[: len(pairs)]), again.check, checker)

    def compute(found: Findings, session: Session) -> None:
        found.details += contradictions_of(run, again.given, again.blocks, context)
        found.details += _contradictions(again)
        recompute(run, "msa", job, session, context, "pairs", found)

    return judge(run, device, context, compute, ("pair of sequences", "pairs of sequences"))


def checker(run: RunFile, _: JobContext) -> Check:
    """Return a callable that checks pairs of a run."""
    return PairsAgain(run).check


def _differences(again: PairsAgain, session: Session, i: int, j: int, log_likelihood: float) -> Iterator[str]:
    """Yield the differences when a pair is computed again."""
    names = f"{again.given.names[i]} and {again.given.names[j]}"
    models, found = again.compared(session, [(i, j)])
    kept, facts = pair_posteriors(again.run, again.given, i, j), pair_facts(again.run, again.given, i, j)
    new = float(found.log_likelihoods[0])
    if not np.isclose(log_likelihood, new, rtol=LIKELIHOOD_ERROR, atol=LIKELIHOOD_ERROR):
        yield f"{names}: ln likelihood {log_likelihood:.6g}, computed again {new:.6g}."
    if facts is not None and facts.gaps is not None:
        learned = models[0].gaps
        for word, one, other in (
            ("opening", facts.gaps.opens, learned.opens), ("extending", facts.gaps.extends, learned.extends)
        ):  # fmt: skip
            if not np.allclose(one, other, rtol=PARAMETER_ERROR, atol=0):
                yield f"{names}: the parameters of {word} gaps differ when they are learned again."
    if kept is None:
        return
    before = dict(zip(zip(kept.rows.tolist(), kept.columns.tolist(), strict=True), kept.probabilities, strict=True))
    after = dict(zip(zip(found.x.tolist(), found.y.tolist(), strict=True), found.values, strict=True))
    least = again.spec.least_posterior
    worst = max((abs(before.get(place, least) - after.get(place, least)) for place in before | after), default=0.0)
    if worst > POSTERIOR_ERROR:
        yield f"{names}: posteriors differ by {worst:.2g} when they are computed again."


def _contradictions(again: PairsAgain) -> Iterator[str]:
    """Yield the statements of a run about its alignment that contradict each other."""
    run, given = again.run, again.given
    learns_gaps = what_to_learn(given.lengths, again.options)[0]
    for number, one in enumerate(again.rounds):
        before = again.rounds[number - 1] if number else None
        sums = total_counts(sums_of_round(run, number, before.model if before else again.seed))
        if sums is None:
            yield f"Round {number + 1} of the training has no counts."
            continue
        same = next_round(sums, before, again.seed, len(again.blocks.pairs), again.options, learns_gaps)
        kept, made_again = (
            np.concatenate([m.gaps.opens, m.gaps.extends, m.emissions.singles, m.emissions.pairs.ravel()])
            for m in (one.model, same.model)
        )
        if not np.allclose(kept, made_again, rtol=1e-9, atol=0):
            yield f"Round {number + 1} of the training has other parameters than follow from its counts."
    if run.alignments():
        made = annealing_of(run, given).alignment_after()
        if made.rows(given.letters) != alignment_of(run, given).rows(given.letters):
            yield "The rows of the alignment are not those that its merges and moves make."

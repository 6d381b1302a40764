"""The job of an alignment: training on all pairs, the comparison of pairs, then annealing and refinement at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import Session
from clalign.databases.packed import LengthFacts
from clalign.databases.reports import InputReport
from clalign.engines.msa.conclusion import align_run
from clalign.engines.msa.estimate import USUAL_ROUNDS, caution_of, check_size, estimate
from clalign.engines.msa.inputs import AlignmentInput, read_input
from clalign.engines.msa.packing import pack_array
from clalign.engines.msa.parameters import pairs_of, seed_of, training_of
from clalign.engines.msa.phases import (
    BIN_WIDTH,
    UNIT,
    BlockCutter,
    ComparePairs,
    Computed,
    CountPairs,
    PairSearch,
    Part,
    Span,
    TakePairs,
    batch_of,
    cells_before,
    n_passes,
)
from clalign.engines.msa.reading import Blocks, blocks_of_run, given_of, is_begun, rounds_of, sums_of_round
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.splitting import selected
from clalign.engines.msa.tables import PAIRS, SEQUENCES
from clalign.engines.msa.training import TrainingRound, blocks_of, cells_of, next_round, total_counts, what_to_learn
from clalign.errors import InputError, OptionError
from clalign.execution.job import Task
from clalign.execution.speed import Estimate, rate_of
from clalign.execution.units import Phase, Plan, Search, Storing, compute_no_end
from clalign.formats.posteriors import read_posteriors
from clalign.runs.inputs import digest_of
from clalign.runs.run_file import RunFile
from clalign.stages.pairhmm.annealing import ANNEALING
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS
from clalign.stages.pairhmm.posteriors import PosteriorsStage
from clalign.stages.pairhmm.refinement import REFINEMENT
from clalign.values.devices import Device
from clalign.values.documents import BegunFacts, Card, JobResult
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import PairHmm, PairHmms
from clalign.values.sparse_posteriors import SparsePosteriors


def rehearse_merging(session: Rehearsal) -> None:
    """Take note of what a processor needs to make an alignment of posteriors."""
    if session.device.kind == "cpu":
        session.build_ahead([*ANNEALING.programs(), *REFINEMENT.programs()])


@dataclass
class AlignmentWork:
    """Sequences, and the pairs of them that are compared.

    Attributes
    ----------
    task : Task
    given : AlignmentInput
    report : InputReport
    blocks : Blocks
    known : SparsePosteriors or None
        Posteriors that were read from a file.
    digests : list of str
        SHA-256 of each file of sequences; none of a begun run, which needs them no more.
    """

    task: Task[AlignmentSpec]
    given: AlignmentInput
    report: InputReport
    blocks: Blocks
    known: SparsePosteriors | None = None
    digests: list[str] = field(default_factory=list)

    @classmethod
    def loaded(cls, task: Task[AlignmentSpec]) -> AlignmentWork:
        """Read the sequences; a begun run has them, and its pairs."""
        run, spec = task.run, task.spec
        is_old = is_begun(run)
        if is_old and run.facts.database is not None:
            given, report = given_of(run), run.facts.database
        else:
            given = read_input(list(spec.sequences), spec.alphabet, spec.seed, task.context)
            _check_learning(given, spec)
            digests = [digest_of(path, task.context) for path in spec.sequences]
            report = report_of(given, spec, digests)
        known = None if spec.load_posteriors is None else _known(spec.load_posteriors, given)
        if is_old:
            return cls(task, given, report, blocks_of_run(run, len(given)), known)._with_programs_ahead()
        seed_of(given, spec)  # which may be refused
        check = task.context.check
        check_size(given.lengths, spec)
        pairs = pairs_of(given, spec, check) if known is None else known.pairs
        blocks = Blocks(pairs, blocks_of(batch_of(given, pairs), check))
        return cls(task, given, report, blocks, known, digests)._with_programs_ahead()

    def _with_programs_ahead(self) -> AlignmentWork:
        """Have all programs built that will be needed."""
        self.task.build_ahead(self._rehearse)
        self.task.build_ahead_for_helper(rehearse_merging)
        return self

    def _rehearse(self, session: Rehearsal) -> None:
        """Start on a session that computes nothing what an alignment will start, with one pair for all.

        A card leaves the end of it to the processor, see `rehearse_merging`.
        """
        filled = np.flatnonzero(np.diff(self.block_cells))
        if self.known is None and len(filled):
            first, last = self.blocks.span(int(filled[0]))
            rows = first + np.flatnonzero(cells_of(self.batch, slice(first, last)))
            pair, model = selected(self.batch, rows[:1]), PairHmms.same(self.seed, 1)
            if any(what_to_learn(self.given.lengths, training_of(self.task.spec, self.given.alphabet))):
                EXPECTED_COUNTS.start(session, pair, model)
            PosteriorsStage().start(session, pair, model)
        rehearse_merging(session)

    @property
    def targets(self) -> AlignmentInput:
        """The sequences."""
        return self.given

    @cached_property
    def batch(self) -> PairBatch:
        """All pairs."""
        return batch_of(self.given, self.blocks.pairs)

    @cached_property
    def block_cells(self) -> npt.NDArray[np.int64]:
        """The cells of all pairs before each block, and of all pairs (int64[n_blocks + 1])."""
        return cells_before(self.batch, self.blocks.ends, self.task.context.check)

    @cached_property
    def seed(self) -> PairHmm:
        """The model before anything is learned."""
        return seed_of(self.given, self.task.spec)

    @property
    def n_rounds(self) -> int:
        """Rounds of the training on all pairs, at most."""
        options = training_of(self.task.spec, self.given.alphabet)
        learns = what_to_learn(self.given.lengths, options)[1] and options.emissions == "all"
        return options.most_rounds if learns and self.known is None and self.block_cells[-1] else 0

    def store(self) -> BegunFacts:
        """Store sequences, pairs and the cards of the phases, if they are not there, and return the facts."""
        run, given = self.task.run, self.given
        facts = {"alphabet": given.alphabet.name, "n_pairs": len(self.batch), "n_targets": len(given)}
        if not is_begun(run):
            facts["sequence_digests"] = self.digests
            run.set_cards(self._cards())
            if not run.engine_rows(SEQUENCES.name):
                texts = (text.decode("latin-1") for text in given.letters)
                run.add_engine_rows(SEQUENCES.name, zip(given.names, given.descriptions, texts, strict=True))
            check = self.task.context.check
            packed = pack_array(self.blocks.pairs, "<i4", check), pack_array(self.blocks.ends, "<i8", check)
            run.add_engine_rows(PAIRS.name, [packed])
        return facts

    def _cards(self) -> Iterator[Card]:
        n_pairs, n_cells = len(self.batch), int(self.block_cells[-1])
        for number, phase in self._phases().items():
            origin = "pairs" if number == self.n_rounds else "training"
            yield {
                "name": "Pairs" if origin == "pairs" else f"Round {number + 1}", "accession": "",
                "description": phase.stage, "length": n_pairs, "alphabet": self.given.alphabet.name, "origin": origin,
                "histogram_bin": BIN_WIDTH, "histogram_unit": UNIT,
                "cells_per_residue": phase.n_cells / max(1, self.given.n_residues) if n_cells else 0.0,
            }  # fmt: skip

    def cautions(self) -> list[str]:
        """Return the sentences that the user should read before it begins."""
        given, lengths = self.given, self.given.lengths
        empty = [name for name, n in zip(given.names, lengths.tolist(), strict=True) if not n]
        texts = (
            [f"Sequences without residues become rows of gaps: {len(empty):,}, such as {empty[0]}."] if empty else []
        )
        if bases := given.of_bases:
            texts.append(f"Aligned as proteins, though of bases alone: {len(bases):,}, such as {bases[0]}.")
        if n_ambiguous := given.n_ambiguous:
            texts.append(f"Ambiguous residues: {n_ambiguous:,}. Each counts as a random one of those it may be.")
        return [*texts, *caution_of(lengths, self.blocks.pairs, self.task.spec)]

    def _phases(self) -> dict[int, Phase]:
        cells, n = float(self.block_cells[-1]), self.n_rounds
        found = {
            number: Phase(
                f"training round {number + 1} of at most {n}",
                cells,
                {"query": number, "round": number + 1, "rounds": n},
                is_likely=number < USUAL_ROUNDS,
            )
            for number in range(n)
        }
        passes = n_passes(training_of(self.task.spec, self.given.alphabet)) if self.known is None else 1
        return found | {n: Phase("pairs", cells * passes, {"query": n})}

    def plan(self) -> Plan:
        """Return the rounds, and the comparison of pairs with all that follows from it."""
        phases = self._phases()
        return Plan(
            sorted(phases), len(self.batch), sum(phase.n_cells for phase in phases.values()), self._search_of,
            lambda device: BlockCutter.of(device, self.blocks, self.block_cells), self._compute_end, may_suit_cpu=True,
            phases=phases, is_needed=self._is_needed,
        )  # fmt: skip

    def _is_needed(self, run: RunFile, number: int) -> bool:
        """Return whether the round before asks for another one; pairs are compared in any case."""
        rounds = rounds_of(run, self.given)
        return number >= self.n_rounds or not rounds or rounds[-1].goes_on

    def _search_of(self, run: RunFile, number: int) -> PairSearch:
        """Return the search that computes the pairs of a phase."""
        rounds = rounds_of(run, self.given)[:number]
        common = rounds[-1].model if rounds else self.seed
        if number < self.n_rounds:
            return self._search(CountPairs(common))
        if self.known is not None:
            return self._search(TakePairs(self.known))
        options = training_of(self.task.spec, self.given.alphabet)
        stage = PosteriorsStage(least=self.task.spec.least_posterior)
        return self._search(ComparePairs(common, self.seed, self.given.lengths, options, stage), n_passes(options))

    def _search(self, compute: Callable[[Session, Part], Computed], passes: int = 1) -> PairSearch:
        return PairSearch(self.given, self.blocks, self.batch, compute, passes)

    def _compute_end(self, run: RunFile, number: int, search: Search[Span, None], session: Session) -> Storing:
        """Compute what a round has learned, or the alignment; return a callable that stores it."""
        if number == self.n_rounds:
            return align_run(run, self.given, self.blocks, session, self.task)
        rounds = rounds_of(run, self.given)[:number]
        model = rounds[-1].model if rounds else self.seed
        sums = total_counts(sums_of_round(run, number, model))
        if sums is None:
            return compute_no_end(run, number, search, session)
        options = training_of(self.task.spec, self.given.alphabet)
        learns_gaps = what_to_learn(self.given.lengths, options)[0]
        outcome = outcome_of(
            next_round(sums, rounds[-1] if rounds else None, self.seed, len(self.batch), options, learns_gaps)
        )
        card = run.card(number)
        return lambda run: run.set_card(number, {**card, "outcome": outcome})

    def estimate(self, n_cells: float, devices: Sequence[Device]) -> Estimate:
        """Return the estimate that the window shows before an alignment; see `clalign.engines.msa.estimate`."""
        planned = self.plan().n_cells  # of rounds of the training that may not be needed, too
        left = n_cells / planned if planned else 1.0
        found = estimate(self.given.lengths, self.task.spec, devices, len(self.batch), left)
        return found if rate_of(devices) else msgspec.structs.replace(found, seconds=None)

    def summary(self) -> JobResult:
        """Return the further counts of such a run."""
        return {"n_pairs": len(self.batch), **self.task.run.alignments()[0].facts}


def outcome_of(found: TrainingRound) -> dict[str, object]:
    """Return the outcome of a round as plain data, from which `rounds_of` makes it again."""
    gaps, emissions = found.model.gaps, found.model.emissions
    return {
        "log_likelihood": found.log_likelihood, "goes_on": found.goes_on, "opens": gaps.opens.tolist(),
        "extends": gaps.extends.tolist(), "singles": emissions.singles.tolist(), "pairs": emissions.pairs.tolist(),
    }  # fmt: skip


def _check_learning(given: AlignmentInput, spec: AlignmentSpec) -> None:
    if spec.emissions == "all" and given.alphabet.is_nucleic and not spec.without_learning:
        raise OptionError(
            f"--learnemit-all is for proteins, and these sequences are {given.alphabet.label}.",
            "Leave it out: substitutions of nucleic acids are learned from each pair. Or say --alphabet amino.",
        )


def _known(path: str, given: AlignmentInput) -> SparsePosteriors:
    known = read_posteriors(path, given.lengths.tolist())
    if not len(known):
        raise InputError(path, "there are no posteriors in this file.", "Give what --gui wrote for these sequences.")
    return known


def report_of(given: AlignmentInput, spec: AlignmentSpec, digests: list[str]) -> InputReport:
    """Return the report on the files of some sequences together, of which the SHA-256 are known."""
    paths, facts = spec.sequences, LengthFacts()
    facts.add(given.lengths, np.arange(len(given)))
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return InputReport(
        path=paths[0], digest=digest, format="", compression="", line_ends="", alphabet=given.alphabet.name,
        alphabet_reason="chosen" if spec.alphabet != "auto" else "at least 95 % of the letters",
        n_sequences=facts.n, n_residues=facts.total, n_empty=facts.n_empty,
        shortest=facts.shortest, mean=facts.total / facts.n, longest=facts.longest,
        length_histogram=tuple((a, b, n) for a, b, n in facts.histogram()),
    )  # fmt: skip

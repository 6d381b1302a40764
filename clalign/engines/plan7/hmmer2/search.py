"""HMMER2's search of one profile: which scores pass, and the hits among a batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.common.portions import portions_of
from clalign.compute.sessions import Session, Steps, at_once
from clalign.engines.plan7.hmmer2.domains import ScoredDomain, corrected_domains, counting_domains, uncorrected_domains
from clalign.engines.plan7.hmmer3.thresholds import Hmmer2DomainLimits
from clalign.engines.plan7.inputs import Targets
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import DeviceError, OptionError
from clalign.execution.units import Scored
from clalign.runs.run_file import RunFile
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE, Paths
from clalign.values.alignments import DomainPath, alignment_text
from clalign.values.documents import TargetFacts
from clalign.values.evalues import bits, hmmer2_least_score, hmmer2_pvalue
from clalign.values.hits import Domain, Hit, Scores
from clalign.values.profiles import IMPOSSIBLE, INT_SCALE, Calibration, Hmm, IntegerProfile, to_integer_profile
from clalign.values.sequences import SequenceBatch, SequenceDatabase

if TYPE_CHECKING:
    from clalign.engines.plan7.steps import Step

NO_LIMIT = float("inf")

LOST = IMPOSSIBLE // 2
"""Scores below this stand for what cannot happen."""

ScoredBatch = Scored[npt.NDArray[np.int64]]
"""What a device found in a batch, with the positions of what goes to the traceback (int64[k])."""

MIN_SCORE, GREATEST_SCORE = -(2**31), 2**31 - 1

MAX_BITS = 1e30
"""Score limits beyond this are no different from it."""

EARLY_OCTAVE = 12
"""Binary logarithm of the number of sequences after which only those with a high score are looked at."""

TRACE_CELLS = {"gpu": 2e9, "accelerator": 2e9, "cpu": 2e7, "reference": 2e5}
"""Cells traced in one go, by kind of device: about the time of a batch."""


class Thresholds(Struct, frozen=True):
    """What is reported and what is significant; scores in bits, `NO_LIMIT` for no E-value limit.

    `domains` is the rule for significant domains; `n_targets` and `n_domain_targets` are the numbers of targets that
    E-values count with.
    """

    evalue: float
    score: float
    domain_evalue: float
    domain_score: float
    inclusion_evalue: float
    inclusion_score: float | None
    domains: Hmmer2DomainLimits
    n_targets: float
    n_domain_targets: float
    calibration: Calibration | None

    @property
    def least_raw(self) -> int:
        """The least integer score of a sequence that is reported."""
        return self.least_raw_among(self.n_targets)

    def least_raw_among(self, n_targets: float) -> int:
        """Return the least integer score that is reported among this many sequences."""
        by_evalue = MIN_SCORE
        if self.evalue != NO_LIMIT:
            by_evalue = hmmer2_least_score(self.evalue, n_targets, self.calibration)
        by_score = np.floor(np.clip(self.score, MIN_SCORE / INT_SCALE, GREATEST_SCORE / INT_SCALE) * INT_SCALE)
        return max(by_evalue, int(by_score))

    @property
    def report_score(self) -> float:
        """Score in bits that a sequence needs to be reported."""
        return self.least_raw / INT_SCALE

    @property
    def least_significant_score(self) -> float:
        """Score in bits that a sequence needs to be significant."""
        if self.inclusion_score is not None:
            return self.inclusion_score
        return hmmer2_least_score(self.inclusion_evalue, self.n_targets, self.calibration) / INT_SCALE

    def pvalue(self, score: np.float32) -> float:
        """Return the P-value of a score in bits."""
        return hmmer2_pvalue(score, self.calibration)


def thresholds_for(hmm: Hmm, spec: SearchSpec, n_targets: float) -> Thresholds:
    """Return the thresholds of a search whose E-values count this many targets, unless the spec says otherwise.

    Raises
    ------
    OptionError
        If the model's own cutoffs are asked for and it has none.
    """
    evalue, score = spec.evalue, -NO_LIMIT if spec.score is None else spec.score
    domain_evalue = NO_LIMIT if spec.domain_evalue is None else spec.domain_evalue
    domain_score = -NO_LIMIT if spec.domain_score is None else spec.domain_score
    inclusion_evalue, inclusion_score = spec.inclusion_evalue, spec.inclusion_score
    inclusion_domain_score = spec.inclusion_domain_score
    if spec.cutoff != "none":
        words = {"ga": "gathering", "tc": "trusted", "nc": "noise"}[spec.cutoff]
        pair = getattr(hmm.cutoffs, words)
        if pair is None:
            raise OptionError(
                f"The profile {hmm.name} has no {words} cutoff ({spec.cutoff.upper()}).",
                "Leave out --cut_" + spec.cutoff + ", or use -T and --domT.",
            )
        score, domain_score = inclusion_score, inclusion_domain_score = pair
        evalue = domain_evalue = NO_LIMIT
    size = spec.n_targets if spec.n_targets is not None else n_targets
    domain_size = spec.n_domain_targets if spec.n_domain_targets is not None else size
    return Thresholds(
        evalue, _single(score), domain_evalue, _single(domain_score), inclusion_evalue, inclusion_score,
        Hmmer2DomainLimits(inclusion_domain_score, spec.inclusion_domain_evalue), size, domain_size, hmm.calibration,
    )  # fmt: skip


def _single(score: float) -> float:
    """Return a limit as the float32 that HMMER2 compares scores with."""
    return score if abs(score) == NO_LIMIT else float(np.float32(np.clip(score, -MAX_BITS, MAX_BITS)))


class Hmmer2Search(Struct, frozen=True):
    """One profile against one database.

    Attributes
    ----------
    profile : IntegerProfile
    thresholds : Thresholds
    without_null2 : bool
    database : SequenceDatabase
    empty_inputs : int64[n]
        Sorted places in the input of the sequences without residues, which HMMER2 does not count.
    least_raws : int64[n_octaves]
        Least integer score that may be reported among 2^k sequences.
    judged_among : float or None
        Number of targets that every raw score is judged with; None if it is that of the sequences so far.
    """

    profile: IntegerProfile
    thresholds: Thresholds
    without_null2: bool
    database: SequenceDatabase
    empty_inputs: npt.NDArray[np.int64]
    least_raws: npt.NDArray[np.int64]
    judged_among: float | None = None

    @property
    def length(self) -> int:
        """Number of nodes of the profile."""
        return self.profile.length

    @property
    def origin(self) -> str:
        """What the profile is of."""
        return "hmmer2"

    @property
    def shelf(self) -> None:
        """Each profile is scored alone."""

    def start_together(
        self, searches: Sequence[Hmmer2Search], session: Session, batch: SequenceBatch
    ) -> Callable[[], Sequence[ScoredBatch]]:
        """Start scoring a batch with several profiles; return a callable that blocks until all are there."""
        waits = [search.start_scoring(session, batch) for search in searches]
        return lambda: [wait() for wait in waits]

    def hits_together(
        self, session: Session, units: Sequence[tuple[Hmmer2Search, ScoredBatch]]
    ) -> Steps[list[tuple[Hit, ...]]]:
        """Trace the candidates of some units of one run, several at a time; ends with the hits of each unit."""
        left = deque(
            (number, positions)
            for number, (search, scored) in enumerate(units)
            for positions in search.portions(session, scored.scores, scored.details)
        )
        started, hits = deque[_Part](), [list[Hit]() for _ in units]
        if not left:
            yield lambda: True
        while left or started:
            _start_some(session, units, left, started)
            session.check()
            part = started.popleft()
            yield part.is_ready
            paths = part.wait()
            _start_some(session, units, left, started)  # the device traces them while the host looks at these
            search, scored = units[part.number]
            rows, raws = scored.scores.targets[part.positions], scored.scores.values[part.positions]
            search.demand_paths(session, raws, paths)
            hits[part.number] += search.reported(rows, raws, paths)
            yield lambda: True  # the device may need something to score
        return [tuple(each) for each in hits]

    def calls_significant(self, hit: Hit) -> bool:
        """Return whether a hit is significant by its score and E-value."""
        return self._is_significant(np.float32(hit.score), hit.evalue)

    def evalues_again(self, hit: Hit) -> list[tuple[float, float]]:
        """Return the E-values of a hit and its domains, each with the one that follows from its score."""
        limits = self.thresholds
        scores = [(hit.evalue, hit.score, limits.n_targets)]
        scores += [(domain.evalue, domain.score, limits.n_domain_targets) for domain in hit.domains]
        return [(evalue, self._evalue(np.float32(score), n_targets)) for evalue, score, n_targets in scores]

    def agrees(self, hit: Hit, again: Hit) -> bool:
        """Return whether two devices found the same hit: HMMER2's scores are integers."""
        return hit == again

    def filter_differences(self, run: RunFile, number: int, scored: ScoredBatch) -> list[str]:
        """Return nothing: there are no filters."""
        del run, number, scored
        return []

    def steps_of(self, session: Session, row: int) -> list[Step]:
        """Return the score of a target, and whether it is reported when that is corrected for composition."""
        from clalign.engines.plan7.hmmer3.funnel import STAGES
        from clalign.engines.plan7.steps import counted, in_words, significance_words, step

        limits = self.thresholds
        scored = self.start_scoring(session, self.database.select(np.array([row], np.int64)))()
        raw = int(scored.scores.values[0])
        if raw == IMPOSSIBLE:
            return [
                step("all", STAGES["all"], "It has no residues, or the profile cannot be aligned to it.", passed=False)
            ]
        score, threshold = bits(raw), limits.report_score
        passed = len(self.candidates(scored.scores)) > 0
        has_limit = limits.evalue != NO_LIMIT and limits.n_targets
        first = step(
            "viterbi", "Viterbi score", f"The best alignment scores {in_words(float(score), threshold)}.",
            score=float(score), threshold=threshold, pvalue=limits.pvalue(score),
            limit=limits.evalue / limits.n_targets if has_limit else None, passed=passed,
        )  # fmt: skip
        relaxed = replace(limits, evalue=NO_LIMIT, score=-NO_LIMIT, domain_evalue=NO_LIMIT, domain_score=-NO_LIMIT)
        hits = replace(self, thresholds=relaxed, judged_among=1.0).start_hits(session, scored)()
        if not hits:
            return [first]
        corrected, evalue = np.float32(hits[0].score), hits[0].evalue
        text = f"Corrected for composition, the score of {counted(hits[0].n_domains, 'domain')} is"
        text += f" {in_words(float(corrected), threshold)} (E-value {evalue:.2g})."
        is_hit = bool(corrected >= limits.score and evalue <= limits.evalue)
        is_significant = self.calls_significant(hits[0])
        if is_hit:
            text += significance_words(hits[0].score, limits.least_significant_score, is_significant)
        last = step(
            "reported", STAGES["reported"], text, score=hits[0].score, threshold=threshold,
            pvalue=limits.pvalue(corrected), passed=is_hit, ran=passed,
            significant=is_significant if is_hit else None,
        )  # fmt: skip
        return [first, last]

    def start_scoring(self, session: Session, batch: SequenceBatch) -> Callable[[], ScoredBatch]:
        """Start scoring a batch; return a callable that waits for the scores and returns them."""
        wait = session.start(VITERBI, batch, self.profile)

        def collect() -> ScoredBatch:
            scores = wait()
            if self.database.n_empty:
                # A sequence without residues has no score; HMMER2 leaves it out.
                values = np.where(batch.lengths > 0, scores.values, np.int32(IMPOSSIBLE))
                scores = Scores(scores.targets, values)
            positions = self.candidates(scores)
            cells = float(batch.lengths[positions].sum()) * self.length
            return Scored(scores, positions, candidate_cells=cells)

        return collect

    def candidates(self, scores: Scores) -> npt.NDArray[np.int64]:
        """Return the positions in `scores` that go to the traceback.

        HMMER2 judges each raw score with the number of targets *so far*; what fails there is never
        looked at again, and so it is here. What passes there may still fail in the end, when all
        sequences are counted.
        """
        limits = self.thresholds
        positions, counts = self._likely(scores)
        passing = []
        for position, count in zip(positions.tolist(), counts.tolist(), strict=True):
            score = bits(int(scores.values[position]))
            if score >= limits.score and limits.pvalue(score) * count <= limits.evalue:
                passing.append(position)
        return np.array(passing, np.int64)

    def _likely(self, scores: Scores) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the positions that may pass, and with how many sequences each is judged.

        P-values are only computed where a cheap lower bound, the least score among the next lower power
        of two of sequences, lets them matter; and that only where the score is high or the place early.
        """
        limits = self.thresholds
        if self.judged_among is not None:
            least = limits.least_raw_among(self.judged_among)
            positions = np.flatnonzero(scores.values >= least).astype(np.int64)
            return positions, np.full(len(positions), self.judged_among)
        places = self.database.order[scores.targets]
        early = places < 2**EARLY_OCTAVE + len(self.empty_inputs)
        positions = np.flatnonzero(early | (scores.values >= self.least_raws[EARLY_OCTAVE])).astype(np.int64)
        counts = places[positions] + 1.0 - np.searchsorted(self.empty_inputs, places[positions])
        octaves = np.log2(np.clip(counts, 1, 2.0 ** (len(self.least_raws) - 1))).astype(np.int64)
        likely = scores.values[positions] >= self.least_raws[octaves]
        return positions[likely], counts[likely]

    def start_hits(self, session: Session, scored: ScoredBatch) -> Callable[[], tuple[Hit, ...]]:
        """Start tracing the candidates of a batch; return a callable that waits for the reported hits, in order."""
        steps = self.hits_together(session, [(self, replace(scored, details=self.candidates(scored.scores)))])
        next(steps)
        return lambda: at_once(steps)[0]

    @staticmethod
    def demand_paths(session: Session, raws: npt.NDArray[np.int32], paths: Paths) -> None:
        """Raise `DeviceError` if a sequence that has a score has no path."""
        lost = [not path for path in paths] & (raws > LOST)
        if lost.any():
            raise DeviceError(
                f"{session.device.name} gave scores to {int(lost.sum()):,} sequences for which it finds no path.",
                "Its memory or its driver may be faulty: try `clalign selftest`, or another device.",
            )

    def portions(
        self, session: Session, scores: Scores, chosen: npt.NDArray[np.int64]
    ) -> Iterator[npt.NDArray[np.int64]]:
        """Return positions of candidates in portions that take a device about the time of a batch."""
        lengths = [self.database.length(row) for row in scores.targets[chosen].tolist()]
        return (chosen[part] for part in portions_of(lengths, TRACE_CELLS[session.device.kind] / self.profile.length))

    def reported(
        self, rows: npt.NDArray[np.int64], raws: npt.NDArray[np.int32], paths: list[list[DomainPath] | None]
    ) -> Iterator[Hit]:
        """Yield the hits among some database rows, given their scores and paths."""
        traced = [(int(row), int(raw), path) for row, raw, path in zip(rows, raws, paths, strict=True) if path]
        found = [
            (row, raw, uncorrected_domains(domains, [self.database.residues(row)] * len(domains), self.profile))
            for row, raw, domains in traced
        ]
        # The correction takes time and never makes a score higher, so what fails without it is done with.
        found = [(row, raw, domains) for row, raw, domains in found if self._passes(counting_domains(domains)[0])]
        if not self.without_null2:
            flat = [(domain, self.database.residues(row)) for row, _, domains in found for domain in domains]
            corrected = iter(corrected_domains([d for d, _ in flat], [codes for _, codes in flat], self.profile))
            found = [(row, raw, [next(corrected) for _ in domains]) for row, raw, domains in found]
        for row, raw, domains in found:
            hit = self._hit(row, raw, domains)
            if hit is not None:
                yield hit

    def _passes(self, score: np.float32) -> bool:
        limits = self.thresholds
        return bool(score >= limits.score and self._evalue(score, limits.n_targets) <= limits.evalue)

    def _hit(self, row: int, raw: int, domains: list[ScoredDomain]) -> Hit | None:
        limits = self.thresholds
        score, counting = counting_domains(domains)
        if not self._passes(score):
            return None
        evalue = self._evalue(score, limits.n_targets)
        name, accession, description = self.database.header(row)
        corrections = sum(float(bits(domain.correction)) for domain in counting)
        reported = [self._domain(number, domain, row) for number, domain in enumerate(counting, 1)]
        shown = [d for d in reported if d.evalue <= limits.domain_evalue and d.score >= limits.domain_score]
        return Hit(
            row=row,
            input_index=int(self.database.order[row]),
            name=name,
            accession=accession,
            description=description,
            length=self.database.length(row),
            score=float(score),
            bias=corrections,
            evalue=evalue,
            raw=raw,
            domains=tuple(shown),
            n_domains=len(counting),
            is_significant=self._is_significant(score, evalue),
        )

    def _is_significant(self, score: np.float32, evalue: float) -> bool:
        """Return whether a hit of such a score is significant."""
        limits = self.thresholds
        if limits.inclusion_score is not None:
            with np.errstate(over="ignore"):  # a limit beyond all float32 is beyond all scores
                return bool(score >= limits.inclusion_score)
        return evalue <= limits.inclusion_evalue

    def _domain(self, number: int, domain: ScoredDomain, row: int) -> Domain:
        target_range, score = domain.path.target_range, float(domain.bits)
        evalue = self._evalue(domain.bits, self.thresholds.n_domain_targets)
        return Domain(
            number=number,
            score=score,
            bias=float(bits(domain.correction)),
            evalue=evalue,
            query_range=domain.path.query_range,
            target_range=target_range,
            envelope=target_range,
            raw=domain.raw,
            states=domain.path.states,
            text=alignment_text(domain.path, self.profile, self.database.residues(row)),
            is_significant=self.thresholds.domains.calls_significant(score, evalue),
        )

    def described(self, raw: int, row: int) -> TargetFacts:
        """Return name, score and E-value of a target that need not be a hit."""
        score = bits(raw)
        return {
            "name": self.database.header(row)[0],
            "score": float(score),
            "evalue": self._evalue(score, self.thresholds.n_targets),
        }

    def _evalue(self, score: np.float32, n_targets: float) -> float:
        return self.thresholds.pvalue(score) * n_targets


class _Part(Struct, frozen=True):
    """Candidates of a unit that are being traced.

    Attributes
    ----------
    number : int
        Of the unit.
    positions : int64[n]
        In its batch.
    cells : float
    wait : callable
        Returns their paths.
    is_ready : callable
        Returns whether they are there.
    """

    number: int
    positions: npt.NDArray[np.int64]
    cells: float
    wait: Callable[[], Paths]
    is_ready: Callable[[], bool]


def _start_some(
    session: Session, units: Sequence[tuple[Hmmer2Search, ScoredBatch]], left: deque[tuple[int, npt.NDArray[np.int64]]],
    started: deque[_Part],
) -> None:  # fmt: skip
    """Start tracing: at least one portion, and as many as together are no more than one may be."""
    while left:
        number, positions = left[0]
        search, scored = units[number]
        rows = scored.scores.targets[positions]
        cells = float((search.database.offsets[rows + 1] - search.database.offsets[rows]).sum()) * search.length
        if started and cells + sum(part.cells for part in started) > TRACE_CELLS[session.device.kind]:
            return
        left.popleft()
        wait = session.start(VITERBI_TRACE, search.database.select(rows), search.profile)
        started.append(_Part(number, positions, cells, wait, session.reached()))


def prepare_hmmer2_search(hmm: Hmm, number: int, spec: SearchSpec, targets: Targets) -> Hmmer2Search:
    """Return the search of a HMMER2 profile, the `number`-th from 0, its scores and thresholds ready."""
    limits = thresholds_for(hmm, spec, targets.n("hmmer2"))
    n_octaves = max(EARLY_OCTAVE, len(targets.database).bit_length()) + 1
    least_raws = np.array([limits.least_raw_among(2.0**octave) for octave in range(n_octaves)], np.int64)
    judged_among = spec.n_targets
    if judged_among is None and targets.n_profiles is not None:
        judged_among = number + 1.0
    profile = to_integer_profile(hmm)
    return Hmmer2Search(
        profile, limits, spec.without_null2, targets.database, targets.empty_inputs, least_raws, judged_among
    )

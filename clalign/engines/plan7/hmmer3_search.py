"""HMMER3's search of one profile: through the filters, and the hits among what passes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Session, Steps, at_once
from clalign.engines.plan7.hmmer3_alignments import hmmer3_alignment_texts
from clalign.engines.plan7.hmmer3_domains import domains_in_steps
from clalign.engines.plan7.hmmer3_scores import TargetScores, in_bits, repeats, target_scores
from clalign.engines.plan7.hmmer3_thresholds import Hmmer3Thresholds, filter_limits, hmmer3_thresholds
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.survivors import Survivors, pack_survivors
from clalign.engines.plan7.tables import BATCHES
from clalign.engines.plan7.targets import SearchableBatch, Targets
from clalign.errors import DeviceError
from clalign.execution.units import Scored
from clalign.stages.hmmer3.filters import FILTERS, FILTERS_OF_MANY, PASSED_FORWARD, Filtered, FilterModel
from clalign.values.alignments import AlignmentText
from clalign.values.envelopes import Envelope, RowProfiles, TargetDomains
from clalign.values.evalues import hmmer3_evalue, hmmer3_gumbel, hmmer3_log_tail
from clalign.values.hits import Domain, DomainEstimates, FilterScores, Hit, Scores
from clalign.values.local_profiles import (
    BYTE_BASE,
    BYTE_E_MOVE,
    BYTE_SCALE,
    LN_2,
    LOOP_COST,
    LocalProfile,
    byte_scores,
    to_local_profile,
)
from clalign.values.profiles import IMPOSSIBLE, INT_SCALE, Hmm
from clalign.values.sequences import SequenceBatch

DOMAIN_CELLS = 1 << 28
"""Cells of the targets whose domains are defined in one go, with their profiles."""

FORWARD_SLACK = np.float32(0.05)
"""So many nats the Forward scores of the filter and of the domains may lie apart; they are summed in another order."""

FORWARD_SHARE = np.float32(1e-4)
"""And this share of the score on top.

A row adds its scale to a sum in single precision, and rounds it by up to 2^-24 of it, here and there another way. Over
n rows such errors grow like a random walk, to about 2^-24 sqrt(n) of the score: 1.9e-5 over 100,000 rows (1.8e-5 was
measured), 1e-4 over 2.8 million.
"""

Found = Scored[tuple[SearchableBatch, Filtered, Survivors]]
"""What a device found in a batch, with the filters' scores."""

CANDIDATES_AT_ONCE = 1024
"""Candidates whose hits are made together."""


class Candidate(Struct, frozen=True):
    """A target that may be a hit.

    Attributes
    ----------
    row : int
        Of the database.
    found : TargetDomains
    null : float
        Score of the null model in nats.
    filters : FilterScores
    raw : int
        What is kept of its MSV score.
    """

    row: int
    found: TargetDomains
    null: float
    filters: FilterScores
    raw: int

    @property
    def estimates(self) -> DomainEstimates:
        """What is said of its domains."""
        found = self.found
        counts = found.n_regions, found.n_clustered, found.n_overlaps, found.n_envelopes
        return DomainEstimates(found.expected, *counts)


class Hmmer3Search(Struct, frozen=True):
    """One HMMER3 profile against one database.

    Attributes
    ----------
    model : FilterModel
        The profile and what passes its filters.
    thresholds : Hmmer3Thresholds
    targets : Targets
    seed : int
        Of the sampling that parts close domains.
    without_null2 : bool
    byte_bias : int
        Of the 8-bit scores.
    """

    model: FilterModel
    thresholds: Hmmer3Thresholds
    targets: Targets
    seed: int
    without_null2: bool
    byte_bias: int

    @property
    def profile(self) -> LocalProfile:
        """The profile as it is searched with."""
        return self.model.profile

    @property
    def length(self) -> int:
        """Number of nodes of the profile."""
        return self.profile.length

    def start_scoring(self, session: Session, batch: SequenceBatch) -> Callable[[], Found]:
        """Start sending a batch through the filters; return what waits for the result."""
        reduced = self.targets.reduced(batch)
        wait = session.start(FILTERS, reduced.batch, self.model)
        return lambda: self.found(reduced, wait())

    def found(self, reduced: SearchableBatch, filtered: Filtered) -> Found:
        """Return what became of a batch in the filters, as it is kept."""
        passed = filtered.rows[filtered.reached == PASSED_FORWARD]
        survivors = survivors_in_bits(reduced, filtered)
        return Scored(
            cache(lambda: self._stored_scores(reduced, filtered)),
            (reduced, filtered, survivors), suits_host=bool(len(passed)),
            kept=lambda: {BATCHES.name: pack_survivors(survivors)},
            candidate_cells=float(reduced.batch.lengths[passed].sum()) * self.length,
        )  # fmt: skip

    def _stored_scores(self, reduced: SearchableBatch, filtered: Filtered) -> Scores:
        """Return the MSV scores of all targets above the null model; what overflows has the highest finite one.

        Raises
        ------
        DeviceError
            If the device gave others than there can be.
        """
        filtered.check()
        return Scores(reduced.batch.targets, self._in_thousandths(reduced, filtered.msv, slice(None)))

    def _in_thousandths(
        self, reduced: SearchableBatch, msv: npt.NDArray[np.float32], rows: npt.NDArray[np.int32] | slice
    ) -> npt.NDArray[np.int32]:
        """Return the MSV scores of some rows above the null model, in 1/1000 bit."""
        terms = reduced.terms
        differences = msv - terms.null[rows]
        over = np.flatnonzero(msv == np.inf)
        if len(over):
            highest = np.float32(254 - self.byte_bias - BYTE_E_MOVE - BYTE_BASE)
            levels = highest - terms.byte_move[rows][over].astype(np.float32)
            differences[over] = levels / BYTE_SCALE - LOOP_COST - terms.null[rows][over]
        empty = np.isnan(differences)
        differences[empty] = 0
        values: npt.NDArray[np.int32] = np.rint(differences * np.float32(INT_SCALE / LN_2)).astype(np.int32)
        values[empty] = IMPOSSIBLE
        return values

    def start_hits(self, session: Session, scored: Found) -> Callable[[], tuple[Hit, ...]]:
        """Start defining the domains of what passed all filters; return what waits for the reported hits."""
        steps = hits_in_steps(session, [(self, scored)])
        next(steps)
        return lambda: at_once(steps)[0]

    def reported(self, scored: Found, places: npt.NDArray[np.int64], domains: list[TargetDomains]) -> Iterator[Hit]:
        """Yield the hits among some survivors of all filters, given their domains."""
        reduced, filtered, survivors = scored.details
        positions = filtered.rows[places]
        raws = self._in_thousandths(reduced, filtered.msv[positions], positions)
        values = zip(
            survivors.rows[places].tolist(), domains, reduced.terms.null[positions],
            filter_scores(survivors, places), raws.tolist(), strict=True,
        )  # fmt: skip
        candidates = (Candidate(*each) for each in values if each[1].envelopes)
        while some := list(itertools.islice(candidates, CANDIDATES_AT_ONCE)):
            yield from self.hits(some)

    def hits(self, candidates: list[Candidate]) -> list[Hit]:
        """Return those of some targets that are reported, with their domains."""
        database, limits = self.targets.database, self.thresholds
        rows = np.array([candidate.row for candidate in candidates], np.int64)
        lengths = database.offsets[rows + 1] - database.offsets[rows]
        null = np.array([candidate.null for candidate in candidates], np.float32)
        found = [candidate.found for candidate in candidates]
        scores = target_scores(found, null, lengths, without_null2=self.without_null2)
        log_pvalues = hmmer3_log_tail(scores.score, limits.calibration).tolist()
        evalues = [hmmer3_evalue(value, limits.n_targets) for value in log_pvalues]
        bits, biases = scores.score.tolist(), scores.bias.tolist()
        reported = [place for place in range(len(bits)) if limits.reports(bits[place], evalues[place])]
        domains = self._domains(candidates, reported, scores)
        of_reported = rows[reported]
        inputs, headers = database.order[of_reported].tolist(), database.headers(of_reported)
        sizes = lengths.tolist()
        return [
            Hit(
                row=candidates[place].row,
                input_index=input_index,
                name=name,
                accession=accession,
                description=description,
                length=sizes[place],
                score=bits[place],
                bias=biases[place],
                evalue=evalues[place],
                raw=candidates[place].raw,
                domains=of_hit,
                n_domains=len(candidates[place].found.envelopes),
                log_pvalue=log_pvalues[place],
                is_included=limits.includes(bits[place], evalues[place]),
                estimates=candidates[place].estimates,
                filters=candidates[place].filters,
            )
            for place, input_index, (name, accession, description), of_hit in zip(
                reported, inputs, headers, domains, strict=True
            )
        ]

    def _domains(
        self, candidates: list[Candidate], reported: list[int], scores: TargetScores
    ) -> Iterator[tuple[Domain, ...]]:
        """Yield the domains of each candidate that is reported."""
        begins, shown = scores.begins.tolist(), []
        for place in reported:
            found, begin = candidates[place].found, begins[place]
            hidden = repeats(found, scores.domain_score[begin : begins[place + 1]])
            shown.append([n for n in range(len(found.envelopes)) if n not in hidden])
        pairs = [(candidates[place], n) for place, numbers in zip(reported, shown, strict=True) for n in numbers]
        envelopes = [candidate.found.envelopes[n] for candidate, n in pairs]
        texts = hmmer3_alignment_texts(
            [envelope.path for envelope in envelopes],
            [envelope.posterior for envelope in envelopes],
            self.profile,
            [self.targets.database.residues(candidate.row) for candidate, _ in pairs],
        )
        log_pvalues = hmmer3_log_tail(scores.domain_score, self.thresholds.calibration).tolist()
        numbers = list(zip(scores.domain_score.tolist(), scores.domain_bias.tolist(), log_pvalues, strict=True))
        for place, chosen in zip(reported, shown, strict=True):
            found, begin = candidates[place].found, begins[place]
            yield tuple(
                self._domain(number, found.envelopes[n], next(texts), *numbers[begin + n])
                for number, n in enumerate(chosen, 1)
            )

    def _domain(
        self, number: int, envelope: Envelope, text: AlignmentText, score: float, bias: float, log_pvalue: float
    ) -> Domain:
        path = envelope.path
        return Domain(
            number=number,
            score=score,
            bias=bias,
            evalue=hmmer3_evalue(log_pvalue, self.thresholds.n_targets),
            profile_range=path.profile_range,
            target_range=path.target_range,
            envelope=(envelope.first, envelope.last),
            raw=round(1000.0 * (score + bias)),
            states=path.states,
            text=text,
            log_pvalue=log_pvalue,
            accuracy=envelope.accuracy,
        )

    def described(self, raw: int, row: int) -> dict[str, Any]:
        """Return name, MSV score and its E-value of a target that need not be a hit."""
        score = np.array([raw / INT_SCALE], np.float32)
        msv = self.profile.settings.msv
        assert msv is not None
        return {
            "name": self.targets.database.header(row)[0],
            "score": float(score[0]),
            "evalue": float(hmmer3_gumbel(score, msv)[0]) * self.thresholds.n_targets,
            "kind": "msv",
        }


def start_many(searches: Sequence[Hmmer3Search], session: Session, batch: SequenceBatch) -> Callable[[], list[Found]]:
    """Start sending a batch through the filters of some profiles that were made together; return what waits for all."""
    reduced = searches[0].targets.reduced(batch)
    wait = session.start(FILTERS_OF_MANY, reduced.batch, [search.model for search in searches])
    return lambda: [search.found(reduced, filtered) for search, filtered in zip(searches, wait(), strict=True)]


Unit = tuple[Hmmer3Search, Found]
"""A search, and what a device found with it in a batch."""


class Portion(Struct, frozen=True):
    """Survivors of all filters, of one or several units, whose domains are defined together.

    Attributes
    ----------
    pieces : list of (int, int64[n])
        Units, and places among what passed the first filter in each.
    """

    pieces: list[tuple[int, npt.NDArray[np.int64]]]

    def start(self, session: Session, units: Sequence[Unit]) -> tuple[Steps[list[TargetDomains]], Callable[[], bool]]:
        """Start defining their domains; return the steps that are left, and what tells whether to wait before them."""
        searches = [units[number][0] for number, _ in self.pieces]
        profiles = list({id(search.profile): search.profile for search in searches}.values())
        places = {id(profile): place for place, profile in enumerate(profiles)}
        rows = [
            reduced.batch.targets[filtered.rows[chosen]]
            for number, chosen in self.pieces
            for reduced, filtered, _ in [units[number][1].details]
        ]
        of_row = np.repeat([places[id(search.profile)] for search in searches], [len(each) for each in rows])
        batch = searches[0].targets.database.select(np.concatenate(rows))
        profiles_of_rows = RowProfiles(tuple(profiles), of_row.astype(np.int32))
        steps = domains_in_steps(session, batch, profiles_of_rows, searches[0].seed)
        return steps, next(steps)


def hits_in_steps(session: Session, units: Sequence[Unit]) -> Steps[list[tuple[Hit, ...]]]:
    """Look for the hits among what passed all filters in some units of one run; ends with those of each.

    Their domains are defined together, so that a device has enough to do at once.
    """
    portions, hits = _portions(units), [list[Hit]() for _ in units]
    portion = next(portions, None)
    if portion is None:
        yield lambda: True
        return [() for _ in units]
    started = portion.start(session, units)
    while portion is not None:
        session.check()
        steps, is_ready = started
        yield is_ready
        domains = yield from steps
        done, portion = portion, next(portions, None)
        if portion is not None:
            started = portion.start(session, units)  # the device works on the next while the host looks at these
        first = 0
        for number, places in done.pieces:
            search, scored = units[number]
            of_unit = domains[first : first + len(places)]
            first += len(places)
            _demand_agreement(session, scored.details[1].forward[places], of_unit)
            hits[number] += search.reported(scored, places, of_unit)
            yield lambda: True  # the device may need something to do
    return [tuple(each) for each in hits]


def _portions(units: Sequence[Unit]) -> Iterator[Portion]:
    """Yield survivors in portions that a device has room for, and that take it no longer than a user may wait."""
    pieces: list[tuple[int, npt.NDArray[np.int64]]] = []
    left, alphabet = float(DOMAIN_CELLS), ""
    for number, (search, scored) in enumerate(units):
        reduced, filtered, _ = scored.details
        passed = np.flatnonzero(filtered.reached == PASSED_FORWARD)
        cells = np.cumsum(reduced.batch.lengths[filtered.rows[passed]], dtype=np.float64) * search.length
        before = 0.0
        while len(passed):
            if pieces and (cells[0] - before > left or search.profile.hmm.alphabet.name != alphabet):
                yield Portion(pieces)
                pieces, left = [], float(DOMAIN_CELLS)
            n = max(1, int(np.searchsorted(cells, before + left, side="right")))
            pieces.append((number, passed[:n]))
            alphabet = search.profile.hmm.alphabet.name
            left -= float(cells[n - 1]) - before
            before = float(cells[n - 1])
            passed, cells = passed[n:], cells[n:]
    if pieces:
        yield Portion(pieces)


def _demand_agreement(session: Session, forward: npt.NDArray[np.float32], domains: list[TargetDomains]) -> None:
    """Raise `DeviceError` if targets have other Forward scores where their domains are defined than in the filter."""
    again = np.array([found.forward for found in domains], np.float32)
    with np.errstate(invalid="ignore"):
        slack = FORWARD_SLACK + FORWARD_SHARE * np.abs(forward)
        differ = np.isfinite(forward) & np.isfinite(again) & ~(np.abs(forward - again) <= slack)
    if differ.any():
        raise DeviceError(
            f"{session.device.name} gave {int(differ.sum()):,} targets two different Forward scores.",
            "Its memory or its driver may be faulty: try `clalign selftest`, or another device.",
        )


def survivors_in_bits(reduced: SearchableBatch, filtered: Filtered) -> Survivors:
    """Return what passed the first filter with its scores in bits."""
    msv = filtered.msv[filtered.rows]
    with np.errstate(invalid="ignore"):
        return Survivors(
            rows=reduced.batch.targets[filtered.rows],
            msv=in_bits(msv - reduced.terms.null[filtered.rows]),
            bias=in_bits(msv - filtered.bias),
            viterbi=in_bits(filtered.viterbi - filtered.bias),
            forward=in_bits(filtered.forward - filtered.bias),
            reached=filtered.reached,
        )


def filter_scores(survivors: Survivors, places: npt.NDArray[np.int64]) -> Iterator[FilterScores]:
    """Yield the scores of some survivors."""
    columns = []
    for scores in (survivors.bias, survivors.viterbi, survivors.forward):
        known = scores[places].astype(object)
        known[np.isnan(scores[places])] = None
        columns.append(known.tolist())
    return map(FilterScores, survivors.msv[places].tolist(), *columns)


def prepare_hmmer3_search(
    hmm: Hmm, spec: SearchSpec, targets: Targets, profile: LocalProfile | None = None
) -> Hmmer3Search:
    """Return the search of a HMMER3 profile, its scores and thresholds ready; `profile` if it is made already."""
    thresholds = hmmer3_thresholds(hmm, spec, targets.n("hmmer3"))
    profile = profile or to_local_profile(hmm, spec.compute_composition)
    model = FilterModel(profile, filter_limits(spec))
    return Hmmer3Search(model, thresholds, targets, spec.seed, spec.without_null2, byte_scores(profile).bias)

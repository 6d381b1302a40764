"""HMMER3's search of one profile: through the filters, and the hits among what passes them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from itertools import compress, islice, repeat, starmap
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.geometry import card_cells
from clalign.compute.sessions import Session, Steps, at_once
from clalign.engines.plan7.hmmer3.agreement import FORWARD_SHARE, FORWARD_SLACK, hits_agree, passages_differ
from clalign.engines.plan7.hmmer3.domains import (
    TargetScores,
    define_domains,
    domains_in_steps,
    hmmer3_alignment_texts,
    in_bits,
    repeats,
    target_scores,
)
from clalign.engines.plan7.hmmer3.thresholds import Hmmer3Thresholds, filter_limits, hmmer3_thresholds
from clalign.engines.plan7.inputs import MAX_LENGTH, SearchableBatch, Targets
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.tables import BATCHES, Survivors, pack_survivors
from clalign.errors import DeviceError
from clalign.execution.units import Scored
from clalign.runs.run_file import RunFile
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.filters import FILTERS, PASSED_FORWARD, Filtered, FilterModel
from clalign.values.devices import Device
from clalign.values.documents import TargetFacts
from clalign.values.envelopes import RowProfiles, TargetDomains
from clalign.values.evalues import hmmer3_evalue, hmmer3_evalues, hmmer3_gumbel, hmmer3_log_tail
from clalign.values.hits import Domain, DomainEstimates, FilterScores, Hit, PackedHits, Scores, from_columns
from clalign.values.local_profiles import LocalProfile, byte_scores, to_local_profile
from clalign.values.local_scores import BYTE_BASE, BYTE_E_MOVE, BYTE_SCALE, LN_2, LOOP_COST, length_terms
from clalign.values.profiles import IMPOSSIBLE, INT_SCALE, Hmm, Hmmer3Settings
from clalign.values.sequences import SequenceBatch, SequenceDatabase

if TYPE_CHECKING:
    from clalign.engines.plan7.steps import Step

DOMAIN_CELLS, MAX_DOMAIN_TARGETS = 2.0**28, 2**14
"""Cells of the targets whose domains are defined in one go, with their profiles, on a card `card_cells`; and limit of
these targets, of which the host holds all that is found."""

ScoredBatch = Scored[tuple[SearchableBatch, Filtered, Survivors]]
"""What a device found in a batch, with the filters' scores."""

HIGHEST_BYTE = 254
"""Highest score of a byte that has not overflowed, bias included."""

CANDIDATES_AT_ONCE = 1024
"""Candidates whose hits are made together."""


class Candidates(Struct, frozen=True):
    """Targets that may be hits, as columns.

    Attributes
    ----------
    rows : int64[n]
        Of the database.
    domains_found : sequence of TargetDomains
    null : float32[n]
        Scores of the null model in nats.
    filters : sequence of FilterScores
    raws : sequence of int
        What is kept of their MSV scores.
    """

    rows: npt.NDArray[np.int64]
    domains_found: Sequence[TargetDomains]
    null: npt.NDArray[np.float32]
    filters: Sequence[FilterScores]
    raws: Sequence[int]


_COUNTS = attrgetter("expected", "n_regions", "n_clustered", "n_overlaps", "n_envelopes")


class Hmmer3Search(Struct, frozen=True):
    """One HMMER3 profile against one database.

    Attributes
    ----------
    model : FilterModel
        The profile and what passes its filters.
    thresholds : Hmmer3Thresholds
    targets : Targets
    seed : int
        Seed of the sampling that separates close domains.
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

    @property
    def origin(self) -> str:
        """Program whose format the profile has."""
        return "hmmer3"

    @property
    def database(self) -> SequenceDatabase:
        """The sequences that are searched."""
        return self.targets.database

    @property
    def shelf(self) -> object:
        """Profiles whose tables are built together with this one."""
        return self.profile.shelved.shelf

    def start_together(
        self, searches: Sequence[Hmmer3Search], session: Session, batch: SequenceBatch
    ) -> Callable[[], Sequence[ScoredBatch]]:
        """Start sending a batch through the filters of some profiles; return a callable that blocks for all."""
        searchable = searches[0].targets.searchable(batch)
        wait = session.start(FILTERS, searchable.batch, [search.model for search in searches])

        def collect() -> list[ScoredBatch]:
            filtered = wait()
            survivors = survivors_in_bits(searchable, filtered)
            scores = cache(lambda: _stored_scores(searches, searchable, filtered))
            return [
                search.scored_batch(searchable, filtered[k], survivors[k], partial(_item, scores, k))
                for k, search in enumerate(searches)
            ]

        return collect

    def hits_together(self, session: Session, units: Sequence[SearchedBatch]) -> Steps[Sequence[Collection[Hit]]]:
        """Look for the hits among what passed all filters in some units of one run; ends with those of each.

        Their domains are defined together, so that a device has enough to do at once.
        """
        portions, hits = (
            _portions(units, max(DOMAIN_CELLS, domain_cells(session.device))),
            [PackedHits() for _ in units],
        )
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
                hits[number].add(search.reported(scored, places, of_unit))
                yield lambda: True  # give the executor a turn to queue more
        return hits

    def calls_significant(self, hit: Hit) -> bool:
        """Return whether a hit is significant by its score and E-value."""
        return self.thresholds.calls_significant(hit.score, hit.evalue)

    def evalues_again(self, hit: Hit) -> list[tuple[float, float]]:
        """Return the E-values of a hit and its domains, each with the one that follows from its P-value."""
        scored: list[Hit | Domain] = [hit, *hit.domains]
        logs = [(one.evalue, one.log_pvalue) for one in scored]
        return [(evalue, hmmer3_evalue(log, self.thresholds.n_targets)) for evalue, log in logs if log is not None]

    def agrees(self, hit: Hit, again: Hit) -> bool:
        """Return whether two devices found the same hit; see `hits_agree`."""
        return hits_agree(hit, again)

    def filter_differences(self, run: RunFile, number: int, scored: ScoredBatch) -> list[str]:
        """Return in words which targets came otherwise through the filters than in a run."""
        from clalign.engines.plan7.hmmer3.funnel import survivors_of

        kept, again, texts = survivors_of(run, number), scored.details[2], []
        for row in scored.scores.targets.tolist():
            if (counts := passages_differ(kept, again, row)) is not None:
                before, now = counts
                name = self.database.header(row)[0]
                texts.append(f"{name}: passed {before} filters, computed again {now}, or has other scores there.")
        return texts

    def steps_of(self, session: Session, row: int) -> list[Step]:
        """Return the fate of a target in each filter, in the definition of its domains, and in the report."""
        from clalign.engines.plan7.hmmer3.filter_steps import filter_steps, report_step
        from clalign.engines.plan7.hmmer3.funnel import STAGES
        from clalign.engines.plan7.steps import counted, step, unless_reached

        codes = self.database.residues(row)
        if row in self.targets.left_out.rows or not len(codes):
            why = "It has no residues."
            if len(codes):
                why = (
                    f"HMMER3 searches no sequence longer than {MAX_LENGTH:,} residues,"
                    " nor one with characters it refuses."
                )
            return [step("all", STAGES["all"], why, passed=False)]
        passage = FILTERS.passage(codes, self.model)
        null = float(length_terms(np.array([len(codes)])).null[0])
        steps = filter_steps(self.model, passage, null)
        if not math.isfinite(passage.forward):
            return steps
        batch = self.database.select(np.array([row], np.int64))
        domains = define_domains(session, batch, self.profile, self.seed)()[0]
        came = all(one["passed"] for one in steps if one["ran"])
        n = len(domains.envelopes)
        text = f"{domains.expected:.1f} domains are expected and {n} found, in {counted(domains.n_regions, 'region')}."
        steps.append(step("domains", "Domains", unless_reached(came) + text, passed=n > 0, ran=came))
        if not n:
            return steps
        relaxed = replace(self, thresholds=replace(self.thresholds, evalue=math.inf, score=None))
        scores = FilterScores(0.0, None, None, None)
        (hit,) = relaxed.hits(Candidates(np.array([row]), [domains], np.array([null], np.float32), [scores], [0]))
        return [*steps, report_step(self.thresholds, hit, came)]

    def start_scoring(self, session: Session, batch: SequenceBatch) -> Callable[[], ScoredBatch]:
        """Start sending a batch through the filters; return a callable that waits for the result."""
        wait = self.start_together([self], session, batch)
        return lambda: wait()[0]

    def scored_batch(
        self, searchable: SearchableBatch, filtered: Filtered, survivors: Survivors, scores: Callable[[], Scores]
    ) -> ScoredBatch:
        """Return a batch that went through the filters with its scores, as they are kept, and its survivors."""
        passed = filtered.rows[filtered.reached == PASSED_FORWARD]
        return Scored(
            scores, (searchable, filtered, survivors), suits_cpu=bool(len(passed)),
            kept=lambda: {BATCHES.name: pack_survivors(survivors)},
            candidate_cells=float(searchable.batch.lengths[passed].sum()) * self.length,
        )  # fmt: skip

    def start_hits(self, session: Session, scored: ScoredBatch) -> Callable[[], Collection[Hit]]:
        """Start defining the domains of what passed all filters; return a callable that waits for the reported hits."""
        steps = self.hits_together(session, [(self, scored)])
        next(steps)
        return lambda: at_once(steps)[0]

    def reported(
        self, scored: ScoredBatch, places: npt.NDArray[np.int64], domains: list[TargetDomains]
    ) -> Iterator[Hit]:
        """Yield the hits among some survivors of all filters, given their domains."""
        searchable, filtered, survivors = scored.details
        with_any = np.flatnonzero([len(of_target.envelopes) > 0 for of_target in domains])
        for first in range(0, len(with_any), CANDIDATES_AT_ONCE):
            chosen = with_any[first : first + CANDIDATES_AT_ONCE]
            some = places[chosen]
            positions = filtered.rows[some]
            yield from self.hits(Candidates(
                survivors.rows[some], [domains[place] for place in chosen.tolist()], searchable.terms.null[positions],
                filter_scores(survivors, some),
                _millibits([self], searchable, filtered.msv[positions][None], positions)[0].tolist(),
            ))  # fmt: skip

    def hits(self, candidates: Candidates) -> Iterator[Hit]:
        """Yield those of some targets that are reported, with their domains."""
        database, limits, rows = self.database, self.thresholds, candidates.rows
        lengths = database.offsets[rows + 1] - database.offsets[rows]
        scores = target_scores(candidates.domains_found, candidates.null, lengths, without_null2=self.without_null2)
        log_pvalues = hmmer3_log_tail(scores.score, limits.calibration).tolist()
        evalues = hmmer3_evalues(log_pvalues, limits.n_targets)
        bits = scores.score.tolist()
        are_reported = list(map(limits.reports, bits, evalues))
        of_reported = rows[are_reported]
        names, accessions, descriptions = database.headers(of_reported)
        domains, domains_found, filters, raws, bits, evalues, log_pvalues = (
            list(compress(column, are_reported))
            for column in (
                self._domains(candidates, are_reported, scores), candidates.domains_found, candidates.filters,
                candidates.raws, bits, evalues, log_pvalues,
            )
        )  # fmt: skip
        return from_columns(  # of thousands of hits one by one takes as long as the rest
            Hit,
            row=of_reported.tolist(),
            input_index=database.order[of_reported].tolist(),
            name=names,
            accession=accessions,
            description=descriptions,
            length=lengths[are_reported].tolist(),
            score=bits,
            bias=scores.bias[are_reported].tolist(),
            evalue=evalues,
            raw=raws,
            domains=domains,
            n_domains=[len(of_target.envelopes) for of_target in domains_found],
            log_pvalue=log_pvalues,
            is_significant=map(limits.calls_significant, bits, evalues),
            estimates=starmap(DomainEstimates, map(_COUNTS, domains_found)),
            filters=filters,
        )

    def _domains(
        self, candidates: Candidates, are_reported: Sequence[bool], scores: TargetScores
    ) -> Iterator[tuple[Domain, ...]]:
        """Yield the domains of each candidate; of one that is not reported none."""
        begins, shown = scores.begins.tolist(), list[tuple[int, int, int]]()
        for place in np.flatnonzero(are_reported).tolist():
            of_target = candidates.domains_found[place]
            hidden = repeats(of_target, scores.domain_score[begins[place] : begins[place + 1]])
            kept = [n for n in range(len(of_target.envelopes)) if n not in hidden]
            shown += zip(repeat(place), kept, range(1, len(kept) + 1))
        counts = Counter(place for place, _, _ in shown)
        domains = self._shown_domains(candidates, shown, scores)
        return (tuple(islice(domains, counts[place])) for place in range(len(are_reported)))

    def _shown_domains(
        self, candidates: Candidates, shown: Sequence[tuple[int, int, int]], scores: TargetScores
    ) -> Iterator[Domain]:
        """Yield a `Domain` for each triple: place of the candidate, place of the envelope in it, number from 1."""
        if not shown:
            return iter(())
        owners, places, numbers = zip(*shown, strict=True)
        envelopes = [
            candidates.domains_found[owner].envelopes[place] for owner, place in zip(owners, places, strict=True)
        ]
        paths, ends = [envelope.path for envelope in envelopes], [(each.first, each.last) for each in envelopes]
        chosen = scores.begins[np.array(owners)] + np.array(places)
        bits, biases = scores.domain_score[chosen], scores.domain_bias[chosen]
        log_pvalues = hmmer3_log_tail(bits, self.thresholds.calibration).tolist()
        texts = hmmer3_alignment_texts(
            paths, [envelope.posterior for envelope in envelopes], self.profile,
            self.database.residues_of(candidates.rows[np.array(owners)]),
        )  # fmt: skip
        return from_columns(
            Domain,
            number=numbers,
            score=bits.tolist(),
            bias=biases.tolist(),
            evalue=hmmer3_evalues(log_pvalues, self.thresholds.n_targets),
            query_range=[path.query_range for path in paths],
            target_range=[path.target_range for path in paths],
            envelope=ends,
            raw=np.rint(1000.0 * (bits + biases)).astype(np.int64).tolist(),
            states=[path.states for path in paths],
            text=texts,
            log_pvalue=log_pvalues,
            accuracy=[envelope.accuracy for envelope in envelopes],
        )

    def described(self, raw: int, row: int) -> TargetFacts:
        """Return name, MSV score and its E-value of a target that need not be a hit."""
        return described_by_msv(self.profile.settings, self.thresholds, self.database, raw, row)


def described_by_msv(
    settings: Hmmer3Settings, thresholds: Hmmer3Thresholds, database: SequenceDatabase, raw: int, row: int
) -> TargetFacts:
    """Return name, MSV score and its E-value of a target, without the profile as it is searched with."""
    score = np.array([raw / INT_SCALE], np.float32)
    assert settings.msv is not None
    return {
        "name": database.header(row)[0],
        "score": float(score[0]),
        "evalue": float(hmmer3_gumbel(score, settings.msv)[0]) * thresholds.n_targets,
        "kind": "msv",
    }


def _item(make: Callable[[], list[Scores]], place: int) -> Scores:
    return make()[place]


def _stored_scores(
    searches: Sequence[Hmmer3Search], searchable: SearchableBatch, filtered: Sequence[Filtered]
) -> list[Scores]:
    """Return the MSV scores of all targets above the null model with each profile.

    Raises
    ------
    DeviceError
        If the device gave others than there can be.
    """
    for of_one in filtered:
        of_one.check()
    msv = np.stack([of_one.msv for of_one in filtered])
    return [Scores(searchable.batch.targets, values) for values in _millibits(searches, searchable, msv, slice(None))]


def _millibits(
    searches: Sequence[Hmmer3Search], searchable: SearchableBatch, msv: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int32] | slice,
) -> npt.NDArray[np.int32]:  # fmt: skip
    """Return the MSV scores of some rows above the null model with each profile, in 1/1000 bit.

    What overflows has the highest finite score.

    Parameters
    ----------
    searches : sequence of Hmmer3Search
    searchable : SearchableBatch
    msv : float32[k, n]
    rows : int32[n] or slice

    Returns
    -------
    int32[k, n]
    """
    null, moves = searchable.terms.null[rows], searchable.terms.byte_move[rows]
    differences = msv - null
    owner, place = np.nonzero(msv == np.inf)
    if len(owner):
        biases = np.array([search.byte_bias for search in searches])
        levels = (HIGHEST_BYTE - biases[owner] - BYTE_E_MOVE - BYTE_BASE - moves[place]).astype(np.float32)
        differences[owner, place] = levels / BYTE_SCALE - LOOP_COST - null[place]
    empty = np.isnan(differences)
    differences[empty] = 0
    values: npt.NDArray[np.int32] = np.rint(differences * np.float32(INT_SCALE / LN_2)).astype(np.int32)
    values[empty] = IMPOSSIBLE
    return values


SearchedBatch = tuple[Hmmer3Search, ScoredBatch]
"""A search, and what a device found with it in a batch."""


class Portion(Struct, frozen=True):
    """Survivors of all filters, of one or several units, whose domains are defined together.

    Attributes
    ----------
    pieces : list of (int, int64[n])
        Units, and places among what passed the first filter in each.
    """

    pieces: list[tuple[int, npt.NDArray[np.int64]]]

    def start(
        self, session: Session, units: Sequence[SearchedBatch]
    ) -> tuple[Steps[list[TargetDomains]], Callable[[], bool]]:
        """Start defining their domains; return the other steps, and whether the first can be taken without waiting."""
        searches = [units[number][0] for number, _ in self.pieces]
        profiles = list({id(search.profile): search.profile for search in searches}.values())
        places = {id(profile): place for place, profile in enumerate(profiles)}
        rows = [
            searchable.batch.targets[filtered.rows[chosen]]
            for number, chosen in self.pieces
            for searchable, filtered, _ in [units[number][1].details]
        ]
        of_row = np.repeat([places[id(search.profile)] for search in searches], [len(each) for each in rows])
        batch = searches[0].targets.database.select(np.concatenate(rows))
        profiles_of_rows = RowProfiles(tuple(profiles), of_row.astype(np.int32))
        steps = domains_in_steps(session, batch, profiles_of_rows, searches[0].seed)
        return steps, next(steps)


def domain_cells(device: Device) -> float:
    """Return the cells of the targets that a card defines domains of at once; 0 where that is left to a processor."""
    return card_cells(device) if DECODING.suits(device) else 0.0


def _portions(units: Sequence[SearchedBatch], n_cells: float) -> Iterator[Portion]:
    """Yield survivors in portions of some cells, that a device has room for and a user waits for."""
    pieces: list[tuple[int, npt.NDArray[np.int64]]] = []
    left, n_left, alphabet = n_cells, MAX_DOMAIN_TARGETS, ""
    for number, (search, scored) in enumerate(units):
        searchable, filtered, _ = scored.details
        passed = np.flatnonzero(filtered.reached == PASSED_FORWARD)
        cells = np.cumsum(searchable.batch.lengths[filtered.rows[passed]], dtype=np.float64) * search.length
        before = 0.0
        while len(passed):
            is_full = not n_left or cells[0] - before > left
            if pieces and (is_full or search.profile.hmm.alphabet.name != alphabet):
                yield Portion(pieces)
                pieces, left, n_left = [], n_cells, MAX_DOMAIN_TARGETS
            n = min(n_left, max(1, int(np.searchsorted(cells, before + left, side="right"))))
            pieces.append((number, passed[:n]))
            alphabet = search.profile.hmm.alphabet.name
            left -= float(cells[n - 1]) - before
            n_left -= n
            before = float(cells[n - 1])
            passed, cells = passed[n:], cells[n:]
    if pieces:
        yield Portion(pieces)


def _demand_agreement(session: Session, forward: npt.NDArray[np.float32], domains: list[TargetDomains]) -> None:
    """Raise `DeviceError` if targets have other Forward scores where their domains are defined than in the filter."""
    again = np.array([of_target.forward for of_target in domains], np.float32)
    with np.errstate(invalid="ignore"):
        slack = FORWARD_SLACK + FORWARD_SHARE * np.abs(forward)
        differ = np.isfinite(forward) & np.isfinite(again) & ~(np.abs(forward - again) <= slack)
    if differ.any():
        raise DeviceError(
            f"{session.device.name} gave {int(differ.sum()):,} targets two different Forward scores.",
            "Its memory or its driver may be faulty: try `clalign selftest`, or another device.",
        )


def survivors_in_bits(searchable: SearchableBatch, found: Sequence[Filtered]) -> list[Survivors]:
    """Return the survivors of the first filter of each profile with their scores in bits; worked out together."""
    msv = np.concatenate([each.msv[each.rows] for each in found])
    rows, bias, viterbi, forward, reached = (
        np.concatenate([getattr(each, name) for each in found])
        for name in ("rows", "bias", "viterbi", "forward", "reached")
    )
    with np.errstate(invalid="ignore"):
        nats = (msv - searchable.terms.null[rows], msv - bias, viterbi - bias, forward - bias)
    columns = searchable.batch.targets[rows], *map(in_bits, nats), reached
    ends = np.cumsum([len(each.rows) for each in found]).tolist()
    return [
        Survivors(*(column[first:last] for column in columns)) for first, last in zip([0, *ends], ends, strict=False)
    ]


def filter_scores(survivors: Survivors, places: npt.NDArray[np.int64]) -> list[FilterScores]:
    """Return the scores of some survivors."""
    columns = []
    for scores in (survivors.bias, survivors.viterbi, survivors.forward):
        known = scores[places].astype(object)
        known[np.isnan(scores[places])] = None
        columns.append(known.tolist())
    return list(map(FilterScores, survivors.msv[places].tolist(), *columns))


def prepare_hmmer3_search(
    hmm: Hmm, spec: SearchSpec, targets: Targets, profile: LocalProfile | None = None
) -> Hmmer3Search:
    """Return the search of a HMMER3 profile, its scores and thresholds ready; `profile` if it is made already."""
    thresholds = hmmer3_thresholds(hmm, spec, targets.n("hmmer3"))
    profile = profile or to_local_profile(hmm, spec.compute_composition)
    model = FilterModel(profile, filter_limits(spec))
    return Hmmer3Search(model, thresholds, targets, spec.seed, spec.without_null2, byte_scores(profile).bias)

"""The search job: profiles against a database on a device, batch after batch into a run file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.rehearsal import Rehearsal, probe_batch
from clalign.compute.sessions import Session, Steps
from clalign.databases.letters import TRANSLATE, Guess, objection, reinterpreted
from clalign.databases.loading import load_database
from clalign.databases.reports import InputReport
from clalign.engines.plan7.hmmer3.search import described_by_msv, domain_cells, prepare_hmmer3_search
from clalign.engines.plan7.hmmer3.thresholds import card_of_statistics, filter_limits, hmmer3_thresholds
from clalign.engines.plan7.inputs import Targets, load_queries, matrix_digest, targets_of
from clalign.engines.plan7.search import AnyProfileSearch
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.tables import SearchFacts
from clalign.errors import InputError
from clalign.execution.job import Task
from clalign.execution.speed import Estimate, Pace
from clalign.execution.units import Plan, Scored
from clalign.formats.hmmer3 import ODD_SUM
from clalign.formats.profiles import profile_card, repeated_names
from clalign.runs.inputs import at_hand, check_counted
from clalign.runs.run_file import RunFile
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.stages.hmmer3.local_tables import programs_of
from clalign.stages.hmmer3.sampling import SAMPLING
from clalign.values.devices import Device
from clalign.values.documents import BegunFacts, Card, JobResult, TargetFacts
from clalign.values.evalues import MIN_RAW
from clalign.values.hits import Hit
from clalign.values.local_profiles import LocalProfile, Shelves
from clalign.values.profiles import Hmm, Hmmer3Settings, to_integer_profile
from clalign.values.sequences import SequenceBatch, SequenceDatabase

if TYPE_CHECKING:  # only searches in rounds build profiles while they run
    from clalign.engines.plan7.rounds import Rounds


NO_RESIDUES = "None of its records has residues, so there was nothing to search."

REPORTED_BY_HMMER3_RULES = ("letters", "gaps", "digits", "empty")
"""Oddities of a file that HMMER3's rules report instead."""


class ProfileWork(Struct):
    """Profiles and the sequences that they are searched against.

    Attributes
    ----------
    task : Task
    profiles : list of Hmm
    digest : str
        SHA-256 of their file.
    targets : SequenceDatabase
    report : InputReport
        Of the sequences.
    searched : Targets
        Which of them are searched.
    texts : list of str
        What to say of the alphabet.
    """

    task: Task[SearchSpec]
    profiles: list[Hmm]
    digest: str
    targets: SequenceDatabase
    report: InputReport
    searched: Targets
    texts: list[str]

    @classmethod
    def loaded(cls, task: Task[SearchSpec]) -> ProfileWork:
        """Read the input of a search, which must be that of the run if it has begun."""
        run, spec, context = task.run, task.spec, task.context
        is_begun = run.facts.database is not None
        files = at_hand(run, spec, context) if is_begun else spec
        profiles, digest = task.given.get("profiles"), ""
        if profiles is None:
            profiles, digest = load_queries(files, task.pick_device, context)
        build_ahead(task, profiles)
        database, report = load_database(
            files.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
        )
        if is_begun:
            check_unchanged(run, files, report, digest)
        database, report, texts = with_alphabet_of_profiles(spec, profiles, database, report)
        return cls(task, profiles, digest, database, report, targets_of(spec, database, profiles, report), texts)

    def store(self) -> BegunFacts:
        """Store the cards of the profiles, and return the facts of the input."""
        spec = self.task.spec
        run, rounds = self.task.run, self._rounds()
        if rounds is None or not run.n_queries():  # else there may be profiles of later rounds
            # One by one: of a large library there is no need to have all cards in memory.
            run.set_cards(map(self._card_of, self.profiles) if rounds is None else rounds.cards())
        n_targets = card_of_search(self.profiles[0], spec, self.searched)["n_targets"]
        return {
            "direction": spec.direction,
            "profiles_digest": self.digest,
            "matrix_digest": matrix_digest(spec),
            "n_targets": n_targets,
        }

    def _card_of(self, hmm: Hmm) -> Card:
        return card_of_search(hmm, self.task.spec, self.searched)

    def _rounds(self) -> Rounds | None:
        """Return the rounds of the search, if it has some."""
        if not self.task.spec.has_rounds:
            return None
        from clalign.engines.plan7.rounds import Rounds

        return Rounds(self.task.spec, self.profiles, self._card_of, self.task.context.check)

    def cautions(self) -> Iterator[str]:
        """Yield the sentences that the user should read about the input."""
        if not self.report.n_residues:
            yield f"{self.report.path}: {NO_RESIDUES}"
        yield from self.report.oddities(without=REPORTED_BY_HMMER3_RULES)
        yield from self.texts
        yield from _cautions(self.task.spec, self.profiles)
        yield from self.searched.left_out.texts

    def plan(self) -> Plan:
        """Return every profile with all sequences; domains of HMMER3 profiles suit the processor."""
        database, lengths = self.searched.database, [hmm.length for hmm in self.profiles]
        shelves = Shelves(self.profiles, self.task.spec.compute_composition)
        rounds = self._rounds()

        def search_of(run: RunFile, number: int) -> AnyProfileSearch:
            if rounds is not None and number >= len(self.profiles):
                return prepare_search(rounds.profile(run, number), number, self.task.spec, self.searched)
            profile = shelves.profile(number)
            return prepare_search(self.profiles[number], number, self.task.spec, self.searched, profile)

        plan = Plan(
            range(len(lengths)), len(database), float(database.n_residues) * sum(lengths), search_of,
            lambda device: Pace.of(device, database, lengths),
            may_suit_cpu=any(hmm.origin == "hmmer3" for hmm in self.profiles), trace=hits_in_steps,
            start_many=start_many, groups=shelves.firsts, card_cells=domain_cells,
            described=self._describe if rounds is None else None,
        )  # fmt: skip
        return plan if rounds is None or not self.task.spec.needs_ends else _with_rounds(plan, rounds, self.task)

    def _describe(self, number: int, raw: int, row: int) -> TargetFacts:
        hmm, spec = self.profiles[number], self.task.spec
        if not isinstance(hmm.settings, Hmmer3Settings):
            return prepare_search(hmm, number, spec, self.searched).described(raw, row)
        limits = hmmer3_thresholds(hmm, spec, self.searched.n("hmmer3"))
        return described_by_msv(hmm.settings, limits, self.searched.database, raw, row)

    def estimate(self, n_cells: float, devices: Sequence[Device]) -> Estimate:
        """Return the estimate that the window shows before a search; see `clalign.engines.plan7.estimate`."""
        from clalign.engines.plan7.estimate import estimate

        spec = self.task.spec
        found = estimate([(hmm.origin, hmm.length) for hmm in self.profiles], n_cells, spec, devices)
        return (
            replace(found, queries=f"{found.queries}, in {spec.iterations} rounds at most")
            if spec.needs_ends
            else found
        )

    def summary(self) -> JobResult:
        """Nothing that every summary has not."""
        return {}


def _with_rounds(plan: Plan, rounds: Rounds, task: Task[SearchSpec]) -> Plan:
    """Return the plan of all rounds, given that of the first ones."""

    def is_there(run: RunFile, number: int) -> bool:
        return number < run.n_queries()

    n_first, n_rounds = len(plan.queries), task.spec.iterations
    return replace(
        plan,
        # Each query gets this many profiles more at most, after those that are there.
        queries=range(max(n_first, task.run.n_queries()) + n_first * (n_rounds - 1)),
        n_cells=plan.n_cells * n_rounds,
        compute_end=lambda run, number, search, session: rounds.compute_end(run, number, session),
        is_needed=is_there,
        is_known=is_there,
        # An executor that is done with a group of its own would take rounds for missing that only come later.
        groups=(0,),
    )


def prepare_search(
    hmm: Hmm, number: int, spec: SearchSpec, targets: Targets, profile: LocalProfile | None = None
) -> AnyProfileSearch:
    """Return the search of the `number`-th profile from 0, its scores and thresholds ready.

    A HMMER3 profile as it is searched with is made unless it is given.

    Raises
    ------
    OptionError
        If the model's own cutoffs are asked for and it has none, or if it lacks the statistics it needs.
    """
    if hmm.origin == "hmmer3":
        return prepare_hmmer3_search(hmm, spec, targets, profile)
    from clalign.engines.plan7.hmmer2.search import prepare_hmmer2_search

    return prepare_hmmer2_search(hmm, number, spec, targets)


def card_of_search(hmm: Hmm, spec: SearchSpec, targets: Targets) -> Card:
    """Return the card of a profile with the thresholds of a search, as plain data."""
    card = profile_card(hmm)
    if hmm.origin == "hmmer2":
        from clalign.engines.plan7.hmmer2.search import thresholds_for

        older = thresholds_for(hmm, spec, targets.n("hmmer2"))
        reported = older.report_score if older.least_raw > MIN_RAW else None
        return card | {
            "report_score": reported,
            "include_score": older.least_significant_score,
            "n_targets": older.n_targets,
            "histogram_kind": "viterbi",
            "histogram_report_score": reported,
        }
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    limits = hmmer3_thresholds(hmm, spec, targets.n("hmmer3"))
    return card | {
        "report_score": limits.report_score,
        "include_score": limits.least_significant_score,
        "n_targets": limits.n_targets,
        "histogram_kind": "msv",
        "histogram_report_score": None,
        "left_out": targets.left_out.rows.tolist(),
        "left_out_residues": sum(map(targets.database.length, targets.left_out.rows.tolist())),
        **card_of_statistics(settings, filter_limits(spec), limits),
    }


def start_many(
    searches: Sequence[AnyProfileSearch], session: Session, batch: SequenceBatch
) -> Callable[[], list[Scored[object]]]:
    """Start scoring a batch with some profiles, those of one shelf together; return a callable that blocks for all."""
    groups = [list(group) for _, group in itertools.groupby(searches, attrgetter("shelf"))]
    waits = [group[0].start_together(group, session, batch) for group in groups]
    return lambda: [scored for wait in waits for scored in wait()]


def build_ahead(task: Task[SearchSpec], profiles: list[Hmm]) -> None:
    """Have the programs built that a search with these profiles will need."""
    task.build_ahead(partial(rehearse, profiles, task.spec))
    if any(hmm.origin == "hmmer3" for hmm in profiles):
        task.build_ahead_for_helper(rehearse_domains)


def hits_in_steps(
    session: Session, units: Sequence[tuple[AnyProfileSearch, Scored[object]]]
) -> Steps[Sequence[Collection[Hit]]]:
    """Look for the hits among what may be some in units of profiles of both kinds; ends with those of each unit."""
    found: list[Collection[Hit]] = [()] * len(units)
    for origin in ("hmmer3", "hmmer2"):
        places = [place for place, (search, _) in enumerate(units) if search.origin == origin]
        if places:
            some = [units[place] for place in places]
            hits = yield from some[0][0].hits_together(session, some)
            for place, of_unit in zip(places, hits, strict=True):
                found[place] = of_unit
    return found


def check_unchanged(run: RunFile, spec: SearchSpec, report: InputReport, profiles_digest: str) -> None:
    """Refuse to go on with other input than the run began with.

    Parameters
    ----------
    run : RunFile
    spec : SearchSpec
    report : InputReport
        Of the sequences.
    profiles_digest : str
        SHA-256 of the profiles that were read (`load_library`).

    Raises
    ------
    InputError
        If a file has changed, or if the run has not come so far as to read them.
    """
    before = run.facts.database
    hint = "Put the old file back, or start a new search."
    if before is None:
        raise InputError(run.path, "this run has no results; its input could not be read.", "Search again.")
    if before.digest != report.digest:
        raise InputError(spec.targets, "the sequences have changed since this run began.", hint)
    check_counted(run, "database", report)
    if run.facts.profiles_digest != profiles_digest:
        raise InputError(spec.profiles, "the profiles have changed since this run began.", hint)
    if isinstance(run.facts, SearchFacts) and run.facts.matrix_digest != matrix_digest(spec):
        raise InputError(spec.matrix or spec.profiles, "the matrix has changed since this run began.", hint)


def with_alphabet_of_profiles(
    spec: SearchSpec, profiles: list[Hmm], database: SequenceDatabase, report: InputReport
) -> tuple[SequenceDatabase, InputReport, list[str]]:
    """Return sequences as they are searched with profiles, and what the user should know of that.

    Raises
    ------
    InputError
        If the profiles are for proteins and the sequences look like nucleic acids, or the other way round.
    """
    found = objection([(hmm.name, hmm.alphabet) for hmm in profiles], Guess.of(report), spec.targets)
    if found is None:
        return database, report, []
    if found.blocks:
        kind = profiles[0].alphabet.name
        hint = f"{TRANSLATE} say with --alphabet {kind} what the sequences are."
        raise InputError(spec.profiles, f"{found.text[0].lower()}{found.text[1:]}", hint)
    if found.taken.alphabet != database.alphabet:
        return *reinterpreted(found.taken, database, report, "the sequences are"), []
    return database, report, [f"{found.text} If that is wrong, say with --alphabet what the sequences are."]


def _cautions(spec: SearchSpec, profiles: list[Hmm]) -> list[str]:
    texts = []
    repeated = repeated_names(profiles)
    if repeated:
        texts.append(f"Several profiles have the same name: {', '.join(repeated[:3])}. Their results are kept apart.")
    uncalibrated = [hmm.name for hmm in profiles if hmm.origin == "hmmer2" and not hmm.is_calibrated]
    if uncalibrated:
        texts.append(f"No calibration in {_listed(uncalibrated)}: the E-values are only upper bounds.")
    odd = [hmm for hmm in profiles if ODD_SUM in hmm.facts]
    if odd:
        names, first = _listed([hmm.name for hmm in odd]), odd[0].facts[ODD_SUM]
        texts.append(f"{names}: the {first}; the probabilities are used unchanged, as in HMMER.")
    without = [hmm.name for hmm in profiles if not _has_composition(hmm)]
    if without and filter_limits(spec).bias:
        words = (
            "it is computed for the bias filter; HMMER3 would not compute it, so results may differ from HMMER3's."
            if spec.compute_composition
            else "the bias filter does without, as HMMER3 does, and filters next to nothing. To have it computed:"
            " --compute_compo."
        )
        texts.append(f"No composition (COMPO) in {_listed(without)}: {words}")
    return texts


def _has_composition(hmm: Hmm) -> bool:
    """Return whether a profile says what its bias filter needs, or needs none."""
    return not isinstance(hmm.settings, Hmmer3Settings) or hmm.settings.composition is not None


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


MAX_REHEARSED = 256
"""Lengths of a library that are looked at; what is needed besides is built when it is."""

MAX_TOGETHER = 64
"""Profiles that are made at a time."""

MAX_TRACED, PROBES_TRACED = 4, 64
"""HMMER2 profiles for which the traceback is looked at, too, and sequences of it; others may have nothing to trace."""

NODES_ALIKE, NODES_ALIKE_ON_CPU = 2, {"hmmer2": 8, "hmmer3": 16}
"""Lengths that differ by less, between multiples of it, need the same programs: numbers of nodes of a lane, or vectors
of a row, are the same for them."""

PROBES, LONG_PROBE = 1 << 13, 1 << 14
"""Sequences to rehearse with, as many as a batch has, and the residues of a long one among them."""


def rehearse(profiles: Iterable[Hmm], spec: SearchSpec, session: Rehearsal) -> None:
    """Start on a session that computes nothing what a search with these profiles will start, in their order."""
    limits, batch = filter_limits(spec), probe_batch(PROBES, longest=LONG_PROBE)
    unlike, n_seen, n_together = _unlike(profiles, session), 0, 1
    while hmms := list(itertools.islice(unlike, n_together)):
        shelves = Shelves(hmms, spec.compute_composition)
        for place, hmm in enumerate(hmms):
            n_seen += 1
            local = shelves.profile(place)
            if local is not None:
                FILTERS.start(session, batch, [FilterModel(local, limits)])
            else:
                _rehearse_older(session, batch, hmm, is_traced=n_seen <= MAX_TRACED)
        n_together = min(8 * n_together, MAX_TOGETHER)  # what the first one needs is not to wait for the others


def _rehearse_older(session: Rehearsal, batch: SequenceBatch, hmm: Hmm, is_traced: bool) -> None:
    """Start what a search with a HMMER2 profile will start."""
    from clalign.stages.plan7.viterbi import VITERBI
    from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE

    profile = to_integer_profile(hmm)
    VITERBI.start(session, batch, profile)
    if is_traced:
        VITERBI_TRACE.start(session, probe_batch(PROBES_TRACED), profile)


def _unlike(profiles: Iterable[Hmm], session: Rehearsal) -> Iterator[Hmm]:
    """Yield some of the profiles that can be searched with, no two of which need the same programs for sure."""
    seen: set[tuple[str, str, int]] = set()
    for hmm in profiles:
        alike = NODES_ALIKE_ON_CPU[hmm.origin] if session.device.kind == "cpu" else NODES_ALIKE
        key = hmm.origin, hmm.alphabet.name, -(-hmm.length // alike)
        if key in seen or not _is_searchable(hmm):
            continue
        if len(seen) >= MAX_REHEARSED:
            return
        seen.add(key)
        yield hmm


def rehearse_domains(session: Rehearsal) -> None:
    """Take note of what a device needs for domains, however many there are at a time."""
    stages = [stage for stage in (DECODING, ENVELOPE, SAMPLING) if session.is_wanted(stage)]
    for programs in itertools.zip_longest(*(programs_of(stage, session.device) for stage in stages)):
        session.build_ahead(filter(None, programs))


def _is_searchable(hmm: Hmm) -> bool:
    """Return whether a profile has the statistics that its search needs."""
    settings = hmm.settings
    if not isinstance(settings, Hmmer3Settings):
        return True
    return settings.msv is not None and settings.viterbi is not None and settings.forward is not None

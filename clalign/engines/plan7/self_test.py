"""The self-test: the bundled examples on a device, against the answers that HMMER 2.3.2 and 3.3.2 give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clalign.compute.opening import open_session
from clalign.compute.sessions import ReferenceSession, Session
from clalign.databases.examples import Example, load_examples
from clalign.databases.loading import load_database
from clalign.engines.plan7.hmmer3.domains import define_domains
from clalign.engines.plan7.inputs import targets_of
from clalign.engines.plan7.profile_search import prepare_search
from clalign.engines.plan7.spec import SearchSpec
from clalign.formats.profiles import load_profiles
from clalign.jobs import BuildReports, JobContext
from clalign.stages.hmmer3.filters import FILTERS, Filtered, FilterModel
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE
from clalign.values.devices import REFERENCE, Device
from clalign.values.documents import DeviceCheck, DeviceTest
from clalign.values.envelopes import TargetDomains
from clalign.values.hits import Hit
from clalign.values.local_scores import LN_2, FilterLimits
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_local_profile, random_profile

REFERENCE_SECONDS = 2.0
"""Examples that take longer than this on a CPU device are left out on the reference."""

RANDOM_NODES = (1, 2, 31, 64, 200)
RANDOM_SEED = 7

HMMER3_NODES = (1, 5, 40, 130)
OPEN_LIMITS = FilterLimits(0.5, 0.5, 0.5, True)
"""P-values that give every filter something to do."""

TIMES_TOGETHER = 3
"""Copies of the sequences for all models at a time: with few, the later filters are started for some models only."""

PRINT_SLACK = 1e-3
"""Distance from a rounding boundary within which HMMER3's numbers may be printed with another last digit."""

FORWARD_TOLERANCE = 1e-3 * LN_2
"""Limit of the difference of Forward scores (nats); all other scores must be equal."""


def self_test(device: Device, context: JobContext) -> DeviceTest:
    """Run the bundled examples and random cases on a device and compare every number.

    Returns
    -------
    dict
        ``device``, ``health``, ``problem`` and ``checks``: a list of ``name``, ``equal``, ``detail``.
    """
    checks = []
    examples = [example for example in load_examples() if example.targets is not None]
    if device.kind == "reference":
        examples = [example for example in examples if example.seconds <= REFERENCE_SECONDS]
    with open_session(device, context.check, BuildReports(context).of_device()) as session:
        for done, example in enumerate(examples):
            context.progress("self-test", done, len(examples) + 2, "checks")
            checks.append(_check_example(example, session, context))
        checks.append(_check_random(session, context))
        checks.append(_check_random_hmmer3(session, context))
    context.progress("self-test", len(checks), len(checks), "checks")
    wrong = [check for check in checks if not check["equal"]]
    problem = f"{len(wrong)} of {len(checks)} checks gave another answer, so results of this device cannot be trusted."
    return {
        "device": device.id,
        "name": device.name,
        "health": "self-test failed" if wrong else "ready",
        "problem": problem if wrong else "",
        "checks": checks,
    }


def _check_example(example: Example, session: Session, context: JobContext) -> DeviceCheck:
    spec = SearchSpec(profiles=str(example.profiles), targets=str(example.targets))
    database, _ = load_database(spec.targets, context=context)
    profiles = load_profiles(spec.profiles)
    search = prepare_search(profiles[0], 0, spec, targets_of(spec, database, profiles))
    program = "HMMER 2.3.2" if profiles[0].origin == "hmmer2" else "HMMER 3.3.2"
    hits: list[Hit] = []
    step = max(1, len(database) // 8)
    for first in range(0, len(database), step):
        context.check()
        batch = database.batch(first, min(first + step, len(database)))
        scored = search.start_scoring(session, batch)()
        hits += search.start_hits(session, scored)()
    slack = 0.0 if profiles[0].origin == "hmmer2" else PRINT_SLACK
    different = _different_hits(example, hits, slack) | _different_domains(example, hits, slack)
    n_domains = sum(len(hit.domains) for hit in hits)
    detail = f"{len(hits)} hits and {n_domains} domains, all as {program} gives them"
    if different:
        detail = f"other than {program}: {', '.join(sorted(different))}"
    return {"name": example.title, "equal": not different, "detail": detail}


def _different_hits(example: Example, hits: list[Hit], slack: float) -> set[str]:
    """Return the targets whose hit is not as expected."""
    expected = {(h.target, h.score, h.evalue, h.n_domains) for h in example.hits}
    found = {
        (h.name, score, evalue, h.n_domains)
        for h in hits for score in _texts(h.score, ".1f", slack) for evalue in _texts(h.evalue, ".2g", slack)
    }  # fmt: skip
    return {name for name, *_ in expected - found} | {h.name for h in hits} ^ {h.target for h in example.hits}


def _different_domains(example: Example, hits: list[Hit], slack: float) -> set[str]:
    """Return the targets whose domains are not as expected."""
    expected = {
        (d.target, d.number, d.ali_from, d.ali_to, d.hmm_from, d.hmm_to, d.score, d.evalue) for d in example.domains
    }
    found = {
        (h.name, d.number, d.target_range[0] + 1, d.target_range[1], d.query_range[0] + 1, d.query_range[1],
         score, evalue)
        for h in hits for d in h.domains
        for score in _texts(d.score, ".1f", slack) for evalue in _texts(d.evalue, ".2g", slack)
    }  # fmt: skip
    counts = {(h.name, d.number) for h in hits for d in h.domains} ^ {(d.target, d.number) for d in example.domains}
    return {name for name, *_ in expected - found} | {name for name, _ in counts}


def _texts(value: float, form: str, slack: float) -> set[str]:
    """Return how a number may be printed that is right within a slack: in bits, or relative for E-values."""
    step = slack if form == ".1f" else slack * value
    return {format(v, form) for v in (value - step, value, value + step)}


def _check_random(session: Session, context: JobContext) -> DeviceCheck:
    rng = np.random.default_rng(RANDOM_SEED)
    n_tests = n_wrong = 0
    for nodes in RANDOM_NODES:
        for local in (True, False):
            context.check()
            profile = random_profile(rng, nodes, local)
            batch = random_batch(rng, profile, 8, 120)
            wrong = session.run(VITERBI, batch, profile).values != VITERBI.reference(batch, profile).values
            paths, expected = session.run(VITERBI_TRACE, batch, profile), VITERBI_TRACE.reference(batch, profile)
            n_wrong += int(wrong.sum()) + sum(a != b for a, b in zip(paths, expected, strict=True))
            n_tests += 2 * len(batch)
    detail = f"{n_tests} scores and paths, all equal to the reference"
    if n_wrong:
        detail = f"{n_wrong} of {n_tests} scores and paths differ from the reference"
    return {"name": "Random profiles and sequences", "equal": n_wrong == 0, "detail": detail}


def _check_random_hmmer3(session: Session, context: JobContext) -> DeviceCheck:
    """Compare HMMER3's filters and domains with the reference: integers exactly, probabilities closely."""
    rng = np.random.default_rng(RANDOM_SEED)
    n_tests = n_wrong = 0
    several: list[tuple[FilterModel, SequenceBatch]] = []
    for nodes in HMMER3_NODES:
        context.check()
        profile = random_local_profile(rng, nodes)
        batch = random_batch(rng, profile, 6, 90)
        model = FilterModel(profile, OPEN_LIMITS)
        several.append((model, batch))
        (found_alone,) = session.run(FILTERS, batch, [model])
        n_wrong += not _same_filters(found_alone, FILTERS.reference_of(batch, model))
        found = define_domains(session, batch, profile)()
        expected = define_domains(ReferenceSession(REFERENCE, session.check), batch, profile)()
        n_wrong += sum(_differs(a, b) for a, b in zip(found, expected, strict=True))
        n_tests += 1 + len(batch)
    if session.device.kind != "reference":  # which takes them one by one
        n_wrong += _n_other_together(session, several)
        n_tests += len(several)
    detail = f"{n_tests} comparisons of filters and domains, all as on the reference"
    if n_wrong:
        detail = f"{n_wrong} of {n_tests} comparisons of filters and domains differ from the reference"
    return {"name": "Random HMMER3 profiles", "equal": n_wrong == 0, "detail": detail}


def _n_other_together(session: Session, several: Sequence[tuple[FilterModel, SequenceBatch]]) -> int:
    """Return with how many models the filters give something else if all of them are started at a time."""
    texts = [batch.residues(row) for _, batch in several for row in range(len(batch))]
    batch, models = SequenceBatch.from_texts(texts * TIMES_TOGETHER), [model for model, _ in several]
    together = session.run(FILTERS, batch, models)
    alone = [session.run(FILTERS, batch, [model])[0] for model in models]
    return sum(not _same_filters(a, b) for a, b in zip(together, alone, strict=True))


def _same_filters(found: Filtered, expected: Filtered) -> bool:
    if not np.array_equal(found.rows, expected.rows):
        return False
    pairs = [(getattr(found, name), getattr(expected, name)) for name in ("msv", "viterbi", "reached")]
    close = [(getattr(found, name), getattr(expected, name)) for name in ("bias", "forward")]
    same = all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    return same and all(np.allclose(a, b, rtol=0, atol=FORWARD_TOLERANCE, equal_nan=True) for a, b in close)


def _differs(found: TargetDomains, expected: TargetDomains) -> bool:
    counts = [(t.n_regions, t.n_clustered, t.n_overlaps, t.n_envelopes, len(t.envelopes)) for t in (found, expected)]
    if counts[0] != counts[1]:
        return True
    for a, b in zip(found.envelopes, expected.envelopes, strict=True):
        if (a.first, a.last, a.path) != (b.first, b.last, b.path):
            return True
        if max(abs(a.score - b.score), abs(a.correction - b.correction)) > FORWARD_TOLERANCE:
            return True
    return False

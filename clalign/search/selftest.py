"""The self-test: the bundled examples on a device, against the answers that HMMER 2.3.2 gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from clalign.devices import Device
from clalign.formats.databases import load_database
from clalign.formats.examples import Example, load_examples
from clalign.formats.profiles import load_profiles
from clalign.hits import Hit
from clalign.jobs import JobContext
from clalign.reference.cases import random_batch, random_profile
from clalign.search.hmmer2_search import prepare_search, targets_of
from clalign.sessions import Session, open_session
from clalign.specs import SearchSpec
from clalign.stages.viterbi import VITERBI
from clalign.stages.viterbi_trace import VITERBI_TRACE

REFERENCE_SECONDS = 2.0
"""Examples that take longer than this on a CPU device are left out on the reference."""

RANDOM_NODES = (1, 2, 31, 64, 200)
RANDOM_SEED = 7


def self_test(device: Device, context: JobContext) -> dict[str, Any]:
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
    with open_session(device, context.check) as session:
        for done, example in enumerate(examples):
            context.progress("self-test", done, len(examples) + 1, "checks")
            checks.append(_check_example(example, session, context))
        checks.append(_check_random(session, context))
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


def _check_example(example: Example, session: Session, context: JobContext) -> dict[str, Any]:
    spec = SearchSpec(profiles=str(example.profiles), targets=str(example.targets))
    database, _ = load_database(spec.targets, context=context)
    search = prepare_search(load_profiles(spec.profiles)[0], 0, spec, targets_of(spec, database, 1))
    hits: list[Hit] = []
    step = max(1, len(database) // 8)
    for first in range(0, len(database), step):
        context.check()
        batch = database.batch(first, min(first + step, len(database)))
        hits += search.hits(session, session.run(VITERBI, batch, search.profile), context)
    found = {(h.name, f"{h.score:.1f}", f"{h.evalue:.2g}", h.n_domains) for h in hits}
    expected = {(h.target, h.score, h.evalue, h.n_domains) for h in example.hits}
    domains = {
        (h.name, d.number, d.target_range[0] + 1, d.target_range[1], d.profile_range[0] + 1, d.profile_range[1],
         f"{d.score:.1f}", f"{d.evalue:.2g}")
        for h in hits for d in h.domains
    }  # fmt: skip
    expected_domains = {
        (d.target, d.number, d.ali_from, d.ali_to, d.hmm_from, d.hmm_to, d.score, d.evalue) for d in example.domains
    }
    different = sorted(name for name, *_ in (found ^ expected) | (domains ^ expected_domains))
    detail = f"{len(found)} hits and {len(domains)} domains, all as HMMER 2.3.2 gives them"
    if different:
        detail = f"other than HMMER 2.3.2: {', '.join(dict.fromkeys(different))}"
    return {"name": example.title, "equal": not different, "detail": detail}


def _check_random(session: Session, context: JobContext) -> dict[str, Any]:
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

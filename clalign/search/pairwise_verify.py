"""Computing results of a pairwise run again on another device, normally the reference, and comparing every number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clalign.devices import Device
from clalign.hits import Domain, Hit
from clalign.jobs import JobContext
from clalign.karlin_altschul import Statistics
from clalign.pair_batches import PairBatch
from clalign.pairwise_specs import PairwiseSpec
from clalign.runs import RunFile
from clalign.scoring import PairwiseQuery
from clalign.search.pairwise_hits import domain_of
from clalign.search.pairwise_inputs import PairwiseInputs, load_inputs, scores_of
from clalign.search.verify import SEED, sample_of_hits
from clalign.sequences import SequenceBatch
from clalign.sessions import Session, open_session
from clalign.stages.smith_waterman import SMITH_WATERMAN
from clalign.stages.smith_waterman_trace import SMITH_WATERMAN_TRACE

LIKE_ROUNDING = 1e-9
"""Logarithms and powers differ in their last digits from one computer to another by no larger share."""


def verify_pairwise(
    run: RunFile, hits: list[int] | None, sample: int, device: Device, context: JobContext
) -> dict[str, Any]:
    """Compute alignments, and scores of as many other pairs, again on a device; see `verify.verify_run`."""
    spec = PairwiseSpec.from_dict(run.fact("spec"))
    inputs = load_inputs(run, spec, context)
    chosen = sample_of_hits(run, sample) if hits is None else hits
    verdicts: dict[int, bool] = {}
    details: list[str] = []
    others = 0
    with open_session(device, context.check) as session:
        for done, key in enumerate(chosen, 1):
            context.check()
            number = int(run.connection.execute("SELECT profile FROM hits WHERE id = ?", (key,)).fetchone()[0])
            text = _difference(run, number, run.hit(key), inputs, session)
            verdicts[key] = not text
            details += [text] if text else []
            context.progress("verify", done, len(chosen), "hits")
        if hits is None and not spec.is_pairs:
            for number in range(len(inputs.query_rows)):
                checked, texts = _check_scores(run, number, inputs, session, sample)
                others += checked
                details += texts
    run.add_verification(device.name, verdicts, details, others)
    return {"checked": len(verdicts) + others, "differing": len(details), "details": details, "device": device.name}


def _difference(run: RunFile, number: int, hit: Hit, inputs: PairwiseInputs, session: Session) -> str:
    """Return in words what differs, or nothing."""
    data = run.card(number)["statistics"]
    statistics = Statistics.from_dict(data) if data else None
    queries = dict(zip(inputs.strands, inputs.stranded(number), strict=True))
    target = inputs.targets.residues(hit.row)
    for domain in hit.domains:
        assert domain.pair is not None
        strand = domain.pair.strand
        again = _again(session, queries[strand], target, strand, statistics)
        if again.raw != domain.raw:
            return f"{hit.name}: score {domain.raw}, computed again {again.raw}."
        if not _equal(domain, again):
            return f"{hit.name}: the alignment or its numbers differ when computed again."
    return ""


def _again(session: Session, query: PairwiseQuery, target: Any, strand: int, statistics: Statistics | None) -> Domain:
    batch = PairBatch.of_query(query.sequence.codes, SequenceBatch.from_texts([target]))
    alignment = session.run(SMITH_WATERMAN_TRACE, batch, query.scoring)[0]
    return domain_of(alignment, query, target, strand, statistics)


def _equal(domain: Domain, again: Domain) -> bool:
    same = ("profile_range", "target_range", "states", "text", "pair")
    if any(getattr(domain, name) != getattr(again, name) for name in same):
        return False
    both = ((domain.score, again.score), (domain.evalue, again.evalue))
    return all(math.isclose(a, b, rel_tol=LIKE_ROUNDING) or (math.isnan(a) and math.isnan(b)) for a, b in both)


def _check_scores(
    run: RunFile, number: int, inputs: PairwiseInputs, session: Session, sample: int
) -> tuple[int, list[str]]:
    """Compute the scores of targets drawn at random again."""
    database = inputs.targets
    kept = scores_of(run, number, len(database))
    finished = [np.arange(first, last) for first, last in run.finished(number)]
    scored = np.concatenate([np.empty(0, np.int64), *finished])
    rows = np.sort(np.random.default_rng(SEED).permutation(scored)[:sample]).astype(np.int64)
    batch = database.select(rows)
    found = [session.run(SMITH_WATERMAN, batch, query).scores.values for query in inputs.stranded(number)]
    again = np.stack(found).max(axis=0)
    name = inputs.query(number).name
    texts = [
        f"{name} and {database.header(int(rows[w]))[0]}: score {kept[rows[w]]}, computed again {again[w]}."
        for w in np.flatnonzero(again != kept[rows])
    ]
    return len(rows), texts

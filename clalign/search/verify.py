"""Computing results again on another device, normally the reference, and comparing every number."""

from __future__ import annotations

from typing import Any

import numpy as np

from clalign.devices import Device
from clalign.formats.databases import load_database
from clalign.formats.profiles import load_profiles
from clalign.hits import Hit, Scores
from clalign.jobs import JobContext
from clalign.profiles import IMPOSSIBLE
from clalign.runs import RunFile
from clalign.search.hmmer2_search import Hmmer2Search, prepare_search, targets_of
from clalign.search.profile_search import check_unchanged
from clalign.sequences import SequenceDatabase
from clalign.sessions import Session, open_session
from clalign.specs import SearchSpec
from clalign.stages.viterbi import VITERBI

SEED = 42


def verify_run(
    run: RunFile, hits: list[int] | None, sample: int, device: Device, context: JobContext
) -> dict[str, Any]:
    """Compute hits, and the scores of as many other sequences, again on a device.

    Parameters
    ----------
    run : RunFile
        Open for writing: the verdicts are kept in it.
    hits : list of int or None
        Ids of the hits; None takes the best `sample` / 2 and as many drawn at random (seed 42).
    sample : int
        Number of hits and of other sequences, if `hits` is None.
    device : Device
    context : JobContext

    Returns
    -------
    dict
        ``checked``, ``differing`` and ``details``, a sentence for each difference.
    """
    spec = SearchSpec.from_dict(run.fact("spec"))
    database, report = load_database(
        spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
    )
    check_unchanged(run, spec, report)
    profiles = load_profiles(spec.profiles)
    targets = targets_of(spec, database, len(profiles))
    searches = [prepare_search(hmm, number, spec, targets) for number, hmm in enumerate(profiles)]
    chosen = _sample_of_hits(run, sample) if hits is None else hits
    verdicts: dict[int, bool] = {}
    details: list[str] = []
    others = 0
    with open_session(device, context.check) as session:
        for done, number in enumerate(chosen, 1):
            context.check()
            profile = int(run.connection.execute("SELECT profile FROM hits WHERE id = ?", (number,)).fetchone()[0])
            text = _difference(run.hit(number), searches[profile], session, context)
            verdicts[number] = not text
            details += [text] if text else []
            context.progress("verify", done, len(chosen), "hits")
        if hits is None:
            for number, search in enumerate(searches):
                checked, texts = _check_scores(run, number, search, session, sample)
                others += checked
                details += texts
    run.add_verification(device.name, verdicts, details, others)
    return {"checked": len(verdicts) + others, "differing": len(details), "details": details, "device": device.name}


def _sample_of_hits(run: RunFile, sample: int) -> list[int]:
    ids = [int(row[0]) for row in run.connection.execute("SELECT id FROM hits ORDER BY score DESC, id")]
    best, rest = ids[: sample // 2], np.array(ids[sample // 2 :], np.int64)
    drawn = np.random.default_rng(SEED).permutation(rest)[: sample - len(best)]
    return [*best, *(int(number) for number in drawn)]


def _difference(hit: Hit, search: Hmmer2Search, session: Session, context: JobContext) -> str:
    """Return in words what differs, or nothing."""
    batch = search.database.select(np.array([hit.row], np.int64))
    scores = session.run(VITERBI, batch, search.profile)
    if int(scores.values[0]) != hit.raw:
        return f"{hit.name}: score {hit.raw / 1000:.3f}, computed again {scores.values[0] / 1000:.3f} bits."
    again = search.hits(session, scores, context)
    if not again:
        return f"{hit.name}: is a hit, computed again it is none."
    return "" if again[0] == hit else f"{hit.name}: the domains or their scores differ when computed again."


def _check_scores(
    run: RunFile, number: int, search: Hmmer2Search, session: Session, sample: int
) -> tuple[int, list[str]]:
    """Compute the scores of sequences drawn at random again."""
    database: SequenceDatabase = search.database
    kept = np.full(len(database), IMPOSSIBLE, np.int32)
    for first, last, values in run.scores(number):
        kept[first:last] = values
    scored = np.flatnonzero(kept > IMPOSSIBLE)
    rows = np.sort(np.random.default_rng(SEED).permutation(scored)[:sample]).astype(np.int64)
    again: Scores = session.run(VITERBI, database.select(rows), search.profile)
    wrong = np.flatnonzero(again.values != kept[rows])
    texts = [
        f"{database.header(int(rows[w]))[0]}: score {kept[rows[w]] / 1000:.3f},"
        f" computed again {again.values[w] / 1000:.3f} bits."
        for w in wrong
    ]
    return len(rows), texts

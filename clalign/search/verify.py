"""Computing results again on another device, normally the reference, and comparing every number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clalign.devices import Device
from clalign.errors import Cancelled
from clalign.formats.databases import load_database
from clalign.formats.profile_library import load_library
from clalign.hits import Domain, Hit
from clalign.jobs import JobContext
from clalign.profiles import IMPOSSIBLE
from clalign.run_files.inputs import at_hand
from clalign.runs import RunFile
from clalign.search.hmmer2_search import Hmmer2Search
from clalign.search.hmmer3_search import Hmmer3Search
from clalign.search.preparing import prepare_search
from clalign.search.profile_search import check_unchanged
from clalign.search.targets import targets_of
from clalign.sequences import SequenceDatabase
from clalign.sessions import Session, open_session
from clalign.specs import SearchSpec

SEED = 42

TOLERANCE = 0.005
"""So many bits two devices may differ in HMMER3's probabilities, which are not integers."""

Search = Hmmer2Search | Hmmer3Search


@dataclass(slots=True)
class Findings:
    """What a verification found so far.

    Attributes
    ----------
    verdicts : dict
        Hit id, and whether everything about the hit was equal.
    details : list of str
        A sentence for each difference.
    others : int
        Scores of other sequences that were compared.
    """

    verdicts: dict[int, bool] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    others: int = 0

    def add_hit(self, key: int, difference: str) -> None:
        """Add a hit, and in words what differs, if anything does."""
        self.verdicts[key] = not difference
        self.details += [difference] if difference else []

    def add_others(self, checked: int, differences: list[str]) -> None:
        """Add scores of other sequences."""
        self.others += checked
        self.details += differences


def judge(
    run: RunFile, device: Device, context: JobContext, compute: Callable[[Findings, Session], None]
) -> dict[str, Any]:
    """Let `compute` compute results again on a device, and keep what it finds, also if it is stopped on the way."""
    found, complete = Findings(), True
    try:
        with open_session(device, context.check) as session:
            compute(found, session)
    except Cancelled:
        complete = False
    checked = len(found.verdicts) + found.others
    if not complete and not checked:
        raise Cancelled
    run.add_verification(device.name, found.verdicts, found.details, found.others)
    return {
        "checked": checked, "differing": len(found.details), "details": found.details, "device": device.name,
        "complete": complete,
    }  # fmt: skip


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
        ``checked``, ``differing`` and ``details``, a sentence for each difference; ``complete`` is False if it was
        stopped on the way.

    Raises
    ------
    Cancelled
        If it was stopped before anything was checked.
    """
    spec = at_hand(run, run.spec(SearchSpec), context)
    database, report = load_database(
        spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
    )
    profiles, digest = load_library(spec.profiles, context.check, keep=False)
    check_unchanged(run, spec, report, digest)
    targets = targets_of(spec, database, profiles, report)
    searches = [prepare_search(hmm, number, spec, targets) for number, hmm in enumerate(profiles)]
    chosen = sample_of_hits(run, sample) if hits is None else hits

    def compute(found: Findings, session: Session) -> None:
        for done, number in enumerate(chosen, 1):
            context.check()
            profile = int(run.connection.execute("SELECT profile FROM hits WHERE id = ?", (number,)).fetchone()[0])
            found.add_hit(number, _difference(run.hit(number), searches[profile], session, context))
            context.progress("verify", done, len(chosen), "hits")
        for number, search in enumerate(searches if hits is None else ()):
            context.check()
            found.add_others(*_check_scores(run, number, search, session, sample))

    return judge(run, device, context, compute)


def sample_of_hits(run: RunFile, sample: int) -> list[int]:
    """Return the ids of the best hits of a run, and of as many drawn at random."""
    ids = [int(row[0]) for row in run.connection.execute("SELECT id FROM hits ORDER BY score DESC, id")]
    best, rest = ids[: sample // 2], np.array(ids[sample // 2 :], np.int64)
    drawn = np.random.default_rng(SEED).permutation(rest)[: sample - len(best)]
    return [*best, *(int(number) for number in drawn)]


def _difference(hit: Hit, search: Search, session: Session, context: JobContext) -> str:
    """Return in words what differs, or nothing."""
    batch = _database_of(search).select(np.array([hit.row], np.int64))
    scored = search.start_scoring(session, batch)()
    raw = int(scored.scores.values[0])
    if raw != hit.raw:
        return f"{hit.name}: score {hit.raw / 1000:.3f}, computed again {raw / 1000:.3f} bits."
    again = search.start_hits(session, scored, context)()
    if not again:
        return f"{hit.name}: is a hit, computed again it is none."
    equal = again[0] == hit if isinstance(search, Hmmer2Search) else _agree(hit, again[0])
    return "" if equal else f"{hit.name}: the domains or their scores differ when computed again."


def _agree(hit: Hit, again: Hit) -> bool:
    """Return whether two devices found the same of a HMMER3 hit."""
    same = [(h.n_domains, h.estimates and h.estimates.n_envelopes, len(h.domains)) for h in (hit, again)]
    if same[0] != same[1] or not _close(hit.score, again.score) or not _close(hit.bias, again.bias):
        return False
    pairs = [(h.filters.viterbi, h.filters.forward) for h in (hit, again) if h.filters]
    filters = all(a == b or (a and b and _close(a, b)) for a, b in zip(*pairs, strict=True))
    return filters and all(_domains_agree(a, b) for a, b in zip(hit.domains, again.domains, strict=True))


def _domains_agree(a: Domain, b: Domain) -> bool:
    spans = [(d.envelope, d.target_range, d.profile_range) for d in (a, b)]
    close = _close(a.score, b.score) and _close(a.bias, b.bias) and _close(a.accuracy or 0.0, b.accuracy or 0.0)
    return spans[0] == spans[1] and close


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE


def _database_of(search: Search) -> SequenceDatabase:
    return search.database if isinstance(search, Hmmer2Search) else search.targets.database


def _check_scores(run: RunFile, number: int, search: Search, session: Session, sample: int) -> tuple[int, list[str]]:
    """Compute the scores of sequences drawn at random again."""
    database = _database_of(search)
    kept = np.full(len(database), IMPOSSIBLE, np.int32)
    for first, last, values in run.scores(number):
        kept[first:last] = values
    scored = np.flatnonzero(kept > IMPOSSIBLE)
    rows = np.sort(np.random.default_rng(SEED).permutation(scored)[:sample]).astype(np.int64)
    again = search.start_scoring(session, database.select(rows))().scores
    wrong = np.flatnonzero(again.values != kept[rows])
    texts = [
        f"{database.header(int(rows[w]))[0]}: score {kept[rows[w]] / 1000:.3f},"
        f" computed again {again.values[w] / 1000:.3f} bits."
        for w in wrong
    ]
    return len(rows), texts

"""Which programs the profiles of a library will need: few lengths stand for all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from clalign.compute.rehearsal import Rehearsal, probe_batch
from clalign.engines.plan7.hmmer3.thresholds import filter_limits
from clalign.engines.plan7.spec import SearchSpec
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.stages.hmmer3.local_tables import programs_of
from clalign.stages.hmmer3.sampling import SAMPLING
from clalign.values.local_profiles import Shelves
from clalign.values.profiles import Hmm, Hmmer3Settings, to_integer_profile
from clalign.values.sequences import SequenceBatch

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
    for programs in zip(*(programs_of(stage, session.device) for stage in (DECODING, ENVELOPE, SAMPLING)), strict=True):
        session.build_ahead(programs)


def _is_searchable(hmm: Hmm) -> bool:
    """Return whether a profile has the statistics that its search needs."""
    settings = hmm.settings
    if not isinstance(settings, Hmmer3Settings):
        return True
    return settings.msv is not None and settings.viterbi is not None and settings.forward is not None

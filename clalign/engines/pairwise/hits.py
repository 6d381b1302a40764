"""Alignments of what a pairwise search found: traced in batches, and scored again from their paths alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.portions import portions_of
from clalign.compute.sessions import Session, Steps
from clalign.errors import DeviceError
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.hits import Domain, PairFacts
from clalign.values.karlin_altschul import Statistics
from clalign.values.pair_alignments import PairAlignment, aligned_columns, pair_text, path_score
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import PairwiseQuery, Scoring
from clalign.values.sequences import SequenceBatch, SequenceDatabase

TRACE_CELLS = {"gpu": 5e9, "accelerator": 5e9, "cpu": 1e8, "reference": 1e5}
"""Cells traced in one go, by kind of device: about the time of a batch."""

MAX_PAIRS = 16_384

_SWAPPED = str.maketrans("ID", "DI")

NO_EVALUE = float("nan")


def portions(cells: npt.ArrayLike, device_kind: str) -> Iterator[slice]:
    """Yield pairs of which each portion takes a device about the time of a batch; `cells` has those of each pair."""
    return portions_of(cells, most_cells(device_kind), MAX_PAIRS)


def most_cells(device_kind: str) -> float:
    """Return the cells above which a pair is long: it gets all of a device.

    It would be alone in its batch, and traced by one work-group: a core of a processor, a corner of a graphics card;
    and the memory of its traceback grows with the cells.
    """
    return TRACE_CELLS.get(device_kind, 1e8)


def aligned_alone(session: Session, query: PairwiseQuery, target: npt.NDArray[np.uint8]) -> PairAlignment:
    """Align a query with one target in the way that suits their lengths; either way finds the same.

    Parameters
    ----------
    session : Session
    query : PairwiseQuery
    target : uint8[n]
        Letter codes.
    """
    batch = PairBatch.of_query(query.sequence.codes, SequenceBatch.from_texts([target]))
    if batch.n_cells > most_cells(session.device.kind):
        return session.run(LONG_PAIR, batch, LongPairChoice(query.scoring))
    return session.run(SMITH_WATERMAN_TRACE, batch, query.scoring)[0]


def checked(
    alignment: PairAlignment, raw: int, query: PairwiseQuery, target: npt.NDArray[np.uint8], names: tuple[str, str]
) -> None:
    """Score an alignment again from its path.

    Raises
    ------
    DeviceError
        If its path, the traceback and the search do not agree on the score.
    """
    again = path_score(alignment, query.sequence.codes, target, query.scoring)
    if not again == alignment.score == raw:
        raise DeviceError(
            f"The alignment of {names[0]} and {names[1]} has a score of {again}, but the search found {raw} and the"
            f" traceback {alignment.score}.",
            "The device computes wrong scores: run `clalign selftest`, choose another one, and please report this.",
        )


def domain_of(
    alignment: PairAlignment,
    query: PairwiseQuery,
    target: npt.NDArray[np.uint8],
    strand: int,
    statistics: Statistics | None,
) -> Domain:
    """Return an alignment as runs keep it (number 1).

    Parameters
    ----------
    alignment : PairAlignment
    query : PairwiseQuery
        As it was aligned: on the minus strand the reverse complement.
    target : uint8[n]
        Letter codes.
    strand : int
        1 or -1.
    statistics : Statistics or None
    """
    scoring: Scoring = query.scoring
    codes = query.sequence.codes
    columns = aligned_columns(alignment, codes, target)
    start, end = alignment.query_range
    if strand < 0:
        start, end = len(codes) - end, len(codes) - start
    facts = PairFacts(
        strand,
        int(columns.identical(scoring).sum()),
        int(columns.positive(scoring).sum()),
        alignment.n_gaps,
        alignment.n_gap_residues,
    )
    raw = alignment.score
    score, evalue = scores_by(raw, statistics)
    return Domain(
        number=1,
        score=score,
        bias=0.0,
        evalue=evalue,
        query_range=(start, end),
        target_range=alignment.target_range,
        envelope=alignment.target_range,
        raw=raw,
        states=alignment.path.translate(_SWAPPED),
        text=pair_text(alignment, codes, target, scoring),
        pair=facts,
    )


def scores_by(raw: int, statistics: Statistics | None) -> tuple[float, float]:
    """Return the score that is shown for a raw one, in bits where there are statistics, and its E-value."""
    return (statistics.bits(raw), statistics.evalue(raw)) if statistics else (float(raw), NO_EVALUE)


class Wanted(Struct, frozen=True):
    """An alignment that is to be traced.

    Attributes
    ----------
    query : PairwiseQuery
        As it is aligned: on the minus strand the reverse complement.
    strand : int
        1 or -1.
    row : int
        Of the database.
    raw : int
        The score that the search found.
    statistics : Statistics or None
        Of the pair.
    """

    query: PairwiseQuery
    strand: int
    row: int
    raw: int
    statistics: Statistics | None


def domains_in_steps(session: Session, database: SequenceDatabase, wanted: Sequence[Wanted]) -> Steps[list[Domain]]:
    """Trace alignments of queries that are scored alike with rows of a database; ends with them in their order."""
    cells = [database.length(one.row) * max(1, one.query.length) for one in wanted]
    parts = list(portions(cells, session.device.kind))
    domains: list[Domain] = []
    started = _start_tracing(session, database, wanted[parts[0]]) if parts else None
    for number, part in enumerate(parts):
        session.check()
        assert started is not None
        wait, is_ready = started
        yield is_ready
        alignments, following = wait(), parts[number + 1 : number + 2]
        # The device traces the next while the host looks at these.
        started = _start_tracing(session, database, wanted[following[0]]) if following else None
        for one, alignment in zip(wanted[part], alignments, strict=True):
            target = database.residues(one.row)
            checked(alignment, one.raw, one.query, target, (one.query.sequence.name, database.header(one.row)[0]))
            domains.append(domain_of(alignment, one.query, target, one.strand, one.statistics))
    return domains


def _start_tracing(
    session: Session, database: SequenceDatabase, wanted: Sequence[Wanted]
) -> tuple[Callable[[], list[PairAlignment]], Callable[[], bool]]:
    """Start tracing some alignments; return a callable that waits for them, and one that says if they are there."""
    queries = list({id(one.query): one.query for one in wanted}.values())
    places = {id(query): place for place, query in enumerate(queries)}
    rows, target_rows = np.unique(np.array([one.row for one in wanted], np.int64), return_inverse=True)
    batch = PairBatch(
        SequenceBatch.from_texts([query.sequence.codes for query in queries]), database.select(rows),
        np.array([places[id(one.query)] for one in wanted], np.int32), target_rows.astype(np.int32),
    )  # fmt: skip
    return session.start(SMITH_WATERMAN_TRACE, batch, queries[0].scoring), session.reached()

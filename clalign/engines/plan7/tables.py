"""What a run of profiles holds beside what every run does: HMMER3's filters, estimates, envelopes; types of cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.engines.plan7.hmmer3.thresholds import domain_limits
from clalign.errors import DamagedRun
from clalign.runs.batches import compress, n_rows_of, unpacked
from clalign.runs.facts import BegunRun, Best, QueryCard, SpecFacts
from clalign.runs.tables import Declaration, EngineTable, Fields, Share, SqlRow
from clalign.values.alignments import AlignmentText
from clalign.values.checked import Count, Finite, NotNegative, Number, Place, Positive, Size
from clalign.values.documents import Card
from clalign.values.hits import Domain, DomainEstimates, FilterScores, Hit

Made = TypeVar("Made")

_ESTIMATES = ("expected", "n_regions", "n_clustered", "n_overlaps", "n_envelopes")
_FILTERS = ("msv", "bias_filter", "viterbi", "forward")


def _of_hit(hit: Hit) -> SqlRow | None:
    of, scores = hit.estimates, hit.filters
    if of is None and scores is None:
        return None
    estimates = (of.expected, of.n_regions, of.n_clustered, of.n_overlaps, of.n_envelopes) if of else None
    filters = (scores.msv, scores.bias, scores.viterbi, scores.forward) if scores else None
    return *(estimates or (None,) * 5), *(filters or (None,) * 4)


def _read_hits(fields: Fields, columns: Sequence[SqlRow]) -> None:
    estimates, scores = columns[: len(_ESTIMATES)], columns[len(_ESTIMATES) :]
    fields["estimates"] = _made(DomainEstimates, estimates)
    fields["filters"] = _made(FilterScores, scores)


def _made(kind: type[Made], columns: Sequence[SqlRow]) -> Iterable[Made | None]:
    """Return things of a kind, None where the first column has no value."""
    if None not in columns[0]:
        return map(kind, *columns)
    return [None if values[0] is None else kind(*values) for values in zip(*columns, strict=True)]


def _of_domain(domain: Domain) -> SqlRow | None:
    if domain.accuracy is None and not domain.text.posterior and domain.envelope == domain.target_range:
        return None  # HMMER2's
    return *domain.envelope, domain.text.posterior, domain.accuracy


def _read_domains(fields: Fields, columns: Sequence[SqlRow]) -> None:
    starts, ends, posteriors, fields["accuracy"] = columns
    aligned, texts = fields["target_range"], fields["text"]
    fields["envelope"] = [
        whole if start is None or end is None else (start, end)
        for start, end, whole in zip(starts, ends, aligned, strict=True)
    ]
    fields["text"] = [
        AlignmentText(text.model, text.match, text.target, posterior) if posterior else text
        for text, posterior in zip(texts, posteriors, strict=True)
    ]


def order(card: Card, hit: Hit) -> tuple[float, str | None]:
    """Put hits in the order of their scores, those of HMMER3 by P-value, unless scores decide what is significant."""
    limits = card.get("domain_limits")
    if not limits:
        return hit.score, None
    is_by_score = limits["sorts_by_score"] or hit.log_pvalue is None
    return hit.score if is_by_score else -(hit.log_pvalue or 0.0), _tie(hit)


def _tie(hit: Hit) -> str:
    """Return the key by which HMMER3 orders equal hits: the name, then where the first domain begins.

    A domain of a single residue comes last, as HMMER takes it for one of the other strand. No name holds a tabulator.
    """
    if not hit.domains:
        return hit.name
    start, end = hit.domains[0].target_range
    return f"{hit.name}\t{int(end - start < 2)}{start:010d}"


def unsound(card: Card, hit: Hit) -> str | None:
    """Return in words what a hit of a profile cannot lack; None if there is nothing: all of it is written."""
    of, is_hmmer3 = hit.estimates, card["origin"] == "hmmer3"
    if is_hmmer3 and (hit.log_pvalue is None or of is None):
        return "no P-value, or no estimates of its domains"
    if of is not None and None in (of.n_regions, of.n_clustered, of.n_overlaps, of.n_envelopes):
        return "half of the estimates of its domains"
    for domain in hit.domains if is_hmmer3 else ():
        if domain.log_pvalue is None or domain.accuracy is None:
            return "a domain without a P-value"
        if domain.states and not domain.text.posterior:
            return "an alignment without posterior probabilities"
    return None


Gumbel = TypedDict("Gumbel", {"mu": Finite, "lambda": Positive})
Exponential = TypedDict("Exponential", {"tau": Finite, "lambda": Positive})


class Cutoffs(TypedDict, total=False):
    """Thresholds of a profile, for the whole and for its domains."""

    ga: list[Finite] | None
    tc: list[Finite] | None
    nc: list[Finite] | None


class Hmmer2Card(QueryCard):
    """The card of a profile."""

    consensus: str
    reference: str | None
    structure: str | None
    facts: dict[str, str]
    cutoffs: Cutoffs
    calibration: Gumbel | None
    left_out: NotRequired[list[Count] | None]
    left_out_residues: NotRequired[Count | None]


class Calibration3(TypedDict):
    """The calibration of a HMMER3 profile, by filter."""

    msv: Gumbel
    viterbi: Gumbel
    forward: Exponential


class StoredFilterLimits(TypedDict):
    """See `clalign.values.local_scores.FilterLimits`."""

    f1: Number
    f2: Number
    f3: Number
    bias: bool


class StoredDomainLimits(TypedDict):
    """See `clalign.engines.plan7.hmmer3.thresholds.DomainLimits`."""

    evalue: Number
    score: Number | None
    inclusion_evalue: Number
    inclusion_score: Number | None
    n_targets: Size | None
    sorts_by_score: bool


class Hmmer3Card(Hmmer2Card):
    """The card of a HMMER3 profile.

    In a search in rounds `round` is counted from 1, `first` and `before` are the numbers of the profiles of the
    first one and of the one before, and `n_rows` is of the alignment that the profile was built from; `taken` and
    `dropped` are the rows of targets whose hits the user wants in the next profile, or not, whatever their E-values.
    """

    calibration3: Calibration3
    filter_limits: StoredFilterLimits
    domain_limits: NotRequired[StoredDomainLimits | None]
    round: NotRequired[Place | None]
    first: NotRequired[Count | None]
    before: NotRequired[Count | None]
    n_rows: NotRequired[Place | None]
    taken: NotRequired[list[Place]]
    dropped: NotRequired[list[Place]]


class BestTarget(Best):
    """The best target of a profile; `kind` is ``msv`` where its score is that of HMMER3's first filter."""

    evalue: Number
    kind: NotRequired[str]


HITS = EngineTable(
    name="plan7_hits",
    of="hits",
    columns={
        "expected": NotNegative | None,
        **dict.fromkeys(_ESTIMATES[1:], Place | None),
        **dict.fromkeys(_FILTERS, float | None),
    },
    row=_of_hit,
    read=_read_hits,
)

DOMAINS = EngineTable(
    name="plan7_domains",
    of="parts",
    columns={"env_start": Place | None, "env_end": Place | None, "posterior": str | None, "accuracy": Share | None},
    row=_of_domain,
    read=_read_domains,
)

BATCHES = EngineTable(
    name="plan7_batches",
    of="batches",
    columns={"survivors": bytes} | dict.fromkeys(("n_msv", "n_bias", "n_viterbi", "n_forward"), Count),
)
"""What passed the filters."""

_OF_REPORTED = (
    "FROM parts WHERE parts.hit = hits.id"
    " AND is_reported(hits.query, hits.row, parts.score, parts.evalue, parts.log_pvalue)"
)
_QUERY_LENGTH = "(SELECT length FROM queries WHERE queries.id = hits.query)"
_OF_DOMAINS = "FROM parts LEFT JOIN plan7_domains USING (hit, number) WHERE hit = hits.id"

_IDENTICAL = "length(replace(replace(match, ' ', ''), '+', ''))"


class SearchSpecFacts(SpecFacts, frozen=True, kw_only=True):
    """What is read of the spec of a search or a scan to judge domains."""

    inclusion_domain_evalue: Number | None = None
    inclusion_domain_score: Number | None = None
    cutoff: str | None = None


class SearchFacts(BegunRun, frozen=True, kw_only=True):
    """The facts of a search or a scan that has begun."""

    direction: Literal["search", "scan", "sequence", "rounds"]
    profiles_digest: str
    matrix_digest: str | None = None
    n_targets: Size


RUNS = Declaration(
    engine="plan7",
    begun=SearchFacts,
    tables=(HITS, DOMAINS, BATCHES),
    asked=SearchSpecFacts,
    cards={"hmmer2": Hmmer2Card, "hmmer3": Hmmer3Card},
    best=BestTarget,
    order=order,
    judge=domain_limits,
    unsound=unsound,
    values={
        **{name: name for name in (*_ESTIMATES, *_FILTERS)},
        "n_reported": "CASE WHEN expected IS NULL THEN n_parts ELSE (SELECT total(is_reported(hits.query, hits.row,"
        " parts.score, parts.evalue, parts.log_pvalue)) FROM parts WHERE parts.hit = hits.id) END",
        "env_start": f"(SELECT min(coalesce(env_start, target_start)) {_OF_DOMAINS})",
        "coverage": f"(SELECT 100.0 * covered(query_start, query_end) {_OF_REPORTED}) / max(1, {_QUERY_LENGTH})",
        "target_coverage": f"(SELECT 100.0 * covered(target_start, target_end) {_OF_REPORTED})"
        " / max(1, targets.length)",
        "identity": f"(SELECT 100.0 * sum({_IDENTICAL}) / max(1, sum(length(states))) {_OF_REPORTED})",
        "is_new": "(included AND is_new(hits.query, targets.name))",
        "accuracy": f"(SELECT accuracy {_OF_DOMAINS} ORDER BY score DESC LIMIT 1)",
    },
    identical=_IDENTICAL,
    placed={"env_start": "coalesce(env_start, target_start)", "env_end": "coalesce(env_end, target_end)"},
)


SURVIVOR_BYTES = 8 + 4 * 4 + 1
"""Size of what is kept of a sequence (bytes)."""

_COLUMNS = (("msv", "<f4"), ("bias", "<f4"), ("viterbi", "<f4"), ("forward", "<f4"), ("reached", "u1"))


class Survivors(Struct, frozen=True):
    """Targets that passed the first of HMMER3's filters, in rising order of their rows.

    Attributes
    ----------
    rows : int64[m]
        Row of each in the database.
    msv, bias, viterbi, forward : float32[m]
        As in `FilterScores`, not a number where a filter was not run.
    reached : uint8[m]
        How many filters each passed: MSV, bias, Viterbi (or it was left out), Forward.
    """

    rows: npt.NDArray[np.int64]
    msv: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    viterbi: npt.NDArray[np.float32]
    forward: npt.NDArray[np.float32]
    reached: npt.NDArray[np.uint8]


def pack_survivors(survivors: Survivors) -> SqlRow:
    """Return survivors as they are stored, and how many passed each filter."""
    columns = [np.diff(survivors.rows, prepend=0).astype("<i8").tobytes()]
    columns += [getattr(survivors, name).astype(kind).tobytes() for name, kind in _COLUMNS]
    passed = (int(np.count_nonzero(survivors.reached >= stage)) for stage in (1, 2, 3, 4))
    return compress(b"".join(columns), 1), *passed


def unpack_survivors(blob: bytes, first: int, last: int, path: Path) -> Survivors:
    """Return the survivors of the first filter in a batch, as `clalign.runs.batches.unpack_scores`."""
    data = unpacked(blob, SURVIVOR_BYTES * n_rows_of(first, last, path), path)
    n, rest = divmod(len(data), SURVIVOR_BYTES)
    rows = np.cumsum(np.frombuffer(data, "<i8", n))
    columns, start = [rows], 8 * n
    for _, kind in _COLUMNS:
        columns.append(np.frombuffer(data, kind, n, start))
        start += columns[-1].nbytes
    in_order = not n or (rows[0] >= first and rows[-1] < last and bool((np.diff(rows) > 0).all()))
    if rest or not in_order or columns[-1].max(initial=0) > 4:
        raise DamagedRun(path, "sequences that passed filters are not those of their batch")
    return Survivors(*columns)

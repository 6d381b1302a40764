"""What a run says of itself, and of each of its queries: plain data of known types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NotRequired, TypedDict, cast

from msgspec import Meta, Struct

from clalign.databases.reports import InputReport
from clalign.errors import DamagedRun
from clalign.values.checked import (
    Count,
    Finite,
    Kind,
    Line,
    Moment,
    NotNegative,
    Number,
    Place,
    Positive,
    Size,
    ValidationError,
    Word,
    check_as,
    parsed_as,
)
from clalign.values.devices import Device
from clalign.values.documents import Card, SpecFields, TargetFacts
from clalign.values.shards import ShardRows

RunState = Literal["new", "running", "stopped", "failed", "done"]

Alphabet = Literal["amino", "dna", "rna"]

BinWidth = Annotated[int, Meta(ge=1, lt=2**31)] | Annotated[float, Meta(ge=1, lt=2**31)]

_ANNOTATIONS = ("consensus", "reference", "structure")


class Finished(TypedDict):
    """What every finished run says of its computation; see `clalign.execution.job.compute_run`."""

    n_hits: Count
    n_sequences: Count
    cells: NotNegative
    seconds: NotNegative
    new_cells: NotNegative
    gcups: Number
    device: str
    run: NotRequired[str]
    n_residues: NotRequired[Count]
    device_seconds: NotRequired[NotNegative]
    kernel_seconds: NotRequired[dict[str, Finite]]
    domain_device: NotRequired[str | None]
    devices: NotRequired[list[dict[str, Number | str | None]]]
    n_parts: NotRequired[Count]


class RunError(TypedDict):
    """Why a run failed."""

    message: str
    hint: str


class MergedPart(TypedDict):
    """What a merged run keeps of one of its parts."""

    path: Word
    device: str
    created: Moment
    seconds: Finite


class SpecFacts(Struct, frozen=True, kw_only=True):
    """What is read of the spec of any run without its engine; engines may have more."""

    direction: str | None = None
    device: str = "auto"
    profiles: Word | None = None
    queries: Word | None = None
    targets: Word | None = None
    matrix: Word | None = None
    pair_list: Word | None = None
    alphabet: str | None = None
    sequence_format: str | None = None
    shard: str | None = None


class RunFacts(Struct, frozen=True, kw_only=True):
    """What a run may say of itself at any time; `spec` is that of its engine as plain data."""

    engine: str
    state: RunState = "new"
    spec: SpecFields | None = None
    created: Moment = 0.0
    name: str | None = None
    command: str | None = None
    error: RunError | None = None
    seen_digest: str | None = None
    relocated: dict[str, Word] = {}
    direction: str | None = None
    database: InputReport | None = None
    queries: InputReport | None = None
    device: Device | None = None
    versions: dict[str, str] = {}
    packing: Count | None = None
    n_targets: Size | None = None
    profiles_digest: str | None = None
    sequence_digests: list[str] | None = None
    shard: ShardRows | None = None
    merged: list[MergedPart] | None = None
    finished: Finished | None = None

    @property
    def searched(self) -> ShardRows | InputReport | None:
        """The part of the targets that is searched, or all of them; both know how many residues they have."""
        return self.database if self.shard is None else self.shard


class BegunRun(RunFacts, frozen=True, kw_only=True):
    """The facts that every run has from the moment on that its computation begins.

    They are written together. Engines declare subclasses with the facts of their own, which have no default.
    """

    spec: SpecFields
    created: Moment
    state: RunState
    database: InputReport
    packing: Count
    versions: dict[str, str]


MARKS = {"packing", "profiles_digest", "scoring", "queries", "strands", "alphabet", "sequence_digests", "n_pairs"}
"""Facts of which each says that a run has begun, so that all the others have to be there."""


class QueryCard(TypedDict):
    """What the card of every query has; others have more, by their origin."""

    name: Line
    accession: Line
    description: Line
    length: Place
    alphabet: Alphabet
    origin: Line
    report_score: NotRequired[Number | None]
    include_score: NotRequired[Number | None]
    n_targets: NotRequired[Size | None]
    histogram_report_score: NotRequired[Number | None]
    histogram_pass_score: NotRequired[Number | None]
    histogram_bin: NotRequired[BinWidth | None]
    histogram_unit: NotRequired[Positive | None]
    histogram_kind: NotRequired[str | None]


class Best(TypedDict):
    """The best target of a query; engines may say more of it."""

    name: Line
    score: Number


def parsed(kind: type[Kind], text: object, what: str, path: Path) -> Kind:
    """Return the value of a JSON text of a run file, as an instance of a type.

    Raises
    ------
    DamagedRun
        If it is no JSON, or does not fit the type.
    """
    try:
        return parsed_as(kind, text)
    except ValidationError as error:
        raise DamagedRun(path, f"{what}: {error}") from None


def best_of(text: str, kind: type[Best], path: Path) -> TargetFacts | None:
    """Return the best target of a query, as its engine declares it, None if it is not known; see `parsed`."""
    return None if text == "null" else cast(TargetFacts, parsed(kind, text, "a best target", path))


def facts_of(
    path: Path, stored: Mapping[str, str], begun: type[BegunRun] = BegunRun, asked: type[SpecFacts] = SpecFacts
) -> RunFacts:
    """Return the facts of a run, given their JSON texts.

    Parameters
    ----------
    path : Path
        Of the run file.
    stored : mapping of str to str
    begun : type
        What it is once its computation has begun, by its engine.
    asked : type
        What its spec holds at least.

    Raises
    ------
    DamagedRun
        If a fact that it has by its state is missing, or one is of another type.
    """
    names = begun.__struct_fields__
    data = {name: parsed(object, text, f"its {name}", path) for name, text in stored.items() if name in names}
    data = {name: value for name, value in data.items() if value is not None}
    has_begun = not MARKS.isdisjoint(data)
    try:
        found = check_as(begun if has_begun else RunFacts, data)
        check_as(asked, found.spec or {})
    except ValidationError as error:
        raise DamagedRun(path, f"what it says of itself: {error}") from None
    if has_begun and found.state == "done" and found.finished is None:
        raise DamagedRun(path, "it is done, but does not say what was computed")
    if has_begun and found.spec and found.spec.get("shard") and found.shard is None:
        raise DamagedRun(path, "it is of a part of the targets, but does not say of which")
    return found


def card_of(path: Path, text: str, kinds: Mapping[str, type]) -> Card:
    """Return the card of a query; `kinds` are those that its engine declares, by their origins.

    Raises
    ------
    DamagedRun
        If it is none.
    """
    data = parsed(Card, text, "a card", path)
    origin = data.get("origin")
    kind = kinds.get(origin) if isinstance(origin, str) else None
    if kinds and kind is None:
        raise DamagedRun(path, "a card: its origin is not known")
    try:
        check_as(kind or QueryCard, data)
    except ValidationError as error:
        raise DamagedRun(path, f"a card: {error}") from None
    for name in _ANNOTATIONS:
        annotation = data.get(name)
        if annotation and (not isinstance(annotation, str) or len(annotation) != data["length"]):
            raise DamagedRun(path, f"{name} of a card: it has not one character for each node")
    return data  # itself: an engine that is not installed has more in it than is known here

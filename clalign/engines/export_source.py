"""What writers of exports take: an opened run, and which of its hits are written, and how."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import compress, islice
from typing import Protocol, TextIO, overload

from msgspec import Struct
from msgspec.structs import replace

import clalign
from clalign.common.escapes import in_one_line
from clalign.databases.loading import load_database
from clalign.engines.columns import Column, species_column
from clalign.engines.exports import Shape
from clalign.engines.run_sources import as_given
from clalign.errors import DamagedRun, OptionError
from clalign.formats.pairwise_rows import PairRow
from clalign.formats.profile_stockholm import AlignedRow
from clalign.formats.tables import Provenance
from clalign.formats.taxonomy import species_rule
from clalign.jobs import JobContext
from clalign.runs.hit_rows import HITS_AT_ONCE, unwritable
from clalign.runs.inputs import input_of, known_checksums
from clalign.runs.queries import HitKey, HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit, PackedHits
from clalign.values.sequences import SequenceDatabase
from clalign.values.species import SpeciesRule
from clalign.values.specs import Spec

MAX_KEPT_BYTES = 2**28
"""Packed hits that are kept for the next time that they are asked for."""

CHUNK = 1 << 20
"""Letters that are copied at once."""

OTHER_EXPORT = "Choose another export."

CARDS_KEPT = 256
"""Cards of queries that are kept in memory."""


class EngineOfRun(Protocol):
    """What a source asks of the engine of its run."""

    @property
    def calls_significant(self) -> bool:
        """Whether it calls hits significant."""

    @property
    def spec(self) -> type[Spec]:
        """The type of its specs."""

    @property
    def tables(self) -> Mapping[str, tuple[Column, ...]]:
        """The columns of its tables, by the names that its exports give them."""


class ListedQuery(Protocol):
    """A query whose hits are known."""

    @property
    def keys(self) -> Sequence[HitKey]:
        """The key of each hit, best first."""


class Choice(Shape, frozen=True):
    """Which hits to write, and how: with the fields of a `Shape`.

    Attributes
    ----------
    hits : sequence of int, optional
        Their ids; all if None.
    n_hits : int, optional
        How many are written where `hits` are only the first of them, as for a preview.
    asked : str
        The options that chose them, as on the command line; empty if others chose.
    significant : bool
        Only hits and domains beyond the inclusion thresholds.
    alignment_file : str
        Where the alignments of significant domains are written, too, which the text of HMMER3 profiles says; empty for
        nowhere.
    """

    hits: Sequence[int] | None = None
    n_hits: int | None = None
    asked: str = ""
    significant: bool = False
    alignment_file: str = ""

    def words(self, run: RunFile, calls_significant: bool) -> str:
        """Return which of the hits of a run are written; nothing if it is all.

        Parameters
        ----------
        run : RunFile
        calls_significant : bool
            Whether its engine calls hits significant.
        """
        parts = ["only what is significant"] if self.significant and calls_significant else []
        n_hits = len(self.hits or ()) if self.n_hits is None else self.n_hits
        if self.hits is not None and n_hits < (n := run.n_hits()):
            parts.insert(0, f"{n_hits:,} of {n:,} hits{self.asked and f' ({in_one_line(self.asked)})'}")
        if self.max_hits is not None:
            parts.append(f"at most the first {self.max_hits:,} of each query")
        return ", ".join(parts)


class Cards(Sequence[Card]):
    """The cards of a run's queries, each with its ``number``, read when they are asked for: there may be millions.

    Parameters
    ----------
    run : RunFile
    """

    def __init__(self, run: RunFile) -> None:
        self._run, self._n = run, run.n_queries()
        self._read = lru_cache(CARDS_KEPT)(self._card)

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, number: int) -> Card: ...

    @overload
    def __getitem__(self, number: slice) -> list[Card]: ...

    def __getitem__(self, number: int | slice) -> Card | list[Card]:
        if isinstance(number, slice):
            return [self._read(one) for one in range(*number.indices(self._n))]
        return self._read(number)

    def _card(self, number: int) -> Card:
        if not 0 <= number < self._n:
            raise IndexError(number)
        card = self._run.card(number)
        if not card:
            raise DamagedRun(self._run.path, f"its query {number} is missing")
        return {**card, "number": number}


class Begun(Struct, frozen=True):
    """What was written of an export while its run was computed: its first queries, without what precedes them all.

    Attributes
    ----------
    stream : TextIO
        An open file with the text.
    n_queries, count : int
        How many queries that are, and how many records.
    provenance : Provenance
        What was known of the run then.
    """

    stream: TextIO
    n_queries: int
    count: int
    provenance: Provenance

    def still_holds(self, provenance: Provenance) -> bool:
        """Return whether it would be written so again: a device that came later is named with every query."""
        return (self.provenance.device, self.provenance.partial) == (provenance.device, provenance.partial)

    def copy_to(self, stream: TextIO) -> int:
        """Write it, and return how many records it has."""
        self.stream.seek(0)
        while lines := self.stream.readlines(CHUNK):
            stream.write("".join(lines))
        return self.count


class KeptHits:
    """Hits that were read, for those who look at them again.

    Sources of a run that does not change any more may share it.

    Parameters
    ----------
    max_bytes : int
        Bytes of packed hits at most.

    Attributes
    ----------
    n_bytes : int
        Bytes of those that it has.
    """

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_bytes, self.n_bytes = max_bytes, 0
        self._of: dict[int, tuple[list[int], PackedHits]] = {}

    def get(self, number: int | None, ids: list[int]) -> Iterator[Hit] | None:
        """Return hits that are kept under a number, by their ids; None if they are not kept, or in another order."""
        if number not in self._of:
            return None
        known, hits = self._of[number]
        if known == ids:
            return iter(hits)
        asked = set(ids)
        return compress(hits, map(asked.__contains__, known)) if [n for n in known if n in asked] == ids else None

    def keep(self, number: int, ids: list[int], hits: Iterator[Hit]) -> Iterator[Hit]:
        """Yield hits, given their ids, and keep them under a number if there is room for them."""
        packed: PackedHits | None = PackedHits()
        for hit in hits:
            if packed is not None:
                packed.add([hit])
                packed = packed if packed.n_bytes <= self._max_bytes else None
            yield hit
        if packed is not None:
            packed.pack()
        if packed is None or packed.n_bytes > self._max_bytes:
            return
        if self.n_bytes + packed.n_bytes > self._max_bytes:
            self._of, self.n_bytes = {}, 0
        self._of[number] = ids, packed
        self.n_bytes += packed.n_bytes


class ExportSource(ABC):
    """An opened run with what every writer asks of it.

    Parameters
    ----------
    engine : EngineOfRun
    run : RunFile
    choice : Choice
    context : JobContext
        Gets the number of hits that are written; may stop it.

    Attributes
    ----------
    cards : sequence of dict
        Of the queries.
    provenance : Provenance
    keys : HitQueries
        Asks for the chosen hits.
    kept : KeptHits
        Hits of queries, which are looked at several times.
    begun : Begun or None
        What is written already.
    """

    needs_path = True
    """Whether parts of hits without a path are left out."""

    def __init__(self, engine: EngineOfRun, run: RunFile, choice: Choice, context: JobContext) -> None:
        self.engine, self.run, self.choice, self.context = engine, run, choice, context
        self.cards: Sequence[Card] = Cards(run)
        self.provenance = replace(
            provenance_of(run, run.spec(engine.spec)), chosen=choice.words(run, engine.calls_significant)
        )
        self.keys = HitQueries(run.connection, choice.hits, choice.significant and engine.calls_significant)
        self.kept = KeptHits()
        self.begun: Begun | None = None

    @property
    def n_begun(self) -> int:
        """How many of the first queries are written already."""
        return self.begun.n_queries if self.begun is not None else 0

    @property
    def n_rounds(self) -> int:
        """How many rounds the query with most of them has.

        Raises
        ------
        OptionError
            If the run has none.
        """
        raise OptionError(f"Runs of `clalign {self.provenance.program}` have no rounds.", OTHER_EXPORT)

    @property
    def has_early_queries(self) -> bool:
        """Whether queries can be written while others are computed."""
        return False

    def done_queries(self, first: int) -> Iterator[ListedQuery]:
        """Yield the queries from a number on as far as they are done, of a run that can be written query by query."""
        return iter(())

    @cached_property
    def species(self) -> SpeciesRule:
        """What finds the species of sequences."""
        return species_rule(self.choice.taxonomy, self.choice.taxonomy_column)

    @cached_property
    def notes(self) -> dict[tuple[int, int], str]:
        """What users have written beside hits, by number of the query and row of the target."""
        return self.run.notes()

    @abstractmethod
    def found(self) -> Iterator[Hit]:
        """Yield all chosen hits in the order of the output."""

    def parts(self, number: int, hit: Hit) -> Iterator[Domain]:
        """Yield the chosen domains, or alignments, of a hit of a query."""
        return (part for part in hit.domains if part.states)

    def pair_groups(self, every: bool = False) -> Iterator[tuple[Card, Iterator[PairRow]]]:
        """Yield each query that has alignments, or `every` one that is known, with them; an empty one is left out.

        Raises
        ------
        OptionError
            If its hits have none.
        """
        raise OptionError(f"Runs of `clalign {self.provenance.program}` have no alignments of two sides.", OTHER_EXPORT)

    def aligned_rows(self, number: int) -> Iterator[AlignedRow]:
        """Yield the chosen hits of a query as rows of an alignment to it.

        Raises
        ------
        OptionError
            If its hits have no paths.
        """
        raise OptionError(f"Hits of `clalign {self.provenance.program}` have no alignments.", OTHER_EXPORT)

    def table_rows(self, table: str) -> Iterator[object]:
        """Yield the rows of one of the engine's tables, by its name.

        Raises
        ------
        OptionError
            If it has none.
        """
        raise OptionError(f"Runs of `clalign {self.provenance.program}` have no table named {table}.", OTHER_EXPORT)

    def columns(self, table: str) -> tuple[Column, ...]:
        """Return the columns of one of the engine's tables, and those that were asked for besides."""
        usual = self.engine.tables[table]
        return (*usual, species_column(self.species)) if self.choice.species or self.choice.taxonomy else usual

    @property
    def is_protein(self) -> bool:
        """Whether the targets are proteins."""
        return all((card.get("target_alphabet") or card["alphabet"]) == "amino" for card in self.cards[:1])

    @property
    def is_scan(self) -> bool:
        """Whether what the cards are of was found, and the hits are of what was looked for."""
        return self.provenance.is_scan

    @property
    def looked_in(self) -> str:
        """The file in which queries were looked for."""
        return self.provenance.sides[1]

    @property
    def calls_significant(self) -> bool:
        """Whether hits are called significant."""
        return self.engine.calls_significant

    def stored(self, keys: Sequence[HitKey], kept_as: int | None = None) -> Iterator[Hit]:
        """Yield hits by their keys; those of a query are `kept_as` its number, for they are looked at several times."""
        ids = [number for number, _ in keys]
        hits = self.kept.get(kept_as, ids)
        if hits is None:
            hits = self._sound(keys)
            hits = hits if kept_as is None else self.kept.keep(kept_as, ids, hits)
        for done, hit in enumerate(hits):
            if done % HITS_AT_ONCE == 0:
                self.context.check()
                self.context.progress("export", done, len(keys), "hits")
            yield hit

    def read_ahead(self, keys: Mapping[int, Sequence[HitKey]]) -> None:
        """Read the hits of several queries, by their numbers, with one question; they are few."""
        ids = {number: [key for key, _ in of_one] for number, of_one in keys.items()}
        missing = [number for number in keys if self.kept.get(number, ids[number]) is None]
        hits = self._sound([key for number in missing for key in keys[number]])
        for number in missing:
            deque(self.kept.keep(number, ids[number], islice(hits, len(ids[number]))), maxlen=0)

    def _sound(self, keys: Sequence[HitKey]) -> Iterator[Hit]:
        """Yield hits by their keys; refuse what cannot be written."""
        for (_, number), hit in zip(keys, self.run.hits_at([key for key, _ in keys]), strict=True):
            wrong = unwritable(hit, self.cards[number]["length"])
            if wrong is not None:
                raise DamagedRun(self.run.path, f"the hit {hit.name} has {wrong}")
            yield hit

    def database(self, role: str = "targets") -> SequenceDatabase:
        """Return the sequences of a run by the field of the spec that names them.

        Raises
        ------
        InputError
            If they are not those of the run any more.
        """
        spec = self.run.spec(self.engine.spec).to_dict()
        form = spec["sequence_format" if role == "targets" else "query_format"]
        path = input_of(self.run, role, self.context)
        return load_database(path, alphabet=spec["alphabet"], sequence_format=form, context=self.context)[0]


def provenance_of(run: RunFile, spec: Spec) -> Provenance:
    """Return where the results of a run with this spec come from, its inputs under the names that the user gave."""
    given = spec.with_paths(lambda path: as_given(run.path, path))
    facts, part = run.facts, run.facts.shard
    return Provenance(
        version=facts.versions.get("clalign", clalign.__version__),
        query=in_one_line(given.paths[0]),
        target=in_one_line(given.paths[-1]),
        command=in_one_line(facts.command or shlex.join(given.command_line())),
        device=facts.device.name if facts.device else "not known",
        seconds=facts.created,
        partial=run.state != "done" or part is not None,
        program=given.command,
        is_scan=given.is_scan,
        part=part.words if part is not None else "",
        checksums=tuple((digest, in_one_line(as_given(run.path, path))) for digest, path in known_checksums(run)),
    )

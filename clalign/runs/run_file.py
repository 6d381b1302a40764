"""A run on disk: one SQLite file with what was asked, what was read, what is done and what was found.

The worker writes one transaction for each finished batch (write-ahead log), so the file is whole at
every moment: the window reads it while the job runs, and after a crash the job continues from the
last finished batch and ends with the same result.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from clalign.errors import ClalignError, DamagedRun, OutputError, RunExists
from clalign.runs import notes
from clalign.runs.alignments import (
    StoredAlignment,
    StoredAlignmentFacts,
    StoredRow,
    read_alignments,
    read_rows,
    write_alignment,
)
from clalign.runs.batches import (
    BIN,
    NO_SCORE,
    BatchResult,
    Unfinished,
    rows_of,
    summed_bins,
    unpack_scores,
)
from clalign.runs.connection import RunConnection, check_sqlite, connect, open_checked, unreadable, unwritable
from clalign.runs.facts import RunFacts, RunState, best_of, card_of, parsed
from clalign.runs.hit_rows import HitRows
from clalign.runs.opening import PATIENCE, open_sound
from clalign.runs.side_files import check_free
from clalign.runs.tables import APPLICATION_ID, ORDER, EngineTable, SqlRow, declaration_of, make_tables
from clalign.values.checked import plain
from clalign.values.devices import without_cluster
from clalign.values.documents import Card, SpecFields, TargetFacts
from clalign.values.hits import Hit
from clalign.values.profiles import IMPOSSIBLE
from clalign.values.specs import Spec

SpecKind = TypeVar("SpecKind", bound=Spec)


class Message(NamedTuple):
    """A warning or an error that is kept with a run, and its time (seconds since 1970)."""

    seconds: float
    kind: str
    text: str


class Verification(NamedTuple):
    """What was computed again on a device, and when (seconds since 1970); a sentence for each difference."""

    seconds: float
    device: str
    n_checked: int
    n_differing: int
    details: list[str]


def _of_query(query: int | None) -> tuple[str, tuple[int, ...]]:
    """Return a WHERE clause for the rows of a query, or of all, and its parameters."""
    return ("WHERE query = ?", (query,)) if query is not None else ("", ())


def _row_of_card(number: int, card: Card) -> SqlRow:
    names = (card[name] for name in ("name", "accession", "description", "length"))
    return number, *names, json.dumps(card), "null"


class RunFile:
    """An open run file; a context manager.

    Use `create_run` or `open_run`.
    """

    def __init__(self, path: Path, connection: RunConnection) -> None:
        self.path = path
        self.connection = connection
        self.is_temporary = False
        self._hits = HitRows(connection)

    def __enter__(self) -> RunFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, sqlite3.Error):
            raise unreadable(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Write all that is written within it, or nothing; one within another is a part of that."""
        return self.connection.transaction()

    @property
    def facts(self) -> RunFacts:
        """What the run says of itself at this moment: as its engine declares it once its computation has begun."""
        return self.connection.facts

    def spec(self, kind: type[SpecKind]) -> SpecKind:
        """Return the spec of the run, as that of an engine.

        Its device is one of this machine: a file never decides which cluster the program connects to.

        Raises
        ------
        DamagedRun
            If the file does not say it, or says something else.
        """
        spec = self.facts.spec
        if spec is None:
            raise DamagedRun(self.path, "it does not say what was asked for")
        try:
            here = {"device": without_cluster(spec["device"])} if "device" in spec else {}
            return kind.from_dict(spec | here)
        except ClalignError as error:
            raise DamagedRun(self.path, error.message) from None

    def set_facts(self, **facts: object) -> None:
        """Store facts, as plain data or as their types, in one transaction."""
        rows = [(name, json.dumps(value, default=plain)) for name, value in facts.items()]
        with self.transaction():
            self.connection.insert("facts", rows, "INSERT OR REPLACE")

    @property
    def state(self) -> RunState:
        """What became of the run."""
        return self.facts.state

    def set_cards(self, cards: Iterable[Card]) -> None:
        """Store the cards of the queries, which must hold name, accession, description and length."""
        rows = itertools.starmap(_row_of_card, enumerate(cards))  # of a million queries there is no room for all
        self._hits.forget_cards()
        with self.transaction():
            self.connection.execute("DELETE FROM queries")
            self.connection.insert("queries", rows)

    def add_card(self, card: Card) -> int:
        """Store the card of a further query, and return its number."""
        with self.transaction():
            number = self.n_queries()
            self.connection.insert("queries", [_row_of_card(number, card)])
        return number

    def n_queries(self) -> int:
        """Return the number of queries."""
        return int(self.connection.execute("SELECT count(*) FROM queries").fetchone()[0])

    def cards(self) -> list[Card]:
        """Return the cards of the queries."""
        return list(self._cards("SELECT id, card FROM queries ORDER BY id"))

    def _cards(self, sql: str) -> Iterator[Card]:
        """Yield cards, whose numbers must have no gap."""
        for place, (number, card) in enumerate(self.connection.execute(sql)):
            if place != number:
                raise DamagedRun(self.path, f"its query {place} is missing")
            yield card_of(self.path, card, self.connection.declared.cards)

    def cards_without_curves(self) -> list[Card]:
        """Return the cards of queries without the curves of their scores, which are long."""
        return list(self._cards("SELECT id, json_remove(card, '$.curve') AS card FROM queries ORDER BY id"))

    def card(self, query: int) -> Card:
        """Return the card of one query."""
        return self._hits.card(query)

    def set_card(self, query: int, card: Card) -> None:
        """Replace the card of one query."""
        self._hits.forget_cards()
        with self.transaction():
            self.connection.execute("UPDATE queries SET card = ? WHERE id = ?", (json.dumps(card), query))

    def set_bests(self, bests: Iterable[tuple[int, TargetFacts | None]]) -> None:
        """Store the best targets (``name``, ``score``, ``evalue``) of queries by number, whether reported or not."""
        with self.transaction():
            self.connection.executemany(
                "UPDATE queries SET best = ? WHERE id = ?", ((json.dumps(best), query) for query, best in bests)
            )

    def reopen(self, queries: Iterable[int], spec: SpecFields) -> None:
        """Have the ends of some queries computed again, with another spec, when the run is continued."""
        with self.transaction():
            self.connection.executemany("UPDATE queries SET best = ? WHERE id = ?", [("null", one) for one in queries])
            self.connection.execute("DELETE FROM facts WHERE name IN ('finished', 'error')")
            self.connection.execute("DELETE FROM verifications")
            self.set_facts(state="stopped", spec=spec)

    def best(self, query: int) -> TargetFacts | None:
        """Return the best target of a query, if it is known already."""
        found = self.connection.execute("SELECT best FROM queries WHERE id = ?", (query,)).fetchone()
        return best_of(found[0], self.connection.declared.best, self.path) if found else None

    def n_queries_finished(self, first: int, last: int) -> int:
        """Return the number of finished queries from a number on, up to the first unfinished one or to `last`."""
        sql = "SELECT id FROM queries WHERE id >= ? AND id < ? AND best != 'null' ORDER BY id"
        rows = self.connection.execute(sql, (first, last))
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[1][0] == pair[0], enumerate(rows, first)))

    def begun(self) -> set[int]:
        """Return the numbers of the queries with finished batches; `ALL` (-1) stands for given pairs."""
        return {number for (number,) in self.connection.execute("SELECT DISTINCT query AS begun FROM batches")}

    def finished(self, query: int) -> list[tuple[int, int]]:
        """Return the row ranges that are done for a query, in order."""
        rows = self.connection.execute("SELECT first, last FROM batches WHERE query = ? ORDER BY first", (query,))
        found = rows.fetchall()
        if any(first >= last for first, last in found) or any(a[1] > b[0] for a, b in itertools.pairwise(found)):
            raise DamagedRun(self.path, "its batches overlap")
        return found

    def n_rows_finished(self, query: int) -> int:
        """Return how many rows are done for a query."""
        return sum(last - first for first, last in self.finished(query))

    def work_done(self, query: int | None = None) -> tuple[float, float]:
        """Return the cells computed, of one query or of all, and the device seconds they took."""
        where, values = _of_query(query)
        sql = f"SELECT total(cells) AS cells, total(seconds) AS seconds FROM batches {where}"
        cells, seconds = self.connection.execute(sql, values).fetchone()
        return cells, seconds

    def add_batch(self, result: BatchResult, more_hits: Iterable[tuple[int, Hit]] = ()) -> None:
        """Store a finished batch, all of it or nothing; hits of other queries come with their numbers."""
        self.add_batches([(result, more_hits)])

    def add_batches(self, found: Sequence[tuple[BatchResult, Iterable[tuple[int, Hit]]]]) -> None:
        """Store finished batches, all of them or nothing; with each come hits of other queries and their numbers."""
        results = [result for result, _ in found]
        rows = rows_of(results)
        with self.transaction():
            for table, some in rows.items():
                self.connection.insert(table, some)
            self.unfinished.forget([(result.query, result.first) for result in results])
            of_each = ((zip(itertools.repeat(result.query), result.hits), more_hits) for result, more_hits in found)
            self._hits.add(itertools.chain.from_iterable(itertools.chain.from_iterable(of_each)))

    def set_hits(self, query: int, hits: Sequence[Hit]) -> None:
        """Store the hits of a query in place of those that are there."""
        with self.transaction():
            self._hits.keep_best(query, 0)
            self._hits.add((query, hit) for hit in hits)

    def keep_best(self, query: int, n: int) -> None:
        """Drop all but the n first hits of a query."""
        with self.transaction():
            self._hits.keep_best(query, n)

    def _engine_table(self, name: str) -> EngineTable:
        return {table.name: table for table in self.connection.declared.needed().tables}[name]

    def engine_rows_of_batches(self, table: str, query: int | None = None) -> Iterator[SqlRow]:
        """Yield the rows of a table of the engine for the batches of a query, or of all: first, last row and values.

        Batches of which it says nothing are left out.
        """
        names = ", ".join(f"own.{name}" for name in self._engine_table(table).names)
        where, values = _of_query(query)
        sql = (
            f"SELECT first, last, {names} FROM batches JOIN {table} AS own USING (query, first)"
            f" {where} ORDER BY query, first"
        )
        return iter(self.connection.execute(sql, values))

    def sums_of_batches(self, table: str, columns: Sequence[str], first: int, last: int) -> Iterator[SqlRow]:
        """Yield the number, rows, cells and seconds of each query from a number on, to before another, and sums of
        columns of a table of the engine.

        Queries without batches are left out.
        """
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in columns)
        sql = (
            f"SELECT query, sum(last - first) AS count, total(cells) AS cells, total(seconds) AS seconds, {sums}"
            f" FROM batches LEFT JOIN {self._engine_table(table).name} USING (query, first)"
            " WHERE query >= ? AND query < ? GROUP BY query"
        )
        return iter(self.connection.execute(sql, (first, last)))

    def engine_rows_of_pieces(
        self, table: str, query: int, columns: Sequence[str], piece: int | None = None
    ) -> Iterator[SqlRow]:
        """Yield some columns of a table of the engine for the pieces of a query, or for one: number and values.

        They come in the order of their numbers.
        """
        sql = f"SELECT number, {', '.join(columns)} FROM {self._engine_table(table).name} WHERE query = ?"
        which, values = (" AND number = ?", (query, piece)) if piece is not None else ("", (query,))
        return iter(self.connection.execute(f"{sql}{which} ORDER BY number", values))

    @property
    def unfinished(self) -> Unfinished:
        """What is kept of batches that are not finished."""
        return Unfinished(self.connection)

    def add_engine_rows(self, table: str, rows: Iterable[SqlRow]) -> None:
        """Write rows, after those that are there, into a table of the engine whose rows are only numbered."""
        with self.transaction():
            self.connection.insert(self._engine_table(table).name, ((None, *row) for row in rows))

    def engine_rows(self, table: str) -> list[SqlRow]:
        """Return the rows of a numbered table of the engine."""
        return self.connection.execute(
            f"SELECT {', '.join(self._engine_table(table).names)} FROM {table} ORDER BY number"
        ).fetchall()

    def add_alignment(self, name: str, facts: StoredAlignmentFacts, rows: Iterable[StoredRow]) -> int:
        """Store an alignment of many rows, with plain data about it, and return its id."""
        with self.transaction():
            return write_alignment(self.connection, name, facts, rows)

    def alignments(self) -> list[StoredAlignment]:
        """Return the alignments of many rows, without their rows."""
        return read_alignments(self.connection)

    def alignment_rows(self, alignment: int) -> list[StoredRow]:
        """Return the rows of an alignment by its id."""
        return read_rows(self.connection, alignment)

    def make_temporary(self) -> None:
        """Turn fsync off: a power cut may lose the run; a crash of the worker still costs no finished batch."""
        self.connection.execute("PRAGMA synchronous = OFF")
        self.is_temporary = True

    def seal(self) -> None:
        """Checkpoint and leave WAL mode, so that the run is one file to copy; skipped while readers hold it.

        A temporary run stays as it is.
        """
        if self.is_temporary:
            return
        with contextlib.suppress(sqlite3.OperationalError):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.connection.execute("PRAGMA journal_mode = DELETE")

    def copy_to(self, path: Path) -> None:
        """Write a copy of the file, with what is still in the log; see `create_run` for what may not be there."""
        check_free(path)
        try:
            with contextlib.closing(sqlite3.connect(path)) as copy:
                self.connection.backup(copy)
        except sqlite3.Error:
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def scores(self, query: int) -> Iterator[tuple[int, int, npt.NDArray[np.int32]]]:
        """Yield first row, last row and the integer scores (int32) of each finished batch."""
        for first, last, packed in self.connection.execute(
            "SELECT first, last, scores FROM batches WHERE query = ? ORDER BY first", (query,)
        ):
            yield first, last, unpack_scores(packed, first, last, self.path)

    def scores_by_row(self, query: int, n: int) -> npt.NDArray[np.int32]:
        """Return the scores of all n targets of a query by row; `IMPOSSIBLE` where there is none yet."""
        scores = np.full(n, IMPOSSIBLE, np.int32)
        for first, last, values in self.scores(query):
            scores[first:last] = values
        return scores

    def best_score(self, query: int) -> tuple[int, int]:
        """Return the highest of all scores of a query and the first row that has it; `IMPOSSIBLE` and 0 for none."""
        best = IMPOSSIBLE, 0
        for first, _, values in self.scores(query):
            row = int(values.argmax())
            best = max(best, (int(values[row]), first + row), key=lambda found: found[0])
        return best

    def histogram(self, query: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the left edge of each filled bin (float64[n]) and its count (int64[n]).

        In bits, or in the unit that the card of a query names: the score of a pairwise search.
        """
        found = self.connection.execute("SELECT bins FROM batches WHERE query = ?", (query,))
        bins, counts = summed_bins((blob for (blob,) in found), self.path)
        card = self._hits.card(query)
        width = (card.get("histogram_bin") or BIN) * float(card.get("histogram_unit") or 0.001)
        return (bins * width).astype(np.float64), counts

    def drawn_bins(self, query: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the bins of the histogram without those of targets that have no residues."""
        left, counts = self.histogram(query)
        return left[left > NO_SCORE], counts[left > NO_SCORE]

    def n_hits(self, query: int | None = None) -> int:
        """Return the number of reported hits, of one query or of all."""
        where, values = _of_query(query)
        return int(self.connection.execute(f"SELECT count(*) FROM hits {where}", values).fetchone()[0])

    def n_final_hits(self) -> int:
        """Return the number of reported hits; of a search in rounds that of the last round of each query."""
        if self.facts.direction != "rounds":
            return self.n_hits()
        before = {card.get("before") for card in self.cards()}
        counts = self.connection.execute("SELECT query, count(*) AS count FROM hits GROUP BY query")
        return sum(n for query, n in counts if query not in before)

    def rows_named(self, query: int, name: str) -> list[int]:
        """Return the rows of the hits of a query that have a name."""
        sql = "SELECT hits.row FROM hits JOIN targets USING (row) WHERE query = ? AND name = ? ORDER BY hits.row"
        return [row for (row,) in self.connection.execute(sql, (query, name))]

    def hits(self, query: int | None = None, limit: int = -1, offset: int = 0) -> Iterator[Hit]:
        """Yield hits by query and rank.

        Those of a HMMER2 profile by falling score and place in the input. Those of a HMMER3 profile by rising
        P-value (falling score if scores decide what is significant), name, begin of the first domain and
        place in the input.
        """
        where, values = _of_query(query)
        ids = self.connection.execute(
            f"SELECT id FROM hits {where} ORDER BY query, {ORDER} LIMIT ? OFFSET ?", (*values, limit, offset)
        ).fetchall()
        return self.hits_at([number for (number,) in ids])

    def hits_at(self, ids: Sequence[int]) -> Iterator[Hit]:
        """Yield the hits with these ids, in this order."""
        return self._hits.read(ids)

    def hit(self, number: int) -> Hit:
        """Return the hit with this id, domains included."""
        return next(self.hits_at([number]))

    def n_reported(self, query: int, row: int) -> int:
        """Return the number that HMMER3's conditional E-values count: a profile's hits, or in a scan a sequence's."""
        return self._hits.n_reported(query, row)

    def notes(self) -> dict[tuple[int, int], str]:
        """Return the notes of users on hits, by query and row of the target."""
        found = self.connection.execute("SELECT query, row, text FROM notes")
        return {(query, row): note for query, row, note in found}

    def add_message(self, kind: str, text: str) -> None:
        """Keep a warning or an error with the run."""
        with self.transaction():
            self.connection.execute(
                "INSERT INTO messages (seconds, kind, text) VALUES (?, ?, ?)", (time.time(), kind, text)
            )

    def messages(self) -> list[Message]:
        """Return the messages that are kept with the run."""
        rows = self.connection.execute("SELECT seconds, kind, text FROM messages ORDER BY id")
        return list(itertools.starmap(Message, rows))

    def add_verification(self, device: str, verdicts: dict[int, bool], details: list[str], n_others: int = 0) -> None:
        """Store what was computed again on `device`.

        Parameters
        ----------
        device : str
            Its name.
        verdicts : dict
            Hit id, and whether everything about the hit was equal.
        details : list of str
            A sentence for each difference, those of other sequences included.
        n_others : int
            Sequences that are no hits whose scores were compared.
        """
        with self.transaction():
            self.connection.execute(
                "INSERT INTO verifications (seconds, device, checked, differing, details) VALUES (?, ?, ?, ?, ?)",
                (time.time(), device, len(verdicts) + n_others, len(details), json.dumps(details)),
            )
            self.connection.executemany(
                "UPDATE hits SET verified = ? WHERE id = ?",
                [("equal" if equal else "differs", number) for number, equal in verdicts.items()],
            )

    def verifications(self) -> list[Verification]:
        """Return the verifications of the run."""
        rows = self.connection.execute(
            "SELECT seconds, device, checked, differing, details FROM verifications ORDER BY id"
        )
        return [
            Verification(seconds, device, n_checked, n_differing, parsed(list[str], text, "a verification", self.path))
            for seconds, device, n_checked, n_differing, text in rows
        ]


def create_run(path: Path, *, engine: str, is_shared: bool = False, **facts: object) -> RunFile:
    """Make a new run file of an engine with its first facts; any thread may use one that is shared.

    Raises
    ------
    RunExists
        If the file exists.
    OutputError
        If it cannot be made, or something lies where SQLite keeps its files beside it.
    """
    check_free(path)
    check_sqlite()
    try:
        Path(os.path.realpath(path)).open("xb").close()  # of two that make it at the same time one fails
    except FileExistsError:
        raise RunExists(path) from None
    except OSError as error:
        raise _unmade(path, error) from error
    connection = None
    try:
        connection = connect(path, "rwc", PATIENCE, is_shared)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")  # in the file itself, not only in its log
        connection.execute("PRAGMA journal_mode = WAL")
        connection.declare(declaration_of(engine))
        with connection:
            connection.execute("BEGIN")
            make_tables(connection, connection.declared)
    except (sqlite3.OperationalError, OSError) as error:
        if connection is not None:
            connection.close()  # Windows removes no open file
        with contextlib.suppress(OSError):
            os.unlink(os.path.realpath(path))
        raise _unmade(path, error) from error
    run = RunFile(path, connection)
    run.set_facts(**{"created": time.time(), "engine": engine, **facts})
    return run


def _unmade(path: Path, error: Exception) -> OutputError:
    return OutputError(f"The run file {path} could not be made ({error}).", "Choose another place.")


def open_run(path: Path, writable: bool = False, is_shared: bool = False, patience: float = PATIENCE) -> RunFile:
    """Open a run file; any thread may use one that is shared, and others that write it are waited for `patience` (s).

    Raises
    ------
    InputError
        If it is missing, is no run file, or was written by another version.
    """
    return RunFile(path, open_sound(path, writable, is_shared, patience))


def open_connection(path: Path) -> RunConnection:
    """Return a connection that one thread after the other may read with.

    Raises
    ------
    InputError
        As of `open_run`.
    """
    return open_sound(path, is_shared=True)


def write_note(path: Path, query: int, row: int, text: str, patience: float = PATIENCE) -> str:
    """Keep a note beside a target of a run, in place of the one that is there.

    A job that writes to the file goes on.

    Parameters
    ----------
    path : Path
    query : int
        The number of the query.
    row : int
        The row of the target.
    text : str
        Becomes one line; none of it removes the note.
    patience : float
        Seconds to wait for a job that is writing just now.

    Returns
    -------
    str
        The note as it is kept.

    Raises
    ------
    OptionError
        If the note is too long.
    InputError
        If there is no such run.
    RunBusy
        If a job has been writing all that time.
    OutputError
        If the file cannot be written.
    """
    note = notes.one_line(text)
    connection = open_checked(path, "rw", patience)
    try:
        notes.write_note(connection, query, row, note)
    except sqlite3.DatabaseError as error:
        raise unwritable(path, error) from error
    finally:
        connection.close()
    return note

"""A run on disk: one SQLite file with what was asked, what was read, what is done and what was found.

The worker writes one transaction for each finished batch (write-ahead log), so the file is whole at
every moment: the window reads it while the job runs, and after a crash the job continues from the
last finished batch and ends with the same result.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout

from clalign.alignments import AlignmentText
from clalign.errors import InputError, OutputError, RunBusy
from clalign.formats.cache import cache_root
from clalign.hits import Domain, Hit, Scores
from clalign.profiles import IMPOSSIBLE

SCHEMA_VERSION = 1
APPLICATION_ID = 0x636C616C  # "clal"

BIN = 250
"""Width of a histogram bin in 1/1000 bit."""

MOST_BINS = 2**20

CHECKPOINT_PAGES = 8192
"""Pages of 4 KiB after which the log is copied into the file, which takes time; the end of a run does so, too."""

try:  # several times as fast, and what it writes zlib reads
    from isal.isal_zlib import compress as _compress
except ImportError:
    from zlib import compress as _compress

RunState = Literal["new", "running", "stopped", "failed", "done"]

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY, name TEXT, accession TEXT, description TEXT, length INTEGER, card TEXT NOT NULL,
    best TEXT NOT NULL DEFAULT 'null');
CREATE TABLE batches (
    profile INTEGER, first INTEGER, last INTEGER, cells REAL, seconds REAL, device TEXT, scores BLOB,
    PRIMARY KEY (profile, first));
CREATE TABLE histogram (profile INTEGER, bin INTEGER, count INTEGER, PRIMARY KEY (profile, bin));
CREATE TABLE hits (
    id INTEGER PRIMARY KEY, profile INTEGER, row INTEGER, input_index INTEGER,
    name TEXT, accession TEXT, description TEXT, length INTEGER,
    score REAL, bias REAL, evalue REAL, raw INTEGER, n_domains INTEGER,
    best_score REAL, best_evalue REAL, verified TEXT NOT NULL DEFAULT '',
    UNIQUE (profile, row));
CREATE INDEX hits_by_score ON hits (profile, score DESC, input_index);
CREATE TABLE domains (
    hit INTEGER, number INTEGER, score REAL, bias REAL, evalue REAL,
    hmm_start INTEGER, hmm_end INTEGER, ali_start INTEGER, ali_end INTEGER, env_start INTEGER, env_end INTEGER,
    raw INTEGER, states TEXT, model TEXT, match TEXT, target TEXT, posterior TEXT,
    PRIMARY KEY (hit, number));
CREATE TABLE messages (id INTEGER PRIMARY KEY, seconds REAL, kind TEXT, text TEXT);
CREATE TABLE verifications (id INTEGER PRIMARY KEY, seconds REAL, device TEXT, checked INTEGER, differing INTEGER,
    details TEXT);
"""


@dataclass(frozen=True, slots=True)
class PackedScores:
    """The scores of a batch as they are stored.

    Attributes
    ----------
    blob : bytes
        All of them, compressed.
    bins : list of (int, int)
        Filled bins of the histogram and their counts.
    """

    blob: bytes
    bins: list[tuple[int, int]]


def pack_scores(scores: npt.NDArray[np.int32]) -> PackedScores:
    """Return scores as they are stored; most of this runs beside other threads."""
    bins, counts = _binned(scores)
    return PackedScores(
        _compress(scores.astype("<i4").tobytes(), 1), list(zip(bins.tolist(), counts.tolist(), strict=True))
    )


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a finished batch adds to a run.

    Attributes
    ----------
    profile : int
        Number of the profile, from 0.
    first, last : int
        The database rows searched.
    scores : Scores
        Integer score of every row; `IMPOSSIBLE` where there are no residues.
    hits : tuple of Hit
    cells, seconds : float
        Work and time of the device.
    device : str
        Name of the device.
    packed : PackedScores, optional
        The scores as they are stored, where they were packed before.
    """

    profile: int
    first: int
    last: int
    scores: Scores
    hits: tuple[Hit, ...]
    cells: float
    seconds: float
    device: str
    packed: PackedScores | None = None


class RunFile:
    """An open run file; a context manager.

    Use `create_run` or `open_run`.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self.is_temporary = False

    def __enter__(self) -> RunFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise InputError(
                self.path, f"this run file is damaged ({error}).", "Search again, or take a copy of it."
            ) from error

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self.connection:
                yield
        except sqlite3.OperationalError as error:
            raise OutputError(
                f"The run file {self.path} could not be written ({error}).",
                "Free space on that disk, or choose another place with --run.",
            ) from error
        except sqlite3.IntegrityError as error:
            raise self._busy() from error

    def _busy(self) -> RunBusy:
        return RunBusy(f"Another worker is writing the run file {self.path}.", "Wait until it is done, or stop it.")

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """Be the only worker that writes this run; a worker that dies gives it free.

        Raises
        ------
        RunBusy
            If another worker has it.
        """
        name = hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:32]
        folder = cache_root() / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{name}.lock", blocking=False)
            lock.acquire()
        except Timeout:
            raise self._busy() from None
        except OSError as error:
            raise OutputError(
                f"The folder {folder} cannot be written ({error}).", "Name another one with CLALIGN_CACHE_DIR."
            ) from error
        try:
            yield
        finally:
            lock.release()

    def fact(self, name: str, default: Any = None) -> Any:
        """Return a stored fact (plain data), such as ``spec``, ``state``, ``database`` or ``versions``."""
        found = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(found[0]) if found else default

    def set_facts(self, **facts: Any) -> None:
        """Store facts (plain data) in one transaction."""
        with self._transaction():
            self.connection.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", [(name, json.dumps(v)) for name, v in facts.items()]
            )

    @property
    def state(self) -> RunState:
        """What became of the run."""
        state: RunState = self.fact("state", "new")
        return state

    def set_profiles(self, cards: Iterable[dict[str, Any]]) -> None:
        """Store the cards of the profiles, which must hold name, accession, description and length."""
        rows = [
            (i, card["name"], card["accession"], card["description"], card["length"], json.dumps(card))
            for i, card in enumerate(cards)
        ]
        with self._transaction():
            self.connection.execute("DELETE FROM profiles")
            self.connection.executemany(
                "INSERT INTO profiles (id, name, accession, description, length, card) VALUES (?, ?, ?, ?, ?, ?)", rows
            )

    def profiles(self) -> list[dict[str, Any]]:
        """Return the cards of the profiles."""
        return [json.loads(card) for (card,) in self.connection.execute("SELECT card FROM profiles ORDER BY id")]

    def set_best(self, profile: int, best: dict[str, Any] | None) -> None:
        """Store the best target of a profile (``name``, ``score``, ``evalue``), whether reported or not."""
        with self._transaction():
            self.connection.execute("UPDATE profiles SET best = ? WHERE id = ?", (json.dumps(best), profile))

    def best(self, profile: int) -> dict[str, Any] | None:
        """Return the best target of a profile, if it is known already."""
        found = self.connection.execute("SELECT best FROM profiles WHERE id = ?", (profile,)).fetchone()
        best: dict[str, Any] | None = json.loads(found[0]) if found else None
        return best

    def finished(self, profile: int) -> list[tuple[int, int]]:
        """Return the row ranges that are done for a profile, in order."""
        rows = self.connection.execute("SELECT first, last FROM batches WHERE profile = ? ORDER BY first", (profile,))
        return [(int(first), int(last)) for first, last in rows]

    def work_done(self) -> tuple[float, float]:
        """Return the cells computed and the device seconds they took."""
        cells, seconds = self.connection.execute("SELECT sum(cells), sum(seconds) FROM batches").fetchone()
        return cells or 0.0, seconds or 0.0

    def add_batch(self, result: BatchResult) -> None:
        """Store a finished batch, all of it or nothing."""
        packed = result.packed or pack_scores(result.scores.values)
        with self._transaction():
            self.connection.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
                (result.profile, result.first, result.last, result.cells, result.seconds, result.device, packed.blob),
            )
            self.connection.executemany(
                "INSERT INTO histogram VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(result.profile, *counted) for counted in packed.bins],
            )
            for hit in result.hits:
                self._add_hit(result.profile, hit)

    def make_temporary(self) -> None:
        """Do without the care that outlives a power cut; a crash of the worker still costs no finished batch."""
        self.connection.execute("PRAGMA synchronous = OFF")
        self.is_temporary = True

    def seal(self) -> None:
        """Bring everything into the one file, so that it may be copied; readers may hinder the last step.

        A temporary run stays as it is.
        """
        if self.is_temporary:
            return
        with contextlib.suppress(sqlite3.OperationalError):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.connection.execute("PRAGMA journal_mode = DELETE")

    def _add_hit(self, profile: int, hit: Hit) -> None:
        best = hit.best_domain
        cursor = self.connection.execute(
            "INSERT INTO hits (profile, row, input_index, name, accession, description, length, score, bias,"
            " evalue, raw, n_domains, best_score, best_evalue) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (profile, hit.row, hit.input_index, hit.name, hit.accession, hit.description, hit.length, hit.score,
             hit.bias, hit.evalue, hit.raw, hit.n_domains, best and best.score, best and best.evalue),
        )  # fmt: skip
        self.connection.executemany(
            "INSERT INTO domains VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            [
                (cursor.lastrowid, d.number, d.score, d.bias, d.evalue, *d.profile_range, *d.target_range,
                 *d.envelope, d.raw, d.states, d.text.model, d.text.match, d.text.target, d.text.posterior)
                for d in hit.domains
            ],
        )  # fmt: skip

    def scores(self, profile: int) -> Iterator[tuple[int, int, npt.NDArray[np.int32]]]:
        """Yield first row, last row and the integer scores (int32) of each finished batch."""
        for first, last, packed in self.connection.execute(
            "SELECT first, last, scores FROM batches WHERE profile = ? ORDER BY first", (profile,)
        ):
            yield first, last, np.frombuffer(zlib.decompress(packed), "<i4")

    def histogram(self, profile: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the left edge of each filled bin in bits (float64[n]) and its count (int64[n])."""
        rows = self.connection.execute(
            "SELECT bin, count FROM histogram WHERE profile = ? ORDER BY bin", (profile,)
        ).fetchall()
        table = np.array(rows, np.int64).reshape(-1, 2)
        return (table[:, 0] * (BIN / 1000.0)).astype(np.float64), table[:, 1]

    def n_hits(self, profile: int | None = None) -> int:
        """Return the number of reported hits, of one profile or of all."""
        where, values = ("WHERE profile = ?", (profile,)) if profile is not None else ("", ())
        return int(self.connection.execute(f"SELECT count(*) FROM hits {where}", values).fetchone()[0])

    def hits(self, profile: int | None = None, limit: int = -1, offset: int = 0) -> Iterator[Hit]:
        """Yield hits by profile, falling score and, for ties, place in the input."""
        where, values = ("WHERE profile = ?", (profile,)) if profile is not None else ("", ())
        ids = self.connection.execute(
            f"SELECT id FROM hits {where} ORDER BY profile, score DESC, input_index LIMIT ? OFFSET ?",
            (*values, limit, offset),
        ).fetchall()
        for (number,) in ids:
            yield self.hit(number)

    def hit(self, number: int) -> Hit:
        """Return the hit with this id, domains included."""
        columns = "row, input_index, name, accession, description, length, score, bias, evalue, raw, n_domains"
        row = self.connection.execute(f"SELECT {columns} FROM hits WHERE id = ?", (number,)).fetchone()
        values: tuple[Any, ...] = (*row[:10], self.domains(number), row[10])
        return Hit(*values)

    def domains(self, hit: int) -> tuple[Domain, ...]:
        """Return the reported domains of a hit, in the order of the sequence."""
        rows = self.connection.execute(
            "SELECT number, score, bias, evalue, hmm_start, hmm_end, ali_start, ali_end, env_start, env_end,"
            " raw, states, model, match, target, posterior FROM domains WHERE hit = ? ORDER BY number",
            (hit,),
        )
        return tuple(
            Domain(r[0], r[1], r[2], r[3], (r[4], r[5]), (r[6], r[7]), (r[8], r[9]), r[10], r[11],
                   AlignmentText(*r[12:16]))
            for r in rows
        )  # fmt: skip

    def add_message(self, kind: str, text: str) -> None:
        """Keep a warning or an error with the run."""
        with self._transaction():
            self.connection.execute(
                "INSERT INTO messages (seconds, kind, text) VALUES (?, ?, ?)", (time.time(), kind, text)
            )

    def messages(self) -> list[tuple[float, str, str]]:
        """Return time (seconds since 1970), kind and text of each message."""
        return self.connection.execute("SELECT seconds, kind, text FROM messages ORDER BY id").fetchall()

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
        with self._transaction():
            self.connection.execute(
                "INSERT INTO verifications (seconds, device, checked, differing, details) VALUES (?, ?, ?, ?, ?)",
                (time.time(), device, len(verdicts) + n_others, len(details), json.dumps(details)),
            )
            self.connection.executemany(
                "UPDATE hits SET verified = ? WHERE id = ?",
                [("equal" if equal else "differs", number) for number, equal in verdicts.items()],
            )

    def verifications(self) -> list[tuple[float, str, int, int, list[str]]]:
        """Return time, device, number checked, number differing and details of each verification."""
        rows = self.connection.execute(
            "SELECT seconds, device, checked, differing, details FROM verifications ORDER BY id"
        )
        return [(*row[:4], json.loads(row[4])) for row in rows]


def _binned(scores: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the filled bins of the histogram and their counts."""
    bins = scores[scores > IMPOSSIBLE].astype(np.int64) // BIN
    if not len(bins):
        return bins, bins
    least = int(bins.min())
    if int(bins.max()) - least > MOST_BINS:
        found, n = np.unique(bins, return_counts=True)
        return found, n.astype(np.int64)
    counts = np.bincount(bins - least)
    filled = np.flatnonzero(counts)
    return (filled + least).astype(np.int64), counts[filled].astype(np.int64)


def create_run(path: Path, **facts: Any) -> RunFile:
    """Make a new run file with its first facts.

    Raises
    ------
    OutputError
        If the file exists or cannot be made.
    """
    if path.exists():
        raise OutputError(f"{path} exists already.", "Choose another name, or continue it with: clalign resume")
    try:
        connection = _connect(path, "rwc")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.commit()
    except sqlite3.OperationalError as error:
        raise OutputError(f"The run file {path} could not be made ({error}).", "Choose another place.") from error
    run = RunFile(path, connection)
    run.set_facts(created=time.time(), **facts)
    return run


def open_run(path: Path, writable: bool = False) -> RunFile:
    """Open a run file.

    Raises
    ------
    InputError
        If it is missing, is no run file, or was written by a newer version.
    """
    hint = "Give a .clalign file that a search has written."
    if path.is_dir():
        raise InputError(path, "this is a folder, not a run file.", hint)
    if not path.is_file():
        raise InputError(path, "the file does not exist.", "Check the name.")
    try:
        connection = _connect(path, "rw" if writable else "ro")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise InputError(path, f"this is not a readable run file ({error}).", hint) from error
    if application != APPLICATION_ID:
        connection.close()
        raise InputError(path, "this is not a clalign run file.", hint)
    if version > SCHEMA_VERSION:
        connection.close()
        raise InputError(path, "this run was written by a newer version of clalign.", "Update clalign to open it.")
    return RunFile(path, connection)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=20.0)
    connection.execute("PRAGMA busy_timeout = 20000")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return connection

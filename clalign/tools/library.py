"""The runs of a folder: list, name, delete and compare them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf, isnan
from pathlib import Path

import platformdirs
from msgspec import Struct

from clalign.engines.engine import spec_of
from clalign.errors import ClalignError, InputError, OutputError, RunBusy
from clalign.runs.connection import is_owned
from clalign.runs.queries import named_hits
from clalign.runs.run_file import RunFile, open_run
from clalign.runs.side_files import ENDING, remove_run, side_files
from clalign.values.specs import Spec

MAX_NAME = 120
"""Letters of the name of a run at most."""


def own_folder() -> Path:
    """Return the folder of the runs that the window makes."""
    return platformdirs.user_data_path("clalign") / "runs"


class RunEntry(Struct, frozen=True):
    """A run in a list.

    Attributes
    ----------
    name : str
        Its own name, or the names of its inputs.
    kind : str
        The command that makes such runs, as ``hmmsearch``.
    state : str
        The state in the file, ``elsewhere`` while another process writes it, or ``unreadable``.
    inputs : tuple of str
        Paths of its inputs.
    flags : tuple of str
        Its options that are not the default, as flags of its command.
    created : float
        Time in seconds since 1970.
    n_bytes, n_hits, n_queries : int
    device : str
        Name of the device that computed it.
    problem : str
        Why it cannot be read; empty if it can.
    """

    path: Path
    name: str = ""
    kind: str = ""
    state: str = "unreadable"
    inputs: tuple[str, ...] = ()
    created: float = 0.0
    n_bytes: int = 0
    n_hits: int = 0
    n_queries: int = 0
    device: str = ""
    flags: tuple[str, ...] = ()
    problem: str = ""

    def holds(self, words: str) -> bool:
        """Return whether all words occur in its name, inputs, file name, kind or state."""
        text = " ".join((self.name, self.kind, self.state, *self.inputs, self.path.name)).lower()
        return all(word in text for word in words.lower().split())


def _size(path: Path) -> int:
    files = [path, *(side for side, _ in side_files(path))]
    return sum(file.stat().st_size for file in files if file.exists())


def default_name(spec: Spec) -> str:
    """Return the name of a run by its inputs."""
    return " x ".join(stem_of(name) for name in spec.paths)


def stem_of(name: str) -> str:
    """Return the name of a file without its endings."""
    base = Path(name).name
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        base = base.removesuffix(ending)
    return Path(base).stem or base


def look_at(path: Path) -> RunEntry:
    """Return the entry of a run file, also of one that cannot be read."""
    n_bytes, changed = _size(path), path.stat().st_mtime
    try:
        with open_run(path) as run:
            return _entry(path, run, n_bytes, changed)
    except (ClalignError, sqlite3.Error) as error:
        reason = error.reason if isinstance(error, InputError) else str(error)
        return RunEntry(path, path.stem, created=changed, n_bytes=n_bytes, problem=reason)


def _entry(path: Path, run: RunFile, n_bytes: int, changed: float) -> RunEntry:
    spec, state = spec_of(run), run.state
    if state in ("new", "running"):
        state_now = "elsewhere" if is_owned(path) else "stopped"
    else:
        state_now = state
    device = run.facts.device.name if run.facts.device is not None else ""
    return RunEntry(
        path, run.facts.name or default_name(spec), spec.command, state_now,
        tuple(spec.paths), float(run.facts.created or changed), n_bytes, run.n_final_hits(), run.n_queries(), device,
        tuple(spec.flags()),
    )  # fmt: skip


def listed(folder: Path, words: str = "") -> Iterator[RunEntry]:
    """Yield the runs of a folder in which all words occur, the newest first."""
    paths = [path for path in folder.glob(f"*{ENDING}") if path.is_file()] if folder.is_dir() else []
    for path in sorted(paths, key=lambda found: found.stat().st_mtime, reverse=True):
        entry = look_at(path)
        if entry.holds(words):
            yield entry


def rename(path: Path, name: str) -> str:
    """Name a run in its file; an empty name removes its name.

    Returns
    -------
    str
        The name that it has now.

    Raises
    ------
    ClalignError
        If the file cannot be read or written.
    """
    short = " ".join(name.split())
    if len(short) > MAX_NAME:
        raise OutputError(f"A name has at most {MAX_NAME} letters; this one has {len(short)}.", "Shorten it.")
    with open_run(path, writable=True) as run:
        run.set_facts(name=short)
        run.seal()
        return short or default_name(spec_of(run))


def delete(path: Path) -> None:
    """Delete a run.

    Raises
    ------
    RunBusy
        If a job is writing it.
    OutputError
        If it cannot be deleted, or is not a run.
    """
    if is_owned(path):
        raise RunBusy(f"A job is writing the run file {path}.", "Stop it first.")
    remove_run(path)


class HitPair(Struct, frozen=True):
    """A hit of one of two runs, or of both, with score and E-value in each; None where it is not a hit.

    Attributes
    ----------
    status : str
        ``both``, ``first`` or ``second``.
    """

    query: str
    target: str
    first: tuple[float, float] | None
    second: tuple[float, float] | None

    @property
    def status(self) -> str:
        """The runs of which it is a hit."""
        if self.first is None:
            return "second"
        return "first" if self.second is None else "both"

    @property
    def change(self) -> float:
        """The score of the second run minus that of the first; 0 if it is a hit of only one."""
        return self.second[0] - self.first[0] if self.first and self.second else 0.0

    @property
    def evalue(self) -> float:
        """The lower E-value; infinite if it has none."""
        return min((each[1] for each in (self.first, self.second) if each and not isnan(each[1])), default=inf)


def compare(first: Path, second: Path) -> list[HitPair]:
    """Return the hits of two runs: first those of only one run, then by the change of the score, then by E-value.

    Hits are the same if query and target have the same names; the best of several in a run counts.

    Raises
    ------
    ClalignError
        If a file cannot be read.
    """
    before, after = _best_hits(first), _best_hits(second)
    pairs = [HitPair(*key, before.get(key), after.get(key)) for key in dict.fromkeys([*before, *after])]
    return sorted(
        pairs, key=lambda pair: (pair.status == "both", -abs(pair.change), pair.evalue, pair.query, pair.target)
    )


def _best_hits(path: Path) -> dict[tuple[str, str], tuple[float, float]]:
    best: dict[tuple[str, str], tuple[float, float]] = {}
    with open_run(path) as run:
        for query, target, score, evalue in named_hits(run.connection):
            if (query, target) not in best or best[query, target][0] < score:
                best[query, target] = score, evalue
    return best


def counts(pairs: Iterable[HitPair]) -> dict[str, int]:
    """Return the numbers of hits of ``both`` runs, and of only the ``first`` or ``second``."""
    return {"both": 0, "first": 0, "second": 0, **Counter(pair.status for pair in pairs)}


def comparison_lines(pairs: Iterable[HitPair]) -> Iterator[str]:
    """Yield a tab-separated table of a comparison."""
    yield "query\ttarget\tin\tscore_first\tevalue_first\tscore_second\tevalue_second\tscore_change"
    for pair in pairs:
        cells = [f"{value:.6g}" for two in (pair.first, pair.second) for value in two or ()]
        if pair.first is None:
            cells = ["", "", *cells]
        cells += [""] * (4 - len(cells))
        change = f"{pair.change:.6g}" if pair.status == "both" else ""
        yield "\t".join([pair.query, pair.target, pair.status, *cells, change])

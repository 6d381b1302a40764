"""The library's search in rounds: an iterator that yields each round as soon as it is done."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from clalign.api import Begun, Results, begin, open_run
from clalign.api_inputs import Sequences, inputs_named
from clalign.engines.engine import engine_of, one_more_round
from clalign.engines.rounds import Round
from clalign.errors import Cancelled, OptionError
from clalign.formats.scratch import Scratch
from clalign.formats.sources import PathLike, path_text
from clalign.jobs import JobContext, QuietContext

END_SECONDS = 5.0
"""Timeout for the end of a search whose folder goes, as when the process ends (s)."""

LOOK_SECONDS = 0.1
"""Interval at which is looked whether a round is done, besides after results (s)."""


class Rounds:
    """Rounds as they are computed, in a thread of their own; an iterator, and a context manager.

    The end of a ``with`` and `close` stop the search; with a run file it can be continued.

    Parameters
    ----------
    begin_at : callable
        Begins the search, in a run at a path and with a context.
    path : Path
    folder : Scratch or None
        Holds what goes when it is closed.
    context : JobContext
    """

    def __init__(
        self, begin_at: Callable[[Path, JobContext], Begun], path: Path, folder: Scratch | None, context: JobContext
    ) -> None:
        self._begin_at, self._path, self._folder = begin_at, path, folder
        self._watch, self._next = _Watch(context), 0
        self._ends = weakref.finalize(self, _remove, folder, self._watch) if folder is not None else None
        self._begun: Begun | None = None
        self._found: Results | None = None
        self._error: BaseException | None = None
        self._thread = self._start_thread()

    def _start_thread(self) -> threading.Thread:
        self._watch.is_over.clear()
        thread = threading.Thread(target=self._compute, name="searches in rounds", daemon=True)
        thread.start()
        return thread

    def _compute(self) -> None:
        try:
            if self._begun is None:
                self._begun = self._begin_at(self._path, self._watch)
            self._begun.compute()
        except BaseException as error:
            self._error = error
        self._watch.is_over.set()
        self._watch.has_news.set()

    def one_more(self, taken: Iterable[str] = (), dropped: Iterable[str] = ()) -> None:
        """Have the search go on when it is over: a complete one with one more round, a stopped one with those it lacks.

        The iteration goes on with them.

        Parameters
        ----------
        taken, dropped : iterable of str
            Names of targets whose hits in the last rounds make the next profile, or do not, whatever their E-values.

        Raises
        ------
        OptionError
            If all queries have converged, or if no last round has hits of such a target.
        """
        if self._watch.is_stopped.is_set():
            raise OptionError("The search in rounds was closed.", "Search again with the same run file.")
        self._thread.join()
        begun, error = self._begun, self._error
        if begun is None or not (error is None or isinstance(error, Cancelled)):
            raise error or Cancelled
        device = begun.task.spec.to_dict()["device"]
        with inputs_named(begun.inputs):
            spec = one_more_round(begun.results.run, taken, dropped, device, self._watch)
        self._error = None
        self._begun = replace(begun, task=replace(begun.task, spec=spec))
        self._thread = self._start_thread()

    def __iter__(self) -> Iterator[Round]:
        return self

    def __next__(self) -> Round:
        while not self._watch.is_stopped.is_set():
            is_over = self._watch.is_over.is_set()
            if is_over and self._error is not None:
                raise self._error
            if (found := self._round(is_over)) is not None:
                self._next += 1
                return found
            if is_over:
                break
            self._watch.has_news.wait(LOOK_SECONDS)
            self._watch.has_news.clear()
        raise StopIteration

    def _round(self, is_over: bool) -> Round | None:
        """Return the next round, if it is done."""
        if not is_over and not self._watch.has_results:
            return None
        run = self.results.run
        if self._next < run.n_queries() and (is_over or run.best(self._next) is not None):
            return engine_of(run).round(run, self._next)
        return None

    @property
    def results(self) -> Results:
        """The run with all that is found so far; the tables of the last rounds are what it exports."""
        while not (self._watch.has_results or self._watch.is_over.is_set()):  # before that the file may not be there
            self._watch.has_news.wait(LOOK_SECONDS)
        if self._found is None:
            self._found = open_run(self._path)
            if self._folder is not None and self._ends is not None:  # rounds that are kept read from it
                self._ends.detach()
                weakref.finalize(self._found.run.connection, _remove, self._folder, self._watch)
        return self._found

    def __enter__(self) -> Rounds:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the search if it is not over, and close the run; what was not kept in a file of its own is gone then."""
        self._watch.is_stopped.set()
        self._thread.join()
        if self._found is not None:
            self._found.close()
        if self._begun is not None:
            self._begun.results.run.seal()  # a reader would have hindered that
            self._begun.results.close()
        if self._folder is not None:
            self._folder.remove()


class _Watch:
    """A context that passes everything on, and says when there are results."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self.has_results = False
        self.has_news, self.is_stopped, self.is_over = threading.Event(), threading.Event(), threading.Event()

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        self._context.progress(stage, done, total, unit, **facts)

    def partial(self, **facts: object) -> None:
        self.has_results = True
        self.has_news.set()
        self._context.partial(**facts)

    def warn(self, text: str) -> None:
        self._context.warn(text)

    def check(self) -> None:
        if self.is_stopped.is_set():
            raise Cancelled
        self._context.check()


def _remove(folder: Scratch, watch: _Watch) -> None:
    """Stop a search and remove its folder, in which it would go on writing."""
    watch.is_stopped.set()
    watch.is_over.wait(END_SECONDS)
    folder.remove()


def jackhmmer(
    queries: Sequences, targets: Sequences, run: PathLike | None = None, *, context: JobContext | None = None,
    **options: object,
) -> Rounds:  # fmt: skip
    """Search proteins against proteins in rounds: what one finds makes the profile of the next one.

    Parameters
    ----------
    queries, targets : path, open file, Sequence, SequenceDatabase or iterable of Sequence
        A file of queries may also hold alignments or HMMER3 profiles, with which the first round searches.
    run : path, optional
        Where the run is kept; one that is there already is continued with the round that it lacks.
    context : JobContext, optional
        Receives progress, and stops the work, in another thread.
    **options
        Fields of `SearchSpec`, such as ``iterations=3``, ``inclusion_evalue=1e-10`` or ``matrix="BLOSUM45"``.

    Returns
    -------
    Rounds
        Yields each `Round` when it is done; of several queries first the first rounds of all.

    Raises
    ------
    ClalignError
        What the user can act on, while it is iterated over.

    Examples
    --------
    >>> import clalign
    >>> proteins = clalign.example("three_proteins.fasta")
    >>> with clalign.jackhmmer(proteins, proteins, iterations=2) as rounds:
    ...     for one in rounds:
    ...         print(one.query, one.number, len(one), one.n_new)
    """
    folder = Scratch() if run is None else None
    path = folder.path / "run.clalign" if folder is not None else Path(path_text(run, "run"))
    return Rounds(
        lambda place, watch: begin("jackhmmer", (queries, targets), place, watch, options),
        path,
        folder,
        context or QuietContext(),
    )

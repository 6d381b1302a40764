"""Texts and tables written while the search goes on: query after query, as soon as the worker is done with it.

The worker computes in a process of its own, and this one has nothing to do meanwhile. What is written goes to
a file without a name, and from there to its place when the search has ended well; if it has not, or if
anything is odd, all is written from the run file as if nobody had begun.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from msgspec.structs import replace

from clalign.errors import Cancelled
from clalign.formats.writers import ESCAPED
from clalign.jobs import QuietContext

if TYPE_CHECKING:
    from clalign.formats.tables import Provenance
    from clalign.values.hits import Hit

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.05
"""How often it is asked whether the worker is done with a query of which it tells nothing."""

CHUNK = 1 << 20
"""Letters that are copied at once."""

END_SECONDS = 10.0
"""So long the end of all is waited for that has been told to stop; it looks up after each hit."""


class Turns:
    """Lets one of several threads go on at a time: one that is no farther than any other.

    Threads of one Python only get in each other's way, and what one has read of a query is at hand for the next.

    Parameters
    ----------
    names : iterable of str
        Of the threads.
    is_over : callable
        Tells whether nobody is to wait any more.
    """

    def __init__(self, names: Iterable[str], is_over: Callable[[], bool]) -> None:
        self._changed = threading.Condition()
        self._places = dict.fromkeys(names, -1)
        self._at_it: str | None = None
        self._is_over = is_over

    def take(self, name: str, place: int) -> None:
        """Wait until it is the turn of a thread that has come to this place."""
        with self._changed:
            self._places[name] = place
            self._pass_on(name)
            self._changed.wait_for(lambda: self._is_over() or self._is_next(name))
            self._at_it = name

    def _is_next(self, name: str) -> bool:
        return self._at_it is None and self._places[name] <= min(self._places.values())

    def _pass_on(self, name: str) -> None:
        if self._at_it == name:
            self._at_it = None
        self._changed.notify_all()

    def leave(self, name: str) -> None:
        """Take no more turns."""
        with self._changed:
            self._places.pop(name, None)
            self._pass_on(name)

    def look_up(self) -> None:
        """Let all who wait see whether it is over."""
        with self._changed:
            self._changed.notify_all()


class Following(QuietContext):
    """Writes exports of a run that is being computed, each in a thread of its own; they take turns.

    Parameters
    ----------
    path : Path
        The run.
    wanted : dict of str to dict
        Names of exports, and of each the fields of its `Choice`.
    """

    def __init__(self, path: Path, wanted: dict[str, dict[str, Any]]) -> None:
        self._path = path
        self._is_over, self._news = threading.Event(), threading.Event()
        self._written: dict[str, tuple[IO[str], Provenance]] = {}
        self._threads = {
            what: threading.Thread(target=self._write, args=(what, how), daemon=True) for what, how in wanted.items()
        }
        self._turns = Turns(wanted, self._is_over.is_set)
        self._kept: dict[int, list[Hit]] = {}  # hits of the query that is being written
        self._has_begun = False

    @property
    def has_begun(self) -> bool:
        """Whether it may have looked into the run."""
        return self._has_begun

    def look(self) -> None:
        """Look at the run: it has its queries, and something more is stored."""
        self._news.set()
        if not self._has_begun:
            self._has_begun = True
            for thread in self._threads.values():
                thread.start()

    def check(self) -> None:
        """Raise `Cancelled` if what is written is not wanted any more."""
        if self._is_over.is_set():
            raise Cancelled

    def _write(self, what: str, how: dict[str, Any]) -> None:
        from clalign.engines.engine import engine_of
        from clalign.engines.export import Choice
        from clalign.runs.run_file import open_run

        try:
            with open_run(self._path) as run:
                engine = engine_of(run)
                source = engine.source(run, Choice(**how), self)
                if what not in source.followed:
                    return
                source.origin = replace(source.origin, partial=bool(source.origin.part))
                source.await_query = lambda number: self._await_turn(what, run, number)
                source.kept = self._kept
                file = tempfile.TemporaryFile("w+", encoding="utf-8", errors=ESCAPED, newline="\n")  # noqa: SIM115
                try:
                    engine.writers[what](source, cast(TextIO, file))
                    self.check()
                except BaseException:
                    file.close()
                    raise
                self._written[what] = file, source.origin
        except Cancelled:
            pass
        except Exception:  # it is written again from the run file, and then told of
            log.debug("%s could not be written meanwhile", what, exc_info=True)
        finally:
            self._turns.leave(what)

    def _await_turn(self, what: str, run: Any, number: int) -> None:
        """Wait until all exports have come to a query of the run, and the query is done."""
        self._turns.take(what, number)
        self.check()
        self._await(run, number)

    def _await(self, run: Any, number: int) -> None:
        """Wait until a query of the run is done."""
        while run.best(number) is None:
            state = run.state
            if state == "done":
                return
            if state in ("failed", "stopped"):
                raise Cancelled
            self._news.wait(LOOK_SECONDS)
            self._news.clear()
            self.check()

    def take(self, what: str, stream: TextIO) -> bool:
        """Write what is written already; return whether it was, all of it, once the run is done."""
        thread = self._threads.get(what)
        if thread is None or not self._has_begun:
            return False
        self._news.set()
        thread.join()
        file, origin = self._written.pop(what, (None, None))
        if file is None:
            return False
        with file:
            if origin != self._origin():
                return False
            file.seek(0)
            while lines := file.readlines(CHUNK):
                stream.write("".join(lines))
        return True

    def _origin(self) -> Provenance:
        """Return what texts say of the finished run: devices that came later, for example, are part of it."""
        from clalign.engines.export import provenance
        from clalign.runs.run_file import open_run

        with open_run(self._path) as run:
            return provenance(run)

    def close(self) -> None:
        """Let go what nobody has taken."""
        self._is_over.set()
        self._news.set()
        self._turns.look_up()
        until = time.monotonic() + END_SECONDS
        for thread in self._threads.values():
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        for file, _ in self._written.values():
            file.close()
        self._written.clear()

"""A run in the window: its facts, the chosen profile, thresholds, the chosen hit."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from clalign.common.plain_data import Json
from clalign.engines.engine import Engine, engine_of, spec_of
from clalign.errors import ClalignError, DamagedRun, InputError, RunBusy
from clalign.runs.connection import is_owned, unreadable
from clalign.runs.pages import QueryFound, Together, best_query, count_hits, first_query, found_by_query, hits_between
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile, open_run
from clalign.tools.library import default_name
from clalign.values.checked import plain
from clalign.values.documents import Card, JobResult
from clalign.values.hits import Hit
from clalign.values.shards import shard_of
from clalign.values.specs import Spec

from ... import formatting
from ..alignment.alignment_layout import Layout
from ..charts.histogram import Histogram, HitHistogram, finite, hits_in_bar, read_histogram, read_hit_histogram
from ..reader import Reader
from .hit_pages import ALL_QUERIES, HitRow
from .hits_model import HIT_TABLE, HitsModel, TableKind

WATCH_MS = 1500
"""Interval at which a run is read that another process writes."""
REFRESH_MS = 100
"""Least interval at which a running job is read."""
MANY = 300
"""Queries, or hundreds of hits, from which on what all queries have found is read at the longer interval."""

Found = TypeVar("Found")

STATE_WORDS = {
    "reading": "being read",
    "new": "starting",
    "running": "running",
    "elsewhere": "written by another process",
    "stopped": "stopped, partial",
    "failed": "ended early, partial",
    "done": "complete",
}


class RunView(QObject):
    """A run file in view, while a job writes it and afterwards.

    Parameters
    ----------
    path : Path
        It need not exist yet.
    reader : Reader
        For the slow reads.
    """

    facts_changed = Signal()
    histogram_changed = Signal()
    thresholds_changed = Signal()
    hit_changed = Signal()
    counts_changed = Signal()
    query_hits_changed = Signal()
    problem_found = Signal(str)
    refused = Signal()

    noun, nouns = "Query", "Queries"
    table: TableKind = HIT_TABLE
    layout = Layout()
    plotted = "score"
    """The value of hits in the histogram: a key of `clalign.runs.pages.PLOTTED`."""

    def __init__(self, path: Path, reader: Reader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path, self.working_title = path, path.stem
        self.hits = HitsModel(path, reader, self.table, self)
        self.profile = 0
        self.cards: list[Card] = []
        self.facts: Json = {}
        self.engine: Engine | None = None
        self.spec: Spec | None = None
        self.histogram: Histogram | None = None
        self.hit: HitRow | None = None
        self.thresholds = {"report": -math.inf, "significant": -math.inf}
        self.moved: dict[int, float] = {}
        """Least scores of the hits in view where the user has moved that line, by query."""
        self._is_too_low = False
        self.counts, self.is_counted = {"report": 0, "significant": 0}, False
        self.found: dict[int, QueryFound] = {}
        self._found_at, self._is_all_found = -math.inf, False
        self._is_chosen = False
        self.is_live = self._was_live = self._is_elsewhere = False
        self._watch = QTimer(self, singleShot=True, interval=WATCH_MS)
        self._watch.timeout.connect(self.refresh)
        self.refusal = ""
        self._reader = reader
        self._run: RunFile | None = None
        self._timer = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self.hits.shown_changed.connect(self._emit_problem)
        self.hits.note_refused.connect(self.problem_found)

    def _emit_problem(self) -> None:
        if isinstance(self.hits.error, ClalignError) and self.hits.problem:
            self._refuse(self.hits.error, self.hits.is_read)
        elif self.hits.problem:
            self.problem_found.emit(self.hits.problem)

    def _refuse(self, error: ClalignError, is_shown: bool) -> None:
        """Report that the file cannot be read; earlier results stay in view, otherwise the reason is shown."""
        if is_shown or isinstance(error, RunBusy):
            self.problem_found.emit(f"{error} {error.hint}".strip())
            return
        reason = error.reason if isinstance(error, InputError) else error.message
        refusal = f"{reason[:1].upper()}{reason[1:]} {error.hint}".strip()
        if refusal != self.refusal:
            self.refusal = refusal
            self.facts_changed.emit()
            self.refused.emit()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Report a damaged file."""
        try:
            yield
        except DamagedRun as error:
            self._refuse(error, bool(self.cards))
        except sqlite3.DatabaseError as error:
            self._refuse(unreadable(self.path, error), bool(self.cards))

    def _asked(self, question: Callable[[RunFile], Found], otherwise: Found) -> Found:
        """Return a value of the file, or a default if it cannot be read."""
        found = [otherwise]
        if self._run is not None:
            with self._reading():
                found.append(question(self._run))
        return found[-1]

    def note_change(self) -> None:
        """Read the file soon; many notifications cause one read."""
        if not self._timer.isActive():
            self._timer.start()

    @property
    def is_due(self) -> bool:
        """Whether the file will be read soon."""
        return bool(self._timer.isActive())

    def begin(self) -> None:
        """Read the file in the next turn: creating a page and reading together would stall the window."""
        self._timer.start(0)

    def refresh(self) -> None:
        """Read new results."""
        self._timer.setInterval(REFRESH_MS)
        if not self._open():
            return
        first = not self.cards
        with self._reading():
            self._read_facts()
        if not self.cards:
            return
        self._read_found()
        if first:
            self._show_profile(self._first_profile())
            return
        if not self._is_chosen and not self.shows_all and (wanted := self._followed()) != self.profile:
            self._show_profile(wanted)
            return
        self.hits.refresh()
        self._read_histogram()

    def _followed(self) -> int:
        """Return the query to show until the user chooses one: the one in view, or another if it has no hits."""
        return self.profile if self.hits.n_all else self._with_hits()

    def _with_hits(self) -> int:
        """Return the query that stands first among those with hits; the one in view if there is none."""
        found = self._asked(lambda run: (best_query if self.lists_best_first else first_query)(run.connection), None)
        is_one = isinstance(found, int) and 0 <= found < len(self.cards)  # files may be damaged
        return found if found is not None and is_one else self.profile

    @property
    def query_hits(self) -> dict[int, int]:
        """How many hits each of several queries has, by its number; those without any are left out."""
        return {query: found.n_hits for query, found in self.found.items() if found.n_hits}

    @property
    def calls_significant(self) -> bool:
        """Whether its engine calls some of the reported hits significant."""
        return self.engine is not None and self.engine.calls_significant

    def _read_found(self) -> None:
        """Read what each query has found; of very many not at every change."""
        now = time.monotonic()
        are_many = max(len(self.cards), self.hits.n_all // 100) > MANY
        if len(self.cards) < 2 or (self.is_live and are_many and now < self._found_at + WATCH_MS / 1000):
            return
        self._found_at = now
        take = partial(self._take_found, self.is_complete)
        self._reader.ask((id(self), "query hits"), self._found_question(), take)

    def _found_question(self) -> Callable[[], dict[int, QueryFound]]:
        """Return a function that reads what each query has found."""
        path = self.path
        return lambda: found_by_query(path)

    def _take_found(self, is_all: bool, answer: dict[int, QueryFound] | Exception) -> None:
        if not isinstance(answer, Exception) and (answer, is_all) != (self.found, self._is_all_found):
            self.found, self._is_all_found = answer, is_all
            later = {number for number, card in enumerate(self.cards) if card.get("before") is not None}
            self.hits.new = {number: frozenset(one.new) for number, one in answer.items() if number in later}
            if later:
                self.hits.layoutChanged.emit()
            self.query_hits_changed.emit()

    def _open(self) -> bool:
        if self._run is not None:
            return True
        try:
            self._run = open_run(self.path)
        except ClalignError as error:
            if isinstance(error, DamagedRun) or not self.is_live:  # a search that begins has not made it yet
                self._refuse(error, False)
            return False
        return True

    def _read_facts(self) -> None:
        run = self._run
        assert run is not None
        facts = plain(run.facts)
        if facts["spec"] is not None:
            self.engine, self.spec = engine_of(run), spec_of(run)
        facts["messages"] = run.messages()
        facts["verifications"] = run.verifications()
        facts["share_done"] = None if self.is_live else HitQueries(run.connection).share_done()
        cards = self._read_cards(run, facts["state"])
        was_elsewhere = self._is_elsewhere
        self._is_elsewhere = facts["state"] in ("new", "running") and not self.is_live and is_owned(self.path)
        if self._is_elsewhere:
            self._watch.start()  # its writer sends this window no events
        # Whether it is live decides what the state means, and changes without a change of the file.
        now = facts, cards, self.is_live, self._is_elsewhere
        if now != (self.facts, self.cards, self._was_live, was_elsewhere):
            self.facts, self.cards, self._was_live = facts, cards, self.is_live
            self.facts_changed.emit()

    def _read_cards(self, run: RunFile, state: str | None) -> list[Card]:
        return run.cards()

    @property
    def card(self) -> Card:
        """The card of the chosen profile, or of that of the chosen hit; empty while unknown."""
        if not self.cards:
            return {}
        if self.profile == ALL_QUERIES:
            return self.cards[self.hit.profile if self.hit is not None else 0]
        return self.cards[self.profile]

    @property
    def all_words(self) -> str:
        """The name of the hits of all queries together; empty where they are not offered."""
        return ""

    @property
    def together(self) -> Together:
        """The initial order of the hits of all queries."""
        return "best"

    def _first_profile(self) -> int:
        return self._with_hits()

    @property
    def is_listed(self) -> bool:
        """Whether the hits in view were read, not those of the query before."""
        return self.hits.shown_query is not None and self.hits.shown_query.number == self.profile

    @property
    def shows_all(self) -> bool:
        """Whether the hits of all profiles are in view."""
        return self.profile == ALL_QUERIES

    @property
    def state(self) -> str:
        """The state of the run, ``reading`` while unknown; one without a live process is not running."""
        state = self.facts.get("state") or ("new" if self.facts or self.is_live else "reading")
        if self.is_live and state in ("stopped", "failed"):
            return "running"  # a job continues it, and has not written that yet
        if state not in ("new", "running") or self.is_live:
            return state
        return "elsewhere" if self._is_elsewhere else "stopped"

    @property
    def has_no_statistics(self) -> bool:
        """Whether hits certainly have no E-values."""
        return not self.looks_for_hits

    @property
    def is_complete(self) -> bool:
        """Whether all sequences were searched."""
        return self.state == "done"

    @property
    def lists_best_first(self) -> bool:
        """Whether the order of the queries is that of their best hits, and does not change any more."""
        return self.is_complete and self.facts.get("direction") != "rounds"

    @property
    def is_nucleic(self) -> bool:
        """Whether the profile is for DNA or RNA."""
        return self.card.get("alphabet") in ("dna", "rna")

    @property
    def title(self) -> str:
        """The run's own name, or its files, and its part if it is one."""
        if self.spec is None or self.facts.get("name"):
            return str(self.facts.get("name") or self.working_title)
        part = shard_of(self.spec.to_dict())
        return default_name(self.spec) + (f", {part.words}" if part is not None else "")

    @property
    def file_stem(self) -> str:
        """The title as names of files begin."""
        return self.title.replace(" x ", "-x-").replace(" ", "_")

    def set_profile(self, profile: int) -> None:
        """Show the results of the profile that the user chose."""
        self._is_chosen = True
        self._show_profile(profile)

    def _show_profile(self, profile: int) -> None:
        self.profile, self.histogram = profile, None  # the one in view is of another query
        self.counts, self.is_counted = {"report": 0, "significant": 0}, False  # they are asked for below
        self.thresholds, self._is_too_low = self._own_thresholds(), False
        self.choose(None)
        self.hits.keep(None)
        self.hits.set_profile(profile, self.cards, self.together)
        if profile in self.moved:
            self.set_least_score(self.moved[profile])
        self._read_histogram()
        self.facts_changed.emit()
        self.thresholds_changed.emit()

    def set_least_score(self, score: float) -> None:
        """Show only hits with at least this score; what is significant stays as the search has it.

        Hits below the score that the search reported are not in the file, so that is the lowest.
        """
        if self.shows_all:
            return
        own = self._own_thresholds()["report"]
        self._is_too_low = score < own
        self.thresholds["report"] = max(score, own)
        self.moved.pop(self.profile, None)
        if self.thresholds_moved:
            self.moved[self.profile] = self.thresholds["report"]
        self.hits.set_min_score(self.moved.get(self.profile))
        self._read_counts()
        self.thresholds_changed.emit()

    def threshold_hint(self) -> str:
        """Return why the line of what is shown, as it was moved, is not what was meant; empty if it may be."""
        least, significant = self.thresholds["report"], self.thresholds["significant"]
        if self._is_too_low:
            return f"Nothing below {formatting.threshold(self._own_thresholds()['report'])} was reported."
        if not self.thresholds_moved:
            return ""
        data = self.histogram
        if data is not None and data.has_thresholds and len(data.counts) and least > data.edges[-1]:
            return "The line is above every score."
        if -math.inf < significant < least:
            return "The line hides significant hits."
        return ""

    def set_score_kind(self, kind: str) -> None:
        """Show other scores in the histogram if there are any."""

    def reset_thresholds(self) -> None:
        """Show the hits of all scores again."""
        self.set_least_score(self._own_thresholds()["report"])

    def _own_thresholds(self) -> dict[str, float]:
        """Return the thresholds of the search; none for all profiles together."""
        if self.shows_all:
            return {"report": -math.inf, "significant": -math.inf}
        return {"report": finite(self.card.get("report_score")), "significant": finite(self.card.get("include_score"))}

    @property
    def n_hits(self) -> int:
        """Number of reported hits of all profiles together, of rounds those of the last."""
        return self._asked(RunFile.n_final_hits, self.hits.n_all)

    @property
    def thresholds_moved(self) -> bool:
        """Whether hits are shown from another score than that of the search."""
        return self.thresholds != self._own_thresholds()

    def _read_histogram(self) -> None:
        if self.no_histogram_words() is not None:
            self.histogram = None
            self.histogram_changed.emit()
        else:
            query, question = self.profile, self._histogram_question()
            self._reader.ask((id(self), "histogram"), lambda: (query, question()), self._take_histogram)
        self._read_counts()

    def _histogram_question(self) -> Callable[[], Histogram]:
        """Return a function that reads the histogram of the results in view."""
        path, query = self.path, self.profile
        return (lambda: read_hit_histogram(path)) if self.shows_all else (lambda: read_histogram(path, query))

    def hit_place(self) -> float:
        """Return where the chosen hit is on the axis of the histogram; not a number if it is not in it."""
        hit, data = self.hit, self.histogram
        if hit is None or data is None:
            return math.nan
        if isinstance(data, HitHistogram):
            return data.place(hit.evalue, hit.score) if data.kind == "score" or not math.isnan(hit.evalue) else math.nan
        return self._plotted_of(hit) if hit.profile == self.profile else math.nan

    def _plotted_of(self, hit: Hit) -> float:
        """Return the value of a hit by which it has its place in the histogram of its query."""
        return {"score": hit.score, "raw": float(hit.raw), "uncorrected": round(hit.score + hit.bias, 3)}[self.plotted]

    def read_bar(self, low: float, high: float, take: Callable[[list[int] | Exception], None]) -> None:
        """Read the ids of the hits in a bar of the histogram, best first."""
        self._reader.ask((id(self), "bar"), self._bar_question(low, high), take)

    def _bar_question(self, low: float, high: float) -> Callable[[], list[int]]:
        """Return a function that finds the hits in a bar of the histogram in view."""
        path, query, value = self.path, self.profile, self.plotted
        if self.shows_all:
            return lambda: hits_in_bar(path, low, high)
        return lambda: hits_between(path, query, value, low, high)

    def _take_histogram(self, answer: tuple[int, Histogram] | Exception) -> None:
        if not isinstance(answer, Exception) and answer[0] == self.profile and self.no_histogram_words() is None:
            self.histogram = answer[1]
            self.histogram_changed.emit()

    def _read_counts(self) -> None:
        query = self.hits.query
        self._reader.ask((id(self), "counts"), lambda: (query.number, count_hits(query)), self._take_counts)

    def _take_counts(self, answer: tuple[int, tuple[int, int]] | Exception) -> None:
        if not isinstance(answer, Exception) and answer[0] == self.profile:
            self.counts, self.is_counted = dict(zip(("report", "significant"), answer[1], strict=True)), True
            self.counts_changed.emit()

    def choose(self, row: HitRow | None) -> None:
        """Choose a hit of the table."""
        self.hit = row
        self.hit_changed.emit()

    def close(self) -> None:
        """Close the file."""
        self._timer.stop()
        self._watch.stop()
        self.hits.close()
        for name in ("histogram", "counts", "bar", "query hits"):
            self._reader.forget((id(self), name))
        if self._run is not None:
            self._run.close()
            self._run = None

    # --- words ---

    def tag(self, name: str, short: bool) -> str:
        """Return the text on the tag of a threshold."""
        return ""

    def show_one(self) -> None:
        """Show the hits of one query: that of the chosen hit, or else the first with hits."""
        self.set_profile(self.hit.profile if self.hit is not None else max(0, self._with_hits()))

    def no_histogram_words(self) -> tuple[str, str] | None:
        """Return heading and text in place of a histogram; None if there is one."""
        return None

    def sentence(self) -> str:
        """Return the description of the histogram."""
        if not isinstance(self.histogram, HitHistogram):
            return ""
        return self.histogram.sentence(len(self.cards), self.noun.lower(), self.nouns.lower())

    def way_words(self) -> str:
        """Return a note if queries and targets changed places; empty by default."""
        return ""

    def statistics_words(self) -> str:
        """Return the source of E-values if it is unusual."""
        return ""

    looks_for_hits = True
    """Whether a run has hits of queries, with E-values."""

    @property
    def database_noun(self) -> str:
        """The noun that the size for E-values counts."""
        return "sequence"

    def database_words(self) -> str:
        """Return the size of the database for E-values."""
        return formatting.plural(round(self.facts.get("n_targets") or 0), self.database_noun)

    def scoring_rows(self) -> list[tuple[str, str]]:
        """Return additional names and values for the report."""
        return []

    def summary(self) -> str:
        """Return the sentence at the head of the results."""
        return f"{formatting.plural(self.hits.n_all, 'hit')} · {self._scope()}"

    def total_words(self) -> str:
        """Return the sentence at the head of the results of several queries: what all of them have found."""
        counts = self.query_hits
        hits = formatting.plural(sum(counts.values()), "hit")
        if self.calls_significant:
            reported = formatting.count(sum(counts.values()))
            counts = {query: found.n_significant for query, found in self.found.items() if found.n_significant}
            hits = f"{formatting.plural(sum(counts.values()), 'significant hit')} ({reported} reported)"
        nouns = formatting.plural(len(self.cards), self.noun.lower(), self.nouns.lower())
        of = f"{formatting.count(len(counts))} of {nouns}"
        finished = self.facts.get("finished")
        if self.is_complete and finished and self._is_all_found:
            searched = formatting.plural(finished["n_sequences"], "sequence")
            return f"{hits} of {of} · {searched} searched {RunView._all_done(self, finished)}"
        done = formatting.count(sum(found.searched >= 1.0 for found in self.found.values()))
        return f"{hits} so far · {done} of {nouns} searched{self._on_device()}"

    def _scope(self) -> str:
        """Return the finished work, its time, and its device."""
        finished = self.facts.get("finished")
        return self._all_done(finished) if self.is_complete and finished else self._done_so_far()

    def _all_done(self, finished: JobResult) -> str:
        return f"in {formatting.run_time(finished)} on {finished['device']}"

    def _done_so_far(self, verb: str = "searched") -> str:
        total = (self.facts.get("database") or {}).get("n_sequences")
        if self.histogram is None:  # how many of them is being read
            return f"{formatting.plural(total, 'sequence') if total is not None else ''}{self._on_device()}".strip()
        of = f" of {formatting.plural(total, 'sequence')}" if total is not None else " sequences"
        done = formatting.count(self.histogram.n_examined)
        return f"{done}{of} {verb} {'with it' if self._of_which() else 'so far'}{self._on_device()}"

    def _of_which(self) -> str:
        """Return which of several queries the hits belong to; empty for all, or for the only one."""
        if len(self.cards) < 2 or self.shows_all:
            return ""
        return f" for {self.noun.lower()} {formatting.count(self.profile + 1)} of {formatting.count(len(self.cards))}"

    def _on_device(self) -> str:
        device = (self.facts.get("device") or {}).get("name", "")
        return f" on {device}" if device else ""

    def _best(self) -> JobResult | None:
        """Return the best target of the query in view, which may be no hit."""
        return None if self.shows_all else self._asked(lambda run: run.best(self.profile), None)

    def best_name(self) -> str:
        """Return the name of the best target of a query without hits if it can be explained; else empty."""
        return ""

    def share_searched(self) -> float:
        """Return the searched share of the targets of the query in view; NaN if unknown."""
        if self.is_complete or self.shows_all:
            return 1.0 if self.is_complete else math.nan
        query = self.profile  # which is not stored before the inputs are read
        return self._asked(lambda run: HitQueries(run.connection).shares_searched(query).get(query, 0.0), 0.0)

    def unsearched_words(self) -> tuple[str, str] | None:
        """Return heading and text for an incomplete query without hits; None for others."""
        share, noun = self.share_searched(), self.noun.lower()
        if share >= 1.0:
            return None
        if self.is_live or self.state == "elsewhere":
            before = (self.found.get(number) for number in range(self.profile))
            if share or all(found is not None and found.searched >= 1.0 for found in before):
                return "No hits yet", "Hits appear here while the search runs, best first."
            return "Not searched yet", f"The search reaches this {noun} later. Its hits appear here then, best first."
        if share == 0.0:
            return "Not searched yet", f"The search ended before this {noun}. Continue it to find its hits."
        when = "" if math.isnan(share) else f", when {formatting.percent(share)} of the targets were compared"
        return "No hits so far", f"The search ended early{when}. Continue it to search the rest."

    def empty_words(self) -> tuple[str, str]:
        """Return heading and text for a table without hits."""
        return self.unsearched_words() or ("No hits", f"All targets were compared with this {self.noun.lower()}.")

    def hit_line(self, hit: Hit) -> str:
        """Return a sentence about a hit."""
        return f"Score {formatting.score(hit.score)} · E {formatting.evalue(hit.evalue)}"

    def estimates_line(self, hit: Hit) -> str:
        """Return additional facts about a hit; empty if there are none."""
        return ""

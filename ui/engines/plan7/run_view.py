"""A run with profiles in the window."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

from clalign.engines.plan7.hmmer3.funnel import hits_with_score
from clalign.engines.rounds import chosen_rows, done_words
from clalign.errors import ClalignError
from clalign.runs.pages import QueryFound, Together
from clalign.runs.run_file import open_run
from clalign.values.checked import plain
from clalign.values.documents import JobResult
from clalign.values.hits import Hit

from ... import formatting
from ...models.charts.histogram import Histogram
from ...models.results.hit_pages import ALL_QUERIES, HitRow
from ...models.results.hits_model import NOTE_SECONDS
from ...models.results.run_view import RunView
from .columns import PROFILE_TABLE
from .histogram import ProfileHistogram, ScoreKind, read_profile_histogram
from .layout import ProfileLayout, estimates_line

OF_SEQUENCES = ("sequence", "rounds")
"""Directions of searches with sequences."""


class ProfileRunView(RunView):
    """A search or a scan with profiles."""

    noun, nouns = "Profile", "Profiles"
    table = PROFILE_TABLE
    layout = ProfileLayout()
    score_kind: ScoreKind = "forward"
    plotted = "uncorrected"
    ends_soon = False
    """Whether the search is to end with the first round, which was not begun when that was asked for."""

    def _read_facts(self) -> None:
        direction = plain(self._run.facts).get("direction") if not self.cards and self._run is not None else None
        if direction in OF_SEQUENCES:  # profiles are made of them, but nobody has seen these
            self.noun, self.nouns = ("Round", "Rounds") if direction == "rounds" else ("Query", "Queries")
        super()._read_facts()
        self.ends_soon &= self.is_live or self._is_elsewhere  # continued later, it has all rounds
        if self.ends_soon and self.cards:
            with contextlib.suppress(ClalignError):  # it is tried again
                self.stop_after_round()
        last = {card.get("first"): number for number, card in enumerate(self.cards)} if self.can_choose else {}
        self.hits.chosen = {number: chosen_rows(self.cards[number]) for number in last.values()}

    def stop_after_round(self) -> None:
        """Have the search end with the rounds that are begun, or with the first one."""
        from clalign.engines.plan7.rounds import stop_after

        self.ends_soon |= not self.cards
        if self.cards:
            with open_run(self.path, writable=True, patience=NOTE_SECONDS) as run:
                stop_after(run)
            self.ends_soon = False

    @property
    def can_choose(self) -> bool:
        """Whether a person can choose hits for one more round: nothing computes the rounds now."""
        return self.is_of_rounds and not self.is_live and self.state in ("done", "stopped")

    @property
    def has_converged(self) -> bool:
        """Whether no query has a further round, unless hits are chosen for it."""
        last = {card.get("first"): number for number, card in enumerate(self.cards)}
        return all(number in self.found and self.found[number].has_converged for number in last.values())

    def choose_hit(self, hit: HitRow, is_in: bool) -> None:
        """Keep whether the next round is made with a hit."""
        from clalign.engines.plan7.rounds import choose

        with open_run(self.path, writable=True, patience=NOTE_SECONDS) as run:
            choose(run, hit.profile, [hit.row], None if is_in == hit.is_significant else is_in)
        self.refresh()

    @property
    def is_of_rounds(self) -> bool:
        """Whether its queries are rounds, each with a profile of what the one before has found."""
        return self.facts.get("direction") == "rounds"

    def _found_question(self) -> Callable[[], dict[int, QueryFound]]:
        path = self.path

        def found() -> dict[int, QueryFound]:
            from clalign.engines.plan7.round_of_run import found_by_round

            return found_by_round(path)

        return found if self.is_of_rounds else super()._found_question()

    def _followed(self) -> int:
        return self._last_round(self.profile) if self.is_of_rounds and self.hits.n_all else super()._followed()

    def _with_hits(self) -> int:
        return self._last_round(super()._with_hits())

    def _last_round(self, profile: int) -> int:
        """Return the last round with hits of the query of a profile; of a search without rounds the profile."""
        first = self.cards[profile].get("first")
        rounds = [] if first is None else [n for n, card in enumerate(self.cards) if card.get("first") == first]
        return self._asked(lambda run: next((n for n in reversed(rounds) if run.n_hits(n)), profile), profile)

    def total_words(self) -> str:
        head = done_words(self.cards, self.found, self.is_complete) if self.is_of_rounds else ""
        return f"{head} · {self._scope()}" if head else super().total_words()

    def _of_which(self) -> str:
        if not self.is_of_rounds or len(self.cards) < 2 or self.shows_all:
            return super()._of_which()
        return f" in round {self.card.get('round')}"

    @property
    def database_noun(self) -> str:
        """The noun that the size for E-values counts: in a scan, profiles."""
        return "profile" if self.is_scan else "sequence"

    @property
    def is_scan(self) -> bool:
        """Whether hits are the profiles of each sequence rather than the sequences of each profile."""
        return self.facts.get("direction") == "scan"

    @property
    def all_words(self) -> str:
        return f"All {self.nouns.lower()}" if self.is_scan or (len(self.cards) > 1 and not self.is_of_rounds) else ""

    def way_words(self) -> str:
        """Return a note on the direction of a scan; empty for a search."""
        return "scan: the profiles of each sequence" if self.is_scan else ""

    @property
    def together(self) -> Together:
        """The order of the hits of all profiles: in a scan sequence by sequence."""
        return "target" if self.is_scan else "best"

    def _first_profile(self) -> int:
        return ALL_QUERIES if self.is_scan else super()._first_profile()

    def set_score_kind(self, kind: str) -> None:
        self.score_kind = "msv" if kind == "msv" else "forward"
        self._read_histogram()

    def _histogram_question(self) -> Callable[[], Histogram]:
        if self.shows_all:
            return super()._histogram_question()
        path, profile, kind = self.path, self.profile, self.score_kind
        return lambda: read_profile_histogram(path, profile, kind)

    def _bar_question(self, low: float, high: float) -> Callable[[], list[int]]:
        data = self.histogram
        if not isinstance(data, ProfileHistogram) or data.kind == "viterbi":
            return super()._bar_question(low, high)
        path, profile, kind = self.path, self.profile, data.kind

        def found() -> list[int]:
            with open_run(path) as run:
                return hits_with_score(run, profile, kind, low, high)

        return found

    def _plotted_of(self, hit: Hit) -> float:
        data = self.histogram
        if not isinstance(data, ProfileHistogram) or data.kind == "viterbi":
            return super()._plotted_of(hit)
        score = getattr(hit.filters, data.kind, None)
        return math.nan if score is None else float(score)

    def tag(self, name: str, short: bool) -> str:
        score, data = self.thresholds[name], self.histogram
        if not isinstance(data, ProfileHistogram) or not math.isfinite(score):
            return ""
        title = "significant" if name == "significant" else "shown"
        hits = f" · {formatting.plural(self.counts[name], 'hit')}" if self.is_counted else ""
        evalue = f"E {formatting.evalue(data.evalue(score))}"
        if short:
            return f"{title} ≥ {formatting.score(score)} · {evalue}{hits}"
        pvalue = data.pvalue(score)
        false_hits = formatting.evalue(pvalue * data.n_examined)
        return (
            f"{title} from {formatting.score(score)} bits{hits}\n{evalue} · P {formatting.evalue(pvalue)}\n"
            f"{false_hits} false hits expected by chance"
        )

    def sentence(self) -> str:
        data = self.histogram
        if not isinstance(data, ProfileHistogram):
            return super().sentence()
        if data.kind != "viterbi":
            return self._hmmer3_sentence(data)
        total = (self.facts.get("database") or {}).get("n_sequences", data.n_scores)
        which = f"All {formatting.plural(data.n_scores, 'sequence')}"
        if data.n_scores < total and not self.share_searched() >= 1.0:  # others have no residues
            which = f"The first {formatting.count(data.n_scores)} of {formatting.plural(total, 'sequence')}"
        return (
            f"{which}, each with its Viterbi score before the correction for biased composition; "
            "the score of a hit may be lower. Drag the line of what is shown, or double-click to type a score."
        )

    def _hmmer3_sentence(self, data: ProfileHistogram) -> str:
        so_far = "" if self.is_complete else " searched so far"
        if data.kind == "msv":
            return (
                f"MSV filter scores of all {formatting.plural(data.n_scores, 'sequence')}{so_far}; the curve is the "
                "model's calibration, not fitted. Scores that overflow 8 bits are at the right end. Hits are "
                "judged by other scores: see the Forward scores for the thresholds."
            )
        so_far, n = so_far and " so far", formatting.plural(data.n_scores, "sequence")
        got = f"Only the {n} that reached Forward{so_far} are shown; no curve is fitted to filtered scores"
        if self.is_unfiltered:
            got = f"Forward scores of all {n}{so_far}; the curve is the model's calibration, not fitted"
        return (
            f"{got}. The score of a hit is a little lower, because it is "
            "corrected for biased composition. Drag the line of what is shown, or double-click to type a score."
        )

    @property
    def is_unfiltered(self) -> bool:
        """Whether every sequence is scored by Forward."""
        return bool((self.facts.get("spec") or {}).get("without_filters"))

    def funnel_sentence(self) -> str:
        """Return the description of the funnel."""
        if self.is_unfiltered:
            return "Without filters (--max): every sequence went through Forward."
        live = "" if self.is_complete else " These are the counts so far."
        return f"Each filter passes likely sequences; “expected” is the number for random ones.{live}"

    def summary(self) -> str:
        n_all, significant = self.hits.n_all, self.counts["significant"]
        shown = min(significant, n_all)
        new = self.found[self.profile].new if self.is_of_rounds and self.profile in self.found else ()
        of = f", {formatting.count(len(new))} of them new" * (self.card.get("before") is not None)
        head = f"{formatting.count(shown)} significant{of} · {formatting.count(n_all - shown)} more reported"
        if n_all and not self.counts["report"] and not self.thresholds_moved:  # they are being counted
            head = formatting.plural(n_all, "hit")
        return f"{head}{self._of_which()} · {self._scope()}"

    def _all_done(self, finished: JobResult) -> str:
        searched, where = formatting.plural(finished["n_sequences"], "sequence"), super()._all_done(finished)
        if self.is_scan:
            return f"{searched} scanned with {formatting.plural(len(self.cards), 'profile')} · {where}"
        return f"{searched} searched {where}"

    def _done_so_far(self, verb: str = "searched") -> str:
        if self.shows_all:
            return f"the results of {formatting.plural(len(self.cards), 'profile')} so far{self._on_device()}"
        return super()._done_so_far(verb)

    def best_name(self) -> str:
        """Return the name of the best sequence of a profile without hits; empty if unknown."""
        return str((self._best() or {}).get("name", ""))

    def empty_words(self) -> tuple[str, str]:
        if not self.is_complete:
            return super().empty_words()
        spec = self.facts.get("spec") or {}
        score, evalue = spec.get("score"), formatting.limit(spec.get("evalue", 10))
        limit = f"E ≤ {evalue}" if score is None else f"{formatting.signed(f'{score:g}')} bits or more"
        heading = f"No hits at {limit}"
        searched = formatting.plural((self.facts.get("finished") or {}).get("n_sequences", 0), "sequence")
        if self.shows_all:
            return heading, f"None of {formatting.plural(len(self.cards), 'profile')} was found in {searched}."
        best = self._best()
        if not best:
            return heading, f"None of {searched} has a score."
        if best.get("kind") == "msv":
            text = (
                f"The best of {searched} by the MSV filter: {best['name']}, {formatting.score(best['score'])} bits. "
                "The tab Filters shows where sequences were stopped."
            )
            return heading, text
        return (
            heading,
            f"The best of {searched} was {best['name']} with E = {formatting.evalue(best['evalue'])} "
            f"(score {formatting.score(best['score'])}).",
        )

    def hit_line(self, hit: Hit) -> str:
        return (
            f"Score {formatting.score(hit.score)} bits · E {formatting.evalue(hit.evalue)} · "
            f"bias {formatting.score(hit.bias)} · {formatting.plural(hit.n_domains, 'domain')} · "
            f"{formatting.plural(hit.length, 'residue')}"
        )

    def estimates_line(self, hit: Hit) -> str:
        return estimates_line(hit)

"""A pairwise run in the window: queries in place of profiles, and one threshold."""

from __future__ import annotations

import math
from collections.abc import Callable

from clalign.engines.pairwise.report_text import MODES
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.runs.pages import Together
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card, JobResult
from clalign.values.hits import Hit

from ... import formatting
from ...models.charts.histogram import Histogram, finite
from ...models.results.hit_pages import ALL_QUERIES
from ...models.results.run_view import RunView
from .columns import PAIR_TABLE
from .histogram import PairHistogram, read_pair_histogram
from .layout import PairLayout, pair_line

DEFAULT_SOURCE = "(NCBI BLAST's tables)"
"""Source of statistics that the head of a page does not mention."""


class PairRunView(RunView):
    """A run of sequences against sequences."""

    table = PAIR_TABLE
    layout = PairLayout()
    plotted = "raw"
    spec: PairwiseSpec | None

    @property
    def is_pairs(self) -> bool:
        """Whether given pairs were aligned rather than all queries with all targets."""
        return self.spec is not None and self.spec.is_pairs

    @property
    def all_words(self) -> str:
        return "All queries" if len(self.cards) > 1 else ""

    @property
    def together(self) -> Together:
        """The order of the hits of all queries: query by query, as in BLAST's tables."""
        return "query"

    def _read_cards(self, run: RunFile, state: str | None) -> list[Card]:
        """Return the cards without curves; while queries neither start nor end only the one in view is read again.

        Hundreds of queries would otherwise keep the window busy.
        """
        if not self.cards or state != self.facts.get("state"):
            return run.cards_without_curves()
        cards = list(self.cards)
        if not self.shows_all:
            cards[self.profile] = run.card(self.profile)
            cards[self.profile].pop("curve", None)
        return cards

    def _first_profile(self) -> int:
        return ALL_QUERIES if self.is_pairs and len(self.cards) > 1 else super()._first_profile()

    @property
    def shows_strands(self) -> bool:
        """Whether hits may be on either strand."""
        return len(self.facts.get("strands") or ()) > 1

    @property
    def has_no_statistics(self) -> bool:
        """Whether there are certainly neither E-values nor bits."""
        none = not any(card.get("statistics") for card in self.cards)
        return bool(self.cards) and none and (self.is_pairs or self.is_complete)

    # --- thresholds and histogram ---

    def _own_thresholds(self) -> dict[str, float]:
        least = None if self.shows_all else self.card.get("histogram_report_score")
        return {"report": finite(least), "significant": -math.inf}

    def _read_facts(self) -> None:
        """Read new facts; the threshold of fitted statistics is known only at the end of a query."""
        moved = bool(self.cards) and self.thresholds_moved
        super()._read_facts()
        self.hits.shows_groups = not self.is_pairs
        if self.cards and not moved and self.thresholds != self._own_thresholds():
            self.thresholds = self._own_thresholds()
            self.thresholds_changed.emit()

    def _histogram_question(self) -> Callable[[], Histogram]:
        if self.shows_all:
            return super()._histogram_question()
        path, query = self.path, self.profile
        return lambda: read_pair_histogram(path, query)

    def tag(self, name: str, short: bool) -> str:
        score, data = self.thresholds[name], self.histogram
        if not isinstance(data, PairHistogram) or not math.isfinite(score):
            return ""
        n_hits = min(self.counts[name], self.hits.n_all)
        hits, n_targets = formatting.plural(n_hits, "hit"), data.n_from(score)
        if not self.is_counted:
            hits = ""
        elif self.is_complete and n_targets > n_hits:
            # No more hits were asked for, or the line is below the limit of the search.
            hits = f"{formatting.plural(n_targets, 'target')}, {formatting.count(n_hits)} kept"
        chance = data.by_chance(score)
        expected = "" if chance is None else f"{formatting.evalue(chance)} expected by chance"
        if short:
            return " · ".join(part for part in (f"≥ {score:g}", hits, expected.replace("expected ", "")) if part)
        shown = " · ".join(part for part in (f"shown from {score:g}", hits) if part)
        return "\n".join(part for part in (shown, expected) if part)

    def no_histogram_words(self) -> tuple[str, str] | None:
        if self.is_pairs:
            return (
                "Only pairs were aligned",
                "Chosen pairs are no sample of scores, so there is neither a histogram nor an E-value.",
            )
        if (self.facts.get("database") or {}).get("n_sequences") == 1:
            return "Only one target", "One score makes no histogram; the table of hits has its E-value."
        return None

    def sentence(self) -> str:
        data = self.histogram
        if not isinstance(data, PairHistogram):
            return super().sentence()
        which = f"The scores of all {formatting.plural(data.n_scores, 'target')}"
        if data.n_scores == 1:
            which = "The score of the only target"
        if not self.share_searched() >= 1.0:
            total = (self.facts.get("database") or {}).get("n_sequences", data.n_scores)
            which = f"The scores of the first {formatting.count(data.n_scores)} of {formatting.plural(total, 'target')}"
        strand = ", each on its better strand" if self.shows_strands and data.n_scores > 1 else ""
        least = self.thresholds["report"]
        line = " Drag the line, or double-click to type a score." if math.isfinite(least) else ""
        if len(data.counts) and data.edges[-1] < least < math.inf:
            line = f" Hits need a score of {formatting.count(math.ceil(least))} or more."
        return f"{which}{strand}. {self.statistics_source()}{line}".strip()

    def statistics_words(self) -> str:
        """Return the source of unusual statistics; empty for the tables of BLAST, the default."""
        source = self.statistics_source()
        return "" if DEFAULT_SOURCE in source else source

    def statistics_source(self) -> str:
        """Return the source of the statistics, or why there are none."""
        if self.shows_all:
            kinds = {str(card.get("statistics_words", "")) for card in self.cards}
            return kinds.pop() if len(kinds) == 1 else ""
        return str(self.card.get("statistics_words", ""))

    # --- sentences ---

    def summary(self) -> str:
        n_all = self.hits.n_all
        if self.is_pairs:
            return f"{formatting.plural(n_all, 'pair')} aligned · {self._scope()}"
        limit = self.spec.top if self.spec else 0
        top = " (the requested maximum)" if not self.shows_all and n_all >= limit > 0 else ""
        return f"{formatting.plural(n_all, 'hit')}{self._of_which()}{top} · {self._scope()}"

    def _all_done(self, finished: JobResult) -> str:
        if self.is_pairs:
            return super()._all_done(finished)
        queries = formatting.plural(finished["n_queries"], "query", "queries")
        against = f"against {formatting.plural(finished['n_sequences'], 'sequence')}"
        searched = against if self._of_which() else f"{queries} {against}"
        return f"{searched} · {super()._all_done(finished)}"

    def _done_so_far(self, verb: str = "compared") -> str:
        is_known = isinstance(self.histogram, PairHistogram)
        return super()._done_so_far(verb) if is_known else f"so far{self._on_device()}"

    def wider_words(self) -> str:
        """Return how many scores overflowed narrow integers; empty if none did."""
        finished = self.facts.get("finished") or {}
        parts = [
            f"{formatting.plural(finished[name], 'sequence')} recomputed in {n_bits} bits"
            for name, n_bits in (("n_in_16_bits", 16), ("n_in_32_bits", 32))
            if finished.get(name)
        ]
        return ", ".join(parts)

    def empty_words(self) -> tuple[str, str]:
        spec = self.spec
        if not self.is_complete or spec is None:
            return super().empty_words()
        limits = [f"E ≤ {formatting.limit(spec.evalue)}"] if self.card.get("statistics") else []
        limits += [f"a score of {spec.score} or more"] if spec.score is not None else []
        heading = f"No hits at {' and '.join(limits)}" if limits else "No hits"
        searched = formatting.plural((self.facts.get("finished") or {}).get("n_sequences", 0), "sequence")
        if self.shows_all:
            queries = formatting.plural(len(self.cards), "query", "queries")
            return heading, f"None of {queries} has a hit among {searched}."
        best = self._best()
        if not best:
            return heading, f"None of {searched} has a score."
        text = f"The best of {searched} was {best['name']} with "
        if best.get("evalue") is None:
            return heading, f"{text}a score of {formatting.count(best['raw'])}."
        return heading, f"{text}E = {formatting.evalue(best['evalue'])} ({formatting.score(best['score'])} bits)."

    def wider_evalue(self) -> float:
        """Return a higher E-value limit: ten times as high, or high enough for the best target of the query."""
        usual = 10 * self.facts["spec"]["evalue"]
        best = None if self.shows_all else (self._best() or {}).get("evalue")
        return max(usual, 10.0 ** math.ceil(math.log10(best))) if best else float(usual)

    def hit_line(self, hit: Hit) -> str:
        return pair_line(self.card, hit)

    def database_words(self) -> str:
        """Return the size of the database for E-values: residues, for one query without the edges."""
        report = self.facts.get("database") or {}
        unit = formatting.unit(str(report.get("alphabet", "amino")))
        size = formatting.plural(report.get("n_residues", 0), unit)
        statistics = None if self.shows_all else self.card.get("statistics")
        if not statistics or not statistics["length_adjustment"]:
            return size
        less = statistics["length_adjustment"]
        counted = round(statistics["search_space"] / (statistics["query_length"] - less))
        return f"{size}; {formatting.count(counted)} count, without {formatting.count(less)} at the end of each"

    def scoring_rows(self) -> list[tuple[str, str]]:
        scoring, spec = self.facts.get("scoring"), self.spec
        if not scoring or spec is None:
            return []
        first, following = scoring["gap_first"], scoring["gap_next"]
        gaps = f"{first} for the first residue, {following} for each further one ({scoring['gaps_source']})"
        rows = [
            (
                "Matrix",
                scoring["matrix"] + (f" ({scoring['source']})" if scoring["source"] != scoring["matrix"] else ""),
            ),
            ("Gap costs", "" if scoring["mode"] == "ungapped" else gaps),
            ("Alignments", MODES[scoring["mode"]]),
            ("Strands", " and ".join(self.facts.get("strands") or ()) if self.is_nucleic else ""),
            ("Statistics", self.statistics_source()),
            ("Recomputed", self.wider_words()),
        ]
        return [(name, value) for name, value in rows if value]

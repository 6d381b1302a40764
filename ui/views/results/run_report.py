"""The inputs and messages of a run: input report, messages, versions, command."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Signal

from clalign.common.amounts import rate_of_finished

from ... import formatting, theme
from ...models.results.run_view import STATE_WORDS, RunView
from ...models.results.scripts import as_command
from ..widgets.facts import facts_grid
from ..widgets.file_report import report_parts
from ..widgets.parts import button, clear_layout, label, notice_row, row, stacked
from ..widgets.profile_facts import profile_parts
from ..widgets.sheet import Sheet


class ReportSheet(Sheet):
    """The report of a run, which follows it."""

    copy_requested = Signal(str)

    def __init__(self, run: RunView) -> None:
        super().__init__("Report", 720)
        self._run = run
        self._shown: object = None
        self.box = stacked(spacing=6)
        self.body.addLayout(self.box)
        self.foot.addLayout(row(None, button("Close", self.close_sheet)))
        run.facts_changed.connect(self.show_run)
        self.show_run()

    def show_run(self) -> None:
        """Show what is new of the run."""
        run = self._run
        if not run.cards or self._shown == (run.facts, run.profile):
            return
        self._shown = (run.facts, run.profile)
        clear_layout(self.box)
        self._add_run(run)
        if "consensus" in run.card and not run.shows_all:
            self._heading(f"Profile {run.card['name']}")
            for part in profile_parts(run.card):
                self.box.addWidget(part)
        self._add_messages(run)
        self._add_command(run)
        for heading, name in (("Queries", "queries"), ("Sequences", "database")):
            if name in run.facts and (name == "database" or run.facts[name]):
                self._heading(heading)
                for part in report_parts(run.facts[name] or {}):
                    self.box.addWidget(part)
        self._heading("Versions")
        self.box.addWidget(facts_grid(sorted((run.facts.get("versions") or {}).items())))
        self.resized.emit()

    def _heading(self, text: str) -> None:
        self.box.addSpacing(10)
        self.box.addWidget(label(text, "heading"))

    def _add_run(self, run: RunView) -> None:
        facts, card = run.facts, run.card
        device = facts.get("device") or {}
        of = run.cards[card["first"]] if card.get("round") else card
        query = f"{of['name']} {of['accession']} {of['description']}".strip()
        if run.shows_all or not run.looks_for_hits:
            query = ""
        rows = [
            ("Direction", run.way_words()),
            (run.nouns, formatting.count(len(run.cards)) if run.shows_all else ""),
            ("Query" if card.get("round") else run.noun, query),
            ("Round", str(card.get("round") or "") if query else ""),
            ("State", STATE_WORDS.get(run.state, run.state)),
            ("Begun", f"{datetime.fromtimestamp(facts.get('created') or 0):%Y-%m-%d %H:%M:%S}"),
            ("Device", device.get("name", "")),
            ("Driver", device.get("driver", "")),
            ("Database size for E-values", "" if run.has_no_statistics else run.database_words()),
            *(
                (text, "" if run.shows_all or not card.get(name) else f"{formatting.score(card[name])} bits")
                for text, name in (("Reported from", "report_score"), ("Significant from", "include_score"))
            ),
        ]
        done = facts.get("finished")
        if done:
            rows.append(("Work", formatting.cells(done["cells"])))
            rows.append(("Time", formatting.run_time(done)))
            rows.append(("Rate", f"{formatting.rate(rate_of_finished(done))}, waiting included"))
        rows += [*run.scoring_rows(), ("Run file", str(run.path))]
        self.box.addWidget(label("Run", "heading"))
        self.box.addWidget(facts_grid([(name, value) for name, value in rows if value]))

    def _add_messages(self, run: RunView) -> None:
        self._heading("Messages")
        messages = run.facts.get("messages") or []
        for _, kind, text in messages:
            self.box.addWidget(
                notice_row("stop" if kind == "error" else "caution", formatting.in_window(text, run.engine))
            )
        error = run.facts.get("error")
        if error:
            text = formatting.in_window(f"{error['message']} {error['hint']}".strip(), run.engine)
            self.box.addWidget(notice_row("stop", text))
        checks = run.facts.get("verifications") or []
        for _, device, checked, differing, details in checks:
            verdict = "all equal" if not differing else f"{formatting.count(differing)} differ. {' '.join(details[:3])}"
            text = f"Checked {formatting.plural(checked, 'hit')} on {device}: {verdict}."
            self.box.addWidget(notice_row("stop" if differing else "good", text))
        if not messages and not error and not checks:
            self.box.addWidget(label("Nothing out of the ordinary.", "muted"))

    def _add_command(self, run: RunView) -> None:
        if run.spec is None:
            return
        self._heading("Command")
        shown = label(as_command(run.spec), wrap=True, selectable=True)
        shown.setFont(theme.mono_font())
        self.box.addWidget(shown)
        ask = self.copy_requested.emit
        command = button("Copy as command", lambda: ask("hits.copy_command"))
        self.box.addLayout(row(command, button("Copy as Python", lambda: ask("hits.copy_python")), None))

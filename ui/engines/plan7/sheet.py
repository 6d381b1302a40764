"""The sheets for a search with profiles, and for one with sequences, and the form of their options."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import ClassVar

from PySide6.QtWidgets import QComboBox

from clalign.engines.plan7 import ENGINE
from clalign.engines.plan7.estimate import estimate
from clalign.engines.plan7.spec import PRESET_FIELDS, PRESETS, REPLACED, USUAL_IN_ROUNDS, SearchSpec, replaced_by
from clalign.execution.speed import Estimate
from clalign.values.documents import Card
from clalign.values.specs import REPORT, Spec

from ... import formatting
from ...models.workspace import Notice, Source, SourceKind, Workspace, reason_not_to_start
from ...views.widgets.choices import NarrowBox
from ...views.widgets.option_form import OptionForm, Options
from ...views.widgets.parts import allow_entry, button, fill_box, notice_row
from ...views.widgets.queries_sheet import QueriesSheet
from ...views.widgets.spec_sheet import SpecSheet, source_words
from .notices import has_hmmer3, notices, reason_not_to_run, sequence_notices

CUSTOM = "own"
"""Entry in place of a preset when the filter options match none."""

LOOSER = {
    "inclusion_evalue": ("evalue", operator.gt), "inclusion_score": ("score", operator.lt),
    "inclusion_domain_evalue": ("domain_evalue", operator.gt), "inclusion_domain_score": ("domain_score", operator.lt),
}  # fmt: skip
"""Thresholds of significance with those of what is reported, and when they are looser than these."""

FOUND = "sequences (in a scan: profiles)"


class SearchForm(OptionForm):
    """The options, with presets of the filters.

    Parameters
    ----------
    direction : str
        Of the search, on which it depends which options there are.
    """

    beside: ClassVar[Mapping[str, str]] = {"cutoff": "evalue"}

    def __init__(self, direction: str = "search") -> None:
        super().__init__(SearchSpec, FOUND, {"direction": direction})
        self._unset_filters = {name: field.default for name, field in self._fields.items() if name in PRESET_FIELDS}
        self._has_hmmer3 = False
        self.usual = dict(USUAL_IN_ROUNDS) if direction == "rounds" else {}
        self.set_values(self.usual)
        self.presets = self._preset_box()
        self.presets.activated.connect(lambda: self._take_preset(self.presets.currentData()))
        self.changed.connect(self._show_replaced)
        self.changed.connect(self._show_preset)
        self.changed.connect(self._show_contradictions)
        self._show_contradictions()

    def _preset_box(self) -> QComboBox:
        made, place = NarrowBox(), self.first.grid.rowCount()
        self._preset_words = self.first.add(place, "Thoroughness", made)
        self.setTabOrder(self.editors["evalue"], made)
        fill_box(made, [(key, text) for key, (text, _) in PRESETS.items()])
        made.setToolTip(
            "Fast has stricter filters and may miss distant members; Max computes everything for every sequence, which"
            " is slow\n--max --F1 --F2"
        )
        return made

    def _take_preset(self, key: str) -> None:
        for name, value in {**self._unset_filters, **PRESETS[key][1]}.items():
            self._put(name, value)

    def _show_preset(self) -> None:
        """Show which preset matches the filter options."""
        values = self.values()[0]
        now = {name: values[name] for name in self._unset_filters}
        same = (key for key, (_, changes) in PRESETS.items() if {**self._unset_filters, **changes} == now)
        preset, place = next(same, CUSTOM), self.presets.findData(CUSTOM)
        if preset == CUSTOM and place < 0:  # listed only while it applies
            self.presets.addItem("As set under Filters", CUSTOM)
        elif preset != CUSTOM and place >= 0:
            self.presets.removeItem(place)
        self.presets.setCurrentIndex(self.presets.findData(preset))

    def _replaced(self) -> dict[str, str]:
        """Return the options that others override, each with the one that takes its place."""
        return replaced_by([name for name in REPLACED if name in self._fields and self._is_set(name)])

    def _show_replaced(self) -> None:
        """Disable options that others override."""
        replaced = self._replaced() if self._has_hmmer3 else {}
        for name in self._fields:
            other = replaced.get(name)
            self._allow(name, f"Has no effect: {REPLACED[other][1]}." if other else "")

    def _show_contradictions(self) -> None:
        """Say where more would be significant than is reported."""
        values = {name: value for name, value in self.values()[0].items() if name not in self._replaced()}
        for significant, (reported, is_looser) in LOOSER.items():
            one, other = values.get(significant), values.get(reported)
            words = ""
            if isinstance(one, float) and isinstance(other, float) and is_looser(one, other):
                limit = f"“{self._fields[reported].metadata['label']}” {formatting.limit(other)}"
                words = f"Looser than {limit}: everything that is reported is significant."
            self._hint(significant, words)

    def offer_presets(self, has_hmmer3: bool) -> None:
        """Enable the presets if there are filters."""
        self._has_hmmer3 = has_hmmer3
        if not has_hmmer3 and self.presets.currentData() != "default":  # of an earlier search
            self._take_preset("default")
        self._show_replaced()
        for widget in (self.presets, self._preset_words):
            widget.setVisible(has_hmmer3)

    def offer_cutoffs(self, cutoffs: dict[str, float], is_one: bool = True) -> None:
        """Enable the cutoffs that every profile has, with their scores if there is one profile."""
        choice = self._choice("cutoff")
        for place, (key, text) in enumerate(self._fields["cutoff"].metadata["choices"].items()):
            usable = key == "none" or key in cutoffs
            score = formatting.with_minus(f" {cutoffs[key]:g} bits)") if key in cutoffs and is_one else text[-1:]
            choice.setItemText(place, f"{text[:-1]}{score}")
            allow_entry(choice, place, "" if usable else "The profile does not have this cutoff.")
        if choice.currentData() != "none" and choice.currentData() not in cutoffs:
            choice.setCurrentIndex(0)


DIRECTIONS = (("search", "sequences for each profile (search)"), ("scan", "profiles for each sequence (scan)"))


class RunSheet(SpecSheet):
    """A search with profiles."""

    form: SearchForm

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self.profiles, self.sequences, self.direction = (NarrowBox() for _ in range(3))
        fill_box(self.direction, DIRECTIONS, str(options.get("direction", "search")))
        has_filters = has_hmmer3(workspace.profiles)
        options = {name: value for name, value in options.items() if has_filters or name not in PRESET_FIELDS}
        texts = ("Search", "Run search")
        form = SearchForm()
        reporting = form.groups[REPORT]
        reporting.add(reporting.grid.rowCount(), "Look for", self.direction)
        self.direction.activated.connect(lambda: self.show_spec())
        super().__init__(workspace, form, options, texts, "Start the search (Ctrl+R)")

    def _files(self) -> dict[str, tuple[str, QComboBox]]:
        return {"profiles": ("Profile", self.profiles), "sequences": ("Sequences", self.sequences)}

    def show_workspace(self) -> None:
        """List files and devices, and the cutoffs and presets that apply."""
        space = self.workspace
        cards = space.profiles.cards if space.profiles else []
        self.form.offer_cutoffs(_common_cutoffs(cards), len(cards) == 1)
        self.form.offer_presets(has_hmmer3(space.profiles))
        super().show_workspace()

    def _filled_spec(self, values: Options) -> Spec | None:
        space = self.workspace
        if not space.profiles or not space.sequences:
            return None
        given = {"profiles": space.profiles.path, "targets": space.sequences.path, "device": space.device_id,
                 "direction": self.direction.currentData(), "alphabet": space.sequences.alphabet}  # fmt: skip
        return ENGINE.spec_of({**given, **values})

    def _input_notices(self) -> list[Notice]:
        return notices(self.workspace.profiles, self.workspace.sequences, self.workspace.known_device)

    def _obstacle(self) -> str:
        return reason_not_to_run(self.workspace)

    def _show_option_notices(self, values: Options) -> None:
        cutoffs = _common_cutoffs(self.workspace.profiles.cards if self.workspace.profiles else [])
        if values.get("cutoff") == "none" and "ga" in cutoffs:
            n = len(self.workspace.profiles.cards) if self.workspace.profiles else 1
            gathering = formatting.signed(f"{cutoffs['ga']:g}")
            text = f"This profile has a gathering cutoff (GA {gathering} bits), chosen by its curators."
            if n > 1:
                text = f"All {formatting.count(n)} profiles have gathering cutoffs (GA), chosen by their curators."
            use = button("Use it" if n == 1 else "Use them", lambda: self.form.set_values({"cutoff": "ga"}))
            self._notices.addWidget(notice_row("note", text, use))

    def _estimate(self) -> Estimate | None:
        space = self.workspace
        if not space.profiles or not space.sequences or not space.sequences.report:
            return None
        if not isinstance(self.spec, SearchSpec):
            return None
        models = [(card["origin"], card["length"]) for card in space.profiles.cards]
        cells = float(sum(length for _, length in models)) * space.sequences.report["n_residues"]
        return estimate(models, cells, self.spec, [space.device])


class SequencesSheet(QueriesSheet):
    """A search with sequences, of each of which a profile is made, once or in rounds."""

    form: SearchForm

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self._direction = str(options["direction"])
        form, has_rounds = SearchForm(self._direction), self._direction == "rounds"
        form.offer_presets(True)
        texts = ("Search in rounds" if has_rounds else "Search with sequences", "Run search")
        super().__init__(workspace, form, options, texts, "Start the search (Ctrl+R)")

    @property
    def query(self) -> Source | None:
        """The file of the queries; rounds may begin with profiles."""
        found = self.workspace.sources.get(self.workspace.queries_path)
        is_profile = found is not None and found.kind == "profiles" and self._direction == "rounds"
        return found if is_profile else super().query

    def fill_files(self, box: QComboBox, kind: SourceKind, path: str, missing: str = "") -> None:
        """List the open files, below those of sequences for rounds those of profiles."""
        super().fill_files(box, kind, path, missing)
        if box is self.queries and self._direction == "rounds":
            for source in self.workspace.of_kind("profiles"):
                box.addItem(source_words(source), source.path)
            box.setCurrentIndex(max(0, box.findData(path)))

    def _filled_spec(self, values: Options) -> Spec | None:
        space, query = self.workspace, self.query
        if not query or not space.sequences:
            return None
        given = {"profiles": query.path, "targets": space.sequences.path, "device": space.device_id,
                 "direction": self._direction, "alphabet": space.sequences.alphabet}  # fmt: skip
        return ENGINE.spec_of({**given, **values})

    def _input_notices(self) -> list[Notice]:
        return sequence_notices(self.query, self.workspace.sequences, self.workspace.known_device)

    def _obstacle(self) -> str:
        files = self.query, self.workspace.sequences
        return reason_not_to_start(files, "Choose queries and targets first.", self._input_notices())

    def _estimate(self) -> Estimate | None:
        queries, targets = self.query, self.workspace.sequences
        if not queries or not targets or not targets.report or not isinstance(self.spec, SearchSpec):
            return None
        models = [(str(card["origin"]), int(card["length"])) for card in queries.cards]
        if queries.report and not models:
            n, n_residues = int(queries.report["n_sequences"]), int(queries.report["n_residues"])
            is_one = queries.is_alignment and self._direction == "rounds"
            models = [("hmmer3", n_residues // max(1, n))] * (1 if is_one else n)
        if not models:
            return None
        cells = float(sum(length for _, length in models)) * targets.report["n_residues"]
        return estimate(models, cells, self.spec, [self.workspace.device])


def _common_cutoffs(cards: list[Card]) -> dict[str, float]:
    """Return the cutoffs that all profiles have, with the scores of the first profile."""
    found = {}
    for name in ("ga", "tc", "nc"):
        pairs = [pair for card in cards if (pair := (card.get("cutoffs") or {}).get(name))]
        if pairs and len(pairs) == len(cards):
            found[name] = float(pairs[0][0])
    return found

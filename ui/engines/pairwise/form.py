"""The form for the options of `PairwiseSpec`."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QComboBox, QFileDialog, QWidget

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.formats.matrices import matrix_names

from ...views.option_form import Choices, Field, OptionForm
from ...views.parts import button, row

FIRST = ("matrix", "mode", "evalue", "top")
"""Options shown at once; the others are behind More options."""

LEFT_OUT = ("alphabet", "query_format", "sequence_format")
"""Options that belong to the opened files."""

FILES = {"matrix": "Open a matrix", "pair_list": "Open a list of pairs"}
"""Options that may be files, and the headings of the dialogs that ask for one."""

PLACEHOLDERS = {
    "match": "as the matrix has it", "mismatch": "as the matrix has it", "gap_first": "customary for the matrix",
    "gap_next": "customary for the matrix", "score": "no limit", "pair_list": "no list: all queries with all targets",
}  # fmt: skip

MODE_WORDS = (
    ("local", "local: the best parts of both"),
    ("global", "global: all of both"),
    ("semiglobal", "semiglobal: overhanging ends cost nothing"),
    ("ungapped", "ungapped: the best parts without gaps"),
)

CHOICES: Choices = {
    "matrix": ((None, "usual"),),
    "mode": MODE_WORDS,
    "strand": (
        ("auto", "both in a search, plus for pairs"), ("both", "both"), ("plus", "plus"), ("minus", "minus"),
    ),
    "statistics": (
        ("auto", "published ones, or else fitted to the run"),
        ("published", "published ones only"),
        ("fitted", "fitted to the run"),
    ),
    "composition": (("off", "does not count"), ("scale", "scales lambda of each pair")),
}  # fmt: skip

USUAL = {False: "usual for proteins: BLOSUM62", True: "usual for DNA and RNA: +2 / −3"}


def option_fields() -> list[Field]:
    """Return the fields of `PairwiseSpec` that the form has."""
    return [f for f in dataclasses.fields(PairwiseSpec) if "flag" in f.metadata and f.name not in LEFT_OUT]


class PairForm(OptionForm):
    """The options with the matrices that fit the sequences."""

    ABOVE_ZERO = ("evalue",)

    def __init__(self) -> None:
        super().__init__(option_fields(), FIRST, CHOICES, "targets")
        self._is_nucleic: bool | None = None
        self.changed.connect(self._show_unused)
        self.offer_matrices(False)

    def _placeholder(self, field: Field) -> str:
        return PLACEHOLDERS.get(field.name, "")

    def _with_more(self, field: Field, editor: QWidget) -> QWidget:
        if field.name not in FILES:
            return editor
        made = QWidget()
        box = row(editor, button("Open…", partial(self._ask_file, field.name), tip=FILES[field.name]))
        box.setStretch(0, 1)
        made.setLayout(box)
        return made

    def _ask_file(self, name: str) -> None:
        path, _ = QFileDialog.getOpenFileName(self, FILES[name])
        if path:
            self._put(name, path)

    def _put(self, name: str, value: Any) -> None:
        if name == "matrix" and value is not None:
            self._offer_matrix(value)
        super()._put(name, value)

    def _offer_matrix(self, name: str) -> None:
        choice = self._editors["matrix"]
        assert isinstance(choice, QComboBox)
        if choice.findData(name) < 0:
            choice.addItem(Path(name).name, name)

    def _show_unused(self) -> None:
        """Let only be chosen what has a meaning beside the other options."""
        mode = self._editors["mode"]
        is_ungapped = isinstance(mode, QComboBox) and mode.currentData() == "ungapped"
        is_listed, is_in_step = self._is_given("pair_list"), self._is_given("in_step")
        has_match = self._is_given("match") and self._is_given("mismatch")
        is_fitted = isinstance(how := self._editors["statistics"], QComboBox) and how.currentData() == "fitted"
        no_composition = "Composition counts for proteins only." if self._is_nucleic else ""
        no_composition = "Fitted statistics hold it already." if is_fitted else no_composition
        reasons = {
            "strand": "" if self._is_nucleic else "Proteins have one strand.",
            "matrix": "Match and mismatch are given." if has_match else "",
            "in_step": "The pairs are those of the list." if is_listed else "",
            "pair_list": "The pairs are in step." if is_in_step and not is_listed else "",
            **dict.fromkeys(("gap_first", "gap_next"), "There are no gaps." if is_ungapped else ""),
            **dict.fromkeys(
                ("top", "evalue", "score", "statistics"),
                "All given pairs are reported, without E-values." if is_listed or is_in_step else "",
            ),
            "composition": "Given pairs have no E-values." if is_listed or is_in_step else no_composition,
        }
        for name, reason in reasons.items():
            self._allow(name, reason)

    def offer_matrices(self, is_nucleic: bool) -> None:
        """Offer the matrices for proteins or for nucleic acids."""
        if is_nucleic == self._is_nucleic:
            return
        self._is_nucleic = is_nucleic
        choice = self._editors["matrix"]
        assert isinstance(choice, QComboBox)
        chosen = choice.currentData()
        entries = [choice.itemData(place) for place in range(choice.count())]
        names = {name for kind in (False, True) for name in matrix_names(kind)}
        choice.blockSignals(True)
        choice.clear()
        choice.addItem(USUAL[is_nucleic], None)
        for name in matrix_names(is_nucleic):
            choice.addItem(name, name)
        for path in (entry for entry in entries if entry and entry not in names):
            self._offer_matrix(path)
        choice.setCurrentIndex(max(0, choice.findData(chosen)))
        choice.blockSignals(False)
        self._show_unused()

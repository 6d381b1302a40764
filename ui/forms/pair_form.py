"""The form for the options of `PairwiseSpec`."""

from __future__ import annotations

import dataclasses
from typing import Any

from PySide6.QtWidgets import QComboBox

from clalign.formats.matrices import matrix_names
from clalign.pairwise_specs import PairwiseSpec

from .option_form import Choices, Field, OptionForm

FIRST = ("matrix", "mode", "evalue", "top")
"""Options shown at once; the others are behind More options."""

LEFT_OUT = ("alphabet", "query_format", "sequence_format", "pair_list")
"""Options that belong to the opened files, and the list that only the command line takes."""

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
}  # fmt: skip

USUAL = {False: "usual for proteins: BLOSUM62", True: "usual for DNA and RNA: match 2, mismatch −3"}


def option_fields() -> list[Field]:
    """Return the fields of `PairwiseSpec` that the form has."""
    return [f for f in dataclasses.fields(PairwiseSpec) if "flag" in f.metadata and f.name not in LEFT_OUT]


class PairForm(OptionForm):
    """The options with the matrices that fit the sequences."""

    ABOVE_ZERO = ("evalue",)

    def __init__(self) -> None:
        super().__init__(option_fields(), FIRST, CHOICES, "targets")
        self._is_nucleic: bool | None = None
        self.offer_matrices(False)

    def _placeholder(self, field: Field) -> str:
        return {"score": "no limit"}.get(field.name, "as the matrix has it")

    def values(self) -> tuple[dict[str, Any], str]:
        """Return the options by name; proteins have no strand to choose."""
        values, problem = super().values()
        return ({**values, "strand": "auto"} if not self._is_nucleic else values), problem

    def offer_matrices(self, is_nucleic: bool) -> None:
        """Offer the matrices for proteins or for nucleic acids."""
        if is_nucleic == self._is_nucleic:
            return
        self._is_nucleic = is_nucleic
        choice = self._editors["matrix"]
        assert isinstance(choice, QComboBox)
        chosen = choice.currentData()
        choice.blockSignals(True)
        choice.clear()
        choice.addItem(USUAL[is_nucleic], None)
        for name in matrix_names(is_nucleic):
            choice.addItem(name, name)
        choice.setCurrentIndex(max(0, choice.findData(chosen)))
        choice.blockSignals(False)
        strand = self._editors["strand"]
        strand.setEnabled(is_nucleic)
        strand.setToolTip("Strands of the queries" if is_nucleic else "Proteins have one strand.")

"""The form for the options of `PairwiseSpec`."""

from __future__ import annotations

from pathlib import Path

from clalign.engines.pairwise.spec import ALL_REPORTED, OF_SEARCHES, PairwiseSpec
from clalign.formats.matrices import matrix_names

from ...views.widgets.option_form import OptionForm

DEFAULT_MATRIX = {False: "usual for proteins: BLOSUM62", True: "usual for DNA and RNA: +2 / −3"}


class PairForm(OptionForm):
    """The options, with the matrices that fit the sequences."""

    def __init__(self) -> None:
        super().__init__(PairwiseSpec, "targets")
        self._is_nucleic: bool | None = None
        self.changed.connect(self._show_unused)
        self.offer_matrices(False)

    def _put(self, name: str, value: object) -> None:
        if name == "matrix" and value is not None:
            self._offer_matrix(str(value))
        super()._put(name, value)

    def _offer_matrix(self, name: str) -> None:
        choice = self._choice("matrix")
        if choice.findData(name) < 0:
            choice.addItem(Path(name).name, name)

    def _show_unused(self) -> None:
        """Disable options that the others make meaningless."""
        is_ungapped = self._choice("mode").currentData() == "ungapped"
        is_listed, is_in_step = self._is_set("pair_list"), self._is_set("in_step")
        is_pairs = is_listed or is_in_step or self._is_set("long")
        has_match = self._is_set("match") and self._is_set("mismatch")
        is_fitted = self._choice("statistics").currentData() == "fitted"
        no_composition = "Composition is for proteins only." if self._is_nucleic else ""
        no_composition = "Fitted statistics include it." if is_fitted else no_composition
        reasons = {
            "strand": "" if self._is_nucleic else "Proteins have one strand.",
            "matrix": "Match and mismatch are given." if has_match else "",
            "in_step": "The list defines the pairs." if is_listed else "",
            "pair_list": "Sequences are paired in order." if is_in_step and not is_listed else "",
            **dict.fromkeys(("gap_first", "gap_next"), "There are no gaps." if is_ungapped else ""),
            **dict.fromkeys(OF_SEARCHES, ALL_REPORTED if is_pairs else ""),
            "composition": "Chosen pairs have no E-values." if is_pairs else no_composition,
        }
        for name, reason in reasons.items():
            self._allow(name, reason)

    def offer_matrices(self, is_nucleic: bool) -> None:
        """Offer the matrices for proteins or for nucleic acids."""
        if is_nucleic == self._is_nucleic:
            return
        self._is_nucleic = is_nucleic
        choice = self._choice("matrix")
        chosen = choice.currentData()
        entries = [choice.itemData(place) for place in range(choice.count())]
        names = {name for kind in (False, True) for name in matrix_names(kind)}
        choice.blockSignals(True)
        choice.clear()
        choice.addItem(DEFAULT_MATRIX[is_nucleic], None)
        for name in matrix_names(is_nucleic):
            choice.addItem(name, name)
        for path in (entry for entry in entries if entry and entry not in names):
            self._offer_matrix(path)
        choice.setCurrentIndex(max(0, choice.findData(chosen)))
        choice.blockSignals(False)
        self._show_unused()

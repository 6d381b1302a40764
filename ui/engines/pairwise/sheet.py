"""The sheet that compares sequences with sequences, pasted or opened, scored as its form says."""

from __future__ import annotations

from pathlib import Path

from clalign.engines.pairwise.estimate import estimate
from clalign.engines.pairwise.inputs import choose_scoring
from clalign.engines.pairwise.spec import ALL_REPORTED, OF_SEARCHES, PairwiseSpec
from clalign.execution.speed import Estimate
from clalign.formats.matrices import matrix_names

from ...models.workspace import Notice, Workspace
from ...views.widgets.option_form import OptionForm, Options
from ...views.widgets.parts import label
from ...views.widgets.queries_sheet import QueriesSheet
from .notices import alphabet_chosen, compares_bases, pair_notices, reason_not_to_compare

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


def scoring_words(spec: PairwiseSpec, is_nucleic: bool) -> str:
    """Return matrix and gap costs of a spec in words.

    Raises
    ------
    ClalignError
        They cannot be used.
    """
    chosen = choose_scoring(spec, is_nucleic)
    matrix, gaps = chosen.scoring.matrix.name, chosen.scoring.gaps
    if spec.mode == "ungapped":
        return f"{matrix}, no gaps."
    costs = f"a gap costs {gaps.first} for its first residue and {gaps.next} for each further one"
    return f"{matrix}; {costs} ({chosen.gaps_source})."


class PairSheet(QueriesSheet):
    """Every query against every target."""

    form: PairForm
    spec: PairwiseSpec | None

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self.scoring = label("", "muted", wrap=True)
        texts = ("Compare sequences", "Compare")
        super().__init__(workspace, PairForm(), options, texts, "Start the comparison (Ctrl+Shift+R)")
        self.form.box.insertWidget(1, self.scoring)

    def show_workspace(self) -> None:
        """List files and devices, and the matrices that fit."""
        self.form.offer_matrices(self._is_nucleic)
        super().show_workspace()

    @property
    def _is_nucleic(self) -> bool:
        return compares_bases(self.workspace.queries, self.workspace.sequences)

    def _filled_spec(self, values: Options) -> PairwiseSpec | None:
        space = self.workspace
        queries, targets = (source.path if source else "" for source in (space.queries, space.sequences))
        alphabet = alphabet_chosen(space.queries, space.sequences)
        given = {"queries": queries, "targets": targets, "device": space.device_id, "alphabet": alphabet}
        spec = PairwiseSpec.from_dict({**given, **values})
        self.scoring.setText(scoring_words(spec, self._is_nucleic))
        return spec if queries and targets else None

    def show_spec(self) -> None:
        self.scoring.setText("")
        super().show_spec()

    def _input_notices(self) -> list[Notice]:
        return pair_notices(self.workspace.queries, self.workspace.sequences, self.workspace.known_device)

    def _obstacle(self) -> str:
        return reason_not_to_compare(self.workspace)

    def _estimate(self) -> Estimate | None:
        space = self.workspace
        queries, targets = space.queries, space.sequences
        if not queries or not targets or not queries.report or not targets.report:
            return None
        strands = 2 if self._is_nucleic and self.spec and self.spec.strand in ("auto", "both") else 1
        cells = strands * float(queries.report["n_residues"]) * targets.report["n_residues"]
        n, n_residues = queries.report["n_sequences"], queries.report["n_residues"]
        return estimate(n, n_residues, cells, [space.device])

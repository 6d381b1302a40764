"""The sheet that compares sequences with sequences: pasted or opened, scored as chosen."""

from __future__ import annotations

from clalign.engines.pairwise.estimate import estimate
from clalign.engines.pairwise.inputs import choose_scoring
from clalign.engines.pairwise.spec import PairwiseSpec

from ...models.workspace import Notice, Workspace
from ...views.widgets.option_form import Options
from ...views.widgets.parts import label
from ...views.widgets.queries_sheet import QueriesSheet
from ...views.widgets.spec_sheet import estimate_words
from .form import PairForm
from .notices import alphabet_chosen, compares_bases, pair_notices, reason_not_to_compare


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

    def _estimate(self) -> str:
        space = self.workspace
        queries, targets = space.queries, space.sequences
        if not queries or not targets or not queries.report or not targets.report:
            return ""
        strands = 2 if self._is_nucleic and self.spec and self.spec.strand in ("auto", "both") else 1
        cells = strands * float(queries.report["n_residues"]) * targets.report["n_residues"]
        n, n_residues = queries.report["n_sequences"], queries.report["n_residues"]
        return estimate_words(estimate(n, n_residues, cells, [space.device]))

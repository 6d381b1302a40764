"""Guide trees of alignments: computed by a worker, shown beside the rows, exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from shiboken6 import isValid

from clalign.formats.newick import write_newick
from clalign.formats.writers import whole_file
from clalign.values.documents import JobResult
from clalign.values.trees import Tree

from .. import formatting
from ..models.alignment.tree_layout import KINDS, TreeLayout
from .alignment_controller import AlignmentController
from .app_context import AppContext, Controller
from .picture_files import export_picture_file

if TYPE_CHECKING:
    from clalign.values.row_alignments import RowAlignment

    from ..views.alignment.rows_page import RowsPanel

FILES = {"Newick (*.nwk)": ".nwk", "Distances, tab-separated (*.tsv)": ".tsv", "Distances for PHYLIP (*.phy)": ".phy"}
"""File types of an exported tree, and their endings."""


class TreeController(Controller):
    """Computes trees and shows them."""

    def __init__(self, app: AppContext, alignments: AlignmentController) -> None:
        super().__init__(app)
        self._alignments = alignments

    def show(self, kind: str = "kimura", matrix: str = "") -> None:
        """Join neighbors by distances of a kind; with `matrix` only write the distances there."""
        panel, page = self._alignments.panel, self._app.page
        if panel is None:
            return
        kinds = tuple(KINDS) if page is not None and page.rows_run and page.has_all_pairs else ("kimura", "p")
        if kind not in kinds:  # a step of the annealing came into view since they were offered
            self._app.notify("note", "Only the finished alignment has distances by posteriors: go to its last step.")
            _choose_again(panel)
            return
        alignment, step = panel.view.alignment, page.step_words if page is not None else ""

        def start(path: str) -> None:
            if isValid(panel):
                job = {"job": "tree", "alignment": path, "kind": kind, "matrix": matrix or None}
                what = "Distances" if matrix else "Tree"
                self._app.queue.submit(
                    f"{what} of {self._alignments.stem}", job, problem=lambda _: _choose_again(panel),
                    answer=lambda value: self._take(value, panel, alignment, step, kinds),
                )  # fmt: skip

        self._alignments.with_file(start)

    def _take(
        self, value: JobResult, panel: RowsPanel, alignment: RowAlignment, step: str, kinds: tuple[str, ...]
    ) -> None:
        """Show a tree, unless another step of its alignment came into view, or tell where distances are."""
        if value["matrix"]:
            self._app.notify("good", f"Distances written to {formatting.short_path(value['matrix'])}.")
        elif isValid(panel) and panel.view.alignment is not alignment:
            self._app.notify("note", "The tree is not shown: another step of the alignment came into view.")
        elif isValid(panel):
            tree = Tree(
                tuple(value["names"]), np.array(value["parents"], np.int32), np.array(value["lengths"], np.float64)
            )
            self._show(panel, TreeLayout.of(tree, value["kind"], step), kinds)

    def _show(self, panel: RowsPanel, layout: TreeLayout, kinds: tuple[str, ...]) -> None:
        from ..views.alignment.tree_view import TreePane

        pane = TreePane(layout, kinds)
        pane.kind_requested.connect(self.show)
        pane.export_requested.connect(lambda: self._ask_file(panel))
        pane.picture_requested.connect(lambda: self.export_picture(panel))
        panel.panes.show_tree(pane)

    def _ask_file(self, panel: RowsPanel) -> None:
        path, chosen = self._app.ask_target("Export tree as", f"{self._alignments.stem}.nwk", ";;".join(FILES))
        if path:
            known = Path(path).suffix.lower() in FILES.values()
            self.export(panel, path if known else f"{path}{FILES.get(chosen, '.nwk')}")

    def export(self, panel: RowsPanel, path: str) -> None:
        """Write the tree or its distances, as the ending of the file name says."""
        pane = panel.panes.tree
        if pane is None:
            return
        layout = pane.canvas.tree
        if Path(path).suffix.lower() != ".nwk":
            self.show(layout.kind, path)
            return

        def write() -> None:
            with whole_file(path) as stream:
                write_newick(layout.tree, stream)

        self._app.write_file(path, "Tree (Newick)", write, self._app.files)

    def export_picture(self, panel: RowsPanel) -> None:
        """Open the sheet for a picture of the tree."""
        from ..views.alignment.tree_painter import TreePicture

        pane = panel.panes.tree
        if pane is not None:
            layout, node, stem = pane.canvas.tree, pane.canvas.node, self._alignments.stem
            title = f"{stem} – {layout.summary()}"
            export_picture_file(self._app, f"{stem}-tree", lambda: TreePicture(layout, title, node))


def _choose_again(panel: RowsPanel) -> None:
    """Restore the choice of the distances of the tree in view after a failure."""
    if isValid(panel) and panel.panes.tree is not None:
        panel.panes.tree.choose_kind()

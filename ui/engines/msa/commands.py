"""What the window can do with statistical alignments of many sequences."""

from __future__ import annotations

from ...desk.alignment_controller import AlignmentController
from ...desk.app_context import AppContext
from ...desk.commands import Command, no_rows


def no_columns(app: AppContext) -> str:
    """Return why no columns can be aligned anew."""
    controller = app.findChild(AlignmentController)
    panel = controller.panel if controller is not None else None
    if panel is None:
        return no_rows(app)
    return "" if panel.view.selection is not None else "Select columns first: drag over the ruler, or over cells."


COMMANDS = (
    Command("align.run", "Align sequences…", "Run", "Ctrl+Shift+A", "format-align-justify",
            tip="Opens the sheet that aligns the chosen sequences; starts when it is open", before="stop_job"),
    Command("align.changes.ask_file", "Add sequences…", "Alignment", "", "playlist-plus", no_rows,
            "Aligns the sequences of a file with the alignment in view, whose columns stay as they are",
            before="trees.show"),
    Command("align.changes.realign", "Realign the selected columns", "Alignment", "", "format-align-justify",
            no_columns, "Aligns the residues of the selected columns anew; everything else stays as it is",
            before="trees.show"),
    Command("labs.open:pair_hmm_ladder", "Ladder of FSA's pair HMM", "Laboratory", "", "stairs",
            tip="Forward, Backward and Baum-Welch of a pair in every published way on your device, and compared",
            before="labs.open:comparison"),
)  # fmt: skip

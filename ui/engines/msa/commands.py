"""Commands for statistical alignments of many sequences."""

from __future__ import annotations

from functools import partial

from ...services.alignment_controller import AlignmentController
from ...services.app_context import AppContext
from ...services.commands import Command, no_rows, no_tab


def no_columns(app: AppContext) -> str:
    """Return why no columns can be realigned."""
    panel = AlignmentController.of(app).panel
    if panel is None:
        return no_rows(app)
    return "" if panel.view.selection is not None else "Select columns first: drag over the ruler, or over cells."


def no_aligned_run(app: AppContext) -> str:
    """Return why the run of an alignment is not available."""
    if app.page is None or not app.page.rows_panel:
        return "Open the run of an alignment first."
    return "" if app.page.run.is_complete else "This run is not complete."


COMMANDS = (
    Command("show_tab:pairs", "Pairs of sequences", "View", "", "grid",
            partial(no_tab, name="pairs", reason="Only alignments of many sequences have them."),
            before="show_report"),
    Command("align.run", "Align sequences…", "Run", "Ctrl+Shift+A", "format-align-justify",
            tip="Opens the sheet that aligns the chosen sequences; starts when it is open", before="stop_job",
            words="multiple alignment msa fsa"),
    Command("align.changes.add_from_file", "Add sequences…", "Alignment", "", "playlist-plus", no_rows,
            "Aligns the sequences of a file with the alignment in view, without changing its columns",
            before="trees.show"),
    Command("align.changes.realign", "Realign the selected columns", "Alignment", "", "format-align-justify",
            no_columns, "Realigns the residues of the selected columns; everything else is unchanged",
            before="trees.show"),
    Command("align.save_movie", "Save the annealing as an animation…", "Alignment", "", "movie-open-outline",
            no_aligned_run, "Animated PNG, or a picture for each of some 60 steps", separator=True,
            before="devices.focus_devices"),
    Command("align.verify", "Verify a sample of the pairs", "Alignment", "", "shield-check-outline", no_aligned_run,
            "Compares up to 50 pairs of the run again on the reference, and its alignment with its merges",
            before="devices.focus_devices"),
    Command("labs.open:pair_hmm_ladder", "Ladder of FSA's pair HMM", "Devices", "", "stairs",
            tip="Forward, Backward and Baum-Welch of a pair in every published way on your device, and compared",
            before="labs.open:comparison"),
)  # fmt: skip

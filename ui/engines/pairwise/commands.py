"""Commands for pairs of sequences."""

from __future__ import annotations

from ...services.app_context import AppContext
from ...services.commands import Command, Elsewhere, no_hit


def no_sequences(app: AppContext) -> str:
    """Return why there are no sequences to search with."""
    chosen = app.workspace.sequences
    return "" if chosen is not None and chosen.state == "ready" else "Open a sequence file first."


def no_pair(app: AppContext) -> str:
    """Return why there is no alignment of two sequences to save."""
    engine = app.page.run.engine if app.page is not None else None
    if engine is None or engine.name != "pairwise":
        return Elsewhere("Only alignments of two sequences.")
    return no_hit(app)


COMMANDS = (
    Command("pairs.save_alignment", "Save alignment of the two sequences as a picture…", "File", "", "export-variant",
            no_pair, before="close_page"),
    Command("pairs.save_dots", "Save dot plot of the two sequences as a picture…", "File", "", "export-variant",
            no_pair, before="close_page"),
    Command("pairs.run", "Compare sequences (Smith-Waterman)…", "Run", "Ctrl+Shift+R", "compare-horizontal",
            tip="Every query against every target, exactly; starts the comparison when its sheet is open",
            before="stop_job"),
    Command("pairs.search_with_chosen", "Search with the chosen sequences…", "", "", "magnify-scan", no_sequences,
            "Compares the chosen sequences with others", before="stop_job"),
    Command("labs.open:smith_waterman_ladder", "Ladder of Smith-Waterman", "Devices", "", "stairs",
            tip="Many pairs, aligned on one core and in every published way on your device",
            before="labs.open:comparison"),
)  # fmt: skip

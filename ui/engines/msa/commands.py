"""What the window can do with statistical alignments of many sequences."""

from __future__ import annotations

from ...desk.commands import Command

COMMANDS = (
    Command("align.run", "Align sequences…", "Run", "Ctrl+Shift+A", "format-align-justify",
            tip="Opens the sheet that aligns the chosen sequences; starts when it is open", before="stop_job"),
    Command("labs.open:pair_hmm_ladder", "Ladder of FSA's pair HMM", "Laboratory", "", "stairs",
            tip="Forward, Backward and Baum-Welch of a pair in every published way on your device, and compared",
            before="labs.open:comparison"),
)  # fmt: skip

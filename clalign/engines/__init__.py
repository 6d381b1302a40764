"""What can be run: each engine in a folder of its own."""

COMMANDS = {
    **dict.fromkeys(("hmmsearch", "hmmscan", "phmmer", "jackhmmer"), "plan7"), "sw": "pairwise", "align": "msa",
}  # fmt: skip
"""The sub-commands of the engines that clalign comes with, and those: known before any of them is loaded."""

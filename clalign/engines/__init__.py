"""What can be run: each engine in a folder of its own."""

COMMANDS = {"hmmsearch": "plan7", "hmmscan": "plan7", "phmmer": "plan7", "sw": "pairwise", "align": "msa"}
"""The sub-commands of the engines that clalign comes with, and those: known before any of them is loaded."""

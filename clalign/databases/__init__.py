"""Sequence databases and profile libraries: loading them, and the memory-mapped cache."""

"""Texts, tables and alignments of a run of profiles."""

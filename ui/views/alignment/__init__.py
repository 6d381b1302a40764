"""Alignments of two or many rows, and trees beside them."""

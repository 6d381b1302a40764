"""Comparisons of sequences: their form, table, dot plots and ladder."""

"""Searches with profiles of HMMER2."""

"""Searches with profiles of HMMER3."""

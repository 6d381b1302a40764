"""Stages of HMMER3 profiles."""

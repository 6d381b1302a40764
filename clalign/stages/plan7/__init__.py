"""Stages of HMMER2 profiles."""

"""Stages of pairs of sequences."""

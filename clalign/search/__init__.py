"""Pipelines of stages: profile search, verification."""

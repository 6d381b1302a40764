"""Stages of statistical multiple alignment."""

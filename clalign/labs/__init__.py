"""Laboratories: published experiments, run again on a user's device."""

"""Widgets. A view shows a model and computes nothing."""

"""Widgets. A view shows what a model says and computes nothing."""

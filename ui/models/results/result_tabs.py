"""The tabs of results, which the menu lists before there are any results."""

from __future__ import annotations

TABS = {"hits": "Hits", "families": "Families", "aligned": "Aligned", "plots": "Plots", "query": "Query"}
"""The tabs of all results, and their titles."""

PARTS = {
    "families": {"overview": "Heat map", "domains": "Architectures"},
    "plots": {"histogram": "Histogram", "pictures": "Pictures"},
}
"""The parts of tabs with several, and their titles."""

FOR_SEVERAL_QUERIES = ("families",)
"""Tabs for runs with several queries, of which they show all."""

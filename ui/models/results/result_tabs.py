"""The tabs of results, which the menu lists before there are any results."""

from __future__ import annotations

TABS = {
    "hits": "Hits", "histogram": "Histogram", "pictures": "Pictures", "alignment": "Alignment",
    "aligned": "All aligned", "overview": "Overview", "domains": "Domains", "report": "Report",
}  # fmt: skip
"""The tabs of all results, and their titles."""

FOR_SEVERAL_QUERIES = ("overview", "domains")
"""Tabs for runs with several queries."""

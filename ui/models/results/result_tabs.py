"""The tabs of results, which the menu lists before there are any."""

from __future__ import annotations

TABS = {
    "hits": "Hits", "histogram": "Histogram", "pictures": "Pictures", "alignment": "Alignment",
    "aligned": "All aligned", "overview": "Overview", "domains": "Domains", "report": "Report",
}  # fmt: skip
"""The parts that all results have, and what stands on their tabs."""

FOR_SEVERAL_QUERIES = ("overview", "domains")
"""Those that make sense where there are several queries."""

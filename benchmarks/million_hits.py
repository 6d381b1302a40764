"""Time that the hits table needs to sort, filter and page a million hits. Prints one JSON object.

python benchmarks/million_hits.py

Seconds are those of the processor: SQLite computes in one thread and hardly waits. What the pages of the window do with
such a run is measured by window_stalls.py.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from clalign.runs.pages import HitQuery
from clalign.runs.run_file import create_run
from clalign.ui.models.results.hit_filter import parse_filter
from clalign.ui.models.results.hit_pages import HitPages

QUERIES: dict[str, dict[str, Any]] = {
    "original order": {},
    "by E-value": {"sort": "evalue"},
    "by length, descending": {"sort": "length", "descending": True},
    "by name": {"sort": "name"},
    'E<0.5 len>200 "kinase"': {"conditions": parse_filter('E<0.5 len>200 "kinase"').conditions},
    "threshold": {"least_score": 100.0},
}

CARD = {
    "name": "made up", "accession": "", "description": "", "length": 60, "alphabet": "amino", "origin": "hmmer2",
    "consensus": "", "reference": None, "structure": None, "facts": {}, "cutoffs": {}, "calibration": None,
}  # fmt: skip


def write_run(path: Path, n_hits: int) -> None:
    """Make a run file with so many hits."""
    with create_run(path, engine="plan7", spec={}) as run:
        run.set_cards([CARD])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
        " INSERT INTO targets SELECT i, printf('sp|A%07d|SEQ_%07d', i, (i * 7919) % 1000003), '',"
        " CASE i % 50 WHEN 0 THEN 'protein kinase' ELSE 'another protein' END, 50 + (i * 31) % 2000 FROM n",
        (n_hits,),
    )
    connection.execute(
        "INSERT INTO hits SELECT row + 1, 0, row, row, ((row * 104729) % 1000003) / 4000.0, 0.1, row * 1e-6, row, 1,"
        " 10.0, row * 1e-6, '', ((row * 104729) % 1000003) / 4000.0, NULL, NULL, 1 FROM targets"
    )
    connection.commit()
    connection.close()


def seconds(path: Path, query: dict[str, Any]) -> float:
    """Return the processor's seconds from a query to the rows in the middle of its answer."""
    began = time.process_time()
    pages = HitPages(HitQuery(path, 0, **query))
    pages.rows(pages.n_rows // 2, 50)
    took = time.process_time() - began
    pages.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hits", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hits.clalign"
        write_run(path, options.hits)
        took = {
            name: round(statistics.median(seconds(path, query) for _ in range(options.repeats)), 3)
            for name, query in QUERIES.items()
        }
    system = {"system": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}
    text = json.dumps({**system, "hits": options.hits, "seconds": took}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()

"""Time from starting the program to a painted window, and to the first hit of the bundled example.

Needs a display, a virtual one for instance. Every start is a fresh process; the first is reported apart,
because the system then reads the program from disk. In a window two runs follow each other, twice: the button that
starts them is clicked as soon as their sheet is open, or a second later, as by a person who reads it; told are the
seconds from the click to the first hit that the worker tells of, to its last word, and to the hits in the table.
Prints one JSON object.

    xvfb-run -a python benchmarks/start_up.py --repeats 5
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "resources" / "examples"

EXAMPLE = [str(EXAMPLES / name) for name in ("rrm_1_hmmer3.hmm", "swissprot_sample.fasta.gz")]

WINDOW = """
import sys, time
from PySide6.QtCore import QTimer
from clalign.ui.shell.app import make_application, open_window
from clalign.ui.worker_process import default_worker
from clalign.ui.settings import Settings

app = make_application(sys.argv[:1])
window = open_window(Settings(), default_worker(), [])

def painted():
    handle = window.windowHandle()
    if handle is not None and handle.isExposed():
        print(time.time(), flush=True)
        app.quit()

window.shown.connect(lambda: QTimer.singleShot(0, painted))
app.exec()
"""

RUNS = """
import json, sys, time
from pathlib import Path
from clalign.ui.settings import Settings
from clalign.ui.shell.app import make_application, open_window
from clalign.ui.worker_process import default_worker

app, folder, wait = make_application(sys.argv[:1]), Path(sys.argv[1]), float(sys.argv[2])
window = open_window(Settings(folder / "settings", folder / "data"), default_worker(), sys.argv[3:])
controller = window.controller

def until(is_so):
    end = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < end
        app.processEvents()

def timed():
    marks, before = {}, controller.page
    def mark(name):
        marks.setdefault(name, round(time.perf_counter() - began, 3))
    def heard(item, value):
        if value.get("n_hits"):
            mark("first_hit")
    def ended(item):
        assert item.state == "done", item.line()
        mark("end")
    controller.queue.partial_received.connect(heard)
    controller.queue.job_ended.connect(ended)
    began = time.perf_counter()
    controller.search.sheet.run_button.click()
    until(lambda: "end" in marks and controller.page is not before and controller.page.run.hits.n_all)
    mark("in_the_table")
    until(lambda: controller.page.run.is_complete and not controller.page.run.hits.is_busy)
    controller.queue.partial_received.disconnect(heard)
    controller.queue.job_ended.disconnect(ended)
    marks.setdefault("first_hit", marks["end"])
    return marks

def rest(seconds):
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end)

found = []
until(lambda: controller.workspace.devices_known and controller.search.sheet is not None)
until(lambda: controller.search.sheet.run_button.isEnabled() and controller.inspector.is_idle)
for number in range(2):
    if number:
        rest(2.0)
        controller.search.open_sheet()
        until(lambda: controller.search.sheet.run_button.isEnabled())
    rest(wait)
    found.append(timed())
print(json.dumps(found), flush=True)
window.leaving.asks = False
window.close()
"""


def window_runs(environment: dict[str, str], wait: float) -> list[dict[str, float]]:
    """Return when a first and a second run of a window told of its first hit, its end, and its hits, in seconds.

    Parameters
    ----------
    environment : dict of str to str
    wait : float
        So many seconds the sheet is open before its button is clicked.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", RUNS, folder, str(wait), *EXAMPLE]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def medians(found: list[list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the median of each figure of the first and the second runs of some windows."""
    runs = {name: [pair[number] for pair in found] for number, name in enumerate(("first_run", "second_run"))}
    return {
        name: {mark: round(statistics.median(run[mark] for run in taken), 3) for mark in taken[0]}
        for name, taken in runs.items()
    }


def window_seconds(environment: dict[str, str]) -> float:
    """Return the seconds until the window has been shown and the event loop runs."""
    began = time.time()
    done = subprocess.run([sys.executable, "-c", WINDOW], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0]) - began


def search_seconds(environment: dict[str, str]) -> float:
    """Return the seconds of a whole search of the bundled example on the command line."""
    files = [str(EXAMPLES / name) for name in ("rrm_1.hmm", "swissprot_sample.fasta.gz")]
    command = [sys.executable, "-m", "clalign", "hmmsearch", "--progress", "none", "-o", os.devnull, *files]
    began = time.time()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    return time.time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    options = parser.parse_args()
    result: dict[str, object] = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "CLALIGN_CACHE_DIR": f"{home}/cache", "CLALIGN_CONFIG": f"{home}/config"}
        for name, measure in (("window", window_seconds), ("search", search_seconds)):
            seconds = [measure(environment) for _ in range(options.repeats + 1)]
            result[f"{name}_first_seconds"] = round(seconds[0], 3)
            result[f"{name}_seconds"] = round(statistics.median(seconds[1:]), 3)
        for name, wait in (("clicked_at_once", 0.0), ("clicked_after_a_second", 1.0)):
            result[name] = medians([window_runs(environment, wait) for _ in range(options.repeats)])
    text = json.dumps(result, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()

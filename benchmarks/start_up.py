"""Time from starting the program to a painted window, and to the first hit of the bundled example.

Needs a display, a virtual one for instance. Every start is a fresh process; the first is reported apart,
because the system then reads the program from disk. Prints one JSON object.

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


def window_seconds(environment: dict[str, str]) -> float:
    """Return the seconds until the window has been shown and the event loop runs."""
    began = time.time()
    done = subprocess.run([sys.executable, "-c", WINDOW], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0]) - began


def search_seconds(environment: dict[str, str]) -> float:
    """Return the seconds of a whole search of the bundled example on the command line."""
    examples = Path(__file__).parent.parent / "resources" / "examples"
    files = [str(examples / name) for name in ("rrm_1.hmm", "swissprot_sample.fasta.gz")]
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
    text = json.dumps(result, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()

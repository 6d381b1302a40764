"""How a target, a score and a click go through the program: files entered, and distinct calls from file to file.

A search of one target with a HMMER3 profile, a comparison with one, each in its worker, and the choice of a hit in the
window. Few files and moves make a program that can be read in one go; see `--moves` for what they are.
Prints one JSON object.

    python benchmarks/walks.py --device reference
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "resources" / "examples"

WATCH = """
import json, os, sys, threading

OURS, OUT, WHO = (os.environ.get(f"CLALIGN_WALK_{name}", "") for name in ("OURS", "OUT", "WHO"))
OURS = tuple(OURS.split(os.pathsep))
files, moves = set(), set()

def ours(frame):
    while frame is not None and not frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return frame

def watch(frame, event, _):
    if event != "call" or not frame.f_code.co_filename.startswith(OURS) or frame.f_code.co_name == "<module>":
        return
    code, caller = frame.f_code, ours(frame.f_back)
    files.add(code.co_filename)
    if caller is not None and caller.f_code.co_name != "<module>" and caller.f_code.co_filename != code.co_filename:
        moves.add((caller.f_code.co_filename, code.co_filename, code.co_name))

def begin():
    threading.setprofile(watch)
    sys.setprofile(watch)

def end():
    sys.setprofile(None)
    threading.setprofile(None)
    with open(OUT, "w") as out:
        json.dump({"files": sorted(files), "moves": sorted(moves)}, out)

if OUT and WHO in sys.orig_argv:
    leave = os._exit
    os._exit = lambda code: (end(), leave(code))
    begin()
"""

CLICK = """
import sys, time
from pathlib import Path
import sitecustomize
from PySide6.QtWidgets import QApplication
from clalign.ui.settings import Settings
from clalign.ui.shell import app as shell
from clalign.ui.shell.app import make_application, open_window
from clalign.ui.worker_process import default_worker

shell.WARM_MS = 1_000_000  # what is loaded ahead, sooner or later, is no part of a click
app, folder = make_application(sys.argv[:1]), Path(sys.argv[1])
window = open_window(Settings(folder / "settings", folder / "data"), default_worker(), [str(folder / "run.clalign")])

def until(is_so):
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        app.processEvents()

controller = window.controller
until(lambda: controller.page is not None and controller.page.run.hits.n_shown)
until(lambda: not controller.page.run.hits.is_busy and not controller.page.run.is_due)
sitecustomize.begin()
controller.page.hits.table.choose_row(0)
until(lambda: controller.page.run.hit is not None)
for _ in range(50):
    app.processEvents()
sitecustomize.end()
window.close()
"""


def walk(folder: Path, who: str, command: list[str]) -> dict[str, Any]:
    """Run a command, and return the files and moves of the process of it that has a word on its command line."""
    out = folder / "walk.json"
    environment = {
        "QT_QPA_PLATFORM": "offscreen",
        **os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        "CLALIGN_WALK_OURS": os.pathsep.join(str(ROOT / name) + os.sep for name in ("clalign", "ui")),
        "CLALIGN_WALK_OUT": str(out), "CLALIGN_WALK_WHO": who,
    }  # fmt: skip
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def counted(found: dict[str, Any], shows_moves: bool) -> dict[str, Any]:
    """Return how many files and moves there are, and the moves with the functions called, where they are asked for."""
    between: dict[str, list[str]] = {}
    for caller, file, name in found["moves"]:
        words = " > ".join(str(Path(path).relative_to(ROOT)) for path in (caller, file))
        between.setdefault(words, []).append(name)
    return {"files": len(found["files"]), "moves": len(between), **({"between": between} if shows_moves else {})}


def main() -> None:
    """Walk, and print what was passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="reference")
    parser.add_argument("--moves", action="store_true", help="show from which file to which, and the functions called")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sitecustomize.py").write_text(WATCH)
        one = folder / "one.fa"
        one.write_text((ROOT / "tests/golden/sequences/built.fa").read_text().split("\n>")[0] + "\n")
        shared = ["-q", "--device", given.device, "-o", os.devnull]
        profile = str(EXAMPLES / "globins4.hmm")
        search = [
            "-m",
            "clalign",
            "hmmsearch",
            *shared,
            "--max",
            "-E",
            "1e9",
            "--run",
            "run.clalign",
            profile,
            str(one),
        ]
        walks = {
            "hmmer3": walk(folder, "worker", search),
            "sw": walk(folder, "worker", ["-m", "clalign", "sw", *shared, str(one), str(one)]),
            "click": walk(folder, "", ["-c", CLICK, str(folder)]),
        }
    print(json.dumps({name: counted(found, given.moves) for name, found in walks.items()}, indent=1))


if __name__ == "__main__":
    main()

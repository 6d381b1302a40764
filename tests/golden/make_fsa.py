"""Makes the answers of FSA 1.15.9 (``apt install fsa``) again: ``python make_fsa.py``.

Posteriors are written by a first run and read by the others, so that what is made of them can be compared alone.
"""

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent / "fsa"

SETS = {"four": [], "kin": ["--noindel2"], "with_empty": []}
"""What the posteriors are made with."""

CHOICES = {
    "default": [],
    "unrefined": ["--refinement", "0"],
    "twice_refined": ["--refinement", "2"],
    "maxsn": ["--maxsn"],
    "gapfactor": ["--gapfactor", "3"],
    "static": ["--nodynamicweights"],
}


def run(name: str, *options: str) -> str:
    command = ["fsa", "--noanchored", "--gui", *SETS[name], *options, f"{name}.fa"]
    return subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True).stdout


def make(name: str) -> None:
    run(name)
    shutil.move(HERE / f"{name}.fa.probs", HERE / "loaded.probs")
    for choice, options in CHOICES.items() if name != "with_empty" else [("default", [])]:
        answer = run(name, "--load-probs", "loaded.probs", "--stockholm", *options)
        (HERE / f"{name}.{choice}.sto").write_text(answer)
        shutil.move(HERE / f"{name}.fa.gui", HERE / f"{name}.{choice}.gui")
        shutil.move(HERE / f"{name}.fa.probs", HERE / f"{name}.probs")
    (HERE / f"{name}.default.afa").write_text(run(name, "--load-probs", "loaded.probs"))
    for left in ("loaded.probs", f"{name}.fa.gui", f"{name}.fa.probs"):
        (HERE / left).unlink()


if __name__ == "__main__":
    for each in SETS:
        make(each)

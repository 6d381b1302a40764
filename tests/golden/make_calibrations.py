"""Make ``calibrations.json`` again: what hmmcalibrate of HMMER 2.3.2 drew and fitted.

``fits`` holds histograms as it printed them, with its fit to each, so that fitting alone can be
compared; those of short sequences have few scores below the fullest bin. ``repeats`` has its fits with
seeds 1 to 10, so that all of it can be compared statistically.
Needs the Debian package hmmer2, whose program is named ``hmm2calibrate``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FITTED = (
    "cytochrom_b_c", "globins_fs", "globins_ls", "katdna_fs", "katdna_g", "katdna_ls", "letters20_ls", "made1_ls",
    "made1_s", "nif3", "rrm_fs", "xyppx_fs",
)  # fmt: skip
FITTED_TO_SHORT = ("globins_fs", "pkinase_fs")
SHORT = ("--mean", "60", "--sd", "10")
REPEATED = ("globins_ls", "katdna_fs", "nif3", "pkinase_fs", "xyppx_fs")
N_SEEDS = 10
PER_PROFILE = 3


def calibrated(profile: str, seed: int, *options: str) -> dict[str, Any]:
    """Run hmmcalibrate on a copy of a profile; ``counts`` is None if the histogram hides outliers."""
    with tempfile.TemporaryDirectory() as folder:
        copy, histogram = Path(folder) / "copy.hmm", Path(folder) / "histogram"
        shutil.copy(HERE / "profiles" / f"{profile}.hmm", copy)
        words = ["hmm2calibrate", "--cpu", "0", "--seed", str(seed), "--histfile", str(histogram), *options, str(copy)]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        bins = re.findall(r"^ *([<>]?) *(-?\d+) +(\d+) +\S+\|", histogram.read_text(), re.MULTILINE)
    values = {name: float(re.search(rf"^{name} *: *(\S+)", text, re.MULTILINE)[1]) for name in ("mu", "lambda")}
    whole = not any(sign for sign, _, _ in bins)
    counts = [int(count) for _, _, count in bins] if whole else None
    return {"profile": profile, "seed": seed, **values, "low": int(bins[0][1]), "counts": counts}


def main() -> None:
    fits = []
    cases = [
        *((profile, PER_PROFILE) for profile in FITTED),
        *((profile, N_SEEDS, *SHORT) for profile in FITTED_TO_SHORT),
    ]
    for profile, n, *options in cases:
        whole = [fit for seed in range(1, N_SEEDS + 1) if (fit := calibrated(profile, seed, *options))["counts"]]
        fits += whole[:n]
    repeats = {}
    for profile in REPEATED:
        found = [calibrated(profile, seed) for seed in range(1, N_SEEDS + 1)]
        repeats[profile] = {name: [fit[name] for fit in found] for name in ("mu", "lambda")}
    lines = ",\n".join(json.dumps(fit) for fit in fits)
    text = f'{{"fits": [\n{lines}\n],\n"repeats": {json.dumps(repeats, indent=1)}}}\n'
    (HERE / "calibrations.json").write_text(text)


if __name__ == "__main__":
    main()

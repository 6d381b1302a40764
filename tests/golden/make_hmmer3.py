"""Makes the stored answers of HMMER 3.3.2: python make_hmmer3.py (needs its programs: apt install hmmer)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / "hmmer3"
EXAMPLES = HERE.parents[1] / "resources" / "examples"

CASES = (
    ("globins4", "odd", ""),
    ("globins4", "odd", "--max"),
    ("globins4", "odd", "--nonull2 --nobias -E 1000"),
    ("globins4", "odd", "--incE 1e-60 --incdomE 1e-28 --domE 1e-10 -E 1e-50"),
    ("globins4", "odd", "-T 180 --domT 150 --incT 209.2 --incdomT 209"),
    ("globins4", "odd", "--seed 7 -Z 1e6 --domZ 500"),
    ("globins4", "built", "--F1 0.5 --F2 0.3 --F3 0.1 -E 1e4"),
    ("globins4", "proteins", "--max -E 1e6 --domE 1e6"),
    ("RRM_1", "proteins", ""),
    ("RRM_1", "proteins", "--cut_ga"),
    ("RRM_1", "proteins", "--cut_nc --nobias"),
    ("RRM_1", "built", "--max"),
    ("RRM_1", "odd", "--max -E 1e6"),
    ("XYPPX", "odd", "-E 1e6 --domE 1e6"),
    ("XYPPX", "proteins", "--max -E 1e6 --domE 1e3"),
    ("3box", "dna", "--max -E 1e6"),
    ("katdna", "kat", "--max -E 1e9 --domE 1e9"),
    ("MADE1", "dna", ""),
    ("MADE1", "dna", "--max -E 1e6"),
)
"""Profile, sequences and options of each search."""


def profile_path(name: str) -> Path:
    """Return the file of a profile."""
    bundled = {"globins4": "globins4.hmm", "RRM_1": "rrm_1_hmmer3.hmm"}
    return EXAMPLES / bundled[name] if name in bundled else FOLDER / "profiles" / f"{name}.hmm"


def sequence_path(name: str) -> Path:
    """Return the file of sequences."""
    own = FOLDER / "sequences" / f"{name}.fa"
    return own if own.exists() else HERE / "sequences" / f"{name}.fa"


def tables_of(
    program: str, words: list[str], first: Path, second: Path
) -> tuple[list[list[str]], list[list[str]], str]:
    """Return the fields of both tables and the text that a search prints."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("hits", "domains")]
        command = [program, "--noali", "--tblout", str(files[0]), "--domtblout", str(files[1]), *words]
        done = subprocess.run([*command, str(first), str(second)], capture_output=True, text=True, check=True)
        tables = [
            [line.split() for line in file.read_text().splitlines() if not line.startswith("#")] for file in files
        ]
    return tables[0], tables[1], done.stdout


def answer(profile: str, sequences: str, options: str) -> dict[str, Any]:
    """Return what a search prints: names, numbers as text, and how many targets pass each filter."""
    hits, domains, text = tables_of("hmmsearch", options.split(), profile_path(profile), sequence_path(sequences))
    return {
        "profile": profile,
        "sequences": sequences,
        "options": options.split(),
        "hits": [[row[0], *row[4:18]] for row in hits],
        "domains": [[row[0], row[9], row[10], row[11], row[12], row[13], row[14], *row[15:22]] for row in domains],
        "passed": [int(number) for number in re.findall(r"Passed \w+ filter: +(\d+)", text)],
    }


def scan() -> dict[str, Any]:
    """Return what hmmscan prints for a library of three profiles."""
    library = ("globins4", "RRM_1", "XYPPX")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.hmm"
        # hmmpress takes no library of several versions of the format.
        converted = [["hmmconvert", str(profile_path(name))] for name in library]
        texts = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for words in converted]
        path.write_text("".join(texts))
        subprocess.run(["hmmpress", str(path)], capture_output=True, check=True)
        hits, domains, _ = tables_of("hmmscan", ["-E", "1000"], path, sequence_path("odd"))
    return {
        "library": library,
        "sequences": "odd",
        "options": ["-E", "1000"],
        "hits": [[row[0], row[2], *row[4:18]] for row in hits],
        "domains": [[row[0], row[3], *row[9:22]] for row in domains],
    }


def main() -> None:
    """Make all answers anew."""
    folder = FOLDER / "answers"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for profile, sequences, options in CASES:
        name = "_".join([profile, "", sequences, *options.replace("-", "").split()])
        (folder / f"{name}.json").write_text(text_of(answer(profile, sequences, options)))
    (FOLDER / "scan.json").write_text(text_of(scan()))


def text_of(stored: dict[str, Any]) -> str:
    """Return an answer as JSON, a row of a table on each line."""
    lines = []
    for key, value in stored.items():
        rows = isinstance(value, list) and value and isinstance(value[0], list)
        shown = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if rows else json.dumps(value)
        lines.append(f' "{key}": {shown}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()

"""Make again what hmmsearch, hmmscan and jackhmmer 3.3.2 write, letter by letter.

``python make_hmmer3_layout.py`` needs the three of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hmmer3_output import alignment_body, table_body, text_body
from make_hmmer3 import profile_path

HERE = Path(__file__).parent
ANSWERS = HERE / "hmmer3_layout"
SEQUENCES = (HERE / "sequences", HERE / "hmmer3" / "sequences")

CASES: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    # name: profiles (of cases of jackhmmer, which begin with rounds, names of records of built.fa), sequences, options
    "globins_built": (("globins4",), "built", ()),
    "globins_weak": (("globins4",), "proteins", ("-E", "100", "--F1", "0.3", "--F2", "0.1", "--F3", "0.01", "--noali")),
    "globins_odd": (("globins4",), "odd", ("--max", "-E", "1000", "--domE", "1e-3", "--notextw")),
    "rrm_built": (("RRM_1",), "built", ("--acc",)),
    "rrm_scores": (("RRM_1",), "built", ("-T", "20", "--domT", "30", "--incT", "40", "--incdomT", "50", "--notextw")),
    "rrm_cutoff": (("RRM_1",), "built", ("--cut_ga", "-Z", "1000", "--domZ", "5", "--noali")),
    "xyppx_proteins": (("XYPPX",), "proteins", ("--max", "-E", "1000", "--seed", "7", "--noali")),
    "xyppx_odd": (("XYPPX",), "odd", ("--incE", "1", "--incdomE", "1", "--textw", "150", "--F3", "1")),
    "made1_dna": (("MADE1",), "dna", ()),
    "rrm_repeated": (("RRM_1",), "repeated", ("--domE", "1e-8")),
    "xyppx_everything": (("XYPPX",), "chloroplast", ("--max", "-E", "1e6", "--domE", "1e6", "--noali")),
    "nothing": (("XYPPX",), "chloroplast", ("--nobias", "-E", "1e-10")),
    "several": (("globins4", "RRM_1", "XYPPX"), "built", ("-E", "1e-3", "--nonull2", "--noali")),
    "scan_built": (("globins4", "RRM_1", "XYPPX"), "built", ()),
    "scan_odd": (("RRM_1", "XYPPX", "globins4"), "odd", ("--domE", "0.1", "--acc", "--F3", "1e-3", "--noali")),
    "rounds_built": (("globin1_cut",), "built", ("-N", "3")),
    "rounds_several": (("globin0_mutated", "rrm2_pair", "random0"), "built", ("--noali", "--incE", "1e-8", "--wgsc")),
    "rounds_one": (("same_twice", "globin3"), "built", ("-N", "1", "--noali", "--notextw", "-E", "0.0001")),
}

PARTS = {
    # ending: flag, how it is reduced to what is compared
    "txt": ("-o", text_body),
    "tbl": ("--tblout", table_body),
    "domtbl": ("--domtblout", table_body),
    "pfam": ("--pfamtblout", table_body),
    "sto": ("-A", alignment_body),
}


def is_scan(name: str) -> bool:
    """Return whether a case is one of hmmscan."""
    return name.startswith("scan")


def program_of(name: str) -> str:
    """Return the program of a case."""
    return "hmmscan" if is_scan(name) else "jackhmmer" if name.startswith("rounds") else "hmmsearch"


def parts_of(name: str) -> dict[str, str]:
    """Return ending and flag of each output of a case; hmmscan writes no alignments, hmmsearch dies of odd ones."""
    without = ("sto",) if is_scan(name) or name.endswith("odd") else ()
    without = ("pfam",) if program_of(name) == "jackhmmer" else without
    return {ending: flag for ending, (flag, _) in PARTS.items() if ending not in without}


def library(profiles: tuple[str, ...], folder: Path) -> Path:
    """Return a file with all profiles of a case."""
    path = folder / "library.hmm"
    path.write_text("".join(profile_path(name).read_text() for name in profiles))
    return path


def queries(names: tuple[str, ...], folder: Path) -> Path:
    """Return a file with sequences of ``built.fa``."""
    records = {record.split()[0]: record for record in sequences_path("built").read_text().split(">")[1:]}
    path = folder / "queries.fa"
    path.write_text("".join(f">{records[name]}" for name in names))
    return path


def of_one_version(path: Path) -> None:
    """Convert a library to the newest version of the format: hmmsearch does not read several in a file."""
    models = path.read_text().split("//\n")[:-1]
    words = ["hmmconvert", "-"]
    texts = [subprocess.run(words, input=f"{m}//\n", check=True, capture_output=True, text=True).stdout for m in models]
    path.write_text("".join(texts))


def sequences_path(name: str) -> Path:
    """Return the file of sequences."""
    return next(path for folder in SEQUENCES if (path := folder / f"{name}.fa").exists())


def main() -> None:
    """Run all cases."""
    for path in ANSWERS.glob("*"):
        path.unlink()
    for name, (profiles, sequences, options) in CASES.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            program = program_of(name)
            path = queries(profiles, folder) if program == "jackhmmer" else library(profiles, folder)
            if program != "jackhmmer":
                of_one_version(path)
            if is_scan(name):
                subprocess.run(["hmmpress", str(path)], check=True, capture_output=True)
            flags = [word for ending, flag in parts_of(name).items() for word in (flag, str(folder / ending))]
            words = [program, "--cpu", "0", *flags, *options, str(path), str(sequences_path(sequences))]
            subprocess.run(words, check=True)
            for ending in parts_of(name):
                body = PARTS[ending][1]((folder / ending).read_text())
                (ANSWERS / f"{name}.{ending}").write_text("".join(f"{line}\n" for line in body))


if __name__ == "__main__":
    main()

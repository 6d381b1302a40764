"""Run files of small comparisons of sequences, computed by the reference."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import clalign
from clalign.runs.run_file import open_run

PAIR = str.maketrans("ACGT", "TGCA")


def letters(generator: random.Random, alphabet: str, length: int) -> str:
    return "".join(generator.choices(alphabet, k=length))


def changed(generator: random.Random, text: str, alphabet: str, share: float) -> str:
    return "".join(generator.choice(alphabet) if generator.random() < share else letter for letter in text)


def write(path: Path, records: dict[str, str]) -> Path:
    path.write_text("".join(f">{name} made up\n{text}\n" for name, text in records.items()))
    return path


def make_runs(folder: Path) -> dict[str, Path]:
    """Compare proteins, both strands of DNA, pairs, and more; the files lie beside the runs."""
    generator = random.Random(7)
    amino, dna = "ARNDCQEGHILKMFPSTWYV", "ACGT"
    one, two, base = letters(generator, amino, 60), letters(generator, amino, 45), letters(generator, dna, 70)
    targets = {f"t{i}": letters(generator, amino, generator.randint(30, 80)) for i in range(24)}
    targets |= {f"like1_{i}": letters(generator, amino, 5) + changed(generator, one, amino, 0.1 * i) for i in range(4)}
    targets |= {f"like2_{i}": changed(generator, two[:20] + two[24:], amino, 0.1 * i) for i in range(3)}
    other = base[::-1].translate(PAIR)
    strands = {"plus": "ACCA" + base + "GG", "minus": "TTGT" + other + "C", "both": base + "AACCAC" + other[5:]}
    strands |= {f"r{i}": letters(generator, dna, 60) for i in range(5)}
    queries = write(folder / "queries.fasta", {"one": one, "two": two})
    database = write(folder / "targets.fasta", targets)
    files = {
        "proteins": (queries, database, {}),
        "dna": (write(folder / "dna.fasta", {"base": base}), write(folder / "strands.fasta", strands), {}),
        "single": (folder / "dna.fasta", write(folder / "single.fasta", {"both": strands["both"]}), {}),
        "empty": (queries, database, {"evalue": 1e-200}),
        "pairs": (queries, database, {"in_step": True, "mode": "global"}),
        "few": (queries, database, {"top": 2}),
        "scores": (queries, database, {"mode": "global", "top": 5}),
    }
    made = {}
    (folder / "pairs.fasta").write_text(f">a\n{one[:50]}\n>b\n{two}\n")
    files["pairs"] = (queries, folder / "pairs.fasta", {"in_step": True, "mode": "global"})
    for name, (query, target, options) in files.items():
        made[name] = folder / f"{name}.clalign"
        clalign.sw(query, target, made[name], device="reference", **options).close()
    return made


def hits_of(path: Path, number: int = 0) -> tuple[dict[str, Any], list[Any]]:
    """Return the card and the hits of a query."""
    with open_run(path) as run:
        return run.card(number), list(run.hits(number))

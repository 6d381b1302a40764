"""Accuracy of multiple alignments of proteins: clalign, fsa, MAFFT (L-INS-i) and MUSCLE beside reference alignments.

The data are folders and archives as their authors give them: those of bench1.0 (``in/`` and ``ref/``, core blocks
in upper case), BAliBASE 3 and 4 (``.tfa`` beside ``.xml`` or ``.msf``), and plain reference alignments. Of a
collection with more cells of pair matrices than `--cells` a sample is taken (with a fixed seed), and sets with more
than `--set-cells` are left out; what was taken is in the result. All programs align the same sets, one after the other.
What is done is kept in a file, so a run that was stopped goes on where it was. Prints one JSON object.

    python benchmarks/alignment_accuracy.py /data/msa --output alignment_accuracy.json
    python benchmarks/alignment_accuracy.py /data/msa --programs clalign mafft muscle --cells 1e12 --set-cells 1e12
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clalign.api import align_many
from clalign.databases.sequence_rows import SequenceRow, core_blocks, read_alignment, read_sequences
from clalign.errors import ClalignError, InputError
from clalign.tools.alignment_accuracy import alignment_accuracy
from clalign.values.multiple_alignments import MultipleAlignment

SEED = 13

MEASURES = ("ama", "sensitivity", "ppv", "total_column")

COMMANDS = {
    "fsa": ["fsa", "{input}"],
    "fsa_maxsn": ["fsa", "--maxsn", "{input}"],
    "mafft": ["mafft", "--quiet", "--amino", "--anysymbol", "--localpair", "--maxiterate", "1000", "{input}"],
    "muscle": ["muscle", "-quiet", "-threads", "1", "-align", "{input}", "-output", "/dev/stdout"],
}
"""Other programs, which write an alignment to standard output."""

EVERY = "all collections"

GAP_FACTORS = {"clalign": 1.0, "clalign_maxsn": 0.0}


@dataclass(frozen=True)
class Case:
    """A set of sequences and its reference; they are taken from the reference where there is no other file."""

    collection: str
    name: str
    sequences: Path
    reference: Path

    def rows(self) -> list[SequenceRow]:
        """Return the sequences."""
        return [SequenceRow(row.name, "", row.residues.upper()) for row in read_sequences(str(self.sequences))]

    @property
    def n_cells(self) -> int:
        """Cells of the matrices of all pairs."""
        lengths = [len(row.text) for row in self.rows()]
        return (sum(lengths) ** 2 - sum(length**2 for length in lengths)) // 2


def cases_of(data: Path, unpacked: Path) -> list[Case]:
    """Return the sets of all collections."""
    for archive in sorted(data.rglob("*.tar.gz")):
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
    return [*_bench(unpacked), *_balibase(data), *_plain(data)]


def _bench(folder: Path) -> Iterator[Case]:
    for reference in sorted(folder.glob("*/ref/*.afa")):
        collection = reference.parent.parent
        yield Case(
            f"bench1.0 {collection.name}", reference.stem, collection / "in" / f"{reference.stem}.fasta", reference
        )


def _balibase(data: Path) -> Iterator[Case]:
    for sequences in sorted(data.glob("balibase*/**/*.tfa")):
        marked, plain = (sequences.with_name(f"{sequences.stem}.{ending}.gz") for ending in ("xml", "msf"))
        reference = marked if marked.exists() else plain
        if reference.exists():
            kind = sequences.stem.rstrip("0123456789")
            yield Case(f"{sequences.parent.name} {kind}", sequences.stem, sequences, reference)


def _plain(data: Path) -> Iterator[Case]:
    for pattern in ("balibase_RV9/*.afa", "sabmark*/*.fasta", "fsa_examples/RV12*.reference.mfa", "tcoffee/*_ref.aln"):
        for reference in sorted(data.glob(pattern)):
            yield Case(reference.parent.name, reference.stem, reference, reference)


def chosen(cases: list[Case], most_cells: float, most_set_cells: float) -> tuple[list[Case], dict[str, Any]]:
    """Return the sets that are aligned, and by collection how many there are, were too large, and were taken.

    The sets of a collection stand in a random order, and those of several take turns: so what is done when a run
    is stopped is a random part of each.
    """
    taken: list[tuple[int, Case]] = []
    facts = {}
    for collection in dict.fromkeys(case.collection for case in cases):
        own = [(case, case.n_cells) for case in cases if case.collection == collection]
        random.Random(SEED).shuffle(own)
        left, place = most_cells, 0
        for case, n in own:
            if n <= min(left, most_set_cells):
                taken.append((place, case))
                left, place = left - n, place + 1
        too_large = sorted(case.name for case, n in own if n > most_set_cells)
        facts[collection] = {"sets": len(own), "too_large": too_large, "sampled": place}
    return [case for _, case in sorted(taken, key=lambda each: each[0])], facts


def own_alignment(path: Path, gap_factor: float) -> list[bytes]:
    """Return the rows that clalign aligns, in the order of the input."""
    with align_many(path, device="cpu", gap_factor=gap_factor, alphabet="amino") as found:
        return [row.text.encode() for row in found.alignment()]


def others_alignment(words: list[str], path: Path, seconds: float) -> list[bytes]:
    """Return the rows that another program aligns, in the order of the input."""
    command = [word.format(input=path) for word in words]
    text = subprocess.run(command, check=True, capture_output=True, timeout=seconds).stdout
    written = path.with_suffix(".afa")
    written.write_bytes(text)
    rows = {row.name: row.text for row in read_alignment(str(written))}
    return [rows[row.name] for row in read_sequences(str(path))]


def scores(case: Case, found: list[bytes]) -> dict[str, Any]:
    """Return the accuracy of aligned rows over all columns, and over core blocks where there are some."""
    wanted = read_sequences(str(case.reference)) if case.reference == case.sequences else None
    if wanted is None:
        wanted = read_alignment(str(case.reference))
        rows = {row.name: text for row, text in zip(case.rows(), found, strict=True)}
        wanted = [row for row in wanted if row.name in rows]
        found = [rows[row.name] for row in wanted]
    if [row.residues.upper() for row in wanted] != [row.translate(None, b"-.").upper() for row in found]:
        raise ValueError("the residues differ from the reference's")
    alignments = [MultipleAlignment.from_rows(each) for each in (found, [row.text for row in wanted])]
    masks = {"all": None}
    with contextlib.suppress(InputError):
        masks["core"] = core_blocks(str(case.reference), wanted)
    return {
        name: {measure: getattr(alignment_accuracy(*alignments, mask), measure) for measure in MEASURES}
        for name, mask in masks.items()
    }


def run_all(cases: list[Case], programs: list[str], kept: Path, seconds: float, minutes: float) -> list[dict[str, Any]]:
    """Align and score what was not yet, until so many minutes are over; return what is known of sets and programs."""
    end = time.monotonic() + 60 * minutes
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(each["collection"], each["set"], each["program"]) for each in known}
    with tempfile.TemporaryDirectory() as folder, kept.open("a") as out:
        for case in cases:
            if time.monotonic() > end:
                break
            path = Path(folder) / "sequences.fasta"
            rows = case.rows()
            path.write_bytes(b"".join(b">s%d\n%s\n" % (number, row.text) for number, row in enumerate(rows)))
            for program in programs:
                if (case.collection, case.name, program) in done:
                    continue
                result = {"collection": case.collection, "set": case.name, "program": program}
                try:
                    if program in COMMANDS:
                        found = others_alignment(COMMANDS[program], path, seconds)
                    else:
                        found = own_alignment(path, GAP_FACTORS[program])
                    result |= scores(case, found)
                except subprocess.TimeoutExpired:
                    result["failed"] = f"took more than {seconds:g} seconds"
                except subprocess.CalledProcessError as error:
                    result["failed"] = error.stderr.decode(errors="replace")[-200:]
                except (ClalignError, ValueError, KeyError) as error:
                    result["failed"] = f"{type(error).__name__}: {error}"
                known.append(result)
                out.write(json.dumps(result) + "\n")
                out.flush()
    return known


def means(results: list[dict[str, Any]], programs: list[str]) -> dict[str, Any]:
    """Return the means over the sets that all programs aligned, by columns and collection, and over all collections.

    Where a measure is not defined of one program's alignment (no pair is aligned), the set is left out of its means.
    """
    by_set: dict[tuple[str, str], dict[str, Any]] = {}
    for each in results:
        if "failed" not in each:
            by_set.setdefault((each["collection"], each["set"]), {})[each["program"]] = each
    values: dict[tuple[str, str], list[list[list[float]]]] = {}
    for (collection, _), of_programs in sorted(by_set.items()):
        if len(of_programs) < len(programs):
            continue
        for columns in ("all", "core"):
            scored = [of_programs[program].get(columns) for program in programs]
            if scored[0] is not None and (columns == "all" or scored[0] != of_programs[programs[0]]["all"]):
                for name in (collection, EVERY):
                    place = values.setdefault((columns, name), [])
                    place.append([[one[measure] for measure in MEASURES] for one in scored])
    found: dict[str, Any] = {}
    for (columns, collection), numbers in sorted(values.items(), key=lambda each: (each[0][0], each[0][1] == EVERY)):
        table = np.array(numbers, float)
        table = np.where(np.isnan(table).any(axis=1, keepdims=True), np.nan, table)
        is_defined = ~np.isnan(table[:, 0])
        sums = np.nansum(table, axis=0) / np.maximum(1, is_defined.sum(axis=0))
        entry: dict[str, Any] = {
            "sets": len(table),
            "defined": dict(zip(MEASURES, is_defined.sum(axis=0).tolist(), strict=True)),
        }
        for program, row in zip(programs, sums.tolist(), strict=True):
            entry[program] = {
                name: round(value, 4) if n else None
                for name, value, n in zip(MEASURES, row, entry["defined"].values(), strict=True)
            }
        found.setdefault(columns, {})[collection] = entry
    return found


def compared(results: list[dict[str, Any]], one: str, other: str) -> dict[str, Any]:
    """Return on how many sets two programs have the same measures, and how they differ on the others."""
    by_set: dict[tuple[str, str], dict[str, Any]] = {}
    for each in results:
        by_set.setdefault((each["collection"], each["set"]), {})[each["program"]] = each.get("all")
    both = [each for each in by_set.values() if each.get(one) and each.get(other)]
    differences = np.array([[each[one][name] - each[other][name] for name in MEASURES] for each in both])
    is_same = np.all(np.isnan(differences) | (differences == 0), axis=1)
    mean = np.nanmean(differences, axis=0)
    return {
        "sets": len(both), "same": int(is_same.sum()),
        "mean_difference": {name: round(value, 6) for name, value in zip(MEASURES, mean.tolist(), strict=True)},
        "largest_difference": round(float(np.nanmax(np.abs(differences))), 6),
    }  # fmt: skip


def markdown(document: dict[str, Any]) -> str:
    """Return the means as tables, a row for each program of a collection."""
    lines = []
    for columns, of_collections in document["means"].items():
        lines += ["", f"Over {'all columns' if columns == 'all' else 'core blocks'}:", ""]
        lines += ["| sets | program | SP | TC | AMA | PPV |", "|---|---|---|---|---|---|"]
        for collection, entry in of_collections.items():
            for place, program in enumerate(document["versions"]):
                cells = [entry[program][name] for name in ("sensitivity", "total_column", "ama", "ppv")]
                name = f"{collection} ({entry['sets']})" if place == 0 else ""
                numbers = " | ".join("-" if cell is None else f"{cell:.4f}" for cell in cells)
                lines.append(f"| {name} | {program} | {numbers} |")
    return "\n".join(lines[1:]) + "\n"


def version_of(program: str) -> str:
    """Return what a program says of its version."""
    if program in GAP_FACTORS:
        from clalign import __version__

        return __version__
    flag = {"muscle": "-version"}.get(program, "--version")
    done = subprocess.run([COMMANDS[program][0], flag], capture_output=True, text=True, check=False)
    return next(line for line in (done.stdout + done.stderr).splitlines() if re.search(r"\d", line)).strip()


def main() -> None:
    """Align, score, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--programs", nargs="+", default=["clalign", "fsa", "mafft", "muscle"],
                        choices=[*GAP_FACTORS, *COMMANDS])  # fmt: skip
    parser.add_argument("--cells", type=float, default=1.6e9, help="of a collection")
    parser.add_argument("--set-cells", type=float, default=1e8, help="of a set")
    parser.add_argument("--seconds", type=float, default=600.0, help="that a program may take for a set")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no other set is begun")
    parser.add_argument("--kept", type=Path, default=Path("alignment_accuracy.jsonl"), help="what is done")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--markdown", action="store_true", help="print the means as tables")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as unpacked:
        cases, facts = chosen(cases_of(arguments.data, Path(unpacked)), arguments.cells, arguments.set_cells)
        results = run_all(cases, arguments.programs, arguments.kept, arguments.seconds, arguments.minutes)
    names = {(case.collection, case.name) for case in cases}
    results = [each for each in results if (each["collection"], each["set"]) in names]
    document: dict[str, Any] = {
        "versions": {program: version_of(program) for program in arguments.programs},
        "seed": SEED,
        "most_cells": arguments.cells,
        "most_set_cells": arguments.set_cells,
        "collections": facts,
        "failed": [each for each in results if "failed" in each],
        "means": means(results, arguments.programs),
    }
    if {"clalign", "fsa"} <= {*arguments.programs}:
        document["clalign_less_fsa"] = compared(results, "clalign", "fsa")
    text = json.dumps(document, indent=1) + "\n"
    print(markdown(document) if arguments.markdown else text, end="")
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()

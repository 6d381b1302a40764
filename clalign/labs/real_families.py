"""Real families in real sequences: hits and times of HMMER2's algorithm, its program beside (004, chapters 7 and 10).

Eleven of the source's twenty families are bundled, as Pfam has them now; others come from the user's files.
"""

from __future__ import annotations

import gzip
import re
import shutil
import time
from importlib.resources import files
from pathlib import Path

import numpy as np

from clalign.databases.examples import example_file
from clalign.databases.loading import load_database
from clalign.engines.engine import engine_of_command
from clalign.errors import InputError
from clalign.formats.profiles import load_profiles
from clalign.formats.scratch import Scratch
from clalign.jobs import JobContext
from clalign.labs import ladder_data
from clalign.labs.laboratory import DONE
from clalign.labs.ladder import measurable_device
from clalign.labs.ladder_rungs import RUNGS
from clalign.labs.measuring import NOT_REACHED, PartOf, not_run
from clalign.labs.repeating import Found, Request, Table
from clalign.labs.viterbi_ladder import LADDER as VITERBI
from clalign.labs.whole_runs import whole_run
from clalign.system.processes import ask
from clalign.values.profiles import Hmmer2Settings
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_codes

PROGRAM, PEER, PEER_SECONDS = "hmm2search", "HMMER2", 3600.0
"""HMMER2's program, what it is called here, and the limit of its time."""

TIMED_RUNS = 3

SMALL = 2, 30
"""Families and sequences of the smallest size."""


def families_found(request: Request, context: JobContext) -> Found:
    """Search sequences with each family, with HMMER2's program if it is there, and time rungs on the same files."""
    device, peer = measurable_device(request.device), shutil.which(PROGRAM)
    rungs = {row for item in request.items if item.table == "times" for row in item.shown_quantities}
    variants = sorted(rungs & {rung.name for rung in RUNGS})
    tables: dict[str, Table] = {"hits": {}, "times": {}, "nodes": {}, "rates": {}}
    wrong: list[str] = []
    with Scratch() as folder:
        models = _models(request, folder)
        targets = _targets(request, folder)
        database, _ = load_database(targets, context=context)
        lengths = np.diff(database.offsets[:])
        for place, (family, path) in enumerate(models.items()):
            if request.is_over:
                tables["times"][family] = not_run(NOT_REACHED)
                continue
            part = PartOf(context, family, place, 1, len(models))
            nodes = load_profiles(path)[0].length
            part.progress("lab", 0, 1, "families")
            with whole_run("hmmsearch", part, profiles=path, targets=targets, device=device.id) as (run, _):
                names = [hit.name for hit in run.hits()]
            hits = {"hits": len(names), "share": len(names) / len(database)}
            times: dict[str, float] = {}
            if peer:
                times[PEER], found = _of_peer(peer, path, targets)
                hits[f"hits of {PEER}"] = len(found)
                wrong += [f"hits of {family}"] if sorted(found) != sorted(names) else []
            if variants:
                times |= _times(request, path, targets, len(database), variants, part, wrong, family)
            cells = float(lengths.sum()) * nodes
            tables["hits"][family], tables["times"][family] = hits, times
            tables["nodes"][family] = {"nodes": nodes}
            tables["rates"][family] = {name: cells / seconds / 1e9 for name, seconds in times.items() if seconds}
    n_hits = sum(int(row["hits"]) for row in tables["hits"].values())
    n_scored = len(lengths) * len(tables["hits"])
    tables["funnel"] = {"all families": {"scored": n_scored, "traced": n_hits, "share": n_hits / max(1, n_scored)}}
    sizes = {"sequences": len(lengths), "shortest": lengths.min(), "mean": lengths.mean(), "longest": lengths.max()}
    tables["database"] = {name: {"number": float(size)} for name, size in sizes.items()}
    peer_words = f"{PROGRAM} beside" if peer else f"{PROGRAM} is not installed"
    return Found(
        tables, f"{device.name}, {len(models)} families in {len(lengths):,} sequences; {peer_words}.", tuple(wrong)
    )


def funnel_found(request: Request, context: JobContext) -> Found:
    """Return how many sequences pass each step of HMMER3's pipeline with a bundled profile, and how many by chance."""
    device, command = measurable_device(request.device), "hmmsearch"
    profile, stages = example_file("rrm_1_hmmer3.hmm"), engine_of_command(command).parts.stages
    assert stages is not None
    with Scratch() as folder:
        targets = _targets(request, folder)
        context.progress("lab", 0, 1, "searches")
        with whole_run(command, context, profiles=profile, targets=targets, device=device.id) as (run, _):
            rows = {
                one["label"]: {"passed": one["passed"], "by_chance": one["expected"]} for one in stages.get()(run, 0)
            }
    return Found({"rows": rows}, f"{device.name}, {Path(profile).stem} against {Path(targets).name}.")


def _models(request: Request, folder: Path) -> dict[str, str]:
    """Return a file of each family by its name."""
    path = Path(request.hmm or str(files("clalign.resources") / "publications" / "families.hmm.gz"))
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin-1")
    found = {}
    for number, model in enumerate(re.findall(r".*?^//[^\n]*\n?", text, re.DOTALL | re.MULTILINE)):
        place = folder / f"{number}.hmm"
        place.write_text(model, "latin-1")
        hmm = load_profiles(str(place))[0]
        if not isinstance(hmm.settings, Hmmer2Settings):
            raise InputError(str(path), f"{hmm.name} is not a HMMER2 model.", "Convert it: hmmconvert -2.")
        found[hmm.name] = str(place)
    return dict(list(found.items())[: SMALL[0] if request.is_small else None])


def _targets(request: Request, folder: Path) -> str:
    """Return a file of sequences that HMMER2 reads, too, which knows no compression."""
    path = Path(request.db or example_file("swissprot_sample.fasta.gz"))
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b" and not request.is_small:
        return str(path)
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    place = folder / "targets.fasta"
    place.write_bytes(b">".join(data.split(b">")[: SMALL[1] + 1 if request.is_small else None]))
    return str(place)


def _of_peer(peer: str, model: str, targets: str) -> tuple[float, list[str]]:
    """Return the seconds of HMMER2's program on one core, and the names of its hits."""
    began = time.perf_counter()
    text = ask([peer, "--cpu", "1", "-A", "0", model, targets], PEER_SECONDS).stdout
    seconds = time.perf_counter() - began
    listed = re.search(r"^Scores for complete sequences.*?\n-+ .*?\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    lines = listed[1].splitlines() if listed else []
    return seconds, [line.split()[0] for line in lines if line.strip() and "[no hits above" not in line]


def _times(
    request: Request, model: str, targets: str, n: int, variants: list[str], context: JobContext, wrong: list[str],
    family: str,
) -> dict[str, float]:  # fmt: skip
    """Return the whole times of rungs on a family, copies included."""
    options = {
        "device": request.device, "runs": min(request.runs, TIMED_RUNS), "seed": request.seed, "reports": False,
        "hmm": model, "db": targets, "sequences": n, "variants": variants, "ends": request.ends,
    }  # fmt: skip
    document = VITERBI.run(VITERBI.spec.from_dict(options), context)
    wrong += [f"{name} of {family}" for name in VITERBI.wrong(document)]
    return {row["name"]: row["total_seconds"] for row in document["rows"] if row["status"] == DONE and row["equal"]}


def sorting_found(request: Request, context: JobContext) -> Found:
    """Sort sequences by falling length and copy their residues, on the host."""
    rows: Table = {}
    for name in dict.fromkeys(row for item in request.items for row in item.shown_rows):
        context.check()
        n = 100 if request.is_small else int(name.replace(",", ""))
        rng = np.random.default_rng(request.seed)
        lengths = ladder_data.published_lengths(rng, n)
        batch = SequenceBatch.of_lengths(random_codes(rng, int(lengths.sum())), lengths)
        began = time.perf_counter()
        _sorted(batch)
        rows[name] = {"seconds": time.perf_counter() - began}
    return Found({"rows": rows}, "One core of the host.")


def _sorted(batch: SequenceBatch) -> SequenceBatch:
    lengths = np.diff(batch.offsets)
    order = np.argsort(-lengths, kind="stable")
    return SequenceBatch.of_lengths(np.concatenate([batch.residues(row) for row in order]), lengths[order])

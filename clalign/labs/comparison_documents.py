"""Documents of device comparisons: read, checked, put together from several machines."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from clalign.common.plain_data import Json
from clalign.errors import InputError, OptionError
from clalign.formats.small_files import MAX_DOCUMENT_BYTES, read_small_json

Row = Json
Document = Json

HINT = "Give a file that `clalign bench --json` or the window's device comparison has saved."

JOB_KEYS = {
    "nodes": "nodes",
    "n_sequences": "sequences",
    "n_residues": "residues",
    "seed": "seed",
    "operations_per_cell": "operations counted a cell",
    "data_digest": "model and sequences",
}
"""What makes a job, and what it is called."""

NUMBERS = ("gcups", "kernel_seconds", "copy_seconds", "start_seconds", "peak_gops", "share_of_peak")


def read_comparison(path: str) -> Document:
    """Read a comparison; its rows get the name of the file as ``machine``.

    Raises
    ------
    InputError
        If it is not readable, or no comparison.
    """
    try:
        document = read_small_json(Path(path), MAX_DOCUMENT_BYTES)
    except OSError as error:
        raise InputError(path, f"it is not readable ({error.strerror}).", "Check the name.") from None
    except ValueError as error:
        raise InputError(path, f"it is not a JSON file ({error}).", HINT) from None
    problem = _problem(document)
    if problem:
        raise InputError(path, problem, HINT)
    machine = Path(path).stem
    return {**document, "devices": [{**row, "machine": row.get("machine") or machine} for row in document["devices"]]}


def _problem(document: object) -> str:
    """Return the reason why a JSON value is no comparison, or nothing."""
    if not isinstance(document, dict) or document.get("kind") != "comparison":
        return "it is not a device comparison."
    job, rows = document.get("job"), document.get("devices")
    if not isinstance(job, dict) or not isinstance(rows, list) or not rows:
        return "the comparison is not whole: its job or its devices are missing."
    missing = [key for key in (*JOB_KEYS, "cells") if key not in job]
    if missing:
        return f"the comparison is not whole: {', '.join(missing)} of the job is missing."
    strange = [key for key in (*JOB_KEYS, "cells") if key != "data_digest" and not isinstance(job[key], int | float)]
    if strange:
        return f"the comparison is damaged: {', '.join(strange)} of the job is no number."
    for number, row in enumerate(rows, 1):
        if not _is_row(row):
            return f"the comparison is damaged: its device {number} is not one."
    return ""


def _is_row(row: Row) -> bool:
    try:
        names = [row["device"][key] for key in ("id", "name", "kind")]
        numbers = [row[key] for key in NUMBERS if row[key] is not None]
        numbers += [point[key] for point in row["curve"] for key in ("residues", "seconds")]
        engines = row.get("engines") or []
        numbers += [one[key] for one in engines for key in ("gcups", "operations", "bytes") if one.get(key) is not None]
        numbers += [share for one in engines for share in one["shares"].values()]
        names += [one[key] for one in engines for key in ("name", "limit")]
        texts = names + [row[key] for key in ("error", "scores_digest") if row[key] is not None]
    except (KeyError, TypeError, AttributeError):
        return False
    return all(isinstance(n, int | float) for n in numbers) and all(isinstance(text, str) for text in texts)


def merge_comparisons(documents: list[Document]) -> Document:
    """Return one comparison of all devices of several; all must have run the same job.

    Raises
    ------
    OptionError
        Saying in what the jobs differ.
    """
    first, *others = documents
    for other in others:
        different = [
            f"{words} ({first['job'][key]} and {other['job'][key]})"
            for key, words in JOB_KEYS.items()
            if first["job"][key] != other["job"][key]
        ]
        if different:
            raise OptionError(
                f"These comparisons ran different jobs. They differ in: {', '.join(different)}.",
                "Compare again with the same --nodes, --residues and --seed, and the same version of clalign.",
            )
    rows = judged([row for document in documents for row in document["devices"]])
    return {**first, "devices": rows, "break_even": break_even(rows)}


def judged(rows: list[Row]) -> list[Row]:
    """Return rows with the verdict whether their scores are those of the first device and of the reference."""
    digests = [row["scores_digest"] for row in rows if row["scores_digest"]]
    return [{**row, "identical": _identical(row, digests)} for row in rows]


def _identical(row: Row, digests: list[str]) -> bool | None:
    if row["error"]:
        return None
    same = not row["scores_digest"] or row["scores_digest"] == digests[0]
    return same and row.get("sample_equal") is not False


def row_names(rows: list[Row]) -> list[str]:
    """Return a name for each row: the device's, with its machine or its id where that is needed."""
    names = []
    for row in rows:
        device, machine = row["device"], row.get("machine")
        name = f"{device['name']} ({machine})" if machine else str(device["name"])
        twins = [r for r in rows if r["device"]["name"] == device["name"] and r.get("machine") == machine]
        names.append(f"{name} [{device['id']}]" if len(twins) > 1 else name)
    return names


def line_of(row: Row) -> tuple[float, float] | None:
    """Return start (seconds) and seconds a residue of the straight line through a row's curve.

    Deviations count in relation to the time, so that the small sizes say where the line begins.
    """
    points = row["curve"]
    if len(points) < 2:
        return None
    sizes, seconds = (np.array([point[key] for point in points], float) for key in ("residues", "seconds"))
    slope, start = np.polyfit(sizes, seconds, 1, w=1.0 / np.maximum(seconds, 1e-9))
    return float(start), float(max(slope, 1e-15))


def break_even(rows: list[Row]) -> list[Json]:
    """Return for each pair of devices the database size from which on the faster one is done first.

    Returns
    -------
    list of dict
        ``slow`` and ``fast`` (names) and ``residues``, which is null if the faster one is done first at
        every size.
    """
    lines = [(name, line_of(row)) for name, row in zip(row_names(rows), rows, strict=True)]
    pairs = []
    for (a, line_a), (b, line_b) in itertools.combinations(lines, 2):
        if line_a is None or line_b is None:
            continue
        (slow, (slow_start, slow_rate)), (fast, (fast_start, fast_rate)) = sorted(
            ((a, line_a), (b, line_b)), key=lambda named: named[1][1], reverse=True
        )
        later = fast_start - slow_start
        meets = later > 0 and slow_rate > fast_rate
        pairs.append({"slow": slow, "fast": fast, "residues": later / (slow_rate - fast_rate) if meets else None})
    return pairs

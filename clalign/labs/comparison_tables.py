"""A device comparison as plain text for a terminal."""

from __future__ import annotations

from typing import Any

from clalign.labs.comparison_documents import row_names

Row = dict[str, Any]

HEADS = ("GCUPS", "w. copies", "of peak", "peak Gop/s", "kernels", "copies", "start-up")


def comparison_text(document: dict[str, Any]) -> str:
    """Return a comparison: the job, a table of devices, times by database size, break-even sizes."""
    rows = document["devices"]
    names = row_names(rows)
    parts = [[job_line(document["job"])], _speeds(rows, names), _times(rows, names), _sentences(document, rows, names)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def job_line(job: dict[str, Any]) -> str:
    """Return the job in a line."""
    return (
        f"{job['nodes']} nodes against {job['n_sequences']:,} random sequences of {job['n_residues']:,} residues"
        f" (seed {job['seed']}): {job['cells'] / 1e9:.3g} billion cells"
    )


def _speeds(rows: list[Row], names: list[str]) -> list[str]:
    width = max(len("Device"), *(len(name) for name in names))
    lines = [f"{'Device':<{width}s}  {'Scores':<9s} " + " ".join(f"{head:>10s}" for head in HEADS)]
    for row, name in zip(rows, names, strict=True):
        if row["error"]:
            lines.append(f"{name:<{width}s}  not run: {row['error']}")
            continue
        verdict = {True: "identical", False: "DIFFER", None: "-"}[row["identical"]]
        cells = (
            _number(row["gcups"]), _number(row.get("gcups_with_copies")), _share(row["share_of_peak"]),
            _number(row["peak_gops"], ",.0f"), _seconds(row["kernel_seconds"]), _seconds(row["copy_seconds"]),
            _seconds(row["start_seconds"]),
        )  # fmt: skip
        lines.append(f"{name:<{width}s}  {verdict:<9s} " + " ".join(f"{cell:>10s}" for cell in cells))
    return lines


def _times(rows: list[Row], names: list[str]) -> list[str]:
    """Return the table behind the break-even chart."""
    drawn = [(name, row["curve"]) for row, name in zip(rows, names, strict=True) if row["curve"]]
    if not drawn:
        return []
    width = max(len("Residues"), *(len(name) for name, _ in drawn))
    sizes = [point["residues"] for point in drawn[0][1]]
    lines = ["Time of a whole search, start-up included", f"{'Residues':<{width}s} "
             + " ".join(f"{size:>13,}" for size in sizes)]  # fmt: skip
    for name, curve in drawn:
        lines.append(f"{name:<{width}s} " + " ".join(f"{_seconds(point['seconds']):>13s}" for point in curve))
    return lines


def _sentences(document: dict[str, Any], rows: list[Row], names: list[str]) -> list[str]:
    lines = []
    for pair in document["break_even"]:
        if pair["residues"]:
            lines.append(f"Below {pair['residues']:.2g} residues {pair['slow']} is done before {pair['fast']}.")
        else:
            lines.append(f"{pair['fast']} is done before {pair['slow']} at every size.")
    lines += [
        f"{name} was measured on a sample of {row['residues']:,} residues only."
        for row, name in zip(rows, names, strict=True)
        if row.get("residues")
    ]
    if any(row["share_of_peak"] for row in rows):
        lines.append(
            f"Of peak: {document['job']['operations_per_cell']} additions and maxima a cell, against the rate of int32"
            " additions and maxima measured on the device."
        )
    return lines


def _number(value: float | None, form: str = ".3g") -> str:
    return "-" if value is None else format(value, form)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"

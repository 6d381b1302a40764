"""What repeats the published experiments: the ladders, groups that wait, and figures that are only computed.

Each returns tables: rows by their names, and figures of a row by what they are of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from clalign import tracing
from clalign.common.amounts import size_text
from clalign.errors import OptionError
from clalign.jobs import JobContext, QuietContext
from clalign.labs.laboratory import DONE
from clalign.labs.ladder import Ladder, measurable_device
from clalign.labs.measuring import Bench
from clalign.labs.occupancy import occupancy
from clalign.labs.pair_hmm_ladder import LADDER as PAIR_HMM
from clalign.labs.publications import Item
from clalign.labs.published_ladder import FAMILIES
from clalign.labs.smith_waterman_ladder import LADDER as SMITH_WATERMAN
from clalign.labs.smith_waterman_ladder import random_pairs
from clalign.labs.smith_waterman_rungs import LENGTH, PAIR_RUNGS, PAIRS, SCORING
from clalign.labs.synchronization import (
    MAX_GROUPS,
    SynchronizationSpec,
    how_of,
    run_synchronization,
    wrong_cells,
)
from clalign.labs.viterbi_ladder import LADDER as VITERBI
from clalign.reference.viterbi import viterbi_rows
from clalign.values.alphabets import N_CODES, encode
from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile, SpecialScores
from clalign.values.synthetic import random_profile
from clalign.values.text_columns import Row

Table = dict[str, Row]

SEGMENT, WARP = 128, 32
"""Bytes of a segment of memory that one transaction moves, and work-items that read together (004, section 6.1.2)."""

TRACED = ("global", "local")
"""The rungs of 001 whose commands the source lists: its first version, and its final one."""

WHOLE = ", whole"
"""Follows the name of a rung whose time has its copies."""

FERMI = 21
"""Compute capability of the source's card."""


class Asked(Struct, frozen=True):
    """What is to be repeated, and how.

    Attributes
    ----------
    items : tuple of Item
        All are of the repetition.
    device : str
        In a user's words.
    runs : int
        How often each kernel is timed.
    seed : int
        Of what is random.
    is_small : bool
        Whether everything is as small as can be: figures then mean nothing.
    reports : bool
        Whether to ask the driver for registers and memory, which compiles every kernel twice.
    """

    items: tuple[Item, ...]
    device: str
    runs: int
    seed: int
    is_small: bool = False
    reports: bool = True


class Found(Struct, frozen=True):
    """What a repetition found.

    Attributes
    ----------
    tables : dict
        By their names.
    text : str
        What was measured, in words.
    wrong : tuple of str
        What computed other results than expected.
    """

    tables: dict[str, Table]
    text: str = ""
    wrong: tuple[str, ...] = ()


class _Within(QuietContext):
    """The context of a laboratory whose rows are not those of the job."""

    def __init__(self, context: JobContext) -> None:
        self._context = context

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        """Report the progress of the laboratory."""
        self._context.progress(stage, done, total, unit, **facts)

    def warn(self, text: str) -> None:
        """Report what the user must know."""
        self._context.warn(text)

    def check(self) -> None:
        """Raise `Cancelled` if the job was asked to stop."""
        self._context.check()


def _ladder(ladder: Ladder, small: Row, asked: Asked, context: JobContext) -> Found:
    variants = {name for item in asked.items if item.table in ("rows", "copies") for name in item.shown_rows}
    variants |= {item.table.replace("_", "-") for item in asked.items} & set(ladder.experiment_names)
    request = {
        "device": asked.device, "runs": asked.runs, "seed": asked.seed, "variants": sorted(variants),
        "reports": asked.reports,
    }  # fmt: skip
    document = ladder.run(ladder.spec.from_dict(request | (small if asked.is_small else {})), _Within(context))
    tables = {
        one.key: {str(row.get("name") or row.get("group")): row for row in one.rows_of(document)}
        for one in ladder.experiments
    }
    for row in tables.get("sizes", {}).values():
        speedups = row["speedups"] or (None, None, None)
        row |= dict(zip(("forward_speedup", "backward_speedup", "baum_welch_speedup"), speedups, strict=True))
    return Found(tables, ladder.described(document), tuple(ladder.wrong(document)))


def _commands(asked: Asked, context: JobContext) -> Found:
    """Return what the commands of a run of 001's versions take by the device's clock, by their kinds.

    Each runs once before, so that its programs and buffers are there.
    """
    device = measurable_device(asked.device)
    batch = random_pairs(*(3, 16) if asked.is_small else (PAIRS, LENGTH), asked.seed)
    begins = tracing.recorded() is None
    recording = tracing.recorded() or tracing.begin("laboratory")
    rows: Table = {}
    alignments: list[Any] = []
    try:
        for rung in (rung for rung in PAIR_RUNGS if rung.name in TRACED):
            bench = Bench(device, context, "", 1, reports=False)
            try:
                alignments.append(bench.session.run(rung.stage(device), batch, SCORING))
                since = tracing.now()
                bench.session.run(rung.stage(device), batch, SCORING)
                _ = bench.session.copy_seconds  # copies to the device are recorded when their time is asked for
            finally:
                bench.close()
            rows |= _kinds_of_commands(rung.name, recording, since)
    finally:
        if begins:
            tracing.end()
    wrong = () if alignments[0] == alignments[1] else (f"alignments of {' and '.join(TRACED)}",)
    return Found({"rows": rows}, f"{device.name}, {len(batch):,} pairs.", wrong)


def _kinds_of_commands(rung: str, recording: tracing.Recording, since: int) -> Table:
    """Return time, number and share of the kernels and copies of a device that began since a time."""
    kinds: dict[str, list[int]] = {"kernels": [], "copies": []}
    for track, spans in recording.tracks().items():
        for span in spans if track.kind != tracing.HOST else ():
            if span.begin >= since and span.name != "compare":
                kinds["kernels" if span.category == "kernels" else "copies"].append(span.end - span.begin)
    total = max(1, sum(map(sum, kinds.values())))
    return {
        f"{rung}: {kind}": {"ms": sum(took) / 1e6, "commands": len(took), "share": sum(took) / total}
        for kind, took in kinds.items()
    }


def _families_of_viterbi(asked: Asked, context: JobContext) -> Found:
    """Run the ladder of Plan7 Viterbi with a random model of each family's length."""
    names = {name for item in asked.items for name in item.shown_quantities if item.table == "rungs"}
    variants = {name.removesuffix(WHOLE) for name in names} | {"basic"}
    if any(item.table == "divergence" for item in asked.items):
        variants.add("divergence")
    families = list(FAMILIES.items())[: 2 if asked.is_small else None]
    tables: dict[str, Table] = {"rungs": {}, "shares": {}, "divergence": {}}
    wrong = []
    for place, (family, nodes) in enumerate(families):
        context.progress("lab", place, len(families), "families")
        request = {"device": asked.device, "runs": asked.runs, "seed": asked.seed, "nodes": nodes, "reports": False}
        small = {"sequences": 40, "nodes": 12, "seconds": 0.005} if asked.is_small else {}
        spec = VITERBI.spec.from_dict(request | small | {"variants": sorted(variants)})
        try:
            document = VITERBI.run(spec, _Within(context))
        except OptionError as error:
            for table in tables.values():
                table[family] = {"status": "not run", "reason": error.message}
            continue
        done = [row for row in document["rows"] if row["status"] == DONE]
        kernels = {row["name"]: row["kernel_seconds"] for row in done}
        tables["rungs"][family] = kernels | {f"{row['name']}{WHOLE}": row["total_seconds"] for row in done}
        for row in document["experiments"].get("divergence", ()):
            tables["divergence"].setdefault(family, {})[row["name"]] = row["kernel_seconds"]
        for row in document["experiments"]["copies"]:
            if row["name"] == "basic":
                tables["shares"][family] = {"kernel": 1 - row["share"], "sequences": row["share"]}
        wrong += [f"{name} of {family}" for name in VITERBI.wrong(document)]
    return Found(tables, "Random models of the families' lengths.", tuple(wrong))


def _waiting_groups(program: str, asked: Asked, context: JobContext) -> Found:
    request = {"device": asked.device, "runs": asked.runs, "seed": asked.seed, "program": program}
    small = {"groups": "1-2", "size": 2 if program == "sw" else 1, "group_size": 4}
    spec = SynchronizationSpec.from_dict(request | (small if asked.is_small else {}))
    document = run_synchronization(spec, _Within(context))
    cells = {str(row["n_groups"]): row["cells"] for row in document["rows"]}
    costs = document["model"]["costs"] if document["model"] else {}
    reasons = {
        way: how
        for way in document["methods"]
        if isinstance(how := how_of(way, MAX_GROUPS, spec.group_size, spec.sets), str)
    }  # of rules; a device may run too few groups for others
    return Found(
        {
            "bands": {
                f"{band['first']} to {band['last']}": band
                for band in document["bands"]
                if all(str(n) in cells for n in range(band["first"], band["last"] + 1))
            },
            "times": {n: {way: cell["seconds"] for way, cell in row.items()} for n, row in cells.items()},
            "levels": {str(level["n_groups"]): level for level in document["levels"]},
            "sets": {str(row["n_groups"]): row for row in document["experiments"]["sets"]},
            "costs": {name: {"seconds": value} for name, value in costs.items()},
            "reasons": {way: {"text": reason} for way, reason in reasons.items()},
        },
        f"{document['device']['name']}, {document['size']:,} {document['unit']}, groups of {spec.group_size}.",
        (
            *(f"{way} of {n} groups" for n, way in wrong_cells(document)),
            *(f"sets of {row['n_groups']} groups" for row in document["experiments"]["sets"] if not row["equal"]),
        ),
    )


def _device(asked: Asked, context: JobContext) -> Found:
    """Return what OpenCL tells of the device."""
    del context
    device = measurable_device(asked.device)
    numbers = {
        "multiprocessors": device.n_compute_units,
        "global memory, GiB": device.memory_bytes / 2**30,
        "local memory, KiB": device.local_bytes / 2**10,
        "largest work-group": device.max_work_group,
    }
    texts = {
        "name": device.name,
        "multiprocessors": f"{device.n_compute_units:,}",
        "global memory": size_text(device.memory_bytes),
        "local memory": size_text(device.local_bytes),
        "largest work-group": f"{device.max_work_group:,} work-items",
    }
    return Found({"rows": {
        name: {"number": numbers.get(name), "text": texts.get(name)} for name in (*numbers, *texts)
    }})  # fmt: skip


EXAMPLE = "AYPPQ"
"""The sequence of 004's worked example."""

EXAMPLE_MATCH = np.array([
    [2343, 1802, -4914, -4914, 1018], [-3045, -3710, 4339, 4339, 2229], [-3814, -3483, -5623, -5623, 3491],
    [-4616, 4331, -5713, -5713, -3307],
])  # fmt: skip
"""Scores of A, P, Q and Y at the nodes of the example's model."""

EXAMPLE_INSERT = (-210, 423, 70, -176)
EXAMPLE_TRANSITIONS = {MM: -4, MI: -8135, MD: -9181, IM: -890, II: -1111, DM: -697, DD: -1378}
EXAMPLE_BEGIN, EXAMPLE_END = (2, -9873, -11251, -12628, -14006), (-13314, -11936, -10558, -9181, 0)
EXAMPLE_SPECIAL = SpecialScores(-8455, 0, -1000, -1000, 0, 0, -8455, 0)


def example_model() -> IntegerProfile:
    """Return the model of 004's worked example (its figure 3.1 and table 3.1)."""
    n = len(EXAMPLE_BEGIN)
    letters = encode("APQY")
    match, insert = (np.full((N_CODES, n + 1), IMPOSSIBLE, np.int32) for _ in range(2))
    match[letters, 1:] = EXAMPLE_MATCH
    insert[letters, 1:n] = np.array(EXAMPLE_INSERT)[:, None]
    transitions = np.full((len(EXAMPLE_TRANSITIONS), n + 1), IMPOSSIBLE, np.int32)
    for which, score in EXAMPLE_TRANSITIONS.items():
        transitions[which, 1:n] = score
    begin, end = (np.array([IMPOSSIBLE, *scores], np.int32) for scores in (EXAMPLE_BEGIN, EXAMPLE_END))
    return IntegerProfile(
        random_profile(np.random.default_rng(1), n).hmm, match, insert, transitions, begin, end, begin, end,
        IMPOSSIBLE, EXAMPLE_SPECIAL,
    )  # fmt: skip


def _example(asked: Asked, context: JobContext) -> Found:
    """Return 004's worked example as the reference computes it, cell by cell; every cell must be the published one."""
    model = example_model()
    rows = list(viterbi_rows(encode(EXAMPLE), model, context.check))
    matrices: Table = {}
    specials: Table = {}
    for number, (letter, row) in enumerate(zip(f" {EXAMPLE}", rows, strict=True)):
        name = f"{number} {letter}".rstrip()
        for state, values in (("M", row.m), ("I", row.i), ("D", row.d)):
            cells = {str(node): int(value) for node, value in enumerate(values) if value > IMPOSSIBLE // 2}
            if cells:
                matrices[f"{state}, {name}"] = cells
        special = {"N": row.n, "B": row.b, "E": row.e, "J": row.j}
        specials[name] = {state: value for state, value in special.items() if value > IMPOSSIBLE // 2}
    emissions = {
        f"M{node}": dict(zip("APQY", EXAMPLE_MATCH[:, node - 1].tolist(), strict=True)) for node in range(1, 6)
    }
    named = {MM: "M-M", MI: "M-I", MD: "M-D", IM: "I-M", II: "I-I", DM: "D-M", DD: "D-D"}
    transitions: Table = {name: {"score": EXAMPLE_TRANSITIONS[which]} for which, name in named.items()}
    special_scores = {"E-C": "e_move", "E-J": "e_loop", "N-B": "n_move", "J-B": "j_move"}
    transitions |= {name: {"score": getattr(EXAMPLE_SPECIAL, field)} for name, field in special_scores.items()}
    tables: dict[str, Table] = {
        "emissions": emissions | {"I1": dict(zip("APQY", EXAMPLE_INSERT, strict=True))},
        "matrices": matrices, "specials": specials, "transitions": transitions,
    }  # fmt: skip
    figures = (value for item in asked.items for value in values_of(item, tables[item.table]))
    differing = (value for value in figures if value["there"] is not None and value["here"] != value["there"])
    return Found(tables, "", tuple(f"{value['row']}, {value['quantity']}" for value in differing))


N_SEQUENCES, N_RESIDUES, MEAN, MAX = 530_264, 189_891_553, 354, 32_513
"""Of the Swiss-Prot of 004: sequences, residues, and those of a mean and the longest sequence."""

MEAN_NODES, MAX_NODES = 173, 488

N_SUBSET, COLUMNS_OF_LONGEST = 70_000, MAX_NODES + 1

SPECIAL_TRANSITIONS = 32
"""Bytes."""


def memory_bytes(n_rows: int, n_matrix_rows: int, nodes: int) -> dict[str, int]:
    """Return the bytes of each structure of Plan7 Viterbi (004, section 3.4).

    Parameters
    ----------
    n_rows : int
        Residues of the sequences that are kept.
    n_matrix_rows : int
        Rows of the matrices that are kept at a time.
    nodes : int
        Of the model.
    """
    parts = {
        "sequence": n_rows,
        "regular transitions": 4 * 9 * nodes,
        "special transitions": SPECIAL_TRANSITIONS,
        "match emissions": 4 * 20 * nodes,
        "insert emissions": 4 * 20 * nodes,
        "M, I, D": 4 * 3 * n_matrix_rows * nodes,
        "N, B, E, C, J": 4 * 5 * n_matrix_rows,
    }
    return parts | {"total": sum(parts.values())}


def _memory(asked: Asked, context: JobContext) -> Found:
    """Return the formulas of 004 for its own database and models, in kilobytes of 1,024."""
    del asked, context
    cases = {
        "one sequence": ((MEAN, MEAN), (MAX, MAX)),
        "filter": ((MEAN, 2), (MAX, 2)),
        "sequential": ((MAX, MAX), (MAX, MAX)),
        "at once": ((N_RESIDUES, N_RESIDUES),) * 2,
        "filter at once": ((N_RESIDUES, 2 * N_SEQUENCES),) * 2,
    }
    tables: dict[str, Table] = {}
    for name, (mean, largest) in cases.items():
        both = memory_bytes(*mean, MEAN_NODES), memory_bytes(*largest, MAX_NODES)
        tables[name] = {part: {"mean": both[0][part] / 1024, "largest": both[1][part] / 1024} for part in both[0]}
    accelerator = memory_bytes(0, 2 * N_SUBSET, COLUMNS_OF_LONGEST)
    accelerator["emissions"] = accelerator["match emissions"] + accelerator["insert emissions"]
    accelerator["final scores"] = 4 * N_SUBSET
    tables["accelerator"] = {part: {"mean": value / 1024} for part, value in accelerator.items()}
    return Found(tables)


def _memory_of_pairs(asked: Asked, context: JobContext) -> Found:
    """Return the formulas of 001 for its pairs, in MiB."""
    del asked, context
    cells = PAIRS * (LENGTH + 1) ** 2
    parts = {"scores": 4 * cells, "directions": 2 * cells, "sequences": 2 * PAIRS * LENGTH}
    return Found({"rows": {name: {"bytes": value / 2**20} for name, value in parts.items()}})


def transactions(addresses: Iterable[int], n_bytes: int) -> tuple[int, int]:
    """Return how many segments of memory work-items touch that read at the same time, and the bytes moved in vain.

    Parameters
    ----------
    addresses : iterable of int
        Of what each of them reads, in bytes.
    n_bytes : int
        That each of them reads.
    """
    touched = {place for address in addresses for place in range(address, address + n_bytes)}
    segments = len({place // SEGMENT for place in touched})
    return segments, SEGMENT * segments - len(touched)


def _transactions(asked: Asked, context: JobContext) -> Found:
    """Return the transactions of 004's examples, from the addresses that a warp reads."""
    del asked, context
    lanes, fewer = range(WARP), range(WARP - 1)
    cases: dict[str, tuple[list[int], int]] = {
        "a byte each, 128 bytes apart": ([SEGMENT * lane for lane in lanes], 1),
        "a byte each, side by side": (list(lanes), 1),
        "a word each, 128 bytes apart": ([SEGMENT * lane for lane in lanes], 4),
        "a word each, side by side": ([4 * lane for lane in lanes], 4),
        "a word each, over two segments": ([64 + 4 * lane for lane in lanes], 4),
        "31 words, second element": ([4 * (len(fewer) + lane) for lane in fewer], 4),
        "31 words, second element, padded": ([4 * (WARP + lane) for lane in fewer], 4),
        "one word for all": ([0] * WARP, 4),
    }
    found = {name: transactions(*case) for name, case in cases.items()}
    return Found({"rows": {name: {"transactions": n, "wasted": wasted} for name, (n, wasted) in found.items()}})


def _occupancy(asked: Asked, context: JobContext) -> Found:
    """Return the occupancy of 004's kernels on its card by the rules of its maker."""
    del context
    rows = {}
    for name in dict.fromkeys(name for item in asked.items for name in item.shown_rows):
        registers, _, local = name.partition(" registers")
        n_bytes = int(local.strip(", bytes") or 0)
        rows[name] = {"occupancy": occupancy(FERMI, 256, int(registers), n_bytes)}
    return Found({"rows": rows})


Repeat = Callable[[Asked, JobContext], Found]

WITHOUT_DEVICE = ("example", "memory", "memory-of-pairs", "transactions", "occupancy")
"""Repetitions that compute on no device."""

REPETITIONS: dict[str, tuple[str, Repeat]] = {
    "sw": ("the ladder of Smith-Waterman", partial(_ladder, SMITH_WATERMAN, {"pairs": 3, "length": 16})),
    "commands": ("commands by the device's clock", _commands),
    "viterbi": (
        "the ladder of Plan7 Viterbi",
        partial(_ladder, VITERBI, {"sequences": 40, "nodes": 12, "seconds": 0.005, "launches": 60}),
    ),
    "viterbi-families": ("the ladder of Plan7 Viterbi, a model of each family's length", _families_of_viterbi),
    "pairhmm": (
        "the ladder of the pair HMM",
        partial(_ladder, PAIR_HMM, {"x": 12, "y": 9, "pairs": 2, "sizes": [[12, 9]]}),
    ),
    "sort": ("waiting groups, bitonic sort", partial(_waiting_groups, "sort")),
    "long-pair": ("waiting groups, Smith-Waterman", partial(_waiting_groups, "sw")),
    "device": ("what OpenCL tells of the device", _device),
    "example": ("the reference", _example),
    "memory": ("formulas", _memory),
    "memory-of-pairs": ("formulas", _memory_of_pairs),
    "transactions": ("the addresses of a warp", _transactions),
    "occupancy": ("the maker's rules", _occupancy),
}
"""What each is in words, and what does it."""


def values_of(item: Item, table: Table) -> list[Row]:
    """Return the figures of an item, here and there, a row for each.

    Gains are times over the first row of the item, or over the first quantity of the same row; where that was not
    measured there is none. The ratio is of gains or of the figures themselves, as the item says; of the first row,
    whose gain is 1, there is none.
    """
    names = item.shown_rows if any(name in table for name in item.shown_rows) else tuple(table)
    quantities, units = item.shown_quantities, item.unit.split(", ")
    found: list[Row] = []
    for place, quantity in enumerate(quantities):
        unit = units[place] if len(units) == len(quantities) else item.unit
        is_known = any(
            quantity in item.published_figures(name) or table.get(name, {}).get(quantity) is not None for name in names
        )
        for name in names if is_known else ():
            row = table.get(name, {})
            here, there = _measured(row, quantity), item.published_figures(name).get(quantity)
            text = row.get("reason") or ""
            if isinstance(here, bool | str):
                here, text = None, here if isinstance(here, str) else "equal" if here else "differs"
            if here is None and there is None and not text:
                continue
            value: Row = {
                "item": item.name, "row": name, "quantity": quantity, "here": here, "there": there, "text": text,
                "unit": unit, "gain_here": None, "gain_there": None, "ratio": None,
            }  # fmt: skip
            if item.compare == "value" and quantity == (item.quantity or quantity):
                value["ratio"] = _quotient(here, there)
            elif item.compare in ("gain", "across"):
                base = (name, quantities[0]) if item.compare == "across" else (names[0], quantity)
                value["gain_here"] = _quotient(_measured(table.get(base[0], {}), base[1]), here)
                value["gain_there"] = _quotient(item.published_figures(base[0]).get(base[1]), there)
                if base != (name, quantity):
                    value["ratio"] = _quotient(value["gain_here"], value["gain_there"])
            found.append(value)
    return found


def _measured(row: Row, quantity: str) -> Any:
    return row.get(quantity) if row.get("status", DONE) == DONE else None


def _quotient(a: float | None, b: float | None) -> float | None:
    """Return a / b; None unless there are both, and alike in sign."""
    return a / b if a and b and a / b > 0 else None

"""What repeats the published experiments: the ladders, groups that wait, and figures that are only computed.

Each returns tables: rows by their names, and figures of a row by what they are of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from clalign.common.amounts import size_text
from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.labs import formulas
from clalign.labs.device_lines import overlap_found
from clalign.labs.driver_calls import calls_found
from clalign.labs.laboratory import DONE
from clalign.labs.ladder import Ladder, measurable_device
from clalign.labs.measuring import NOT_REACHED, PartOf, not_run
from clalign.labs.meeting_times import meeting_times
from clalign.labs.memory_orders import orders_found, pair_memory_found
from clalign.labs.occupancy import LIMITS, WARP
from clalign.labs.pair_hmm_ladder import LADDER as PAIR_HMM
from clalign.labs.pair_hmm_rungs import X
from clalign.labs.plain_program import FLAGS, plain_rows
from clalign.labs.published_ladder import FAMILIES
from clalign.labs.real_families import families_found, funnel_found, sorting_found
from clalign.labs.repeating import Found, Request, Table
from clalign.labs.smith_waterman_ladder import LADDER as SMITH_WATERMAN
from clalign.labs.synchronization import (
    MAX_GROUPS,
    SynchronizationSpec,
    how_of,
    run_synchronization,
    wrong_cells,
)
from clalign.labs.viterbi_ladder import BASIC_SECONDS, WORK_GROUPS
from clalign.labs.viterbi_ladder import LADDER as VITERBI
from clalign.labs.whole_alignments import whole_alignments
from clalign.values.text_columns import Row

CROWD = (1, 2, 4, 8, 16)
"""Groups on each multiprocessor."""

DIAGONAL_GROUP = 512
"""Work-items of a group in 003, a cell each."""

OF_RUNGS = "rows", "copies", "bandwidth"
"""Tables of ladders with a row for each rung."""

N_KERNELS = {"granularity": 10, "divergence": 4, "work-group": len(WORK_GROUPS)}
"""Numbers of kernels that experiments time; rungs are one each."""

WHOLE = ", whole"
"""Follows the name of a rung whose time has its copies."""


def _ladder(ladder: Ladder, small: Row, request: Request, context: JobContext, **more: object) -> Found:
    variants = {name for item in request.items if item.table in OF_RUNGS for name in item.shown_rows}
    names, variants = variants & FLAGS.keys(), variants - FLAGS.keys()
    variants |= {item.table.replace("_", "-") for item in request.items} & set(ladder.experiment_names)
    options = {
        "device": request.device, "runs": request.runs, "seed": request.seed, "variants": sorted(variants),
        "reports": request.reports, "ends": request.ends,
    }  # fmt: skip
    if ladder is VITERBI:
        options["seconds"] = request.job_seconds(BASIC_SECONDS, sum(N_KERNELS.get(name, 1) for name in variants))
    document = ladder.run(ladder.spec.from_dict(options | more | (small if request.is_small else {})), PartOf(context))
    more_rows = {}
    if names:
        job = document["pairs"], document["length"], request.seed
        more_rows = plain_rows(names, *job, context, request.ends)
    tables = {
        one.key: {str(row.get("name") or row.get("group")): row for row in one.rows_of(document)}
        for one in ladder.experiments
    }
    for row in tables.get("sizes", {}).values():
        speedups = row["speedups"] or (None, None, None)
        row |= dict(zip(("forward_speedup", "backward_speedup", "baum_welch_speedup"), speedups, strict=True))
    tables["rows"] |= more_rows
    wrong = [name for name, row in more_rows.items() if row["status"] == DONE and not row["equal"]]
    return Found(tables, ladder.described(document), (*ladder.wrong(document), *wrong))


FAMILY_SECONDS = 0.1
"""The basic rung gets a job of about this time for each family, since there are twenty."""


SOME_FAMILIES = slice(2, None, 6)
"""Families, in the order of their lengths, that are measured on processors or in a given time: each length and rung is
a program."""


def _chosen_families(request: Request) -> dict[str, int]:
    """Return the families with their nodes that are measured."""
    by_length = sorted(FAMILIES, key=lambda family: FAMILIES[family])
    names = by_length[:2] if request.is_small else by_length
    is_short = measurable_device(request.device).kind == "cpu" or request.ends < math.inf
    if is_short and not (request.is_full or request.is_small):
        names = by_length[SOME_FAMILIES]
    return {name: FAMILIES[name] for name in names}


def _families_of_viterbi(request: Request, context: JobContext) -> Found:
    """Run the ladder of Plan7 Viterbi with a random model of each family's length."""
    names = {name for item in request.items for name in item.shown_quantities if item.table == "rungs"}
    variants = {name.removesuffix(WHOLE) for name in names} | {"basic"}
    if any(item.table == "divergence" for item in request.items):
        variants.add("divergence")
    families = _chosen_families(request)
    tables: dict[str, Table] = {"rungs": {}, "shares": {}, "divergence": {}}
    wrong = []
    for place, (family, nodes) in enumerate(families.items()):
        part = PartOf(context, family, place, 1, len(families))
        n_kernels = sum(N_KERNELS.get(name, 1) for name in variants)
        options = {
            "device": request.device, "runs": request.runs, "seed": request.seed, "nodes": nodes, "reports": False,
            "seconds": request.job_seconds(FAMILY_SECONDS, n_kernels * (len(families) - place)),
            "ends": request.part(place, len(families)),
        }  # fmt: skip
        if request.is_over:
            for table in tables.values():
                table[family] = not_run(NOT_REACHED)
            continue
        small = {"sequences": 40, "nodes": 12, "seconds": 0.005} if request.is_small else {}
        spec = VITERBI.spec.from_dict(options | small | {"variants": sorted(variants)})
        try:
            document = VITERBI.run(spec, part)
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
    text = f"Random models of the lengths of {len(families)} families" + "; of all with --full" * (len(families) < 20)
    return Found(tables, f"{text}.", tuple(wrong))


def _waiting_groups(program: str, request: Request, context: JobContext, **more: object) -> Found:
    options = {
        "device": request.device, "runs": request.runs, "seed": request.seed, "program": program, "ends": request.ends,
    }  # fmt: skip
    small = {"groups": "1-2", "size": 2 if program == "sw" else 1, "group_size": 4}
    spec = SynchronizationSpec.from_dict(options | more | (small if request.is_small else {}))
    document = run_synchronization(spec, PartOf(context))
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
            "times": {n: _times(row) for n, row in cells.items()},
            "levels": {str(level["n_groups"]): level for level in document["levels"]},
            "sets": {str(row["n_groups"]): row for row in document["experiments"]["sets"]},
            "rounds": {
                n: {way: cell["seconds"] / cell["rounds"] for way, cell in row.items() if cell["seconds"]}
                for n, row in cells.items()
            },
            "costs": {name: {"seconds": value} for name, value in costs.items()},
            "reasons": {way: {"text": reason} for way, reason in reasons.items()},
        },
        f"{document['device']['name']}, {document['size']:,} {document['unit']}, groups of {spec.group_size}.",
        (
            *(f"{way} of {n} groups" for n, way in wrong_cells(document)),
            *(
                f"sets of {row['n_groups']} groups"
                for row in document["experiments"]["sets"]
                if row["status"] == DONE and not row["equal"]
            ),
        ),
    )


def _times(cells: Row) -> Row:
    """Return the seconds of each way; without any, why there is none."""
    seconds = {way: cell["seconds"] for way, cell in cells.items()}
    reason = next((cell["reason"] for cell in cells.values() if cell["reason"]), None)
    return seconds if any(seconds.values()) else {"status": "not run", "reason": reason}


def _few_groups(request: Request, context: JobContext) -> Found:
    """Return what meetings take of a round of the sort, which are the rounds of a program that does nothing else."""
    sort, relay = (
        _waiting_groups(name, request, PartOf(context, name, place, 1, 2), groups="1-6", methods=("lbs",))
        for place, name in enumerate(("sort", "relay"))
    )
    table: Table = {}
    for n, row in sort.tables["rounds"].items():
        if "lbs" in row and "lbs" in relay.tables["rounds"][n]:
            meeting = relay.tables["rounds"][n]["lbs"]
            table[n] = {"round": 1e6 * row["lbs"], "meeting": 1e6 * meeting, "share": meeting / row["lbs"]}
    return Found({"rows": table}, sort.text, sort.wrong + relay.wrong)


def _barrier_alone(request: Request, context: JobContext) -> Found:
    """Return what a meeting of as many groups takes as the longest diagonal of a pair of 003 has, or those at once."""
    device = measurable_device(request.device)
    n, size = min(-(-X // DIAGONAL_GROUP), device.n_compute_units), min(DIAGONAL_GROUP, device.max_work_group)
    ways = ("launch", "lbs", "ilbs", "ulfs")
    found = _waiting_groups("relay", request, context, groups=str(n), group_size=size, methods=ways)
    rows: Table = {
        f"{n} groups": {way: 1e6 * seconds for way, seconds in row.items()} for n, row in found.tables["rounds"].items()
    }
    return Found({"rows": rows}, found.text, found.wrong)


def _crowded_groups(request: Request, context: JobContext) -> Found:
    """Return what a meeting takes by the groups of each multiprocessor, as far as the device runs this many at once."""
    n = 1 if request.is_small else measurable_device(request.device).n_compute_units
    crowds = {str(n * of_each): of_each for of_each in CROWD if n * of_each <= MAX_GROUPS}
    ways = ("lbs", "ilbs", "ulfs")
    found = _waiting_groups("relay", request, context, groups=",".join(crowds), methods=ways)
    rounds, times = found.tables["rounds"], found.tables["times"]
    rows = {
        f"{of_each} on each multiprocessor": {way: 1e6 * seconds for way, seconds in rounds[groups].items()}
        or times[groups]
        for groups, of_each in crowds.items()
        if groups in rounds
    }
    return Found({"rows": rows}, found.text, found.wrong)


def _device(request: Request, _: JobContext) -> Found:
    """Return the facts that OpenCL reports of the device."""
    from clalign.compute.opencl.device_facts import device_facts

    device = measurable_device(request.device)
    facts, capability = device_facts(device), device.compute_capability
    numbers: dict[str, float | None] = {
        "multiprocessors": device.n_compute_units,
        "global memory, GiB": device.memory_bytes / 2**30,
        "local memory, KiB": device.local_bytes / 2**10,
        "largest work-group": device.max_work_group,
        "cache of global memory, MiB": facts["cache"] / 2**20,
        "registers of a work-group": facts.get("registers"),
        "work-items of a multiprocessor": LIMITS[capability][0] * WARP if capability in LIMITS else None,
    }
    texts = {
        "name": device.name,
        "multiprocessors": f"{device.n_compute_units:,}",
        "global memory": size_text(device.memory_bytes),
        "local memory": size_text(device.local_bytes),
        "cache of global memory": size_text(facts["cache"]),
        "largest work-group": f"{device.max_work_group:,} work-items",
        "driver": f"{device.platform}, {device.driver}",
    }
    return Found(
        {"rows": {name: {"number": numbers.get(name), "text": texts.get(name)} for name in (*numbers, *texts)}}
    )


Repeat = Callable[[Request, JobContext], Found]

WITHOUT_DEVICE = (
    "example",
    "memory",
    "memory-of-pairs",
    "transactions",
    "branches",
    "tree",
    "occupancy",
    "sorting",
    "waves",
    "counts",
    "accesses",
    "cell-accesses",
)
"""Repetitions that compute on no device."""


class Repetition(Struct, frozen=True):
    """What repeats items.

    Attributes
    ----------
    text : str
        What it is, in words.
    run : callable
    seconds : float
        What it took on two cores of a processor.
    card_seconds : float or None
        About what it takes on a card, where that differs: more groups wait there, jobs are sized by the time.
    """

    text: str
    run: Repeat
    seconds: float = 0.1
    card_seconds: float | None = None


REPETITIONS: dict[str, Repetition] = {
    "sw": Repetition(
        "the ladder of Smith-Waterman", partial(_ladder, SMITH_WATERMAN, {"pairs": 3, "length": 16}), 80, 12
    ),
    "calls": Repetition("calls of the driver, by the host's clock", calls_found, 18, 6),
    "viterbi": Repetition(
        "the ladder of Plan7 Viterbi",
        partial(_ladder, VITERBI, {"sequences": 40, "nodes": 12, "seconds": 0.005, "launches": 60}),
        240,
        60,
    ),
    "viterbi-488": Repetition(
        "the ladder of Plan7 Viterbi, 488 nodes",
        partial(_ladder, VITERBI, {"sequences": 40, "nodes": 12, "seconds": 0.005}, nodes=FAMILIES["GP120"]),
        125,
        20,
    ),
    "viterbi-families": Repetition(
        "the ladder of Plan7 Viterbi, a model of each family's length", _families_of_viterbi, 160, 50
    ),
    "pairhmm": Repetition(
        "the ladder of the pair HMM",
        partial(_ladder, PAIR_HMM, {"x": 12, "y": 9, "pairs": 2, "sizes": [[12, 9]]}),
        34,
        25,
    ),
    "whole-alignment": Repetition("whole alignments, pairs by each rung", whole_alignments, 45, 30),
    "families": Repetition("real families in real sequences, HMMER2 beside", families_found, 140, 40),
    "funnel": Repetition("a search with a HMMER3 profile", funnel_found, 2),
    "sorting": Repetition("sorting on the host", sorting_found, 8),
    "sort": Repetition("waiting groups, bitonic sort", partial(_waiting_groups, "sort"), 5, 25),
    "long-pair": Repetition("waiting groups, Smith-Waterman", partial(_waiting_groups, "sw"), 2, 25),
    "few-groups": Repetition("waiting groups, sort beside numbers passed on", _few_groups, 3),
    "many-groups": Repetition(
        "waiting groups, numbers passed on",
        partial(_waiting_groups, "relay", groups="64,128,256,512", methods=("ilbs", "ulfs")),
        card_seconds=4,
    ),
    "crowded-groups": Repetition(
        "waiting groups, numbers passed on, by those of a multiprocessor", _crowded_groups, 3, 6
    ),
    "barrier-alone": Repetition("waiting groups, as many as a diagonal has", _barrier_alone, 3),
    "memories": Repetition("words in the orders of textbooks", orders_found, 5),
    "pair-memory": Repetition("what a pair allocates", pair_memory_found, 4),
    "overlap": Repetition("the device's clock, command by command", overlap_found, 5),
    "meetings": Repetition("the device's clock in each group", meeting_times, 2),
    "tree": Repetition("the rule of the tree", formulas.tree_found),
    "device": Repetition("what OpenCL reports of the device", _device),
    "example": Repetition("the reference", formulas.example_found),
    "memory": Repetition("formulas", formulas.memory_found),
    "memory-of-pairs": Repetition("formulas", formulas.memory_of_pairs_found),
    "transactions": Repetition("the addresses of a warp", formulas.transactions_found),
    "branches": Repetition("the lengths of a warp's sequences", formulas.branches_found),
    "waves": Repetition("the anti-diagonals of a pair", formulas.waves_found),
    "counts": Repetition("the builder of profiles, without priors", formulas.counts_found),
    "accesses": Repetition("words as the kernel is written", formulas.accesses_found),
    "cell-accesses": Repetition("accesses as the kernel is written", formulas.cell_accesses_found),
    "occupancy": Repetition("the maker's rules", formulas.occupancy_found),
}
"""By their names in the items."""

"""Repetitions that need no device: the worked example, bytes, transactions and occupancy by their rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from clalign.building.counts import counted
from clalign.building.priors import probabilities
from clalign.building.rows import DigitalRows
from clalign.compute.group_barriers import GroupBarrier
from clalign.jobs import JobContext
from clalign.labs.ladder_data import divergence_sets
from clalign.labs.ladder_rungs import BEST
from clalign.labs.occupancy import occupancy
from clalign.labs.pair_hmm_rungs import PAIR_HMM_RUNGS
from clalign.labs.published_synchronization import SIZE
from clalign.labs.repeating import Found, Request, Table, values_of
from clalign.labs.smith_waterman_rungs import LENGTH, PAIRS
from clalign.reference.viterbi import viterbi_rows
from clalign.stages.pairhmm.pair_hmm_ladder import cell_accesses
from clalign.stages.plan7.viterbi_ladder import BASIC, arranged, global_words
from clalign.values.alphabets import DNA, N_CODES, encode
from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile, SpecialScores
from clalign.values.synthetic import random_profile

SEGMENT, WARP = 128, 32
"""Bytes of a segment of memory that one transaction moves, and work-items that read together (004, section 6.1.2)."""

MULTIPROCESSORS = 7
"""Multiprocessors of the source's card."""

FERMI = 21
"""Compute capability of the source's card."""

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


def example_found(request: Request, context: JobContext) -> Found:
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
    figures = (value for item in request.items for value in values_of(item, tables[item.table]))
    differing = (value for value in figures if value["there"] is not None and value["here"] != value["there"])
    return Found(tables, "", tuple(f"{value['row']}, {value['quantity']}" for value in differing))


N_SEQUENCES, N_RESIDUES, MEAN, MAX = 530_264, 189_891_553, 354, 32_513
"""The Swiss-Prot of 004: sequences, residues, and those of a mean and the longest sequence."""

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


def memory_found(*_: object) -> Found:
    """Return the formulas of 004 for its own database and models, in kilobytes of 1,024."""
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


def memory_of_pairs_found(*_: object) -> Found:
    """Return the formulas of 001 for its pairs, in MiB."""
    cells = PAIRS * (LENGTH + 1) ** 2
    parts = {"scores": 4 * cells, "directions": 2 * cells, "sequences": 2 * PAIRS * LENGTH}
    return Found({"rows": {name: {"bytes": value / 2**20} for name, value in parts.items()}})


def waves_found(*_: object) -> Found:
    """Return the steps of a pair of 001, an anti-diagonal each, and the share of its work-items that have a cell."""
    cells = np.bincount(np.add.outer(np.arange(LENGTH), np.arange(LENGTH)).ravel())
    return Found({"rows": {f"{LENGTH} x {LENGTH}": {"steps": len(cells), "busy": float(cells.mean()) / LENGTH}}})


PLAIN = ("ACGTA", "ACGAA", "ACTTA", "ACTCA", "ACCCG"), (True,) * 5
"""The rows of 004's figure 2.3, and which columns are nodes."""

GAPPED = ("ACGATA", "CC--TG", "CCA-GG", "AC--GA", "A---TG", "ACC-TG"), (True, True, False, False, True, True)
"""The rows of 004's figure 2.5, and which columns are nodes."""

NEW_ROWS = {"S7 = ACTTA": ("ACTTA", PLAIN), "S8 = AGG": ("A---GG", GAPPED), "S9 = ACATG": ("ACA-TG", GAPPED)}
"""Sequences and their rows in these alignments."""


def counts_found(*_: object) -> Found:
    """Return the probabilities of 004's sequences by models of frequencies, as the builder makes them."""
    rows = {name: {"probability": _probability(row, *family)} for name, (row, family) in NEW_ROWS.items()}
    return Found({"rows": rows})


def _probability(row: str, family: Sequence[str], is_match: Sequence[bool]) -> float:
    given, of_row = (
        counted(
            DigitalRows.of_cells(np.array([list(one.encode()) for one in rows], np.uint8), DNA), np.ones(len(rows)),
            np.array(is_match),
        )
        for rows in (family, [row])
    )  # fmt: skip
    model = probabilities(given, None)
    parts = ((model.match, of_row.match), (model.insert, of_row.insert), (model.transitions, of_row.transitions))
    return float(np.prod([np.prod(np.power(chances, taken, dtype=np.float64)) for chances, taken in parts]))


def accesses_found(*_: object) -> Found:
    """Return the words that 004's first and final kernels read and write in global memory for a cell, as written."""
    rows = {name: global_words(choices, MAX_NODES) for name, choices in (("basic", BASIC), ("1+2+3+4+6+7", BEST))}
    return Found({"rows": rows})


def cell_accesses_found(*_: object) -> Found:
    """Return how often work-items of 003's rungs read and write their cell in global memory, as written."""
    rungs = {rung.name: rung.choices for rung in PAIR_HMM_RUNGS}
    return Found({"rows": {name: dict(cell_accesses(rungs[name])) for name in ("cells", "local")}})


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


def transactions_found(*_: object) -> Found:
    """Return the transactions of 004's examples, from the addresses that a warp reads."""
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
        **{f"31 bytes of {name} sequences": (place, 1) for name, place in _fifth_residues().items()},
    }
    found = {name: transactions(*case) for name, case in cases.items()}
    return Found({"rows": {name: {"transactions": n, "wasted": wasted} for name, (n, wasted) in found.items()}})


def _fifth_residues() -> dict[str, list[int]]:
    """Return where the fifth residues of 32 sequences are, all but one of 32 residues, with and without padding."""
    lengths = np.array([WARP] * (WARP - 1) + [3], np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
    symbols = np.zeros(int(lengths.sum()), np.uint8)
    return {
        name: (int(arranged(name, symbols, offsets, lengths)[1][4]) + np.arange(WARP - 1)).tolist()
        for name in ("interleaved", "padded")
    }


def divergent_branches(lengths: npt.NDArray[np.int64]) -> int:
    """Return how often work-items of a warp part at the end of the loop over their residues, each with a sequence."""
    warps = np.split(lengths, range(WARP, len(lengths), WARP))
    return sum(len(np.unique(warp)) - 1 for warp in warps)


def branches_found(request: Request, _: JobContext) -> Found:
    """Return the branches on which the work-items of a warp part, in the source's four sets (its figures 8.5, 8.6).

    Its profiler counts on one of seven multiprocessors. With them come the warps that read second residues of 64
    sequences of 1 or 32, as they come and sorted, a transaction each (its figure 9.3).
    """
    sets = divergence_sets(np.random.default_rng(request.seed), 313 * 32 * 254.5)
    counts = {name: divergent_branches(np.diff(batch.offsets)) for name, (_, batch) in sets.items()}
    rows: Table = {name: {"divergent branches": count / MULTIPROCESSORS} for name, count in counts.items()}
    mixed = np.where(np.arange(2 * WARP) % 2, 1, WARP)
    reading = {"as they come": mixed, "sorted": np.sort(mixed)}
    readers: Table = {
        name: {"transactions": int((lengths.reshape(2, WARP) > 1).any(axis=1).sum())}
        for name, lengths in reading.items()
    }
    return Found({"rows": rows, "readers": readers})


def tree_found(*_: object) -> Found:
    """Return how many groups of 32 work-items a tree holds by its levels."""
    rows: Table = {}
    for levels in (2, 3, 4):
        n = SIZE
        while GroupBarrier(n * SIZE, SIZE, "ulfs").levels <= levels:
            n *= SIZE
        rows[f"{levels} levels"] = {"groups": n}
    return Found({"rows": rows})


def occupancy_found(request: Request, _context: JobContext) -> Found:
    """Return the occupancy of 004's kernels on its card by the rules of its maker."""
    rows = {}
    for name in dict.fromkeys(name for item in request.items for name in item.shown_rows):
        registers, _, local = name.partition(" registers")
        n_bytes = int(local.strip(", bytes") or 0)
        rows[name] = {"occupancy": occupancy(FERMI, 256, int(registers), n_bytes)}
    return Found({"rows": rows})

"""The kernels of all engines on a device: rates, and what limits them by the roofline model.

A kernel that does so many operations for each cell and moves so many bytes cannot be faster than the rates of both that
were measured on the device (S. Williams, A. Waterman, D. Patterson, Communications of the ACM 52, 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.sessions import AnyStage, Check, KernelSession, Session
from clalign.errors import ClalignError
from clalign.formats.matrices import DEFAULT_PROTEIN, load_matrix, usual_gaps
from clalign.labs.measuring import Row
from clalign.stages.hmmer3.forward import FORWARD
from clalign.stages.hmmer3.ssv import SSV
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.plan7.viterbi import VITERBI
from clalign.values.alphabets import AMINO
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, PairHmm, PairHmms, fixed_emissions
from clalign.values.scoring import PairwiseQuery, Scoring
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_codes, random_local_profile, random_profile

Numbers = Literal["int32", "bytes", "float"]

LANES = {"int32": 1, "bytes": 4, "float": 1}
"""Values that an operation of 32 bits does at once."""

SECONDS, REPEATS = 0.2, 3
FIRST_RATE = {"gpu": 1e11, "accelerator": 1e9, "cpu": 3e8}
"""About how long a kernel is measured, how often, and the cells a second by which its job is sized."""

CHECKED = 3, 60
"""Sequences, or pairs, and residues of each, that the reference computes, too."""

TOLERANCE = 1e-3
"""Tolerance of a score or a posterior in single precision."""

PAIR_LENGTH, SEQUENCE_LENGTH = 400, 354

MAX_SEQUENCES = 1 << 16
"""Most sequences, and pairs, of a job, so that it fits the memory of small cards."""

CHANGED = 0.5
"""Share of the residues in which the sequences of a pair differ."""

USED_UP = 0.4
"""From this share of a measured rate on it is what limits a kernel."""


class Job(Struct, frozen=True):
    """A batch, a model, the cells of both, and the bytes that must at least be read or written in global memory."""

    batch: SequenceBatch | PairBatch
    model: object
    cells: float
    n_bytes: float


class EngineKernel(Struct, frozen=True):
    """A kernel that is compared.

    Attributes
    ----------
    name : str
    stage : Stage
    numbers : str
        What it computes with.
    operations : int
        Additions, maxima and products that the recurrences ask for in a cell.
    make : callable
        Returns a job of a number of sequences, or pairs, and residues of each, given a model's length.
    values : callable
        Returns the numbers of a result that are compared.
    """

    name: str
    stage: AnyStage
    numbers: Numbers
    operations: int
    make: Callable[[np.random.Generator, int, int, int], Job]
    values: Callable[[Any], Any]


def _sequences(rng: np.random.Generator, n: int, length: int) -> SequenceBatch:
    return SequenceBatch.of_lengths(random_codes(rng, n * length), np.full(n, length))


def _of_profile(make: Callable[[np.random.Generator, int], object], node_bytes: int) -> Callable[..., Job]:
    def job(rng: np.random.Generator, n: int, length: int, nodes: int) -> Job:
        n_bytes = n * (length + 4) + node_bytes * nodes
        return Job(_sequences(rng, n, length), make(rng, nodes), n * length * nodes, n_bytes)

    return job


def _query(rng: np.random.Generator, n: int) -> PairwiseQuery:
    return PairwiseQuery(Sequence("query", "", random_codes(rng, n)), _scoring())


def _scoring() -> Scoring:
    matrix = load_matrix(DEFAULT_PROTEIN)
    return Scoring(matrix, usual_gaps(matrix)[0])


def _pairs(rng: np.random.Generator, n: int, length: int, _: int) -> Job:
    queries = _sequences(rng, n, length)
    changed = np.where(rng.random(n * length) < CHANGED, random_codes(rng, n * length), queries.codes)
    batch = PairBatch.in_step(queries, replace(queries, codes=changed))
    model = PairHmm(SEED_GAPS[False, 2], fixed_emissions(AMINO))
    return Job(batch, PairHmms.same(model, n), n * length**2, 2 * n * length)


def _long_pair(rng: np.random.Generator, n: int, length: int, _: int) -> Job:
    size = int(np.sqrt(n) * length)
    batch = PairBatch.in_step(_sequences(rng, 1, size), _sequences(rng, 1, size))
    return Job(batch, LongPairChoice(_scoring()), size**2, 2 * size)


KERNELS = (
    EngineKernel("Viterbi of HMMER2", VITERBI, "int32", 17, _of_profile(random_profile, 4 * 49), lambda r: r.values),
    EngineKernel("SSV of HMMER3", SSV, "bytes", 3, _of_profile(random_local_profile, 21), lambda r: r),
    EngineKernel("Forward of HMMER3", FORWARD, "float", 16, _of_profile(random_local_profile, 4 * 28), lambda r: r),
    EngineKernel("Smith-Waterman", SMITH_WATERMAN, "bytes", 11, _of_profile(_query, 1), lambda r: r.scores.values),
    EngineKernel("pair HMM, posteriors", POSTERIORS, "float", 45, _pairs, lambda r: np.sort(r.values)[-50:]),
    EngineKernel("long pair, with its path", LONG_PAIR, "int32", 11, _long_pair, lambda r: np.array([r.score])),
)
"""Operations of a cell: Viterbi has 9 additions and 8 maxima (M, I, D, E). SSV an addition and two maxima. Forward 8
products and 8 additions. Smith-Waterman five additions and six maxima, affine. The pair HMM with two kinds of gaps 22
products and additions in Forward and as many in Backward, and a product of both. A long pair is filled again along its
path, which is not counted."""


def kernel_row(kernel: EngineKernel, session: Session, nodes: int, peaks: dict[str, float], check: Check) -> Row:
    """Return the rate of a kernel, whether it equals the reference, and what limits it; what fails says why.

    Parameters
    ----------
    kernel : EngineKernel
    session : Session
    nodes : int
        Of the model, and residues of the query.
    peaks : dict
        Rates of ``int32`` and ``float`` operations and of ``memory``, a second (bytes), as measured.
    check : callable
    """
    row: Row = {"name": kernel.name, "error": None, "gcups": None, "equal": None, "shares": {}, "limit": ""}
    try:
        small = kernel.make(np.random.default_rng(1), *CHECKED, min(nodes, CHECKED[1]))
        found, expected = (
            np.asarray(kernel.values(result), np.float64)
            for result in (
                session.run(kernel.stage, small.batch, small.model),
                kernel.stage.reference(small.batch, small.model, check),
            )
        )
        row["equal"] = found.shape == expected.shape and bool(
            np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)
        )
        rate, job = _measured(kernel, session, nodes, check)
    except ClalignError as error:
        return {**row, "error": error.message}
    peak = peaks["float" if kernel.numbers == "float" else "int32"] * LANES[kernel.numbers]
    shares = {
        kernel.numbers: kernel.operations * rate / peak,
        "memory": rate * job.n_bytes / job.cells / peaks["memory"],
    }
    facts = {"operations": kernel.operations, "bytes": job.n_bytes / job.cells}
    return {**row, "gcups": rate / 1e9, **facts, "shares": shares, "limit": limit_of(shares)}


def _measured(kernel: EngineKernel, session: Session, nodes: int, check: Check) -> tuple[float, Job]:
    """Return cells a second of the kernels alone, and the job; the second is sized by the rate of the first."""
    rate = FIRST_RATE[session.device.kind] / 10
    for seconds in (SECONDS / 4, SECONDS):
        is_pair = kernel.make in (_pairs, _long_pair)
        length = PAIR_LENGTH if is_pair else SEQUENCE_LENGTH
        n = min(max(8, int(rate * seconds / (length * (length if is_pair else nodes)))), MAX_SEQUENCES)
        job = kernel.make(np.random.default_rng(2), n, length, nodes)
        times = []
        for _ in range(REPEATS):
            check()
            before = session.kernel_seconds
            session.run(kernel.stage, job.batch, job.model)
            times.append(session.kernel_seconds - before)
        rate = job.cells / max(min(times), 1e-9)
    return rate, job


WORDS = {"int32": "int32 operations", "bytes": "operations, four bytes in each", "float": "float operations"}


def limit_of(shares: dict[str, float]) -> str:
    """Return in a sentence what limits a kernel, by the shares of the measured rates that it uses."""
    (numbers, arithmetic), memory = next(iter(shares.items())), shares["memory"]
    of_memory = f"{100 * memory:.2g} % of that of memory"
    of_both = f"{100 * arithmetic:.0f} % of the device's rate of {WORDS[numbers]} and {of_memory}"
    if arithmetic >= max(USED_UP, memory):
        return f"Arithmetic limits it: it uses {of_both}."
    if memory >= USED_UP:
        return f"Memory limits it: it uses {of_both}."
    return f"Neither rate limits it, but steps that wait for each other, and lookups: it uses {of_both}."


def memory_rate(session: Session, n: int, check: Check) -> float:
    """Return the bytes a second that a device reads and writes in a copy of this many words of 32 bits."""
    kernels, best = cast("KernelSession", session), 0.0
    given, copy = kernels.zeros(4 * n), kernels.allocate(4 * n)
    # So no binary is made of what is not launched: of barriers PoCL takes seconds to make one.
    defines = {"BARRIER_METHOD": 0, "LANE_BACKEND": 0}
    for _ in range(REPEATS + 1):
        check()
        before = kernels.kernel_seconds
        kernels.launch("relay_item", "copy_numbers", defines, n, None, given, copy)
        kernels.finish()
        best = max(best, 8.0 * n / max(kernels.kernel_seconds - before, 1e-9))
    return best

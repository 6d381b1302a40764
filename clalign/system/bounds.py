"""How much of this machine the program may use: bounds that a user or a batch system sets, for all of its processes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clalign.errors import OptionError

CORES_VARIABLES = ("HMMER_NCPU", "SLURM_CPUS_PER_TASK")
"""Variables with a number of cores; the first that has one counts."""

MEMORY_VARIABLE = "CLALIGN_GPU_MEMORY"
"""The variable with a share of the memory of a card, or with a number of bytes."""

OPTIONS = {"--cpu": CORES_VARIABLES[0], "--gpu-memory": MEMORY_VARIABLE}
"""Options of commands that set a variable."""

DRIVERS_VARIABLES = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")
"""Variables that bound the threads of PoCL, up to version 3 and later on."""


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = next((words for name in CORES_VARIABLES if (words := os.environ.get(name, "")).isdecimal()), there)
    return max(1, min(there, int(given)))  # 0 is HMMER's word for one thread


def card_bytes(whole: int) -> int:
    """Return how much of the memory of a card may be used (bytes).

    Raises
    ------
    OptionError
        If the variable that bounds it says nothing of the kind.
    """
    given = os.environ.get(MEMORY_VARIABLE, "")
    if not given:
        return whole
    try:
        bound = float(given)
    except ValueError:
        bound = 0.0
    if not 0 < bound < float("inf"):
        raise OptionError(
            f"{given!r} is no bound of the memory of a card (--gpu-memory, {MEMORY_VARIABLE}).",
            "Give a share of it, such as 0.5, or a number of bytes, such as 8e9.",
        )
    return int(min(whole, bound * whole if bound <= 1 else bound))


def bound_drivers() -> None:
    """Keep drivers of processors to the cores that this process may use; before they are loaded."""
    if any(os.environ.get(name) for name in CORES_VARIABLES):
        for name in DRIVERS_VARIABLES:
            os.environ.setdefault(name, str(n_cores()))


@contextmanager
def bounded(words: Sequence[str]) -> Iterator[None]:
    """Keep to the bounds among the words of a command line, here and in the processes that are started meanwhile."""
    found = {}
    for word, following in itertools.pairwise([*words, ""]):
        option, is_joined, value = word.partition("=")
        if option in OPTIONS:
            found[OPTIONS[option]] = value if is_joined else following
    before = {name: os.environ.get(name) for name in found}
    os.environ.update(found)
    try:
        yield
    finally:
        for name, usual in before.items():
            if usual is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = usual

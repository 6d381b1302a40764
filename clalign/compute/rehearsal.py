"""A session that computes nothing, on which stages are started to find the programs that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import (
    AllTables,
    AnyStage,
    Argument,
    Batch,
    Buffer,
    Kept,
    MakeTables,
    Model,
    Number,
    ProgramChoice,
    Result,
    Session,
    Shape,
    Stage,
)
from clalign.values.devices import Device
from clalign.values.sequences import SequenceBatch

PROBE_RESIDUES = 64


class _NoBuffer(Struct, frozen=True):
    size: int


MAX_MODELS = 2**16

NO_TABLES = AllTables(_NoBuffer(0), np.zeros((MAX_MODELS, 0), np.uint32))
"""Tables without memory, for up to `MAX_MODELS` models."""


class Rehearsal:
    """A `KernelSession` that computes nothing. Stages may be started on it, but their results must not be called.

    Parameters
    ----------
    device : Device
    note : callable
        Called with each program when a launch first needs it.
    counts : bool
        Whether tables of models are made, too, to count their bytes; no program depends on them.
    is_wanted : callable
        Whether a stage is computed by this device: another one beside it may do so.

    Attributes
    ----------
    programs : dict
        The programs of the launches, in order, with the names of the kernels.
    n_bytes : int
        Bytes of all buffers.
    """

    def __init__(
        self, device: Device, note: Callable[[ProgramChoice], None] = lambda choice: None, counts: bool = True,
        is_wanted: Callable[[AnyStage], bool] = lambda stage: True,
    ) -> None:  # fmt: skip
        self.device, self.is_wanted = device, is_wanted
        self._note, self._counts = note, counts
        self.programs: dict[ProgramChoice, set[str]] = {}
        self.kernel_seconds = self.copy_seconds = 0.0
        self.seconds_by_kernel: dict[str, float] = {}
        self._kept: dict[tuple[str, int], tuple[object, Any]] = {}
        self._scratch: dict[str, int] = {}
        self.n_bytes = 0

    def _buffer(self, n_bytes: int) -> Buffer:
        self.n_bytes += n_bytes
        return _NoBuffer(n_bytes)

    def launch(
        self, source: str, entry: str, defines: Mapping[str, object], n_items: int, group: int | None,
        *arguments: Argument, offset: int = 0,
    ) -> None:  # fmt: skip
        choice = ProgramChoice.of(source, defines)
        if choice not in self.programs:
            self.programs[choice] = set()
            self._note(choice)
        self.programs[choice].add(entry)

    def check(self) -> None:
        """Do nothing."""

    def upload(self, array: npt.NDArray[np.generic]) -> Buffer:
        return self._buffer(array.nbytes)

    loaded = share = upload

    def tables(self, name: str, key: object, make: MakeTables) -> AllTables:
        """Return no tables, after making and counting them if `counts` is set."""
        if self._counts:
            self.cached(name, key, lambda: [self._buffer(array.nbytes) for tables in make() for array in tables])
        return NO_TABLES

    def residues(self, batch: SequenceBatch) -> tuple[Buffer, Buffer]:
        return self._buffer(batch.codes.nbytes), self._buffer(batch.offsets.nbytes)

    def allocate(self, n_bytes: int) -> Buffer:
        return self._buffer(n_bytes)

    results = zeros = allocate

    def scratch(self, name: str, n_bytes: int) -> Buffer:
        """Return no buffer; scratch memory of one name is counted once."""
        more = max(0, n_bytes - self._scratch.get(name, 0))
        self._scratch[name] = self._scratch.get(name, 0) + more
        self.n_bytes += more
        return _NoBuffer(n_bytes)

    def download(self, buffer: Buffer, shape: Shape, dtype: type[Number]) -> npt.NDArray[Number]:
        return np.zeros(shape, dtype)

    def fetch(
        self, buffer: Buffer, shape: Shape | Callable[[], Shape], dtype: type[Number]
    ) -> Callable[[], npt.NDArray[Number]]:
        return lambda: np.zeros(shape() if callable(shape) else shape, dtype)

    def cached(self, name: str, key: object, make: Callable[[], Kept]) -> Kept:
        """Return the result of `make`, which is called once for each key object."""
        place = name, id(key)
        if place not in self._kept:
            self._kept[place] = key, make()
        kept: Kept = self._kept[place][1]
        return kept

    def measured(self, name: str, measure: Callable[[], int]) -> int:
        """Return 1: nothing is measured, and no program may depend on it."""
        return 1

    def demand(self, is_so: bool | np.bool_, what: str) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""

    def helped_by(self, processor: Session) -> Self:
        """Return this session: nothing is computed."""
        return self

    def reached(self) -> Callable[[], bool]:
        return lambda: True

    def second_queue(self) -> Self:
        return self

    def join(self, other: Self) -> None:
        """Do nothing."""

    def start(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Callable[[], Result]:
        """Start a stage; the returned callable must not be called."""
        return stage.start(self, batch, model)

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        """Raise an error: nothing is computed here."""
        raise NotImplementedError(f"{stage.name} is only started, not run.")

    def foresee(self, choices: Iterable[ProgramChoice]) -> None:
        """Do nothing: nothing is built here."""

    def unbuilt(self, choices: Iterable[ProgramChoice]) -> list[ProgramChoice]:
        return []

    def build_ahead(self, choices: Iterable[ProgramChoice], can_wait: bool = False) -> None:
        for choice in choices:
            self.launch(choice.source, "", choice.defines, 0, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def probe_batch(n: int, length: int = PROBE_RESIDUES, longest: int = PROBE_RESIDUES) -> SequenceBatch:
    """Return sequences of letter code 0 for rehearsals, the first one of another length than the others."""
    lengths = np.full(n, length, np.int64)
    lengths[0] = longest
    return SequenceBatch.of_lengths(np.zeros(int(lengths.sum()), np.uint8), lengths)

"""Rows of a batch that a kernel works on, and what depends on the lengths of its sequences, on a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.values.local_profiles import LengthTerms, LocalProfile, length_terms
from clalign.values.sequences import SequenceBatch


@dataclass(frozen=True, slots=True)
class Chosen:
    """A list of rows on a device, whose length need not be known to the host.

    Attributes
    ----------
    rows : buffer of int32[most]
        Positions in the batch.
    count : buffer of uint32[1]
        How many of them there are.
    most : int
        The most that there may be.
    """

    rows: Any
    count: Any
    most: int


def all_rows(session: Any, batch: SequenceBatch) -> Chosen:
    """Return every row of a batch, in order; made once a batch."""

    def make() -> Chosen:
        n = len(batch)
        rows = session.upload(np.arange(n, dtype=np.int32))
        return Chosen(rows, session.upload(np.array([n], np.uint32)), n)

    rows: Chosen = session.resident("all rows", batch, make)
    return rows


@dataclass(frozen=True, slots=True)
class LengthBuffers:
    """`local_profiles.LengthTerms` of each row of a batch, on a device.

    Attributes
    ----------
    null, null_loop, move : buffer of float32[n]
    word_move : buffer of int16[n]
    byte_move : buffer of uint8[n]
    """

    null: Any
    null_loop: Any
    move: Any
    word_move: Any
    byte_move: Any


def length_terms_of(session: Any, batch: SequenceBatch) -> LengthTerms:
    """Return the length terms of all rows of a batch on the host; made once a batch."""
    terms: LengthTerms = session.resident("length terms on the host", batch, lambda: length_terms(batch.lengths))
    return terms


def length_buffers(session: Any, batch: SequenceBatch) -> LengthBuffers:
    """Return the length terms of all rows of a batch; made once a batch."""

    def make() -> LengthBuffers:
        terms = length_terms_of(session, batch)
        arrays = (terms.null, terms.null_loop, terms.move, terms.word_move, terms.byte_move)
        return LengthBuffers(*[session.upload(array) for array in arrays])

    buffers: LengthBuffers = session.resident("length terms", batch, make)
    return buffers


class ChosenStage(ABC):
    """A stage that scores chosen rows of a batch; alone it scores all of them.

    Parameters
    ----------
    shape : str, optional
        The kernel's; by default what suits the device.
    defines : dict, optional
        Compile-time choices that replace the default ones.
    """

    dtype: type[np.generic] = np.float32
    """Of a score."""

    def __init__(self, shape: str | None = None, **defines: int) -> None:
        self.shape = shape
        self.defines = defines

    @abstractmethod
    def enqueue(
        self, session: Any, batch: SequenceBatch, profile: LocalProfile, chosen: Chosen, terms: LengthBuffers
    ) -> Any:
        """Enqueue the kernels for the chosen rows; return the buffer that gets their scores (dtype[chosen.most])."""

    def start(self, session: Any, batch: SequenceBatch, model: LocalProfile) -> Callable[[], npt.NDArray[Any]]:
        """Start scoring the batch on an OpenCL session; return what waits for the scores (dtype[n])."""
        if len(batch) == 0:
            return lambda: np.empty(0, self.dtype)
        scores = self.enqueue(session, batch, model, all_rows(session, batch), length_buffers(session, batch))
        fetch: Callable[[], npt.NDArray[Any]] = session.fetch(scores, len(batch), self.dtype)
        return fetch

"""Rows of a batch that a kernel works on, and what depends on the lengths of its sequences, on a device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession, Stage
from clalign.values.local_profiles import LengthTerms, LocalProfile, length_terms
from clalign.values.sequences import SequenceBatch


class RowList(Struct, frozen=True):
    """Lists of rows on a device, one for each model of a group, whose lengths need not be known to the host.

    Attributes
    ----------
    rows : buffer of int32[n_models, most]
        Positions in the batch.
    count : buffer of uint32[n_models]
        How many of them there are.
    most : int
        The most that there may be.
    n_models : int
    chosen : tuple of int, optional
        Numbers of the models of which anything may be listed; by default of all.
    """

    rows: Buffer
    count: Buffer
    most: int
    n_models: int = 1
    chosen: tuple[int, ...] | None = None

    @property
    def room(self) -> int:
        """Places of all lists."""
        return self.most * self.n_models


def all_rows(session: KernelSession, batch: SequenceBatch) -> RowList:
    """Return every row of a batch, in order; made once a batch."""

    def make() -> RowList:
        n = len(batch)
        rows = session.upload(np.arange(n, dtype=np.int32))
        return RowList(rows, session.upload(np.array([n], np.uint32)), n)

    return session.cached("all rows", batch, make)


class LengthBuffers(Struct, frozen=True):
    """`local_profiles.LengthTerms` of each row of a batch, on a device.

    Attributes
    ----------
    null, null_loop, move : buffer of float32[n]
    word_move : buffer of int16[n]
    byte_move : buffer of uint8[n]
    """

    null: Buffer
    null_loop: Buffer
    move: Buffer
    word_move: Buffer
    byte_move: Buffer


def length_terms_of(session: KernelSession, batch: SequenceBatch) -> LengthTerms:
    """Return the length terms of all rows of a batch on the host; made once a batch."""
    return session.cached("length terms on the host", batch, lambda: length_terms(batch.lengths))


def length_buffers(session: KernelSession, batch: SequenceBatch) -> LengthBuffers:
    """Return the length terms of all rows of a batch; made once a batch."""

    def make() -> LengthBuffers:
        terms = length_terms_of(session, batch)
        arrays = (terms.null, terms.null_loop, terms.move, terms.word_move, terms.byte_move)
        return LengthBuffers(*[session.upload(array) for array in arrays])

    return session.cached("length terms", batch, make)


class ScoringStage(Stage[SequenceBatch, LocalProfile, npt.NDArray[Any]]):
    """A stage that scores listed rows of a batch; alone it scores all of them."""

    dtype: type[np.generic] = np.float32
    """Of a score."""

    @abstractmethod
    def enqueue(
        self,
        session: KernelSession,
        batch: SequenceBatch,
        profiles: Sequence[LocalProfile],
        chosen: RowList,
        terms: LengthBuffers,
    ) -> Buffer:
        """Enqueue the kernels for the listed rows; return the buffer that gets their scores (dtype[chosen.room])."""

    def start(
        self, session: KernelSession, batch: SequenceBatch, model: LocalProfile
    ) -> Callable[[], npt.NDArray[Any]]:
        """Start scoring the batch on an OpenCL session; return what waits for the scores (dtype[n])."""
        if len(batch) == 0:
            return lambda: np.empty(0, self.dtype)
        scores = self.enqueue(session, batch, [model], all_rows(session, batch), length_buffers(session, batch))
        return session.fetch(scores, len(batch), self.dtype)

"""Lists of rows of a batch for kernels, and terms of the lengths of its sequences, on a device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import Geometry
from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, Stage, no_check
from clalign.stages.hmmer3.model_groups import Form, Together, geometry_on, launch, together
from clalign.values.devices import Device
from clalign.values.local_profiles import LocalProfile
from clalign.values.local_scores import LengthTerms, length_terms
from clalign.values.sequences import SequenceBatch

Scores = npt.NDArray[Any]


class RowList(Struct, frozen=True):
    """Lists of rows on a device, one for each model of a group, whose lengths need not be known to the host.

    Attributes
    ----------
    rows : buffer of int32[n_models, most]
        Positions in the batch.
    count : buffer of uint32[n_models]
        Number of rows in each list.
    most : int
        Limit of that number.
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

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The lists, how many places of each are taken, and how many there are, as kernels take them."""
        return self.rows, self.count, np.uint32(self.most)


def all_rows(session: KernelSession, batch: SequenceBatch) -> RowList:
    """Return every row of a batch, in order; made once a batch."""

    def make() -> RowList:
        n = len(batch)
        rows = session.upload(np.arange(n, dtype=np.int32))
        return RowList(rows, session.upload(np.array([n], np.uint32)), n)

    return session.cached("all rows", batch, make)


class LengthBuffers(Struct, frozen=True):
    """`local_scores.LengthTerms` of each row of a batch, on a device.

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


class ScoringStage(Stage[SequenceBatch, LocalProfile, Scores]):
    """A stage that scores listed rows of a batch; alone it scores all of them.

    A subclass defines the score of a sequence and the form in which its kernel takes a model. The kernel's arguments
    are codes and offsets, the terms of the lengths, the lists, the models, and the buffer of the scores.
    """

    entry: ClassVar[str]
    """Name of the kernel."""

    dtype: ClassVar[type[np.generic]] = np.float32
    """Type of a score."""

    @abstractmethod
    def _score(self, codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Check) -> float:
        """Return the score of a sequence (`codes`: uint8[L]) by the plain reference."""

    @abstractmethod
    def _terms(self, terms: LengthBuffers) -> tuple[Buffer, ...]:
        """Return the terms of the lengths that the kernel reads."""

    @abstractmethod
    def _form(self, session: KernelSession, profile: LocalProfile) -> Form:
        """Return the form in which the kernel takes a model."""

    def _geometry(self, device: Device, chosen: RowList) -> Callable[[Together], Geometry]:
        return geometry_on(device, self.shape_on(device), chosen.most)

    def reference(self, batch: SequenceBatch, model: LocalProfile, check: Check = no_check) -> Scores:
        values = [self._score(batch.residues(row), model, check) for row in range(len(batch))]
        return np.array(values, self.dtype)

    def start(self, session: KernelSession, batch: SequenceBatch, model: LocalProfile) -> Callable[[], Scores]:
        if len(batch) == 0:
            return lambda: np.empty(0, self.dtype)
        scores = self.enqueue(session, batch, [model], all_rows(session, batch), length_buffers(session, batch))
        return session.fetch(scores, len(batch), self.dtype)

    def enqueue(
        self, session: KernelSession, batch: SequenceBatch, profiles: Sequence[LocalProfile], chosen: RowList,
        terms: LengthBuffers,
    ) -> Buffer:  # fmt: skip
        """Enqueue the kernels for the listed rows; return the buffer that gets their scores (dtype[chosen.room])."""
        scores = session.allocate(np.dtype(self.dtype).itemsize * chosen.room)
        is_passing = chosen.chosen is not None or "NODES" in self.defines
        groups = together(session, profiles, partial(self._form, session), chosen.chosen, is_passing)
        kernel = f"{self.name}_{self.shape_on(session.device)}", self.entry
        head = (*session.residues(batch), *self._terms(terms), *chosen.arguments)
        launch(session, kernel, self._geometry(session.device, chosen), groups, head, (scores,))
        return scores

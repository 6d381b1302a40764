"""Words of global and of local memory in the orders of textbooks, and a product of matrices: what an order costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, KernelSession, Stage, no_check

SOURCE, LOCAL_WORDS = "memories_item", 4096
GROUP = 256

Words = npt.NDArray[np.uint32]


class Reading(Struct, frozen=True):
    """Words that work-items read.

    Attributes
    ----------
    entry : str
        ``read_global``, where each word is read once, or ``read_local``, where all groups read the same `LOCAL_WORDS`.
    words : uint32[n]
    n_items, stride : int
        Work-items, and words from what one reads to what the next one reads at the same time.
    rounds : int
        Words that each of them reads.
    """

    entry: str
    words: Words
    n_items: int
    stride: int
    rounds: int


class ReadingStage(Stage[Reading, int, Words]):
    """What each work-item makes of the words that it reads (uint32[n_items]); the model is the size of a work-group."""

    name = "memories"

    def reference(self, batch: Reading, model: int, check: Check = no_check) -> Words:
        from clalign.reference.memories import sums_of_global, sums_of_local

        check()
        if batch.entry == "read_global":
            return sums_of_global(batch.words, batch.n_items, batch.stride)
        return np.tile(sums_of_local(batch.words, model, batch.stride, batch.rounds), batch.n_items // model)

    def start(self, session: KernelSession, batch: Reading, model: int) -> Callable[[], Words]:
        sums = session.allocate(4 * batch.n_items)
        session.launch(
            SOURCE, batch.entry, self.defines, batch.n_items, model, session.share(batch.words), np.int32(batch.stride),
            np.int32(batch.rounds), sums,
        )  # fmt: skip
        return session.fetch(sums, batch.n_items, np.uint32)


class ProductStage(Stage[tuple[Words, Words], int, Words]):
    """The product of two matrices (uint32[n, n]); with LOCAL_ROW a row is in local memory; the model as above."""

    name = "memories"

    def reference(self, batch: tuple[Words, Words], model: int, check: Check = no_check) -> Words:
        from clalign.reference.memories import product

        check()
        return product(*batch)

    def start(self, session: KernelSession, batch: tuple[Words, Words], model: int) -> Callable[[], Words]:
        n, made = len(batch[0]), session.allocate(batch[0].nbytes)
        defines = {**self.defines, **({"N": n} if self.defines.get("LOCAL_ROW") else {})}
        a, b = map(session.share, batch)
        session.launch(SOURCE, "multiply", defines, n * model, model, a, b, np.int32(n), made)
        found = session.fetch(made, n * n, np.uint32)
        return lambda: found().reshape(n, n)

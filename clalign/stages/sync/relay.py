"""Groups that pass numbers on from round to round: barriers alone, to test them and to measure their cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.compute.group_barriers import BarrierKernel, GroupBarrier, Rounds
from clalign.compute.sessions import Buffer, Check, KernelSession, Stage, no_check

SOURCE = "relay_item"

Numbers = npt.NDArray[np.uint32]


class RelayStage(Stage[Numbers, int, Numbers]):
    """What becomes of each group's numbers (uint32[n_groups, size]) in a number of rounds.

    Parameters
    ----------
    how : GroupBarrier
        For as many groups of the same size as there are numbers of; those that did not take part are left out.
    """

    name = "relay"

    def __init__(self, how: GroupBarrier, **defines: int) -> None:
        super().__init__("item", **defines)
        self.how = how

    def reference(self, batch: Numbers, model: int, check: Check = no_check) -> Numbers:
        from clalign.reference.relay import relayed

        return relayed(batch, model, check)

    def prepared(
        self, session: KernelSession, batch: Numbers, model: int, how: GroupBarrier, *times: Buffer
    ) -> tuple[Rounds, Callable[[int], Numbers]]:
        """Return the rounds, ready to begin, and what returns the numbers of those groups that took part in them.

        With the macro TIMED there is a buffer of times, see ``relay_item.cl``.
        """
        both = session.allocate(2 * batch.nbytes)
        rounds = Rounds(session, how, BarrierKernel(SOURCE, "relay", (both, *times), self.defines), model)
        session.launch(SOURCE, "copy_numbers", rounds.defines, batch.size, None, session.upload(batch), both)

        def found(n: int) -> Numbers:
            halves: Numbers = session.download(both, (2, *batch.shape), np.uint32)
            return halves[model % 2, :n]

        return rounds, found

    def start(self, session: KernelSession, batch: Numbers, model: int) -> Callable[[], Numbers]:
        rounds, found = self.prepared(session, batch, model, self.how)
        rounds.start()
        return lambda: found(rounds.finish())

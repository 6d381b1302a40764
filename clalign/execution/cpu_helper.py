"""The processor beside a graphics card, opened for what suits it better, such as defining domains.

A hit's domains are one long chain of sums: a card has little to do at once, while each core of the
processor runs through it at full speed, and meanwhile the card filters the next batch.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial

from clalign.compute.opening import CHECK_SECONDS, Opening, OpenSession, Rehearse, open_session
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import Check, ProgramChoice, Session, no_build_report
from clalign.errors import DeviceError
from clalign.values.devices import Device

log = logging.getLogger(__name__)

SMALL_JOB_SECONDS = 1.0
"""Time before the processor's programs are compiled (s): jobs that are over by then did well without."""


class CpuHelper(ExitStack):
    """A context manager that opens the processor when a card needs it.

    Parameters
    ----------
    card : Session
        Session of the device that may be helped.
    pick_device : callable
        Returns the device for words of the user.
    check : callable
        Called by the session now and then; it may raise `Cancelled`.
    is_needed : bool
        Whether there may be something that suits it.
    helps : sequence of callable
        Each starts what the processor may have to do on a session that computes nothing. While programs for that are
        not built, the card does the work: compilers for processors need many seconds for them. A processor without a
        card compiles them after all others.
    open_it : callable, optional
        Opens the processor; by default `clalign.compute.opening.open_session`.

    Attributes
    ----------
    session : Session or None
        Session of the processor, once it was used.
    """

    def __init__(
        self,
        card: Session,
        pick_device: Callable[[str], Device],
        check: Check,
        is_needed: bool = True,
        helps: Sequence[Rehearse] = (),
        open_it: OpenSession | None = None,
    ) -> None:
        super().__init__()
        self.session: Session | None = None
        self._card, self._check, self._helps = card, check, helps
        self._opening: Opening[Session] | None = None
        self._processor: Session | None = None
        self._lacking: list[ProgramChoice] = []
        self._looked, self._ended = threading.Event(), threading.Event()
        prepare: Callable[[], None] | None = None
        if is_needed and card.device.kind in ("gpu", "accelerator"):
            self._opening = self.enter_context(
                Opening(lambda: (open_it or open_session)(pick_device("cpu"), check, no_build_report))
            )
            prepare = partial(self._prepare, self._opening)
        else:
            self._looked.set()
            if is_needed and helps:
                prepare = self._prepare_itself
        if prepare is not None:
            self.callback(self._ended.set)
            threading.Thread(target=prepare, name="prepares the processor", daemon=True).start()

    def _prepare_itself(self) -> None:
        """Build what a processor without a card lacks, after the programs that are needed sooner."""
        with suppress(DeviceError):
            programs = self._programs(self._card.device)
            self._card.foresee(programs)
            if not self._ended.wait(SMALL_JOB_SECONDS):
                self._card.build_ahead(self._card.unbuilt(programs), can_wait=True)

    def _prepare(self, opening: Opening[Session]) -> None:
        """Find the programs that the processor lacks; build those of the card in their place, then these."""
        try:
            self._processor = processor = opening.opened()
            if processor is not None:
                self._lacking = processor.unbuilt(self._programs(processor.device))
            self._looked.set()
            if (processor is None or self._lacking) and not self._ended.is_set():
                self._card.build_ahead(self._programs(self._card.device), can_wait=True)
            if processor is not None and self._lacking and not self._ended.wait(SMALL_JOB_SECONDS):
                processor.build_ahead(self._lacking)
        except DeviceError:
            log.debug("what programs a processor needs could not be foreseen", exc_info=True)
        finally:
            self._looked.set()

    def _programs(self, device: Device) -> list[ProgramChoice]:
        rehearsal = Rehearsal(device, counts=False)
        for rehearse in self._helps:
            rehearse(rehearsal)
        return list(rehearsal.programs)

    def report(self) -> tuple[str | None, dict[str, float]]:
        """Return the name of the processor if it was used, and the time of each kernel on both devices together (s)."""
        seconds = Counter(self._card.seconds_by_kernel)
        if self.session is None:
            return None, dict(seconds)
        seconds.update(self.session.seconds_by_kernel)
        return self.session.device.name, dict(seconds)

    def session_for(self, beside: Session) -> Session:
        """Return the processor's session, or `beside`, a session of the card, where there is no processor."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            with suppress(DeviceError):  # without a driver for the processor the card does it
                self.session = self.enter_context(opening.result(self._check))
        return self.session or beside

    def helper_for(self, beside: Session) -> Session:
        """Return the result of `session_for`, or `beside` while programs of the processor are not compiled."""
        while not self._looked.wait(CHECK_SECONDS):
            self._check()
        if self._lacking and self._processor is not None:
            self._lacking = self._processor.unbuilt(self._lacking)
        return beside if self._lacking else self.session_for(beside)

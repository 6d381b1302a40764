"""The processor, opened beside a graphics card for what suits it better, such as defining domains.

A hit's domains are one long chain of sums: a card has little to do at once, while each core of the
processor runs through it at full speed, and meanwhile the card filters the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from clalign.compute.opening import Opening, Rehearse, open_session
from clalign.compute.sessions import Check, Session
from clalign.errors import DeviceError
from clalign.values.devices import Device


class Host(ExitStack):
    """A context manager that gives the session of the processor.

    Parameters
    ----------
    device : Device
        The card.
    pick_device : callable
        Returns the device for the user's words.
    check : callable
        What the session calls now and then; it may raise `Cancelled`.
    is_needed : bool
        Whether there may be something that suits it.
    helps : sequence of callable
        Start on a session that computes nothing what the processor may have to do, so that its programs are built
        while the card computes.

    Attributes
    ----------
    session : Session or None
        Of the processor, once it has been used.
    """

    def __init__(
        self,
        device: Device,
        pick_device: Callable[[str], Device],
        check: Check,
        is_needed: bool = True,
        helps: Sequence[Rehearse] = (),
    ) -> None:
        super().__init__()
        self.session: Session | None = None
        self._check = check
        self._opening: Opening | None = None
        if is_needed and device.kind in ("gpu", "accelerator"):
            self._opening = self.enter_context(Opening(lambda: open_session(pick_device("cpu"), check)))
            for rehearse in helps:
                self._opening.foresee(rehearse, only_new=True)

    def session_for(self, beside: Session) -> Session:
        """Return the processor's session; `beside`, one of the card, where there is none."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            with suppress(DeviceError):  # without a driver for the processor the card does it
                self.session = self.enter_context(opening.result(self._check))
        return self.session or beside

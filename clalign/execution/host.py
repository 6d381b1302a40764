"""The processor, opened beside a graphics card for what suits it better, such as defining domains.

A hit's domains are one long chain of sums: a card has little to do at once, while each core of the
processor runs through it at full speed, and meanwhile the card filters the next batch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from clalign.compute.opening import Opening, open_session
from clalign.compute.sessions import Check, Session
from clalign.errors import DeviceError
from clalign.values.devices import Device


class Host:
    """A context manager that gives the session of the processor.

    Parameters
    ----------
    session : Session
        Of the card.
    pick_device : callable
        Returns the device for the user's words.
    check : callable
        What the session calls now and then; it may raise `Cancelled`.
    is_needed : bool
        Whether there may be something that suits it.
    """

    def __init__(
        self, session: Session, pick_device: Callable[[str], Device], check: Check, is_needed: bool = True
    ) -> None:
        self._check = check
        self._opening: Opening | None = None
        self._host: Session | None = None
        if is_needed and session.device.kind in ("gpu", "accelerator"):
            self._opening = Opening(lambda: open_session(pick_device("cpu"), check))

    @property
    def device(self) -> Device | None:
        """The processor, once it has been used."""
        return None if self._host is None else self._host.device

    def session_for(self, beside: Session) -> Session:
        """Return the processor's session; `beside`, one of the card, where there is none."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            with opening, suppress(DeviceError):  # without a driver for the processor the card does it
                self._host = opening.result(self._check)
        return self._host or beside

    def seconds_by_kernel(self) -> dict[str, float]:
        """Return the time of the processor's kernels."""
        return {} if self._host is None else self._host.seconds_by_kernel

    def __enter__(self) -> Host:
        if self._opening is not None:
            self._opening.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opening is not None:
            self._opening.__exit__(kind, error, trace)
        if self._host is not None:
            self._host.__exit__(kind, error, trace)

"""A device is opened while the host reads: errors, a stop and a hanging driver keep their meaning."""

from __future__ import annotations

import threading
import time

import pytest

from clalign.devices import REFERENCE
from clalign.errors import Cancelled, DeviceNotFound, InputError
from clalign.search import opening as module
from clalign.search.opening import Opening
from clalign.sessions import ReferenceSession, Session


class Noted(ReferenceSession):
    """A session that notes that it was closed."""

    closed = False

    def __exit__(self, *what: object) -> None:
        self.closed = True


def test_both_sides_work_at_once() -> None:
    reading = threading.Event()

    def open_it() -> Session:
        assert reading.wait(10)
        return Noted(REFERENCE)

    with Opening(open_it) as opening:
        reading.set()  # only reached if opening does not hold up the host
        session = opening.result(lambda: None)
    assert isinstance(session, Noted)
    assert not session.closed


def test_an_error_of_the_device_is_raised_where_it_is_asked_for() -> None:
    def open_it() -> Session:
        raise DeviceNotFound("No device fits.", "")

    with Opening(open_it) as opening, pytest.raises(DeviceNotFound):
        opening.result(lambda: None)


def test_an_error_of_the_input_closes_the_device() -> None:
    session = Noted(REFERENCE)
    with pytest.raises(InputError), Opening(lambda: session):
        raise InputError("file", "this is not readable.", "Check it.")
    assert session.closed


def test_a_stop_is_heard_while_a_driver_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.1)
    released = threading.Event()

    def hang() -> Session:
        released.wait(30)
        return Noted(REFERENCE)

    def stop() -> None:
        raise Cancelled

    began = time.monotonic()
    with pytest.raises(Cancelled), Opening(hang) as opening:
        opening.result(stop)
    assert time.monotonic() - began < 10
    released.set()

"""A device is opened while the host reads: errors, a stop and a hanging driver keep their meaning."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import clalign
from clalign.compute import opening as module
from clalign.compute.opening import Opening
from clalign.compute.sessions import ReferenceSession, Session
from clalign.engines.engine import explain_in_run
from clalign.errors import Cancelled, DeviceError, DeviceNotFound, InputError, OutOfDeviceMemory
from clalign.jobs import QuietContext
from clalign.values.devices import REFERENCE

GOLDEN = Path(__file__).parents[1] / "golden"


class Noted(ReferenceSession):
    """A session that notes that it was closed."""

    closed = False

    def __exit__(self, *what: object) -> None:
        self.closed = True


def test_both_sides_work_at_once() -> None:
    reading = threading.Event()

    def open_it() -> Session:
        assert reading.wait(120)
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


def test_a_stop_is_noticed_while_a_driver_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.1)
    released = threading.Event()

    def hang() -> Session:
        released.wait()
        return Noted(REFERENCE)

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled), Opening(hang) as opening:
        opening.result(stop)
    released.set()  # not before: who waits for the driver waits for ever


def test_a_device_that_fails_is_opened_once_more() -> None:
    opened: list[Noted] = []
    messages: list[str] = []

    def open_it() -> Session:
        opened.append(Noted(REFERENCE))
        return opened[-1]

    def work(session: Session) -> int:
        if session is opened[0]:
            raise DeviceError("The cable is loose.", "Fasten it.")
        return 7

    with Opening(open_it) as opening:
        assert opening.work(work, lambda: None, messages.append) == 7
    assert [session.closed for session in opened] == [True, True]
    assert len(messages) == 1
    assert "The cable is loose" in messages[0]


@pytest.mark.parametrize(("error", "n_opened"), [(DeviceError, 2), (OutOfDeviceMemory, 1), (DeviceNotFound, 1)])
def test_what_fails_again_is_an_error(error: type[DeviceError], n_opened: int) -> None:
    opened: list[Noted] = []

    def open_it() -> Session:
        opened.append(Noted(REFERENCE))
        return opened[-1]

    def fail(session: Session) -> None:
        raise error("It does not work.", "Repair it.")

    with pytest.raises(error) as found, Opening(open_it) as opening:
        opening.work(fail, lambda: None, lambda text: None)
    assert len(opened) == n_opened
    assert ("another device" in found.value.hint) == (n_opened == 2)


def test_what_fails_since_the_job_has_ended_is_not_tried_again() -> None:
    opened: list[Noted] = []
    is_over = threading.Event()

    def open_it() -> Session:
        opened.append(Noted(REFERENCE))
        return opened[-1]

    def fail(session: Session) -> None:
        is_over.set()
        raise DeviceError("Its process was ended.", "Start it again.")

    def check() -> None:
        if is_over.is_set():
            raise Cancelled

    messages: list[str] = []
    with pytest.raises(Cancelled), Opening(open_it) as opening:
        opening.work(fail, check, messages.append)
    assert len(opened) == 1
    assert not messages


@pytest.mark.parametrize("kind", ["profile", "pairs"])
def test_explaining_is_tried_once_more(kind: str, loose_device: list[Session], tmp_path: Path) -> None:
    run, sequences = tmp_path / "run.clalign", tmp_path / "proteins.fa"
    sequences.write_text(
        "".join(f">{one}" for one in (GOLDEN / "sequences" / "proteins.fa").read_text().split(">")[1:3])
    )
    if kind == "pairs":
        clalign.sw(sequences, sequences, run, device="reference").close()
    else:
        clalign.hmmsearch(GOLDEN / "profiles" / "rrm_ls.hmm", sequences, run, device="reference").close()
    loose_device.clear()
    first, second = (explain_in_run(run, 0, 1, lambda _: REFERENCE, QuietContext()) for _ in range(2))
    assert len(loose_device) == 3
    assert first == second

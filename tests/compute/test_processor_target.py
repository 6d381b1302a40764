"""The name that PoCL gets of a processor that its compiler does not know."""

import ctypes
import sys

import pytest

from clalign.compute.opencl import processor_target
from clalign.compute.opencl.processor_target import LADDER, name_for, named

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the files of Linux on a process")

ALL = " ".join(added for _, added in LADDER).split()
TARGET = "x86_64-unknown-linux-gnu"
VERSION = f"OpenCL 3.0 PoCL HSTR: pthread-{TARGET}-"


class Kept(ctypes.Structure):
    """What a driver keeps of a device: numbers that are no addresses, texts, and the name among them."""

    _fields_ = (
        ("number", ctypes.c_uint64), ("maker", ctypes.c_char_p), ("wild", ctypes.c_uint64 * 40),
        ("target", ctypes.c_char_p), ("cpu", ctypes.c_char_p), ("rest", ctypes.c_uint64 * 300),
    )  # fmt: skip


def kept(cpu: bytes) -> Kept:
    device = Kept(number=7, maker=b"generically made", target=TARGET.encode(), cpu=cpu)
    device.wild[3], device.wild[4] = 2**64 - 8, 0x10
    return device


@pytest.fixture
def zen_5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_target, "flags", lambda: frozenset(ALL))
    monkeypatch.setattr(processor_target, "_given", {})


@pytest.mark.usefixtures("zen_5")
def test_an_unknown_processor_gets_a_name():
    device = kept(b"generic")
    address = ctypes.addressof(device)
    for _ in range(2):
        assert named(address, f"{VERSION}generic") == f"{VERSION}icelake-server"
        assert device.cpu == b"icelake-server"
    assert device.maker == b"generically made"
    assert (device.number, device.wild[3], device.wild[4]) == (7, 2**64 - 8, 0x10)


@pytest.mark.usefixtures("zen_5")
def test_a_known_processor_keeps_its_name():
    device = kept(b"generic")
    assert named(ctypes.addressof(device), f"{VERSION}znver3") == f"{VERSION}znver3"
    assert device.cpu == b"generic"


@pytest.mark.usefixtures("zen_5")
def test_nothing_changes_where_the_name_is_not_found():
    device = kept(b"haswell")
    assert named(ctypes.addressof(device), f"{VERSION}generic") == f"{VERSION}generic"
    assert device.cpu == b"haswell"


@pytest.mark.usefixtures("zen_5")
def test_the_name_is_the_one_beside_the_target():
    device = kept(b"generic")
    device.maker = b"generic"
    assert named(ctypes.addressof(device), f"{VERSION}generic") == f"{VERSION}icelake-server"
    assert (device.maker, device.cpu) == (b"generic", b"icelake-server")


@pytest.mark.parametrize(("n_steps", "name"), [*enumerate(["x86-64", *(name for name, _ in LADDER)])])
def test_a_processor_that_lacks_a_flag_gets_the_name_below(n_steps, name):
    flags = frozenset(" ".join(added for _, added in LADDER[:n_steps]).split())
    assert name_for(flags) == name
    for flag in LADDER[n_steps][1].split() if n_steps < len(LADDER) else ():
        assert name_for(frozenset(ALL) - {flag}) == name

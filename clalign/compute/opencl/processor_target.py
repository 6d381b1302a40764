"""The processor that PoCL compiles for, if its compiler is older than the processor.

PoCL asks LLVM for the name of the processor. LLVM 14, which is in the PoCL of PyPI, calls AMD's Zen 5 "generic", and
compiles nothing for that. No setting of PoCL before 4.0 changes this name, so the name in its structure of the device
is replaced by one that LLVM knows and whose instructions this processor has.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import re
import sys
import threading
from functools import cache
from pathlib import Path

UNKNOWN = "generic"
"""LLVM's name of an unknown processor."""

BASE = "x86-64"
"""Name of the lowest level, which every such processor has."""

LADDER = (
    ("x86-64-v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"),
    ("x86-64-v3", "abm avx2 bmi1 bmi2 f16c fma movbe xsave"),
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
    (
        "icelake-server",
        "avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq gfni vaes vpclmulqdq",
    ),
)
"""Names, the lowest first: the levels of x86-64 (System V ABI, 3.1.1), and what SSV was up to a fifth faster with on a
Zen 5. With each the flags, as Linux shows them, that it adds and a compiler uses by itself."""

STRUCTURE_BYTES = 2048
"""Bytes of PoCL's structure of a device that are searched; in PoCL 3.0 the name follows after 640 bytes."""

_WORD = ctypes.sizeof(ctypes.c_void_p)

_given: dict[int, ctypes.Array[ctypes.c_char]] = {}
"""The new names of devices, by their addresses; devices refer to them until the process ends."""

_naming = threading.Lock()


def named(device: int, version: str) -> str:
    """Give a device of PoCL a processor name that LLVM knows, if it has none, and return its version.

    Parameters
    ----------
    device : int
        Address of the device.
    version : str
        Version from the driver, which ends with the target of the compiler and the name of the processor.

    Returns
    -------
    str
        The version with the name that programs are compiled for from now on.
    """
    found = re.search(rf"pthread-(x86_64-\S+)-{UNKNOWN}$", version)
    if found is None or sys.platform != "linux":
        return version
    with _naming:
        place = _place_of(UNKNOWN, found[1], device)
        if place is not None:
            _given[device] = ctypes.create_string_buffer(name_for(flags()).encode())
            ctypes.c_void_p.from_address(place).value = ctypes.addressof(_given[device])
    return version.removesuffix(UNKNOWN) + _given[device].value.decode() if device in _given else version


def name_for(flags: frozenset[str]) -> str:
    """Return the highest name of the ladder for a processor that has some flags."""
    found = BASE
    for name, added in LADDER:
        if not flags.issuperset(added.split()):
            break
        found = name
    return found


@cache
def flags() -> frozenset[str]:
    """Return the flags of this machine's processor; none where the system does not list them."""
    with contextlib.suppress(OSError):
        found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text("utf-8", "replace"), re.MULTILINE)
        return frozenset(found[1].split()) if found else frozenset()
    return frozenset()


def _place_of(text: str, before: str, structure: int) -> int | None:
    """Return the address at which a structure refers to a text, next to another one; None without one.

    Memory is read through the system, so that a wrong address is an error rather than a crash.
    """
    with contextlib.suppress(OSError), open("/proc/self/mem", "rb", buffering=0) as memory:

        def is_at(address: int, text: str) -> bool:
            wanted = text.encode() + b"\0"
            with contextlib.suppress(OSError, OverflowError):
                return os.pread(memory.fileno(), len(wanted), address) == wanted
            return False

        words = memoryview(os.pread(memory.fileno(), STRUCTURE_BYTES, structure)).cast("Q")
        for number, (first, second) in enumerate(itertools.pairwise(words), 1):
            if is_at(second, text) and is_at(first, before):
                return structure + number * _WORD
    return None

"""Compiled kernels kept between runs, because some drivers take long to find out that they know a source.

Kept by everything that the result depends on, with a checksum, since drivers do not survive every
damaged binary. What a driver does not take is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pyopencl as cl

from clalign.compute.opencl.processor_target import named
from clalign.databases.cache import keep_kernel, kernel_folder
from clalign.databases.cache_root import make_folder

log = logging.getLogger(__name__)

DIGEST_BYTES = 32


def ignore_remarks() -> None:
    """Ignore what compilers remark on valid programs, before each build: a caller may have changed the filters."""
    warnings.filterwarnings("ignore", category=cl.CompilerWarning)


@lru_cache(64)
def _begin_digest(source: str) -> hashlib._Hash:
    """Return a checksum that has seen a source: programs of the same source are looked for one after the other."""
    return hashlib.sha256(source.encode())


@cache
def _facts_of(device: cl.Device) -> list[str]:
    """Return the facts that compiled programs of a device depend on; drivers are asked once."""
    platform = device.platform
    version = named(device.int_ptr, device.version)  # PoCL warns of a processor that it does not know
    return [device.name, version, device.driver_version, platform.name, platform.version, cl.VERSION_TEXT]


def place_of(device: cl.Device, source: str, options: Sequence[str]) -> Path:
    """Return the file in which a compiled program is kept."""
    digest = _begin_digest(source).copy()
    digest.update("\0".join(["", *options, *_facts_of(device)]).encode())
    return kernel_folder() / digest.hexdigest()


def find(context: cl.Context, place: Path, options: Sequence[str]) -> cl.Program | None:
    """Return the program that is kept in a file, or None if there is none that the driver takes."""
    try:
        data = place.read_bytes()
    except OSError:
        return None
    digest, binary = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    if hashlib.sha256(binary).digest() != digest:
        return None
    try:
        ignore_remarks()
        program: cl.Program = cl.Program(context, context.devices, [binary]).build(options=list(options))
    except cl.Error as error:
        log.debug("%s was not taken: %s", place.name, error)
        return None
    with contextlib.suppress(OSError):
        os.utime(place)
    return program


def can_keep() -> bool:
    """Return whether compiled programs can be kept."""
    return _is_writable(kernel_folder())


@cache
def _is_writable(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        make_folder(folder)
        return os.access(folder, os.W_OK)
    return False


def keep(program: cl.Program, place: Path) -> None:
    """Keep a compiled program; do without where that is not possible."""
    with contextlib.suppress(OSError, cl.Error):
        binaries: Any = program.get_info(cl.program_info.BINARIES)
        binary = bytes(binaries[0])
        if not binary:
            return
        keep_kernel(place, hashlib.sha256(binary).digest() + binary)

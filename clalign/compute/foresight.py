"""Which programs work was found to need, kept beside the programs themselves.

To rehearse a library of profiles takes longer than to load the programs that it turns out to need, and takes the
interpreter's lock from the thread that searches with it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path

import clalign
from clalign import tracing
from clalign.compute.opening import Rehearse
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import ProgramChoice
from clalign.databases.cache import keep_kernel, kernel_folder
from clalign.formats.checksums import checked_content, checked_json
from clalign.values.devices import Device

log = logging.getLogger(__name__)

_CHOOSING = "compute", "engines", "stages", "values"
"""The packages that choose programs."""

_OF_NO_CONSEQUENCE = "health", "problem", "gcups"
"""What may become known of a device without another choice of programs."""

_MACROS = str, int, float
"""What a value of a macro may be."""


def remembered(rehearse: Rehearse, *inputs: str) -> Rehearse:
    """Return what rehearses if that was not done before on the same device, and else takes what was found then.

    Parameters
    ----------
    rehearse : callable
        What it starts depends on the inputs and the device alone.
    *inputs : str
        By which these inputs differ from all others: checksums of files, options.
    """
    facts = clalign.__version__, _state_of_code(), *inputs

    def run(session: Rehearsal) -> None:
        place = kernel_folder() / _digest(*facts, *_facts_of(session.device))
        with tracing.span("look what programs were needed", "preparing"):
            known = _read(place)
        if known is not None:
            session.build_ahead(known)
            return
        rehearse(session)
        _keep(list(session.programs), place)

    return run


def _digest(*facts: str) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@cache
def _state_of_code() -> str:
    """Return by what a change of the code shows that chooses programs; of an installed program its version does."""
    root, found = Path(clalign.__file__).parent, []
    with suppress(OSError):
        for package in _CHOOSING:
            for folder, _, names in os.walk(root / package):
                for name in names:
                    if name.endswith(".py"):
                        status = os.stat(os.path.join(folder, name))
                        found.append((folder, name, status.st_size, status.st_mtime_ns))
    return _digest(*map(str, sorted(found)))


def _facts_of(device: Device) -> list[str]:
    """Return what choices of programs may go by."""
    names = [each.name for each in fields(device) if each.compare and each.name not in _OF_NO_CONSEQUENCE]
    return [f"{name}={getattr(device, name)!r}" for name in names]


def _read(place: Path) -> list[ProgramChoice] | None:
    """Return the programs that a file names; None if it is not there, or damaged."""
    try:
        found = [ProgramChoice.of(source, defines) for source, defines in checked_content(place.read_text("utf-8"))]
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    with suppress(OSError):
        os.utime(place)
    return found


def _keep(programs: list[ProgramChoice], place: Path) -> None:
    """Keep which programs were needed; do without where that is not possible."""
    odd = {type(value) for choice in programs for value in choice.defines.values()}.difference(_MACROS)
    if odd:
        log.debug("programs are not remembered: macros of theirs are of the types %s", odd)
        return
    with suppress(OSError):
        keep_kernel(place, checked_json([[choice.source, choice.defines] for choice in programs]).encode())

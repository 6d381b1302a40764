"""Stored numbers about a device and its driver: results of `clalign tune`, and counts."""

from __future__ import annotations

import logging
from pathlib import Path

from clalign.databases.cache_root import cache_root, make_folder, write_whole
from clalign.errors import OutputError
from clalign.formats.checksums import checked_content, checked_json

log = logging.getLogger(__name__)

Tunings = dict[str, dict[str, int]]

MAX_TUNING_VALUE = 2**40
"""Limit of a choice; some are amounts of memory in bytes."""


def tunings_path() -> Path:
    """Return the file of the tunings of devices."""
    return cache_root() / "tunings.json"


def counts_path() -> Path:
    """Return the file of counts on devices, such as the number of groups that run at once."""
    return cache_root() / "counts.json"


def read_tunings(path: Path | None = None) -> Tunings:
    """Return the tunings, or the numbers of another file, by key of device; none if it is missing or damaged."""
    try:
        data = checked_content((path or tunings_path()).read_text("utf-8"))
        found = {str(key): {str(name): int(value) for name, value in one.items()} for key, one in data.items()}
    except (OSError, ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        return {}
    return {key: one for key, one in found.items() if all(0 <= value <= MAX_TUNING_VALUE for value in one.values())}


def keep_tuning(key: str, tuning: dict[str, int] | None, path: Path | None = None) -> None:
    """Store or remove the tuning of a device, or other numbers.

    Parameters
    ----------
    key : str
        Key of the device, its driver and the kernels (`clalign.compute.opencl.discover.device_key`).
    tuning : dict or None
        Choices by name; None to go back to the choices of its vendor.
    path : Path, optional
        The file, if it is not that of the tunings.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    path = path or tunings_path()
    known = read_tunings(path)
    known.pop(key, None)
    if tuning is not None:
        known[key] = tuning
    try:
        make_folder(path.parent)
        write_whole(path, checked_json(known))
    except OSError as error:
        raise OutputError(
            f"The choices could not be stored in {path} ({error.strerror}).",
            "Free some space there, or set CLALIGN_CACHE_DIR to another folder.",
        ) from error

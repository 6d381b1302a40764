"""OpenCL: the only room that imports pyopencl; sets the environment of drivers before they are loaded."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import platformdirs

from clalign.databases.cache_root import FOLDER_VARIABLE, cache_root, can_write, make_folder, write_whole
from clalign.system.bounds import bound_drivers

SYSTEM_DRIVERS = Path("/etc/OpenCL/vendors")
"""Folder in which drivers register with the loader on Linux."""


def register_intel_runtime(prefix: str, system: Path = SYSTEM_DRIVERS) -> None:
    """Register Intel's processor driver with the loader if it is a Python package; before pyopencl is imported.

    The package registers itself on Windows not at all, and on Linux by a file with a wrong folder. The loader of Linux
    reads one folder only, so a file for the driver is written beside those of the system.
    """
    on_windows = Path(prefix) / "Library" / "bin" / "intelocl64.dll"
    if sys.platform == "win32" and on_windows.is_file():
        os.environ.setdefault("OCL_ICD_FILENAMES", str(on_windows))
    library = Path(prefix) / "lib" / "libintelocl.so"
    if sys.platform != "linux" or "OCL_ICD_VENDORS" in os.environ or not library.is_file():
        return
    with suppress(OSError):
        others = {path.name: path.read_text("utf-8", "replace") for path in system.glob("*.icd")}
        if any(library.name in text for text in others.values()):
            return
        os.environ["OCL_ICD_VENDORS"] = str(_registry({**others, "clalign-intel-cpu.icd": f"{library}\n"}.items()))


def _registry(drivers: Iterable[tuple[str, str]]) -> Path:
    """Return a folder that registers drivers, by name and content of their files, and no others."""
    folder = cache_root() / "drivers"
    make_folder(folder)
    wanted = dict(drivers)
    for path in folder.glob("*.icd"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8", "replace") != text:
            write_whole(path, text)
    return folder


def disable_specialization() -> None:
    """Keep PoCL from compiling a kernel again for the size of its first launch; before its driver is loaded.

    This took half of a first use, in the thread that launches, and made no later run faster: see
    docs/notes/times.md.
    """
    os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")


def set_cache_folders() -> None:
    """Give PoCL a cache within that of clalign if the user has named one or no other can be written.

    PoCL shows no device without a cache. pyopencl's cache is turned off if its folder cannot be made.
    """
    usual = Path(platformdirs.user_cache_dir())
    if not can_write(usual / "pytools"):
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    if "POCL_CACHE_DIR" in os.environ or not (os.environ.get(FOLDER_VARIABLE) or not can_write(usual / "pocl")):
        return
    folder = cache_root() / "pocl"
    with suppress(OSError):
        make_folder(folder)
        os.environ["POCL_CACHE_DIR"] = str(folder)


set_cache_folders()
bound_drivers()
register_intel_runtime(sys.prefix)
disable_specialization()

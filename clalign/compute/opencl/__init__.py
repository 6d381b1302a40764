"""OpenCL: the only room that imports pyopencl."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import platformdirs

from clalign.databases.cache_root import FOLDER_VARIABLE, cache_root, can_write, make_folder, write_whole

SYSTEM_DRIVERS = Path("/etc/OpenCL/vendors")
"""Where drivers register with the loader on Linux."""


def announce_intel_runtime(prefix: str, system: Path = SYSTEM_DRIVERS) -> None:
    """Tell the loader of Intel's processor driver, where it came as a Python package; before pyopencl is imported.

    That package does not register itself: on Windows it leaves it out, on Linux its file names a folder that is
    nowhere. The loader of Linux reads one folder only, so its file gets there beside those of the system.
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


def run_kernels_as_built() -> None:
    """Keep PoCL from compiling a kernel again at its first launch, for the size of that; before its driver is loaded.

    It took half of a first use, in the thread that launches, and no later run was faster for it: see
    docs/notes/times.md.
    """
    os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")


def keep_caches_where_they_can_be() -> None:
    """Let PoCL, which shows no device without a cache, have one in ours where the user has named that or has no other.

    pyopencl has none then, whose own cache fails where its folder cannot be made. To be called before either is loaded.
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


keep_caches_where_they_can_be()
announce_intel_runtime(sys.prefix)
run_kernels_as_built()

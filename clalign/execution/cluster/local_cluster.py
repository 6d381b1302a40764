"""A cluster on this machine: the keys that protect it, and how its workers are started."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import tempfile
from functools import cache
from multiprocessing import util
from pathlib import Path
from typing import TYPE_CHECKING

from clalign.errors import OptionError
from clalign.formats.scratch import Scratch

if TYPE_CHECKING:
    from distributed import Security


SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Workers on this machine compute with its cores, and do not watch themselves hundreds of times a second; the pages of
scheduler and workers, which ask nobody for a key, show nothing."""

MAX_FOLDER_BYTES = 107 - len("/listener-12345678")
"""Linux has no socket of a longer name: where temporary files lie deeper, each worker loads its modules itself."""

LOADED = ["distributed.nanny", "clalign.execution.cluster.worker", "clalign.compute.opencl.choice"]
"""What workers on this machine have in common before they are started."""


def keys_in(folder: Path) -> Security:
    """Make a key and a certificate in a folder that no other user can enter, and return Dask's security object.

    Scheduler, workers, nannies and client know each other by them; whoever lacks the key is refused by all of them.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    OptionError
        If the package that makes keys is not installed.
    """
    from distributed import Security

    try:
        made = Security.temporary()
    except ImportError as error:
        raise OptionError(
            f"Workers on this machine need keys, and the package cryptography, which makes them, cannot be used here"
            f" ({error}).",
            "Install it with: pip install cryptography",
        ) from None
    texts = {"cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, text in texts.items():
        with open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(text)
    files = {f"tls_{role}_{name}": str(folder / name) for role in ("client", "scheduler", "worker") for name in texts}
    return Security(require_encryption=True, tls_ca_file=str(folder / "cert"), **files)


def starting() -> dict[str, str]:
    """Return how workers are started: where that can be, forked off a process that has loaded the modules once."""
    if sys.platform != "linux" or hasattr(sys, "frozen"):
        return {}
    fork_folder()
    if len(os.fsencode(util.get_temp_dir())) > MAX_FOLDER_BYTES:
        return {}
    found = {"distributed.worker.multiprocessing-method": "forkserver"}
    with importlib.import_module("dask.config").set(found):
        importlib.import_module("distributed.utils").get_mp_context()  # which sets what is loaded, the first time
    multiprocessing.get_context("forkserver").set_forkserver_preload(LOADED)
    return found


@cache
def fork_folder() -> Scratch:
    """Return the temporary folder of this process in which the one that workers are forked off has its socket.

    Python makes its folder wherever temporary files are, and leaves it there when this process is killed, or ends as
    `clalign worker` does; within one of ours it goes with that, at the latest when a later start removes it.
    """
    folder, usual = Scratch(), tempfile.tempdir
    tempfile.tempdir = str(folder.path)
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = usual
    util.Finalize(None, folder.remove, exitpriority=-200)  # Python removes its own before, at -100
    return folder


def end() -> None:
    """Remove what lies in temporary folders as long as this process lives; for one that ends without its finalizers."""
    if fork_folder.cache_info().currsize:
        fork_folder().remove()

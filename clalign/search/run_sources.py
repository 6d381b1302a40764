"""Whether the files that a run was made with are still where they were."""

from __future__ import annotations

from pathlib import Path

from clalign.errors import InputError


def check_still_there(*paths: str) -> None:
    """Refuse a run of which a file is gone.

    Raises
    ------
    InputError
        If one of the paths that the run keeps leads nowhere.
    """
    for path in paths:
        if path != "-" and not Path(path).exists():
            raise InputError(
                path,
                "this run was made with that file, which is not there any more.",
                "Put it back there, under the same name.",
            )

"""Finished runs become one file again, once nobody reads them any more."""

from __future__ import annotations

import contextlib
from pathlib import Path

from clalign.errors import ClalignError
from clalign.runs.run_file import open_run


def seal_finished(path: Path) -> None:
    """Bring a finished run into its one file, of which others hindered the last step when it ended.

    Where that cannot be now, or somebody else has the file open, it stays as it is: whole, but with its log beside it.
    """
    if not path.with_name(f"{path.name}-wal").exists():
        return
    with contextlib.suppress(ClalignError, OSError), open_run(path, writable=True, patience=0.0) as run:
        if run.state == "done":
            run.seal()

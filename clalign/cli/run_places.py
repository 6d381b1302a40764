"""The place of a command's run file, and what happens to the run when the command fails."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from clalign.errors import ClalignError, ExitCode, OutputError, WorkerLost, command_for
from clalign.formats.scratch import Scratch, remove_orphans
from clalign.values.devices import cluster_of
from clalign.values.specs import device_flags

if TYPE_CHECKING:
    from clalign.cli.outputs import Outputs


class RunPlace(Struct, frozen=True):
    """The place of a run file.

    Attributes
    ----------
    path : Path
    scratch : Scratch or None
        The temporary folder that holds it; None if the user named the file.
    is_new : bool
        Whether this command makes it.
    copies : dict
        Copies of standard input and pipes that this command made beside it, each with its input.
    device : str
        The user's words for the device; those for a cluster have to be given again to continue the run.
    one_more : list of str
        Flags that have a complete search in rounds go on.
    """

    path: Path
    scratch: Scratch | None = None
    is_new: bool = False
    copies: dict[Path, str] = field(default_factory=dict)
    device: str = ""
    one_more: list[str] = field(default_factory=list)

    def clear(self) -> None:
        """Remove a temporary run."""
        if self.scratch:
            self.scratch.remove()

    def leave(self) -> None:
        """Keep the temporary run, whose path the user was shown, from being removed by a later start."""
        if self.scratch:
            self.scratch.keep()

    def remove_copies(self) -> None:
        """Remove the copies of inputs."""
        for copy in self.copies:
            copy.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove a run that this command made and that is empty, but not one that others made meanwhile."""
        from clalign.runs.connection import is_owned
        from clalign.runs.side_files import remove_run

        self.clear()
        if not self.is_new:
            return
        self.remove_copies()
        if not (has_results(self.path) or is_owned(self.path)):
            with contextlib.suppress(OutputError):  # it was not made, or something else came
                remove_run(self.path)


def run_place(path: str | None, device: str = "") -> RunPlace:
    """Return the place of a new run: the user's path, or one in a new temporary folder."""
    if path is not None:
        return RunPlace(Path(path), is_new=True, device=device)
    remove_orphans()
    scratch = Scratch()
    return RunPlace(scratch.path / "search.clalign", scratch, is_new=True, device=device)


def add_advice(error: ClalignError, place: RunPlace, outputs: Outputs) -> None:
    """Add to the hint of an error where the results are, and how to continue."""
    if has_results(place.path):
        error.hint = f"{error.hint} {continuation(place, outputs)}".strip()
        if isinstance(error, WorkerLost) or error.exit_code in (ExitCode.ENGINE, ExitCode.MEMORY):
            error.hint += " (with --device D for another device)"
        return
    if isinstance(error, WorkerLost):
        error.hint = "Nothing was stored yet. Try again, or choose another --device."
    place.discard()


def has_results(path: Path) -> bool:
    """Return whether a run file holds anything worth keeping."""
    from clalign.runs.run_file import open_run

    try:
        with open_run(path) as run:
            return run.work_done()[0] > 0 or run.unfinished.has_any
    except ClalignError:
        return False


def is_complete(path: Path) -> bool:
    """Return whether everything of a run is computed."""
    from clalign.runs.run_file import open_run

    with open_run(path) as run:
        return run.state == "done"


def continuation(place: RunPlace, outputs: Outputs) -> str:
    """Return a sentence about where the results are, and the command that continues and writes all outputs."""
    from clalign.cli.run_outputs import flags_of
    from clalign.runs.queries import HitQueries
    from clalign.runs.run_file import open_run

    with contextlib.suppress(ClalignError), open_run(place.path) as run:
        share = HitQueries(run.connection).share_done()
        done = "" if share is None else f" up to {int(100 * share)} %"
        begun = " and part of what comes next" if run.unfinished.has_any else ""
        cluster = device_flags(place.device) if cluster_of(place.device) else []
        more = place.one_more if run.state == "done" else []
        go_on = command_for("resume", place.path, *more, *cluster, *flags_of(outputs))
        return f"The results{done}{begun} are safe in {place.path}. Continue with: {go_on}"
    return ""

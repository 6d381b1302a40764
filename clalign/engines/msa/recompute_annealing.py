"""Another gap factor for a finished run, by the posteriors that it keeps: no pair is compared again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clalign.engines.msa.reading import pairs_phase
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.tables import ANNEALING
from clalign.errors import InputError, command_for
from clalign.runs.reopening import copy_without_end
from clalign.runs.run_file import open_run


def begin_again(run: Path, path: Path, gap_factor: float) -> None:
    """Write a run with all that a finished one knows but its alignment; when it is continued, columns are merged again.

    Parameters
    ----------
    run : Path
    path : Path
        The new run.
    gap_factor : float
        At least 0; 0 aligns whatever may be homologous.

    Raises
    ------
    InputError
        If the run is not finished.
    OptionError
        If there is no such gap factor.
    OutputError
        If the new run exists or cannot be made.
    """
    with open_run(run) as found:
        spec = replace(found.spec(AlignmentSpec), gap_factor=gap_factor, is_sensitive=False)
        if not found.alignments():
            raise InputError(str(run), "there is no alignment yet.", f"Continue with: {command_for('resume', run)}")
        copy_without_end(found, path, pairs_phase(found), (ANNEALING.name,), spec.to_dict())

"""Changes of the alignment in view: add sequences, or realign a block of columns."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import Literal

from clalign.engines.msa import ENGINE
from clalign.engines.msa.changing import ChangeChoice
from clalign.engines.msa.spec import AlignmentSpec
from clalign.values.documents import JobRequest, JobResult

from ... import formatting
from ...models.alignment.rows_view import Selection
from ...services.alignment_controller import AlignmentController
from ...services.app_context import AppContext, Controller
from ...services.source_controller import FILE_FILTER, SourceController


class ChangingController(Controller):
    """Starts changes and opens their results."""

    def __init__(self, app: AppContext, alignments: AlignmentController, sources: SourceController) -> None:
        super().__init__(app)
        self._alignments, self._sources = alignments, sources
        self._chosen: dict[str, range] = {}
        alignments.shown.connect(self._select_again)

    def choice(self) -> ChangeChoice:
        """Return how residues are aligned: as in the run in view, else by default."""
        spec = self._app.current_spec() if self._alignments.page is None else None
        if isinstance(spec, AlignmentSpec):
            names = [field.name for field in dataclasses.fields(ChangeChoice)]
            values = {name: getattr(spec, name) for name in names}
            return ChangeChoice(**{**values, "gap_factor": spec.used_gap_factor})
        opened = self._app.workspace.sources.get(self._alignments.path_in_view)
        return ChangeChoice() if opened is None else ChangeChoice(alphabet=_alphabet(opened.alphabet))

    def add_from_file(self) -> None:
        """Ask for sequences and add them to the alignment in view."""
        if path := self._app.ask_file("Add the sequences of a file", FILE_FILTER):
            self.add(path)

    def add(self, path: str) -> None:
        """Add the sequences of a file to the alignment in view."""
        title = f"Add {Path(path).name} to {self._alignments.stem}"
        name = f"{self._alignments.stem}-with-{Path(path).name.split('.')[0]}"
        self._start(title, name, {"job": "add", "sequences": str(Path(path).absolute())})

    def realign(self) -> None:
        """Realign the selected columns."""
        panel = self._alignments.panel
        if panel is not None and panel.view.selection is not None:
            columns = panel.view.selection.columns
            where = f"columns {formatting.count(columns.start + 1)} to {formatting.count(columns.stop)}"
            title = f"Realign {where} of {self._alignments.stem}"
            job = {"job": "realign", "first": columns.start, "last": columns.stop}
            self._start(title, f"{self._alignments.stem}-realigned", job)

    def _start(self, title: str, name: str, job: JobRequest) -> None:
        output = self._app.output_of_job("alignments", name, ".sto")
        if not output:
            return
        choice = dataclasses.asdict(self.choice())
        more = {"of": ENGINE.job, "output": output, "form": "stockholm", "device": self._app.workspace.device_ids[0]}

        def start(alignment: str) -> None:
            self._app.window.messages.clear_passed()
            whole = {**job, **choice, **more, "alignment": alignment}
            self._app.queue.submit(title, whole, answer=partial(self._open_changed, job))

        self._alignments.with_file(start)

    def _open_changed(self, job: JobRequest, value: JobResult) -> None:
        """Open the result of a change."""
        n, width = formatting.plural(value["n_sequences"], "sequence"), formatting.plural(value["n_columns"], "column")
        before = f"{formatting.count(value['n_rows'])} in {formatting.count(value['width'])}"
        where = formatting.short_path(value["output"])
        if job["job"] == "add":
            head = f"{formatting.plural(value['n_sequences'] - value['n_rows'], 'sequence')} added"
        else:
            first, last = job["first"], job["last"]
            head = f"Columns {formatting.count(first + 1)} to {formatting.count(last)} realigned"
            self._chosen[value["output"]] = range(first, last + value["n_columns"] - value["width"])
        self._app.notify("good", f"{head}: now {n} in {width}, before {before}. The alignment is kept in {where}.")
        self._sources.open_paths([value["output"]])

    def _select_again(self, path: str) -> None:
        """Select the realigned columns."""
        columns, panel = self._chosen.pop(path, None), self._alignments.panel
        if columns is not None and panel is not None and columns.stop <= panel.view.n_columns:
            panel.view.move_to(0, columns.start)
            panel.view.select(Selection(range(panel.view.n_rows), columns))


def _alphabet(name: str) -> Literal["auto", "amino", "dna", "rna"]:
    return next((one for one in ("amino", "dna", "rna") if one == name), "auto")

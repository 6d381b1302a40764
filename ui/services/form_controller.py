"""Preparation of a run: its sheet, and the job that it starts."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, ClassVar

from shiboken6 import isValid

from clalign.common.plain_data import Json
from clalign.engines.engine import engine_for_spec
from clalign.values.documents import JobResult, SpecFields
from clalign.values.specs import Spec

from .app_context import AppContext, Controller
from .job_controller import JobController
from .locate_controller import LocateController
from .source_controller import SourceController

if TYPE_CHECKING:
    from ..models.results.run_view import RunView
    from ..models.workspace import Offer, Source
    from ..views.widgets.queries_sheet import QueriesSheet
    from ..views.widgets.spec_sheet import SpecSheet


def name_in(fasta: str) -> str:
    """Return the name of the first record of FASTA; ``query`` if it has none."""
    found = re.search(r"^>\s*(\S+)", fasta, re.MULTILINE)
    return found[1] if found else "query"


Below = tuple[JobController, SourceController, LocateController]
"""What each form needs."""


class FormController(Controller):
    """Prepares and starts runs of an engine."""

    engine: ClassVar[str] = ""
    """The name of the engine, whose worker is started when the sheet opens."""

    of_files: ClassVar[tuple[str, ...]] = ("device",)
    """Fields that belong to the files of a run; the others are remembered for the next one of the same files."""

    of_kind: ClassVar[tuple[str, ...]] = ()
    """Fields that tell apart programs, each of which begins with its own options."""

    def __init__(
        self, app: AppContext, jobs: JobController, sources: SourceController, locating: LocateController
    ) -> None:
        super().__init__(app)
        self.jobs, self.sources, self.locating = jobs, sources, locating
        self._sheet: SpecSheet | None = None
        self._options: Json = {}
        self._pasted = ""
        app.inspector.file_read.connect(self._take_pasted)

    def new_sheet(self, options: SpecFields) -> SpecSheet:
        """Create the sheet, filled in with options."""
        raise NotImplementedError

    @property
    def options(self) -> SpecFields:
        """Inputs and kind of the last run, and its options that differ from their defaults."""
        return self._options

    def keep_options(self, options: SpecFields) -> None:
        """Remember the options of a run until the window is closed."""
        self._options = options

    @property
    def sheet(self) -> SpecSheet | None:
        """The sheet, if it is open."""
        return self._sheet if self._sheet is self._app.window.sheets.sheet else None

    def run(self) -> None:
        """Open the sheet, or start the run if it is open."""
        sheet = self.sheet
        if sheet is None:
            self.open_sheet()
        else:
            sheet.run_button.click()

    def open_sheet(self, **options: object) -> None:
        """Show the sheet with `options`, and those of the last run if it was the same with the same files."""
        self.sources.look_again()
        self._sheet = sheet = self.new_sheet(options)
        if sheet.spec is not None and self._own(sheet.spec).items() <= self.options.items():
            sheet.form.set_values({**self.options, **options})
        if self.engine:
            self._app.queue.prepare(self.engine, self._app.workspace.device_id)
        sheet.run_requested.connect(self.start)
        sheet.dry_run_requested.connect(lambda spec: self._dry_run(sheet, spec))
        sheet.dry_run_outdated.connect(self._app.inspector.stop_dry_run)
        sheet.open_requested.connect(self.sources.open_files)
        self._app.window.sheets.open_sheet(sheet)

    def _dry_run(self, sheet: SpecSheet, spec: Spec) -> None:
        """Let a worker estimate the time to build kernels unless another run has the device."""
        if self._app.queue.current is not None:
            return

        def show(found: JobResult) -> None:
            if isValid(sheet):
                sheet.show_dry_run(spec, found)

        self._app.inspector.dry_run(engine_for_spec(spec).job, spec.to_dict(), show)

    def search_with(self, path: str, **options: object) -> None:
        """Open the sheet with a file as queries."""
        self._app.workspace.take_as_queries(path, alone=path)
        self.open_sheet(**options)

    def open_with_queries(self, sheet: QueriesSheet) -> None:
        """Propose queries unless some are read now, and keep those that are pasted into a sheet."""
        is_awaited = any(source.path == self._pasted for source in self._app.workspace.being_read)
        if sheet.query is None and not is_awaited:
            self._app.workspace.propose_queries()
        sheet.show_workspace()
        sheet.paste_requested.connect(self._take_paste)

    def _take_paste(self, queries: str, targets: str) -> None:
        """Keep pasted sequences as the queries and the targets."""
        path = self.sources.keep_pasted(name_in(targets), targets) if targets else ""
        if path:
            self.sources.open_quietly([path])
        self.take_queries(name_in(queries), queries)

    def take_queries(self, name: str, text: str) -> bool:
        """Keep sequences in FASTA as a file that will be the queries once it is read; return whether it was written."""
        path = self.sources.keep_pasted(name, text)
        if path:
            self.read_queries(path)
        return bool(path)

    def read_queries(self, path: str) -> None:
        """Open a file that will be the queries once it is read."""
        self._pasted = path
        self._app.workspace.queries_alone.add(path)
        self.sources.open_quietly([path])

    def _take_pasted(self, path: str) -> None:
        if path == self._pasted:
            self._pasted = ""
            self._app.workspace.take_as_queries(path, alone="")

    def _own(self, spec: Spec) -> Json:
        """Return inputs and kind of a run, with which its options are remembered."""
        return {name: getattr(spec, name) for name in (*spec.inputs, *self.of_kind)}

    def start(self, spec: Spec) -> None:
        """Start a run and show its results."""
        kept = [f for f in dataclasses.fields(spec) if f.name not in (*spec.inputs, *self.of_files)]
        chosen = {f.name: getattr(spec, f.name) for f in kept}
        changed = {f.name: chosen[f.name] for f in kept if chosen[f.name] != spec.usual(f.name, f.default)}
        self.keep_options({**self._own(spec), **changed})
        if self.jobs.search(spec):
            self._app.window.sheets.close_sheet()

    def current_spec(self) -> Spec | None:
        """Return the spec that the sheet would start, if it is open."""
        return self.sheet.spec if self.sheet is not None else None

    def offers(self, source: Source) -> list[Offer]:
        """Return the actions for an opened file."""
        return []

    def open_inputs(self, spec: Spec) -> None:
        """Open and choose the files of a run."""
        raise NotImplementedError

    def edit_run(self, run: RunView, **changes: object) -> None:
        """Open the sheet with the files and options of a run, and some changes."""
        if run.spec is None:
            return
        self.open_inputs(run.spec)
        kept = {f.name: getattr(run.spec, f.name) for f in dataclasses.fields(run.spec)}
        left_out = {*run.spec.inputs, *self.of_files}
        self.open_sheet(**{**{k: v for k, v in kept.items() if k not in left_out}, **changes})

    def search_wider(self, run: RunView) -> None:
        """Open the sheet with the files of a run and a higher E-value limit."""
        raise NotImplementedError

    def open_example(self, example: Any) -> None:
        """Open a bundled example and fill the sheet in with its files."""
        raise NotImplementedError

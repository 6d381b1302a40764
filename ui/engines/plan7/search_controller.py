"""Searches with profiles: their sheet, and advice on their warnings."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from clalign.databases.examples import Example
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ClalignError
from clalign.values.documents import JobResult, SpecFields
from clalign.values.specs import Spec

from ...models.results.hit_pages import HitRow
from ...models.workspace import Offer, Source, reason_not_to_start
from ...services.alignment_controller import AlignmentController
from ...services.app_context import AppContext
from ...services.form_controller import Below, FormController
from .building_controller import AligningController, BuildingController
from .calibration_controller import CalibrationController
from .funnel_controller import FunnelController
from .notices import source_offers
from .profile_controller import ProfileController
from .run_view import OF_SEQUENCES, ProfileRunView

if TYPE_CHECKING:
    from ...models.results.run_view import RunView
    from ...views.results.results_page import ResultsPage
    from ...views.widgets.spec_sheet import SpecSheet


class SearchController(FormController):
    """Prepares searches and starts them."""

    engine: ClassVar[str] = "plan7"
    of_files: ClassVar[tuple[str, ...]] = ("device", "direction", "alphabet", "sequence_format", "query_kind", "shard")
    of_kind: ClassVar[tuple[str, ...]] = ("direction",)

    def __init__(self, app: AppContext, *below: *Below) -> None:
        super().__init__(app, *below)
        self.profiles, self.filters = ProfileController(app, self), FunnelController(app)
        self.building, self.calibrating = BuildingController(app, self), CalibrationController(app, self)
        self.aligning = AligningController(app)
        self.building.built.connect(self.profiles.open_profile)
        self.jobs.advisers.append(self.calibrating.ways)
        self.sources.runs.append(self._offer)

    def _offer(self) -> bool:
        space = self._app.workspace
        if reason_not_to_start((space.profiles, space.sequences), "Choose both.", []):
            return False  # files that do not go together are told so by the sheet
        self.open_sheet()
        return True

    def connect_page(self, page: ResultsPage) -> None:
        for part in (self.profiles, self.filters):
            part.connect_page(page)
        if isinstance(page.run, ProfileRunView):
            page.run.hits.ticked.connect(partial(self._tick, page.run))

    def _tick(self, run: ProfileRunView, hit: HitRow, is_in: bool) -> None:
        try:
            run.choose_hit(hit, is_in)
        except ClalignError as error:
            self._app.notify("stop", f"The choice is not kept. {error}")

    def one_more_round(self) -> None:
        """Continue the search in rounds in view by one more round."""
        if self._app.page is not None:
            self.jobs.resume(str(self._app.page.run.path), one_more={})

    def stop_after_round(self) -> None:
        """Have the search in view end with the rounds that are begun."""
        run = self._app.page.run if self._app.page is not None else None
        if isinstance(run, ProfileRunView):
            try:
                run.stop_after_round()
            except ClalignError as error:
                self._app.notify("stop", f"The search does not end with this round. {error}")
            else:
                self._app.notify("good", "The search ends with this round.")

    def close_page(self) -> None:
        self.profiles.close_page()

    def forget(self, owner: str) -> None:
        self.profiles.forget(owner)

    def offers(self, source: Source) -> list[Offer]:
        return source_offers(source)

    def new_sheet(self, options: SpecFields) -> SpecSheet:
        """Create the sheet of a direction; that for profiles starts by itself for an example."""
        from .sheet import RunSheet, SequencesSheet

        if options.get("direction") in OF_SEQUENCES:
            queries = SequencesSheet(self._app.workspace, options)
            self.open_with_queries(queries)
            return queries
        sheet = RunSheet(self._app.workspace, options)
        sheet.action_requested.connect(self._app.call)
        if self._app.settings.preferences.run_examples and self._is_example():
            sheet.run_when_ready(self._is_example)
        return sheet

    def open_sequences(self, direction: str = "sequence") -> None:
        """Open the sheet for a search with sequences, or for one in ``rounds``."""
        self.open_sheet(direction=direction)

    def search_with(self, path: str, **options: object) -> None:
        super().search_with(path, direction="sequence", **options)

    def search_in_rounds(self, path: str) -> None:
        """Open the sheet of a search in rounds that begins with a file."""
        super().search_with(path, direction="rounds")

    def search_with_row(self) -> None:
        """Open the sheet with the sequence of the cursor's row in the alignment in view."""
        panel = AlignmentController.of(self._app).panel
        if panel is not None:
            view = panel.view
            row = view.row_at(view.cursor[0])
            name, cells = view.alignment.names[row], bytes(view.alignment.cells[row]).decode("latin-1")
            letters = re.sub(r"[^A-Za-z*]", "", cells)
            if self.take_queries(name, f">{name}\n{letters}\n"):
                self.open_sequences()

    def search_with_hit(self, direction: str = "sequence") -> None:
        """Have the sequence of the hit in view written, whole, and open the sheet with it, perhaps in ``rounds``."""
        page = self._app.page
        hit = page.run.hit if page is not None else None
        if page is None or hit is None:
            return
        path = self._app.output_of_job("pasted", hit.name, ".fasta")

        def take(_: JobResult) -> None:
            self.read_queries(path)
            self.open_sequences(direction)

        if path:
            self.jobs.export(str(page.run.path), "fasta", path, [hit.id], take)

    @property
    def options(self) -> SpecFields:
        return self._app.settings.preferences.options

    def keep_options(self, options: SpecFields) -> None:
        """Remember the options of a search, also for later sessions."""
        self._app.settings.change(options=options)

    def _is_example(self) -> bool:
        space = self._app.workspace
        chosen = [one for one in (space.profiles, space.sequences) if one is not None]
        return space.profiles is not None and all("examples" in Path(one.path).parts for one in chosen)

    def take_as(self, alphabet: str) -> None:
        """Read the chosen sequences as those of an alphabet."""
        if self._app.workspace.sequences is not None:
            self.sources.choose_alphabet(self._app.workspace.sequences.path, alphabet)

    def current_spec(self) -> Spec | None:
        """Return the search of the sheet, or else one with the chosen files at the default options."""
        space, asked = self._app.workspace, super().current_spec()
        if asked is not None or space.profiles is None or space.sequences is None:
            return asked
        return SearchSpec(space.profiles.path, space.sequences.path, space.device_id)

    def open_inputs(self, spec: Spec) -> None:
        if isinstance(spec, SearchSpec):
            self.sources.open_quietly([spec.profiles, spec.targets])
            if spec.makes_profiles:
                self._app.workspace.expect(spec.profiles, spec.targets)

    def edit_run(self, run: RunView, **changes: object) -> None:
        if isinstance(run.spec, SearchSpec):
            super().edit_run(run, direction=run.spec.direction, **changes)

    def search_wider(self, run: RunView) -> None:
        if isinstance(run.spec, SearchSpec):
            self.edit_run(run, evalue=run.spec.evalue * 10, score=None, cutoff="none")

    def open_example(self, example: Example) -> None:
        """Open a bundled example and fill the sheet in, or show its profile if that is all it has."""
        self.sources.open_together([example.profiles, *([example.targets] if example.targets else [])])

"""Searches with profiles: their sheet, and advice on their warnings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from clalign.databases.examples import Example
from clalign.engines.plan7.spec import SearchSpec
from clalign.values.documents import SpecFields
from clalign.values.specs import Spec

from ...models.results.scripts import as_command
from ...models.workspace import Offer, Source
from ...services.app_context import AppContext
from ...services.form_controller import FormController
from .building_controller import BuildingController
from .calibration_controller import CalibrationController
from .funnel_controller import FunnelController
from .notices import reason_not_to_run, source_offers
from .profile_controller import ProfileController

if TYPE_CHECKING:
    from ...models.results.run_view import RunView
    from ...views.results.results_page import ResultsPage
    from .sheet import RunSheet


class SearchController(FormController):
    """Prepares searches and starts them."""

    engine: ClassVar[str] = "plan7"
    of_files: ClassVar[tuple[str, ...]] = ("device", "direction", "alphabet", "sequence_format", "shard")

    def __init__(self, app: AppContext, *below: Any) -> None:
        super().__init__(app, *below)
        self.profiles, self.filters = ProfileController(app, self), FunnelController(app)
        self.building, self.calibrating = BuildingController(app, self), CalibrationController(app, self)
        self.building.built.connect(self.profiles.open_profile)
        self.jobs.advisers.append(self.calibrating.ways)
        self.sources.runs.append(self._offer)

    def _offer(self) -> bool:
        if reason_not_to_run(self._app.workspace):
            return False
        self.open_sheet()
        return True

    def connect_page(self, page: ResultsPage) -> None:
        """Connect the results of profiles."""
        for part in (self.profiles, self.filters):
            part.connect_page(page)

    def close_page(self) -> None:
        """Close the page of a profile file."""
        self.profiles.close_page()

    def forget(self, owner: str) -> None:
        """Stop reading the profile of a file or of a run."""
        self.profiles.forget(owner)

    def offers(self, source: Source) -> list[Offer]:
        return source_offers(source)

    def new_sheet(self, options: SpecFields) -> RunSheet:
        """Create the sheet, which starts by itself for an example."""
        from .sheet import RunSheet

        sheet = RunSheet(self._app.workspace, options)
        sheet.action_requested.connect(self._take_advice)
        if self._app.settings.preferences.run_examples and self._is_example():
            sheet.run_when_ready(self._is_example)
        return sheet

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

    def _take_advice(self, name: str) -> None:
        sequences = self._app.workspace.sequences
        if name == "calibrate":
            self.calibrating.calibrate()
        elif name == "open":
            self.sources.open_files()
        elif sequences is not None and name.startswith("take_as_"):
            self.sources.choose_alphabet(sequences.path, name.removeprefix("take_as_"))

    def current_spec(self) -> Spec | None:
        """Return a search with the chosen files at the default options."""
        space = self._app.workspace
        if space.profiles is None or space.sequences is None:
            return None
        return SearchSpec(space.profiles.path, space.sequences.path, space.device_id)

    def open_inputs(self, spec: Spec) -> None:
        if isinstance(spec, SearchSpec):
            self.sources.open_quietly([spec.profiles, spec.targets])
            for path in (spec.profiles, spec.targets):
                self._app.workspace.choose(path)

    def edit_run(self, run: RunView, **changes: object) -> None:
        if isinstance(run.spec, SearchSpec) and run.spec.has_sequences:  # the sheet has only profiles to choose from
            self._app.notify("note", f"A search with sequences is started on the command line: {as_command(run.spec)}")
        else:
            super().edit_run(run, **changes)

    def search_wider(self, run: RunView) -> None:
        spec = run.facts["spec"]
        if spec.get("direction") in ("sequence", "rounds"):
            self.edit_run(run)
            return
        self.sources.open_quietly([spec["profiles"], spec["targets"]])
        self.open_sheet(evalue=spec["evalue"] * 10, score=None, cutoff="none", direction=spec.get("direction"))

    def open_example(self, example: Example) -> None:
        """Open a bundled example and fill the sheet in, or show its profile if that is all it has."""
        self.sources.open_together([example.profiles, *([example.targets] if example.targets else [])])

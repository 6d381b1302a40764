"""Builds profiles from alignments, and aligns sequences to profiles."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal

from clalign.tools.library import stem_of
from clalign.values.documents import JobResult

from ... import formatting
from ...services.alignment_controller import AlignmentController
from ...services.app_context import AppContext, Controller
from ...services.form_controller import FormController


class BuildingController(Controller):
    """Builds profiles and opens them."""

    built = Signal(str)
    """Path of a profile file to be shown."""

    def __init__(self, app: AppContext, search: FormController) -> None:
        super().__init__(app)
        self._search = search
        self._alignments = AlignmentController.of(app)
        self._wanted = "", False
        """The profile that is read now, and whether a search with it is wanted."""

        app.inspector.file_read.connect(self._go_on)

    def build_chosen(self) -> None:
        """Build a profile from the chosen file, which is an alignment."""
        source = self._app.workspace.sequences
        if source is not None:
            self.build(source.path, False)

    def build(self, path: str, then_search: bool) -> None:
        """Build a profile from an alignment; then show its logo, or open the search sheet with it."""
        self._build(path, stem_of(path), None, then_search)

    def build_shown(self) -> None:
        """Build a profile from the alignment in view."""
        self._build_shown(False)

    def search_with_shown(self) -> None:
        """Build a profile from the alignment in view, and open the search sheet with it."""
        self._build_shown(True)

    def _build_shown(self, then_search: bool) -> None:
        stem = self._alignments.stem
        self._alignments.with_file(lambda path: self._build(path, stem, stem, then_search))

    def _build(self, path: str, stem: str, name: str | None, then_search: bool) -> None:
        output = self._app.output_of_job("profiles", stem, ".hmm")
        if not output:
            return
        source = self._app.workspace.sources.get(path)
        alphabet = "auto"
        if source is not None and source.kind == "sequences":
            alphabet = source.alphabet if source.alphabet != "auto" else source.alphabet_found or "auto"
            name = None  # it may have one of its own
        self._app.window.messages.clear_passed()
        job = {"job": "hmmbuild", "alignment": path, "output": output, "name": name, "alphabet": alphabet}
        title = f"Build a profile from {Path(path).name if name is None else name}"
        self._app.queue.submit(title, job, answer=partial(self._open_built, then_search))

    def _open_built(self, then_search: bool, value: JobResult) -> None:
        """Open the profile that was built."""
        built = (
            f"{formatting.plural(value['length'], 'node')} from {formatting.plural(value['n_sequences'], 'sequence')}"
        )
        text = f"Profile {value['name']} built: {built}. It is kept in {formatting.short_path(value['output'])}."
        self._app.notify("good", text)
        self._wanted = value["output"], then_search
        self._search.sources.open_quietly([value["output"]])

    def _go_on(self, path: str) -> None:
        wanted, then_search = self._wanted
        if path != wanted:
            return
        self._wanted = "", False
        if not then_search:
            self.built.emit(path)
            return
        self._leave_alignment()
        self._search.open_sheet()

    def _leave_alignment(self) -> None:
        """Choose other sequences than the alignment itself if others are open."""
        space = self._app.workspace
        if space.sequences is not None and space.sequences.is_alignment:
            others = [s.path for s in space.of_kind("sequences") if s.state == "ready" and not s.is_alignment]
            if others:
                space.choose(others[-1])


class AligningController(Controller):
    """Has sequences aligned to a profile."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._alignments = AlignmentController.of(app)

    def align_chosen(self) -> None:
        """Align the chosen sequences to the chosen profile, on the chosen device."""
        space = self._app.workspace
        if space.profiles is None or space.sequences is None:
            return
        profile, sequences = space.profiles, space.sequences
        name = str(profile.cards[0]["name"])
        output = self._app.output_of_job("alignments", f"{Path(sequences.path).stem}-{name}", ".sto")
        if not output:
            return
        self._app.window.messages.clear_passed()
        job = {"job": "hmmalign", "profile": profile.path, "sequences": sequences.path, "output": output}
        self._app.queue.submit(f"Align {Path(sequences.path).name} to {name}", job, answer=self._show_aligned)

    def _show_aligned(self, value: JobResult) -> None:
        """Show the alignment that was made."""
        n = formatting.plural(value["n_sequences"], "sequence")
        text = f"{n} aligned to {value['profile']}. The alignment is kept in {formatting.short_path(value['output'])}."
        self._app.notify("good", text)
        self._alignments.open(value["output"])

"""Profiles built from alignments: two clicks from an alignment to a search."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import Signal

from ... import formatting
from ...desk.app_context import AppContext, Controller
from ...desk.form_controller import FormController
from ...models.jobs import JobItem


class BuildingController(Controller):
    """Starts the building of profiles and opens what was built."""

    built = Signal(str)
    """A profile file, to be shown."""

    def __init__(self, app: AppContext, search: FormController) -> None:
        super().__init__(app)
        self._search = search
        self._searches: set[str] = set()
        self._wanted = ""
        app.inspector.file_read.connect(self._go_on)
        app.queue.job_ended.connect(self._end)

    def build_chosen(self) -> None:
        """Build a profile from the chosen sequences, which are an alignment."""
        source = self._app.workspace.sequences
        if source is not None:
            self.build(source.path, False)

    def build(self, path: str, then_search: bool) -> None:
        """Build a profile from an alignment; then show its logo, or open the search sheet with it."""
        source = self._app.workspace.sources[path]
        folder = self._app.settings.data / "profiles"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._app.say("stop", f"The folder {folder} could not be made because: {error.strerror}.")
            return
        output = _free_name(folder, path)
        if then_search:
            self._searches.add(output)
        alphabet = source.alphabet if source.alphabet != "auto" else source.alphabet_found or "auto"
        job = {"job": "hmmbuild", "alignment": path, "output": output, "name": None, "alphabet": alphabet}
        self._app.queue.submit(f"Build a profile from {source.name}", job)

    def _end(self, item: JobItem) -> None:
        """Open the profile that was built."""
        if (item.kind, item.state) != ("hmmbuild", "done"):
            return
        value = item.result
        built = (
            f"{formatting.plural(value['length'], 'node')} from {formatting.plural(value['n_sequences'], 'sequence')}"
        )
        text = f"Profile {value['name']} built: {built}. It is kept in {formatting.short_path(value['output'])}."
        self._app.say("good", text)
        self._wanted = value["output"]
        self._search.sources.open_quietly([value["output"]])

    def _go_on(self, path: str) -> None:
        if path != self._wanted:
            return
        self._wanted = ""
        if path not in self._searches:
            self.built.emit(path)
            return
        self._searches.discard(path)
        self._leave_alignment()
        self._search.open_sheet()

    def _leave_alignment(self) -> None:
        """Choose other sequences than the alignment itself, if others are open."""
        space = self._app.workspace
        if space.sequences is not None and space.sequences.is_alignment:
            others = [s.path for s in space.of_kind("sequences") if s.state == "ready" and not s.is_alignment]
            if others:
                space.choose(others[-1])


def _free_name(folder: Path, alignment: str) -> str:
    """Return a path for the profile of an alignment that no file has."""
    stem = re.sub(r"\.(gz|bz2|xz|zst)$", "", Path(alignment).name)
    stem = re.sub(r"[^\w.-]+", "_", Path(stem).stem).strip("._") or "profile"
    path, number = folder / f"{stem}.hmm", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.hmm", number + 1
    return str(path)

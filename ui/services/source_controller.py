"""Opening, choosing and closing files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal

from clalign.errors import NoSuchFile

from .. import formatting
from ..models.data_tree import source_line
from ..models.workspace import Source
from ..settings import write_whole
from .app_context import AppContext, Controller
from .job_controller import JobController

FILE_FILTER = (
    "Profiles, sequences and runs (*.hmm *.hmm2 *.fa *.fasta *.faa *.fna *.ffn *.fas *.fq *.fastq *.gb *.gbk *.embl "
    "*.afa *.mfa *.sto *.stk *.sth *.aln *.a2m *.a3m *.slx *.selex *.phy *.phylip *.msf *.nex *.nexus *.h3m "
    "*.dat *.gz *.bz2 *.xz *.zst *.clalign *.json);;All files (*)"
)


MAX_NAMED = 3
"""Files that a message names."""

MAX_IN_FOLDER = 100
"""Files of a folder that are opened together."""

ENDINGS = tuple(set(re.findall(r"\.\w+", FILE_FILTER)) - {".clalign", ".json"})
"""How names of sequences and profiles end."""


class SourceController(Controller):
    """Acts on the files of the workspace."""

    run_opened = Signal(str)
    run_chosen = Signal(str)
    document_opened = Signal(str)
    file_requested = Signal(str)
    """A file that is about to be inspected."""

    alignment_opened = Signal(str)
    """An alignment was opened alone, or chosen among the opened files."""

    def __init__(self, app: AppContext, jobs: JobController) -> None:
        super().__init__(app)
        self._run_when_read: set[str] = set()
        self._shown_when_read: set[str] = set()
        self._restored: set[str] = set()
        self._untold: list[Source] = []
        """Files that were read while others still are; a message tells of all of them."""
        self.runs: list[Callable[[], bool]] = []
        """Functions that each offer a run with the chosen files, and return whether they could."""
        self._offer_search = False
        self._refused: list[str] = []
        self._refused_text = self._opened_text = ""
        """The messages about files that could not be opened, and about those that were."""

        self._refusals: list[str] = []
        app.inspector.file_read.connect(self._take_file)
        app.inspector.file_refused.connect(self._refuse_file)
        app.inspector.run_found.connect(self.run_opened)
        jobs.begun.connect(self.withdraw_refusals)

    def open_files(self) -> None:
        """Ask for files and open them."""
        self.open_paths(self._app.ask_files("Open files", FILE_FILTER))

    def open_paths(self, paths: list[str], quietly: bool = False) -> None:
        """Open files by their content. A single alignment is shown unless `quietly`."""
        if paths:
            self.withdraw_refusals()
            for path in self._refused:  # leave with the message that says why
                self._app.workspace.remove(path)
        self._refused, self._refused_text = [], ""
        files = [file for path in paths for file in self._files_in(path)]
        self._offer_search = len(files) > 1 or self._offer_search
        is_alone = len(files) == 1 and not quietly
        for name in files:
            path = str(Path(name).absolute())
            shown = path.encode(errors="backslashreplace").decode()
            if is_alone:
                self._shown_when_read.add(path)
            if path in self._app.workspace.sources:
                self._take_again(path)
            elif shown != path:  # Qt's texts cannot hold it
                self.refuse(f"{shown}: this name is not valid UTF-8. Rename it, or search it on the command line.")
            elif not Path(path).exists():
                self.refuse(str(NoSuchFile(path, "It may have been moved or deleted.")))
            elif not Path(path).is_file() and not Path(path).is_dir():
                self.refuse(f"{path} is a pipe or a device, which is not read twice: save its content to a file.")
            elif path.endswith(".clalign"):
                self.run_opened.emit(path)
            elif path.endswith(".json"):
                self.document_opened.emit(path)
            else:
                self._app.inspector.read_file(path)
                self._app.workspace.choose(path)
                if is_alone:
                    self.file_requested.emit(path)

    def _files_in(self, path: str) -> list[str]:
        """Return the sequences and profiles of a folder, or say why not; of a file, or if there are none, the path."""
        try:
            inside = Path(path).iterdir() if Path(path).is_dir() else ()
            files = sorted(str(file) for file in inside if file.name.lower().endswith(ENDINGS) and file.is_file())
        except OSError as error:
            self.refuse(f"{path} could not be read because: {error.strerror}.")
            return []
        if len(files) > MAX_IN_FOLDER:
            self.refuse(f"{path} has {formatting.count(len(files))} files. Open at most {MAX_IN_FOLDER} of them.")
            return []
        return files or [path]

    def open_quietly(self, paths: list[str]) -> None:
        """Open files without offering a run."""
        self.open_paths(paths, quietly=True)
        self._offer_search = False

    def _take_again(self, path: str) -> None:
        if self._app.workspace.sources[path].kind == "run":
            self.run_chosen.emit(path)
            return
        space = self._app.workspace
        if path != space.queries_path and path not in space.queries_alone:  # which have their place
            space.choose(path)
        if space.sources[path].is_outdated:
            self._app.inspector.read_file(path, space.sources[path].alphabet)
        else:
            self._take_file(path)

    def _take_file(self, path: str) -> None:
        source = self._app.workspace.sources[path]
        self.add_recent(path, source.kind)
        self._app.window.data.select(path)
        self._app.window.details.show_source(source)
        self._run_when_read.discard(path)
        is_covered = self._app.window.sheets.sheet is not None  # by a form, for which files are opened
        is_shown = path in self._shown_when_read and source.is_alignment and not is_covered
        self._shown_when_read.discard(path)
        if self._offer_search:
            self._offer_run()
            is_shown = is_shown and self._offer_search
        if is_shown:
            self.alignment_opened.emit(path)
        else:
            self._untold.append(source)
        self._tell_opened()
        self._app.update_actions()

    def _tell_opened(self) -> None:
        """Tell which files were opened, once all are read, unless the dock or a form shows them."""
        if self._app.workspace.being_read:
            return
        (told, self._untold), dock = (self._untold, []), self._app.window.dock
        if told and dock.isHidden() and self._app.window.sheets.sheet is None:
            words = "; ".join(f"{source.name}: {_opened_words(source)}" for source in told[:MAX_NAMED])
            more = f"; {len(told) - MAX_NAMED:,} more" if len(told) > MAX_NAMED else ""
            self._app.window.messages.withdraw(self._opened_text)
            self._opened_text = f"Opened {words}{more}."
            self._app.notify("good", self._opened_text, ("Show", dock.show))

    def _offer_run(self) -> None:
        """Offer a run with the chosen files, unless others, which may be meant, are still read."""
        if self._offer_search and not self._run_when_read and not self._app.workspace.being_read:
            self._offer_search = not any(offer() for offer in self.runs)

    def _refuse_file(self, path: str) -> None:
        source = self._app.workspace.sources[path]
        self._offer_run()
        self._run_when_read.clear()
        self._shown_when_read.discard(path)
        self._restored.discard(path)
        self._offer_search = False
        self._tell_opened()
        self._show_refused(source)
        self._app.window.details.show_source(source)

    def _show_refused(self, source: Source) -> None:
        """Show why a file is not opened; of several in one message, with the reasons behind it."""
        self._refused = [*(path for path in self._refused if path != source.path), source.path]
        sources = (self._app.workspace.sources.get(path) for path in self._refused)
        reasons = [f"{one.problem} {one.hint}".strip() for one in sources if one is not None]
        text, details = reasons[-1], ""
        if len(reasons) > 1:
            text, details = f"{formatting.count(len(reasons))} files could not be opened.", "\n".join(reasons)
        self._app.window.messages.retract(self._refused_text)
        self._refused_text = text
        self.refuse(text, ("Show", self._app.window.dock.show), details=details)

    def refuse(self, text: str, *actions: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show why something is not opened."""
        self._refusals.append(text)
        self._app.notify("stop", text, *actions, details=details)

    def withdraw_refusals(self) -> None:
        """Close the messages about files that could not be opened."""
        for text in self._refusals:
            self._app.window.messages.withdraw(text)
        self._refusals = []

    def look_again(self) -> None:
        """Read files again that changed on disk."""
        changed = []
        for source in list(self._app.workspace.sources.values()):
            if source.kind in ("sequences", "profiles") and source.state == "ready" and source.is_outdated:
                changed.append(source.name)
                self._app.inspector.read_file(source.path, source.alphabet)
        if changed:
            verb = "is" if len(changed) == 1 else "are"
            text = f"{', '.join(changed[:MAX_NAMED])} changed on disk and {verb} read again."
            self._app.notify("note", text)

    def paste_sequences(self) -> None:
        """Open the sheet for pasted sequences."""
        from ..views.widgets.small_sheets import PasteSheet

        sheet = PasteSheet(self._app.workspace)
        sheet.paste_requested.connect(self._keep_pasted)
        self._app.window.sheets.open_sheet(sheet)

    def _keep_pasted(self, name: str, text: str) -> None:
        path = self.keep_pasted(name, text)
        if path:
            self._app.workspace.draft = ""
            self._app.window.sheets.close_sheet()
            self.open_paths([path])

    def keep_pasted(self, name: str, text: str) -> str:
        """Write pasted sequences to a file and return its path; empty after a failure."""
        try:
            path = self._app.settings.new_file("pasted", name, ".fasta")
            write_whole(Path(path), text)
        except OSError as error:
            folder = self._app.settings.data / "pasted"
            self._app.notify("stop", f"The sequences could not be saved in {folder} ({error.strerror}).")
            return ""
        return path

    def open_together(self, files: list[Path]) -> None:
        """Open files that belong together and choose them; a run is offered for several."""
        paths = [str(path) for path in files]
        self._offer_search = len(paths) > 1
        self._run_when_read = set(paths) - set(self._app.workspace.sources)
        self.open_paths(paths)

    def replace(self, old: str, new: str) -> None:
        """Open a file in place of another one, which is closed."""
        self._app.workspace.remove(old)
        self._app.workspace.remove(new)
        self._app.inspector.read_file(new)
        self._app.workspace.choose(new)

    def close(self, path: str) -> None:
        """Close a file. A run is offered if this one alone was still being read."""
        source = self._app.workspace.sources.get(path)
        self._app.workspace.remove(path)
        self._run_when_read.discard(path)
        self._shown_when_read.discard(path)
        if source is not None and source.state == "reading" and not self._app.workspace.being_read:
            self._offer_run()
            self._offer_search = False

    def choose_source(self, path: str) -> None:
        """Show the content of a file."""
        source = self._app.workspace.sources.get(path)
        if source is None:
            return
        if source.kind == "run":
            self.run_chosen.emit(path)
        elif source.is_alignment and self._app.window.sheets.sheet is None:  # else files are chosen for what it asks
            self.alignment_opened.emit(path)
        else:
            self._app.window.details.show_source(source)

    def use_source(self, path: str) -> None:
        """Use a file for the next run."""
        self._app.workspace.choose(path)
        self._app.update_actions()

    def choose_alphabet(self, path: str, alphabet: str) -> None:
        """Choose the alphabet of the sequences of a file."""
        self._app.inspector.read_file(path, alphabet)

    def keep_times(self, paths: list[str]) -> None:
        """Let files that the program is about to open again keep their times among the recent ones."""
        known = {entry.path for entry in self._app.settings.recent}
        self._restored = known.intersection(paths).difference(self._app.pages)

    def add_recent(self, path: str, kind: str) -> None:
        """Remember a file that was opened."""
        examples = str(Path(__file__).parents[2])
        if path in self._restored:
            self._restored.discard(path)
        elif not (path.startswith(examples) and "examples" in path):
            self._app.settings.add_recent(path, kind)
        self._app.window.show_recent()


def _opened_words(source: Source) -> str:
    """Return what a file holds, as a message tells it."""
    if source.kind != "sequences":
        return source_line(source)
    n = formatting.plural(source.report["n_sequences"], "sequence")
    return f"{n} · {formatting.alphabet(source.alphabet_found)}"

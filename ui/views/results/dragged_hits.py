"""Hits that are dragged into another program: text, a table, and a file that is written when it is asked for."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMimeData, QUrl

from clalign.formats.scratch import Scratch

from ...formatting import file_words
from ...log import LOG

URLS = "text/uri-list"

CELLS = "text/tab-separated-values"

MAX_NAME_LETTERS = 80
"""Letters of a file's name before its ending."""


@cache
def _folder() -> Path:
    """Return the folder of dragged files, kept until the end, as a file manager may copy late."""
    made = Scratch()
    atexit.register(made.remove)
    return made.path


class DraggedHits(QMimeData):
    """Hits for another program.

    Parameters
    ----------
    name : str
        The name of the file, without characters that file systems reject.
    fasta : str
        Aligned parts: the text, and the content of the file if there are any.
    cells : str
        The same hits as a tab-separated table.
    """

    def __init__(self, name: str, fasta: str, cells: str) -> None:
        super().__init__()
        self.setText(fasta)
        self.setData(CELLS, cells.encode())
        stem = file_words(name)[:MAX_NAME_LETTERS].strip("._-") or "hits"
        self._name, self._content = (f"{stem}.fasta", fasta) if fasta else (f"{stem}.tsv", cells)
        self._path: Path | None = None

    def formats(self) -> list[str]:
        """Return the available formats."""
        return [*super().formats(), URLS]

    def hasFormat(self, kind: str) -> bool:
        return kind == URLS or super().hasFormat(kind)

    def retrieveData(self, kind: str, wanted: Any) -> Any:
        # The file is written at the first request for it.
        if kind != URLS:
            return super().retrieveData(kind, wanted)
        try:
            return [QUrl.fromLocalFile(str(self._file()))]
        except OSError as error:  # whoever asks still has the text; an error here would reach Qt
            LOG.warning("The dragged hits could not be written: %s", error)
            return []

    def _file(self) -> Path:
        if self._path is None:
            # A folder for each: what was dragged before may be open under the same name.
            path = Path(tempfile.mkdtemp(dir=_folder()), self._name)
            path.write_text(self._content, encoding="utf-8", newline="\n")
            self._path = path
        return self._path

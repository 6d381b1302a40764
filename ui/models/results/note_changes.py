"""Changes of notes, for undo."""

from __future__ import annotations

from PySide6.QtGui import QUndoCommand


class NoteChange(QUndoCommand):
    """A note of a run, before and after it was changed.

    It does nothing by itself: a note that cannot be written now must stay where it is in the stack.

    Parameters
    ----------
    run : str
        Path of the run.
    profile, row : int
        Query, and row of the target.
    before, after : str
    """

    def __init__(self, run: str, profile: int, row: int, before: str, after: str) -> None:
        super().__init__()
        self.run, self.profile, self.row = run, profile, row
        self.before, self.after = before, after

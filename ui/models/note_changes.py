"""What was changed of notes, so that it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 200
"""Changes that are remembered."""


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A note of a run, by query and row of the target, before and after."""

    run: str
    profile: int
    row: int
    before: str
    after: str


class NoteChanges:
    """Changes that can be taken back, and those that were."""

    def __init__(self) -> None:
        self._done: list[NoteChange] = []
        self._undone: list[NoteChange] = []

    @property
    def can_undo(self) -> bool:
        """Whether a change can be taken back."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether one was taken back."""
        return bool(self._undone)

    def add(self, change: NoteChange) -> None:
        """Remember a change."""
        if change.before != change.after:
            self._done = [*self._done[1 - MOST :], change]
            self._undone = []

    def last(self, again: bool) -> NoteChange:
        """Return the change that would be taken back, or done again."""
        return (self._undone if again else self._done)[-1]

    def move(self, again: bool) -> None:
        """Note that it was."""
        source, target = (self._undone, self._done) if again else (self._done, self._undone)
        target.append(source.pop())

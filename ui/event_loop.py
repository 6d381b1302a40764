"""Work is spread over several turns of the event loop, so that the window never stands still."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


def defer(context: QObject, call: Callable[[], object]) -> None:
    """Call something after the window has looked at what else there is, if `context` still lives then.

    A timer of 0 ms would not do: Qt makes it an event, and handles events that come meanwhile in the same turn.
    """
    QTimer.singleShot(1, context, call)

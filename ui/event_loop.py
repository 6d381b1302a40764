"""Spreads work over several turns of the event loop, so that the window stays responsive."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


def defer(context: QObject, call: Callable[[], object]) -> None:
    """Call something in the next turn of the event loop if `context` still lives then.

    A timer of 0 ms would not do: Qt makes it an event, and handles events that come meanwhile in the same turn.
    """
    QTimer.singleShot(1, context, call)

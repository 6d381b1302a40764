"""Plain data that leaves a process as JSON, named by what it is about."""

from __future__ import annotations

from typing import Any, TypedDict

Card = dict[str, Any]
"""Of a query: name, accession, description, length, alphabet, origin, and what its engine knows of it besides."""

SpecFields = dict[str, Any]
"""The fields of a spec, by their names."""

JobRequest = dict[str, Any]
"""What a worker has to do: the name of the ``job``, and its arguments."""

JobResult = dict[str, Any]
"""What a job ends with: the values of its last event, described where the job is computed."""

Explanation = dict[str, Any]
"""How a target fares with a query, step by step; each engine shows its own, and has lines of text for it."""


class StageCounts(TypedDict):
    """How many targets of a query passed a stage of its search.

    Attributes
    ----------
    stage, label : str
        Name, and how it is called.
    passed : int
    expected : float or None
        How many chance alone would let pass.
    limit : float or None
        The P-value that lets a target pass.
    ran : bool
    """

    stage: str
    label: str
    passed: int
    expected: float | None
    limit: float | None
    ran: bool

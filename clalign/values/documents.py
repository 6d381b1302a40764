"""Plain data that leaves a process as JSON, named by what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from clalign.common.plain_data import Json

Card = Json
"""A query: name, accession, description, length, alphabet, origin, and what its engine knows of it besides."""

SpecFields = Json
"""The fields of a spec, by their names."""

JobRequest = Json
"""What a worker has to do: the name of the ``job``, and its arguments."""

JobResult = Mapping[str, Any]
"""What a job ends with: the values of its last event, described where the job is computed."""

Explanation = Mapping[str, Any]
"""How a target fares with a query, step by step; each engine shows its own, and has lines of text for it."""


DeviceFields = Json
"""A device as plain data; see `Device.to_dict`."""

BegunFacts = Json
"""What a run says of its input, by the names of the fields of `BegunRun`."""


class TargetFacts(TypedDict, total=False):
    """A target that need not be a hit; without fields where no query has all targets.

    Attributes
    ----------
    name : str
    raw : int
        The integer score, where it is not what is shown.
    score : float
    evalue : float or None
    kind : str
        What the score is of, where it is not of the whole search.
    """

    name: str
    raw: int
    score: float
    evalue: float | None
    kind: str


class DeviceCheck(TypedDict):
    """What a test of a device has compared.

    Attributes
    ----------
    name : str
    equal : bool
        Whether everything was as expected.
    detail : str
        How much that was, or what was not, in words.
    """

    name: str
    equal: bool
    detail: str


class DeviceTest(TypedDict):
    """What became of a test of a device.

    Attributes
    ----------
    device, name : str
        Its id and name.
    health, problem : str
        In words; no problem where all checks are equal.
    checks : list of DeviceCheck
    """

    device: str
    name: str
    health: str
    problem: str
    checks: list[DeviceCheck]


class Verification(TypedDict):
    """What became of results that were computed again.

    Attributes
    ----------
    checked, hits, others : int
        How many things were computed again, and how many of them are hits, and are none.
    differing : int
        How many differences there are.
    details : list of str
        A sentence for each.
    device : str
    complete : bool
        Whether it was not stopped on the way.
    things : tuple of (str, str) or None
        What was computed where there are no hits: one, and several.
    """

    checked: int
    hits: int
    others: int
    differing: int
    details: list[str]
    device: str
    complete: bool
    things: tuple[str, str] | None


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

"""The files that a run was made with: where they lie now, and whether they are still the same.

A run may come from anybody, and names files: none is read before it is known to be a plain file with the checksum that
the run recorded.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Protocol, TypeVar

from clalign.databases import cache
from clalign.databases.packed import VERSION as PACKING
from clalign.databases.reports import InputReport
from clalign.errors import DamagedRun, InputError
from clalign.formats.sources import opened
from clalign.jobs import JobContext, QuietContext
from clalign.runs.facts import RunFacts

ROLES = {"profiles": "profiles_digest", "queries": "queries", "targets": "database"}
"""Fields of a spec that name files, and the facts with their checksums."""

JOINED = "sequences"
"""The field of a spec that names files which the run holds copies of."""

DEVICES = ("/dev/fd/", "/dev/std", "/proc/")
"""What lies there is no file of a user, though it may look like one: ``/dev/fd/3`` is whatever stands open.

Files in memory do, in ``/dev/shm``; devices themselves are no plain files.
"""

LOCATE = "--locate PATH on the command line, Locate file… in the window"
"""How a person says where a file of a run lies now."""

Spec = TypeVar("Spec")


class Facts(Protocol):
    """What is needed of a run file."""

    path: Path

    @property
    def facts(self) -> RunFacts:
        """What the run says of itself."""

    def set_facts(self, **facts: object) -> None:
        """Store facts."""


def check_regular(path: str) -> None:
    """Refuse what is no plain file; a run that names a device or a pipe was not made with it.

    Raises
    ------
    InputError
        If it is none, or is not there.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        raise InputError(
            path,
            "this run was made with that file, which is not there any more.",
            f"Put it back there, or say where it lies now: {LOCATE}.",
        ) from None
    if not stat.S_ISREG(mode) or str(Path(path).absolute()).startswith(DEVICES):
        raise InputError(path, "this run names it as its input, but it is no file.", "Do not trust this run.")


def _roles(run: Facts) -> dict[str, str]:
    """Return the paths that a run names, by role."""
    spec = run.facts.spec or {}
    return {role: spec[role] for role in ROLES if spec.get(role) is not None}


def _known_digest(run: Facts, role: str) -> str | None:
    found = getattr(run.facts, ROLES[role])
    digest: str | None = found.digest if isinstance(found, InputReport) else found
    return digest


def known_checksums(run: Facts) -> Iterator[tuple[str, str]]:
    """Yield the SHA-256 that a run has recorded of its inputs, each with the path that it names; a file once."""
    found: dict[str, str] = {}
    for role, named in _roles(run).items():
        if checksum := _known_digest(run, role):
            found[named] = checksum
    joined = (run.facts.spec or {}).get(JOINED)
    if isinstance(joined, list):
        pairs = zip(joined, run.facts.sequence_digests or (), strict=False)
        found.update((named, checksum) for named, checksum in pairs if isinstance(named, str))
    yield from ((checksum, named) for named, checksum in found.items() if checksum)


def digest_of(path: str, context: JobContext) -> str:
    """Return the SHA-256 of a file; one that has not changed is not read again."""
    with opened(path, context=context) as source:
        return cache.checksums_of(source, context).sha256


def input_of(run: Facts, role: str, context: JobContext | None = None) -> str:
    """Return where a file of a run lies, for reading.

    Parameters
    ----------
    run : RunFile
    role : str
        ``profiles``, ``queries`` or ``targets``.
    context : JobContext, optional
        Receives the progress of computing a checksum.

    Raises
    ------
    InputError
        If it is gone, is no plain file, or has another checksum than the run recorded.
    """
    named = _roles(run).get(role)
    if named is None:
        raise DamagedRun(run.path, f"it does not say where its {role} are")
    if named == "-":
        raise InputError("-", "what came from there was not kept with the run.", "Give it as a file next time.")
    path = run.facts.relocated.get(named, named)
    check_regular(path)
    known = _known_digest(run, role)
    if known is not None and digest_of(path, context or QuietContext()) != known:
        raise InputError(
            path,
            f"the {'profiles' if role == 'profiles' else 'sequences'} have changed since this run began.",
            f"Put the old file back, say where it lies ({LOCATE}), or start a new search.",
        )
    return path


def at_hand(run: Facts, spec: Spec, context: JobContext | None = None) -> Spec:
    """Return a spec with its files where they lie now.

    Raises
    ------
    InputError
        As of `input_of`.
    """
    check_inputs(run, context or QuietContext())
    places = {role: input_of(run, role, context) for role in _roles(run)}
    return replace(spec, **places)  # type: ignore[type-var]


def check_inputs(run: Facts, context: JobContext) -> None:
    """Refuse a run that names what it was not made with.

    Raises
    ------
    InputError
        As of `input_of`.
    """
    spec = run.facts.spec or {}
    for extra in ("pair_list", "matrix"):
        path = spec.get(extra)
        if path is not None and (extra == "pair_list" or Path(path).exists()):
            check_regular(path)
    for role in _roles(run):
        input_of(run, role, context)


def check_counted(run: Facts, name: str, report: InputReport) -> None:
    """Refuse a run whose sequences are read otherwise now, so that its rows would be those of others.

    Parameters
    ----------
    run : RunFile
    name : str
        The fact that holds what was known of the file: ``database`` or ``queries``.
    report : InputReport
        What is known of the same file now.

    Raises
    ------
    InputError
        If that is so.
    """
    before: InputReport = getattr(run.facts, name)
    counts = attrgetter("n_sequences", "n_residues")
    if run.facts.packing != PACKING or counts(before) != counts(report):
        raise InputError(run.path, "this run counts sequences as another version of clalign does.", "Search again.")


def relocate(run: Facts, paths: Iterable[str], context: JobContext | None = None) -> list[tuple[str, str]]:
    """Keep with a run where its files lie now; they are known by their checksums.

    Parameters
    ----------
    run : RunFile
        Opened for writing.
    paths : iterable of str
        The files, or folders in which they lie under their old names.
    context : JobContext, optional

    Returns
    -------
    list of (str, str)
        The old and the new path of each file that was found.

    Raises
    ------
    InputError
        If a path is none of the files of the run.
    """
    found = [pair for path in paths for pair in _recognized(run, path, context or QuietContext())]
    run.set_facts(relocated={**run.facts.relocated, **dict(found)})
    return found


def _recognized(run: Facts, path: str, context: JobContext) -> Iterator[tuple[str, str]]:
    roles = {role: named for role, named in _roles(run).items() if named != "-" and _known_digest(run, role)}
    is_folder, n = Path(path).is_dir(), 0
    digests: dict[Path, str] = {}
    for role, named in roles.items():
        place = Path(path, Path(named).name) if is_folder else Path(path)
        if is_folder and not place.is_file():
            continue
        check_regular(str(place))
        if place not in digests:
            digests[place] = digest_of(str(place), context)
        if digests[place] == _known_digest(run, role):
            n += 1
            yield named, str(place.absolute())
    if not n:
        names = ", ".join(dict.fromkeys(roles.values())) or "none that it knows"
        raise InputError(path, "this is none of the files that the run was made with.", f"They were: {names}.")

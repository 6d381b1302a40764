"""Open files and devices, and the chosen ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from clalign.common.plain_data import Json
from clalign.databases.letters import Guess
from clalign.values.devices import REFERENCE, Device, cluster_of
from clalign.values.documents import Card

SourceKind = Literal["unknown", "sequences", "profiles", "run"]
SourceState = Literal["reading", "ready", "refused"]

ALIGNED = ("stockholm", "clustal", "a3m", "selex", "phylip", "msf", "nexus", "balibase")
"""Formats that are alignments even without gaps."""

SIMILAR = 10.0
"""Runs are similar if one is expected to take at most this many times as long as the other."""

REFERENCE_WORDS = "The reference computes with NumPy: slow, for checking."


def stamp_of(path: str) -> tuple[int, int]:
    """Return modification time and size of a file; zeros if it is missing."""
    try:
        facts = os.stat(path)
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


@dataclass(frozen=True, slots=True)
class Source:
    """An opened file.

    Attributes
    ----------
    state : str
        ``reading`` while a worker inspects it, ``ready``, or ``refused``.
    report : dict
        Input report of a sequence file or an alignment.
    cards : list of dict
        Profiles of a profile file.
    alphabet : str
        What the user chose: ``auto``, ``amino``, ``dna`` or ``rna``.
    problem, hint : str
        The reason for its refusal, and advice.
    stamp : tuple of int
        Time of change and size of the file when it was read.
    """

    path: str
    kind: SourceKind = "unknown"
    state: SourceState = "reading"
    report: Json = field(default_factory=dict)
    cards: list[Card] = field(default_factory=list)
    alphabet: str = "auto"
    problem: str = ""
    hint: str = ""
    stamp: tuple[int, int] = (0, 0)

    @property
    def is_outdated(self) -> bool:
        """Whether the file has changed since it was read; a missing file has not."""
        now = stamp_of(self.path)
        return now != self.stamp != (0, 0) != now

    @property
    def name(self) -> str:
        """The file's name; for a run what it searched."""
        return str(self.report.get("title") or Path(self.path).name)

    @property
    def kind_by_name(self) -> SourceKind:
        """Its kind according to the file name, until it is read."""
        name = Path(self.path).name.lower()
        stem = name.rpartition(".")[0] if name.endswith((".gz", ".bz2", ".xz", ".zst")) else name
        return "profiles" if stem.endswith((".hmm", ".hmm2", ".hmm3", ".h3m")) else "sequences"

    @property
    def is_alignment(self) -> bool:
        """Whether a profile can be built from it."""
        if self.kind != "sequences" or self.state != "ready":
            return False
        gaps = any(issue["kind"] == "gaps_dropped" for issue in self.report.get("issues", ()))
        return gaps or str(self.report.get("format", "")).lower().startswith(ALIGNED)

    @property
    def alphabet_found(self) -> str:
        """The alphabet of its sequences or profiles; empty while unknown."""
        if self.kind == "profiles":
            return str(self.cards[0]["alphabet"]) if self.cards else ""
        return str(self.report.get("alphabet", ""))

    @property
    def guess(self) -> Guess:
        """A remark on the guessed alphabet, once it is read."""
        report = self.report
        return Guess(report["alphabet"], report.get("alphabet_reason", ""), report.get("is_doubtful", False))


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark before a run.

    Attributes
    ----------
    blocks : bool
        The run makes no sense before this is mended.
    ways : tuple of (str, str)
        Commands that are offered: id and words of each.
    """

    severity: str
    text: str
    blocks: bool = False
    ways: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """An action, or a remark, of an engine for an opened file.

    Attributes
    ----------
    text, tip : str
        Of the button; empty for none.
    command : str
        The method that it calls, from the `AppController` on.
    arguments : tuple
        Without the file's path, which is the first one.
    place : str
        ``head``, ``foot``, or ``each`` for a button for each profile, whose number is the last argument.
    notice : tuple of str
        Severity and text of a remark before the button; without a severity it is plain text.
    """

    text: str = ""
    command: str = ""
    arguments: tuple[object, ...] = ()
    tip: str = ""
    place: Literal["head", "each", "foot"] = "head"
    notice: tuple[str, str] = ("", "")
    is_primary: bool = False


def device_notices(device: Device | None) -> list[Notice]:
    """Return notices about a device."""
    if device is not None and device.kind == "reference":
        return [Notice("caution", REFERENCE_WORDS)]
    if device is not None and not device.is_usable and device.health != "not tested":
        return [Notice("stop", f"{device.name} cannot be used: {device.problem}", blocks=True)]
    return []


STILL_READ = "The files are still being read."


def reason_not_to_start(files: Sequence[Source | None], missing: str, notices: list[Notice]) -> str:
    """Return why a run with some files cannot start: `missing` if one is not chosen; empty if it can."""
    for source in files:
        if source is None:
            return missing
        if source.state != "ready":
            return STILL_READ if source.state == "reading" else source.problem
    return next((notice.text for notice in notices if notice.blocks), "")


class Workspace(QObject):
    """The open files, runs and devices, and the chosen ones."""

    sources_changed = Signal()
    devices_changed = Signal()
    choice_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sources: dict[str, Source] = {}
        self.devices: list[Device] = []
        self.devices_known = False
        self.devices_sought = True
        """Whether devices are searched for; not in safe mode."""

        self._device_id = "auto"
        self.profiles_path = ""
        self.sequences_path = ""
        self.queries_path = ""
        self._measured: dict[tuple[str, str], tuple[float, float]] = {}
        """Of the last run of an engine on a device: the time that was expected of its cells, and the measured one."""

        self.draft = ""
        """Sequences that were pasted or typed, and are not a file yet."""

        self.queries_alone: set[str] = set()
        """Files that were made to be queries: they are targets only if the user chooses them."""

        self._later: dict[str, set[SourceKind]] = {}
        """Files to choose once they are read, and the kinds of which others were chosen meanwhile."""

    @property
    def being_read(self) -> list[Source]:
        """Files that were opened and are not read yet."""
        return [source for source in self.sources.values() if source.state == "reading"]

    def of_kind(self, kind: SourceKind) -> list[Source]:
        """Return the open files of a kind, in the order they were opened."""
        return [source for source in self.sources.values() if source.kind == kind]

    def put(self, source: Source) -> None:
        """Add a file, or replace its facts."""
        before = self.profiles_path, self.sequences_path
        self.sources[source.path] = source
        if source.state == "ready":
            is_wanted = source.kind not in self._later.pop(source.path, (source.kind,))
            is_wanted = is_wanted and source.path != self.queries_path  # which is a place already
            if source.kind == "profiles" and (is_wanted or not self.profiles_path):
                self.profiles_path = source.path
            is_target = source.kind == "sequences" and source.path not in self.queries_alone
            if is_target and (is_wanted or not self.sequences_path):
                self.sequences_path = source.path
        self.sources_changed.emit()
        if (self.profiles_path, self.sequences_path) != before:
            self.choice_changed.emit()

    def change(self, path: str, **facts: Any) -> None:
        """Change facts about an open file."""
        if path in self.sources:
            self.put(replace(self.sources[path], **facts))

    def remove(self, path: str) -> None:
        """Remove a file."""
        if self.sources.pop(path, None) is None:
            return
        self._later.pop(path, None)
        if self.profiles_path == path:
            self.profiles_path = ""
        if self.sequences_path == path:
            self.sequences_path = ""
        if self.queries_path == path:
            self.queries_path = ""
        self.sources_changed.emit()
        self.choice_changed.emit()

    def choose(self, path: str) -> None:
        """Choose a file for the next run; one that is not read yet, unless another one of its kind is chosen before."""
        source = self.sources.get(path)
        if source is None:
            return
        if source.kind == "unknown":
            self._later[path] = set()
            return
        if source.kind == "profiles":
            self.profiles_path = path
        elif source.kind == "sequences":
            self.sequences_path = path
        self._pass_over(source.kind)
        self.choice_changed.emit()

    def _pass_over(self, kind: SourceKind) -> None:
        """Let files that are not read yet not take the place of one that was chosen now."""
        for kinds in self._later.values():
            kinds.add(kind)

    def awaited(self, kind: SourceKind) -> Source | None:
        """Return the file that is chosen for a kind as soon as it is read, by its name of that kind."""
        waiting = [path for path, kinds in self._later.items() if kind not in kinds and path != self.queries_path]
        files = (self.sources[path] for path in reversed(waiting) if path in self.sources)
        return next((one for one in files if one.state == "reading" and one.kind_by_name == kind), None)

    def expect(self, queries: str, targets: str) -> None:
        """Choose two files of sequences that are about to be read, in any order."""
        self.queries_path, self.sequences_path = queries, targets
        self._pass_over("sequences")
        self.choice_changed.emit()

    def choose_queries(self, path: str) -> None:
        """Choose the sequence file of the queries."""
        self.queries_path = path
        self.choice_changed.emit()

    def take_as_queries(self, path: str, alone: str) -> None:
        """Choose a sequence file as queries and another one as targets: `alone` if there is no other."""
        if self.sequences_path == path:
            others = [s.path for s in self.of_kind("sequences") if s.state == "ready" and s.path != path]
            self.sequences_path = others[-1] if others else alone
        self.choose_queries(path)

    def propose_queries(self) -> None:
        """Choose queries if none are chosen: the other sequence file with the fewest residues."""
        ready = [s for s in self.of_kind("sequences") if s.state == "ready"]
        if self.queries is not None or not ready:
            return
        small_first = sorted(ready, key=lambda source: float(source.report.get("n_residues", 0)))
        if len(ready) == 1:
            return
        self.queries_path = small_first[0].path
        if self.sequences_path == self.queries_path:
            self.sequences_path = small_first[-1].path
        self.choice_changed.emit()

    @property
    def queries(self) -> Source | None:
        """The queries of the next comparison."""
        found = self.sources.get(self.queries_path)
        return found if found is not None and (found.kind == "sequences" or found.state == "reading") else None

    @property
    def profiles(self) -> Source | None:
        """The profile file for the next search."""
        return self.sources.get(self.profiles_path)

    @property
    def sequences(self) -> Source | None:
        """The sequence file for the next search."""
        return self.sources.get(self.sequences_path)

    def set_devices(self, devices: list[Device], sought: bool = True) -> None:
        """Set the found devices; the reference is always among them, also if none were `sought`."""
        self.devices_sought = sought
        known = [device for device in devices if device.id != REFERENCE.id]
        self.devices = [*known, REFERENCE]
        self.devices_known = True
        numbers = [device.id for device in self.devices]
        if sought and not self.cluster:
            self.device_id = ",".join(one for one in self.device_ids if one in numbers) or "auto"
        self.devices_changed.emit()

    def set_device(self, device: Device) -> None:
        """Replace a device after its test."""
        self.devices = [device if d.id == device.id else d for d in self.devices]
        self.devices_changed.emit()

    @property
    def device_id(self) -> str:
        """The user's choice of devices; the reference where none are looked for, so that no driver is loaded."""
        has_cluster = cluster_of(self._device_id) is not None
        return self._device_id if self.devices_sought or has_cluster else REFERENCE.id

    @device_id.setter
    def device_id(self, words: str) -> None:
        self._device_id = words

    @property
    def device_ids(self) -> list[str]:
        """The ids of the chosen devices of this machine; ``auto`` if any may be used."""
        if self.cluster:
            return ["auto" if self.devices_sought else REFERENCE.id]
        return self.device_id.split(",")

    @property
    def cluster(self) -> str:
        """The address of the chosen cluster; empty if runs are local."""
        found = cluster_of(self.device_id)
        return "" if found is None else found[1]

    def words_with(self, number: str) -> str:
        """Return the chosen devices with one more, or without it if it is one of several."""
        chosen = [one for one in self.device_ids if one != "auto"]
        chosen = [one for one in chosen if one != number] if number in chosen else [*chosen, number]
        order = [device.id for device in self.devices]
        return ",".join(sorted(chosen, key=order.index)) or "auto"

    def choose_device(self, device_id: str) -> None:
        """Choose devices."""
        self.device_id = device_id
        self.choice_changed.emit()

    def auto_device(self) -> Device:
        """Return the device that ``auto`` means: the fastest usable one, a GPU first; else the reference."""
        usable = [d for d in self.devices if d.is_usable and d.kind != "reference"]
        return max(usable, key=lambda d: (d.kind == "gpu", d.gcups), default=REFERENCE)

    def learn(self, engine: str, device_id: str, expected: float, measured: float) -> None:
        """Remember the times of the cells of a run on a device (s)."""
        self._measured[engine, device_id] = expected, measured

    def likely_seconds(self, engine: str, device_id: str, seconds: float) -> float:
        """Return the time of cells on a device for an expected one, by what a similar run has taken (s)."""
        expected, measured = self._measured.get((engine, device_id), (0.0, 0.0))
        is_similar = expected > 0 and expected / SIMILAR <= seconds <= expected * SIMILAR
        return seconds * measured / expected if is_similar else seconds

    @property
    def device(self) -> Device:
        """The chosen device, the first of several."""
        return self.chosen_devices[0]

    @property
    def known_device(self) -> Device | None:
        """The chosen device; None while devices are being searched for."""
        return self.device if self.devices_known else None

    @property
    def chosen_devices(self) -> list[Device]:
        """The chosen devices."""
        return [d for d in self.devices if d.id in self.device_ids] or [self.auto_device()]

"""What is open: sequence files, profile files, runs, devices. Announces its changes; knows no widgets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from clalign.engines.plan7.alphabet_guesses import (
    TRANSLATE,
    Guess,
    are_two_kinds,
    beside_each_other,
    caution,
    objection,
    refusal,
)
from clalign.values.alphabets import ALPHABETS
from clalign.values.devices import REFERENCE, Device

from .. import formatting

SourceKind = Literal["unknown", "sequences", "profiles", "run"]
SourceState = Literal["reading", "ready", "refused"]

ALIGNED = ("stockholm", "clustal", "a3m", "selex", "phylip", "msf", "nexus")
"""Formats of alignments, also where no row has a gap."""

NO_STATISTICS = "has no score statistics (STATS), so nothing could be reported. Build it again with hmmbuild."

REFERENCE_WORDS = "The reference computes with NumPy: slow, for checking. A search can take very long."


FEW_TARGETS = 200
"""With fewer than these the size of the database is said."""


def stamp_of(path: str) -> tuple[int, int]:
    """Return when a file was changed last and its size; zeros if it is not there."""
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
        ``reading`` while the worker looks at it, ``ready``, or ``refused``.
    report : dict
        Input report of a sequence file or an alignment.
    cards : list of dict
        Profiles of a profile file.
    alphabet : str
        What the user chose: ``auto``, ``amino``, ``dna`` or ``rna``.
    problem, hint : str
        Why it was refused, and what to do.
    stamp : tuple of int
        Time of change and size of the file when it was read.
    """

    path: str
    kind: SourceKind = "unknown"
    state: SourceState = "reading"
    report: dict[str, Any] = field(default_factory=dict)
    cards: list[dict[str, Any]] = field(default_factory=list)
    alphabet: str = "auto"
    problem: str = ""
    hint: str = ""
    stamp: tuple[int, int] = (0, 0)

    @property
    def is_outdated(self) -> bool:
        """Whether the file is another one than when it was read; one that is gone for now is not."""
        now = stamp_of(self.path)
        return now != self.stamp != (0, 0) != now

    @property
    def name(self) -> str:
        """The file's name; of a run, what it searched."""
        return str(self.report.get("title") or Path(self.path).name)

    @property
    def is_alignment(self) -> bool:
        """Whether a profile can be built from it."""
        if self.kind != "sequences" or self.state != "ready":
            return False
        gaps = any(issue["kind"] == "gaps_dropped" for issue in self.report.get("issues", ()))
        return gaps or str(self.report.get("format", "")).lower().startswith(ALIGNED)

    @property
    def has_hmmer3(self) -> bool:
        """Whether any of its profiles is one of HMMER3."""
        return any(card["origin"] == "hmmer3" for card in self.cards)

    @property
    def alphabet_found(self) -> str:
        """The alphabet of its sequences or profiles; empty while unknown."""
        if self.kind == "profiles":
            return str(self.cards[0]["alphabet"]) if self.cards else ""
        return str(self.report.get("alphabet", ""))

    @property
    def guess(self) -> Guess:
        """What its sequences look like, once they are read."""
        report = self.report
        return Guess(report["alphabet"], report.get("alphabet_reason", ""), report.get("is_doubtful", False))


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know before a run.

    Attributes
    ----------
    blocks : bool
        The run makes no sense before this is mended.
    action : str
        Id of the action offered, if any.
    """

    severity: str
    text: str
    blocks: bool = False
    action: str = ""
    action_text: str = ""


def notices(profiles: Source | None, sequences: Source | None, device: Device | None) -> list[Notice]:
    """Return what is to be said about a combination of files and device."""
    found: list[Notice] = []
    if profiles is not None and profiles.state == "ready":
        found += _profile_notices(profiles)
    if profiles and sequences and profiles.state == sequences.state == "ready":
        found += _alphabet_notices(profiles, sequences)
    return found + _device_notices(device)


def pair_notices(queries: Source | None, targets: Source | None, device: Device | None) -> list[Notice]:
    """Return what is to be said about sequences that are to be compared."""
    found: list[Notice] = []
    if queries and targets and queries.state == targets.state == "ready":
        chosen = {source.alphabet for source in (queries, targets)} - {"auto"}
        if not chosen:
            found += _guess_notices(queries, targets)
        if len(chosen) > 1:
            found.append(Notice("stop", "Queries and targets are taken for different alphabets.", True))
        n_targets = int(targets.report.get("n_sequences", 0))
        if n_targets < FEW_TARGETS:
            text = f"Only {formatting.plural(n_targets, 'target')}: E-values are for a database of this size."
            found.append(Notice("note", text))
    return found + _device_notices(device)


def alphabet_chosen(queries: Source | None, targets: Source | None) -> str:
    """Return what the user said of either file, which holds for both."""
    return next((source.alphabet for source in (queries, targets) if source and source.alphabet != "auto"), "auto")


def compares_bases(queries: Source | None, targets: Source | None) -> bool:
    """Return whether nucleic acids are compared, as far as the files are read."""
    chosen = alphabet_chosen(queries, targets)
    if chosen != "auto":
        return ALPHABETS[chosen].is_nucleic
    guesses = [source.guess for source in (queries, targets) if source and source.report]
    taken = beside_each_other(*guesses) if len(guesses) == 2 else guesses
    return bool(taken) and all(guess.alphabet.is_nucleic for guess in taken)


def _guess_notices(queries: Source, targets: Source) -> list[Notice]:
    taken = beside_each_other(queries.guess, targets.guess)
    if are_two_kinds(*taken):
        text = refusal(*taken, targets.name)
        return [Notice("stop", f"{text[0].upper()}{text[1:]} {TRANSLATE} choose the alphabet of its file.", True)]
    return [
        Notice("caution", f"{source.name}: {caution(guess)} If that is wrong, choose the alphabet of this file.")
        for source, guess in zip((queries, targets), taken, strict=True)
        if guess != source.guess
    ]


def _device_notices(device: Device | None) -> list[Notice]:
    if device is not None and device.kind == "reference":
        return [Notice("caution", REFERENCE_WORDS)]
    if device is not None and not device.is_usable and device.health != "not tested":
        return [Notice("stop", f"{device.name} cannot be used: {device.problem}", blocks=True)]
    return []


def _profile_notices(profiles: Source) -> list[Notice]:
    bare = [card["name"] for card in profiles.cards if card["origin"] == "hmmer3" and not card.get("calibration3")]
    if bare:
        return [Notice("stop", f"The HMMER3 profile {bare[0]} {NO_STATISTICS}", blocks=True)]
    rough = [card["name"] for card in profiles.cards if card["origin"] == "hmmer2" and not card.get("calibration")]
    if not rough:
        return []
    which = "This HMMER2 profile has" if len(profiles.cards) == 1 else f"{len(rough)} of the profiles have"
    text = f"{which} no calibration, so E-values are rough (upper bounds)."
    return [Notice("caution", text, action="calibrate", action_text="Calibrate…")]


def _alphabet_notices(profiles: Source, sequences: Source) -> list[Notice]:
    known = [(card["name"], ALPHABETS[card["alphabet"]]) for card in profiles.cards]
    found = objection(known, sequences.guess, sequences.name) if sequences.alphabet_found else None
    if found is None:
        return []
    if not found.blocks:
        return [Notice("caution", f"{found.text} If that is wrong, choose the alphabet of the sequences.")]
    kind, word = ("dna", "DNA") if known[0][1].is_nucleic else ("amino", "proteins")
    return [Notice("stop", found.text, True, f"take_as_{kind}", f"They are {word}")]


class Workspace(QObject):
    """The open files, runs and devices, and which of them are chosen."""

    sources_changed = Signal()
    devices_changed = Signal()
    choice_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sources: dict[str, Source] = {}
        self.devices: list[Device] = []
        self.devices_known = False
        self.device_id = "auto"
        self.profiles_path = ""
        self.sequences_path = ""
        self.queries_path = ""

    def of_kind(self, kind: SourceKind) -> list[Source]:
        """Return the open files of a kind, in the order they were opened."""
        return [source for source in self.sources.values() if source.kind == kind]

    def put(self, source: Source) -> None:
        """Open a file, or take over what is now known about it."""
        before = self.profiles_path, self.sequences_path
        self.sources[source.path] = source
        if source.state == "ready" and source.kind == "profiles" and not self.profiles_path:
            self.profiles_path = source.path
        if source.state == "ready" and source.kind == "sequences" and not self.sequences_path:
            self.sequences_path = source.path
        self.sources_changed.emit()
        if (self.profiles_path, self.sequences_path) != before:
            self.choice_changed.emit()

    def change(self, path: str, **facts: Any) -> None:
        """Take over new facts about an open file."""
        if path in self.sources:
            self.put(replace(self.sources[path], **facts))

    def remove(self, path: str) -> None:
        """Close a file."""
        if self.sources.pop(path, None) is None:
            return
        if self.profiles_path == path:
            self.profiles_path = ""
        if self.sequences_path == path:
            self.sequences_path = ""
        if self.queries_path == path:
            self.queries_path = ""
        self.sources_changed.emit()
        self.choice_changed.emit()

    def choose(self, path: str) -> None:
        """Make a file the one that the next search uses."""
        source = self.sources.get(path)
        if source is None:
            return
        if source.kind == "profiles":
            self.profiles_path = path
        elif source.kind == "sequences":
            self.sequences_path = path
        self.choice_changed.emit()

    def choose_queries(self, path: str) -> None:
        """Make a sequence file the one whose sequences are compared with others."""
        self.queries_path = path
        self.choice_changed.emit()

    def propose_queries(self) -> None:
        """Choose queries if none are chosen: of the other sequence files the one with the fewest residues."""
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
        """The sequences that are compared with those for the next search."""
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

    def set_devices(self, devices: list[Device]) -> None:
        """Take over what the probing found; the reference is always there."""
        known = [device for device in devices if device.id != REFERENCE.id]
        self.devices = [*known, REFERENCE]
        self.devices_known = True
        if self.device_id not in ("auto", *(d.id for d in self.devices)):
            self.device_id = "auto"
        self.devices_changed.emit()

    def set_device(self, device: Device) -> None:
        """Take over a new verdict on one device."""
        self.devices = [device if d.id == device.id else d for d in self.devices]
        self.devices_changed.emit()

    def choose_device(self, device_id: str) -> None:
        """Choose what to run on."""
        self.device_id = device_id
        self.choice_changed.emit()

    def auto_device(self) -> Device:
        """Return what ``auto`` means: the fastest usable device, a GPU first; else the reference."""
        usable = [d for d in self.devices if d.is_usable and d.kind != "reference"]
        return max(usable, key=lambda d: (d.kind == "gpu", d.gcups), default=REFERENCE)

    @property
    def device(self) -> Device:
        """The device that the next search runs on."""
        chosen = next((d for d in self.devices if d.id == self.device_id), None)
        return chosen or self.auto_device()

    def reason_not_to_compare(self) -> str:
        """Return why a comparison of sequences cannot start now; empty if it can."""
        if self.queries is None or self.sequences is None:
            return "Choose queries and targets first."
        for source in (self.queries, self.sequences):
            if source.state != "ready":
                return "The files are still being read." if source.state == "reading" else source.problem
        blocking = [n.text for n in pair_notices(self.queries, self.sequences, self.device) if n.blocks]
        return blocking[0] if blocking else ""

    def reason_not_to_run(self) -> str:
        """Return why a search cannot start now; empty if it can."""
        if self.profiles is None or self.sequences is None:
            return "Choose a profile and sequences first."
        if "reading" in (self.profiles.state, self.sequences.state):
            return "The files are still being read."
        blocking = [n.text for n in notices(self.profiles, self.sequences, self.device) if n.blocks]
        return blocking[0] if blocking else ""

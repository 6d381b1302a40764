"""Notices about two files of sequences and a device before a comparison."""

from __future__ import annotations

from pathlib import Path

from clalign.databases.letters import TRANSLATE, are_two_kinds, caution, reconciled, refusal
from clalign.values.alphabets import ALPHABETS
from clalign.values.devices import Device

from ... import formatting
from ...models.workspace import Notice, Offer, Source, Workspace, device_notices, reason_not_to_start

FEW_TARGETS = 200
"""Number of targets below which the size of the database is noted."""


def pair_notices(queries: Source | None, targets: Source | None, device: Device | None) -> list[Notice]:
    """Return notices about sequences to be compared."""
    found: list[Notice] = []
    ways = (("pairs.compare_targets", "Compare them with each other"),) if _are_pasted_pair(queries, targets) else ()
    if queries and targets and queries.state == targets.state == "ready":
        chosen = {source.alphabet for source in (queries, targets)} - {"auto"}
        if not chosen:
            found += _guess_notices(queries, targets)
        if len(chosen) > 1:
            found.append(Notice("stop", "Queries and targets seem to have different alphabets.", True))
        n_targets = int(targets.report.get("n_sequences", 0))
        if n_targets < FEW_TARGETS:
            text = f"Only {formatting.plural(n_targets, 'target')}: E-values are for a database of this size."
            found.append(Notice("note", text, ways=ways))
    elif ways and targets:
        found.append(Notice("note", f"{targets.name} has two sequences.", ways=ways))
    return found + device_notices(device)


def _are_pasted_pair(queries: Source | None, targets: Source | None) -> bool:
    """Return whether the targets are two sequences that were pasted together and are not the queries, too."""
    if targets is None or (queries is not None and queries.path == targets.path):
        return False
    return Path(targets.path).parent.name == "pasted" and targets.report.get("n_sequences") == 2


def alphabet_chosen(queries: Source | None, targets: Source | None) -> str:
    """Return the alphabet that the user chose for either file, which holds for both."""
    return next((source.alphabet for source in (queries, targets) if source and source.alphabet != "auto"), "auto")


def compares_bases(queries: Source | None, targets: Source | None) -> bool:
    """Return whether nucleic acids are compared, as far as the files are read."""
    chosen = alphabet_chosen(queries, targets)
    if chosen != "auto":
        return ALPHABETS[chosen].is_nucleic
    guesses = [source.guess for source in (queries, targets) if source and source.report]
    taken = reconciled(*guesses) if len(guesses) == 2 else guesses
    return bool(taken) and all(guess.alphabet.is_nucleic for guess in taken)


def _guess_notices(queries: Source, targets: Source) -> list[Notice]:
    taken = reconciled(queries.guess, targets.guess)
    if are_two_kinds(*taken):
        text = refusal(*taken, targets.name)
        return [Notice("stop", f"{text[0].upper()}{text[1:]} {TRANSLATE} choose the alphabet of its file.", True)]
    return [
        Notice("caution", f"{source.name}: {caution(guess)} If that is wrong, choose the alphabet of this file.")
        for source, guess in zip((queries, targets), taken, strict=True)
        if guess != source.guess
    ]


def reason_not_to_compare(space: Workspace) -> str:
    """Return why a comparison of sequences cannot start now; empty if it can."""
    files = space.queries, space.sequences
    return reason_not_to_start(files, "Choose queries and targets first.", pair_notices(*files, space.known_device))


def source_offers(source: Source) -> list[Offer]:
    """Return the actions for an opened file of sequences."""
    if source.kind != "sequences":
        return []
    tip = "Find its best alignments among other sequences (Smith-Waterman)"
    return [Offer("Compare with…", "pairs.search_with", tip=tip, place="foot")]

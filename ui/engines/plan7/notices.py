"""Notices about profiles, sequences and a device before a search."""

from __future__ import annotations

from clalign.databases.letters import objection
from clalign.values.alphabets import ALPHABETS
from clalign.values.devices import Device

from ...models.workspace import Notice, Offer, Source, Workspace, device_notices, reason_not_to_start

NO_STATISTICS = "has no score statistics (STATS), so nothing could be reported. Build it again with hmmbuild."

TRANSLATED = "A search does not translate: open the translated sequences."


def has_hmmer3(source: Source | None) -> bool:
    """Return whether a file contains HMMER3 profiles."""
    return source is not None and any(card["origin"] == "hmmer3" for card in source.cards)


def notices(profiles: Source | None, sequences: Source | None, device: Device | None) -> list[Notice]:
    """Return notices about a combination of files and device."""
    found: list[Notice] = []
    if profiles is not None and profiles.state == "ready":
        found += _profile_notices(profiles)
    if profiles and sequences and profiles.state == sequences.state == "ready":
        found += _alphabet_notices(profiles, sequences)
    return found + device_notices(device)


def sequence_notices(queries: Source | None, targets: Source | None, device: Device | None) -> list[Notice]:
    """Return notices about sequences, device, and what a profile can be made of: proteins only."""
    found = [
        Notice("stop", f"{source.name} holds nucleic acids: such a search compares proteins. {TRANSLATED}", True)
        for source in (queries, targets)
        if source is not None and source.state == "ready" and source.alphabet_found in ("dna", "rna")
    ]
    if queries is not None and queries.state == "ready" and queries.kind == "profiles":
        if _n_hmmer2(queries):
            found.append(Notice("stop", f"{queries.name} has HMMER2 profiles: rounds need those of HMMER3.", True))
        found += [notice for notice in _profile_notices(queries) if notice.blocks]
    return found + device_notices(device)


def _n_hmmer2(source: Source) -> int:
    return sum(card["origin"] == "hmmer2" for card in source.cards)


def _uncalibrated(profiles: Source, origin: str) -> list[str]:
    """Return the names of HMMER3's profiles without statistics, or of HMMER2's that are not calibrated."""
    key = {"hmmer2": "calibration", "hmmer3": "calibration3"}[origin]
    return [card["name"] for card in profiles.cards if card["origin"] == origin and not card.get(key)]


def _profile_notices(profiles: Source) -> list[Notice]:
    bare = _uncalibrated(profiles, "hmmer3")
    if bare:
        return [Notice("stop", f"The HMMER3 profile {bare[0]} {NO_STATISTICS}", blocks=True)]
    rough = _uncalibrated(profiles, "hmmer2")
    if not rough:
        return []
    ways = (("search.calibrating.calibrate", "Calibrate…"),)
    return [Notice("caution", _rough_words(profiles, len(rough)), ways=ways)]


def _rough_words(profiles: Source, n_rough: int) -> str:
    """Return which profiles are not calibrated, and the consequence."""
    which = f"{n_rough} of the profiles" if n_rough < len(profiles.cards) else "These HMMER2 profiles"
    if len(profiles.cards) == 1:
        which = "This HMMER2 profile"
    has, whose = ("has", "its") if n_rough == 1 else ("have", "their")
    return f"{which} {has} no calibration, so {whose} E\u2011values are rough (upper bounds)."


def _alphabet_notices(profiles: Source, sequences: Source) -> list[Notice]:
    known = [(card["name"], ALPHABETS[card["alphabet"]]) for card in profiles.cards]
    found = objection(known, sequences.guess, sequences.name) if sequences.alphabet_found else None
    if found is None:
        return []
    if not found.blocks:
        return [Notice("caution", f"{found.text} If that is wrong, choose the alphabet of the sequences.")]
    kind, word = ("dna", "DNA") if known[0][1].is_nucleic else ("amino", "proteins")
    ways = ("sources.open_files", "Open other files…"), (f"search.take_as:{kind}", f"Read as {word}")
    text = found.text if kind == "dna" else f"{found.text} {TRANSLATED}"
    return [Notice("stop", text, True, ways)]


def reason_not_to_run(space: Workspace) -> str:
    """Return why a search cannot start now; empty if it can."""
    profiles, sequences = space.profiles, space.sequences
    found = notices(profiles, sequences, space.known_device)
    return reason_not_to_start((profiles, sequences), "Choose a profile and sequences first.", found)


_ROUNDS = Offer(
    "Search in rounds…", "search.search_in_rounds", place="foot",
    tip="Begins with its profile, and goes on with profiles of what is found (jackhmmer)",
)  # fmt: skip
_BUILD = "Build a HMMER3 profile from it and"


def source_offers(source: Source) -> list[Offer]:
    """Return the actions of profiles for an opened file."""
    if source.is_alignment:
        notice = ("", "This is an alignment: a profile can be built from it.")
        tip = f"{_BUILD} open the search sheet"
        search = Offer("Build and search…", "search.building.build", (True,), tip, notice=notice, is_primary=True)
        built = Offer("Build profile", "search.building.build", (False,), f"{_BUILD} show its logo")
        return [search, built, *([] if source.alphabet_found in ("dna", "rna") else [_ROUNDS])]
    if source.kind == "sequences" and source.alphabet_found not in ("dna", "rna"):
        tip = "A profile is made of each of them, and searched with (phmmer)"
        return [Offer("Find homologs…", "search.search_with", tip=tip, place="foot")]
    if source.kind != "profiles":
        return []
    offers = [Offer("Show logo", "search.profiles.open_profile", tip="Letters and nodes", place="each")]
    if not _n_hmmer2(source) and source.alphabet_found == "amino":
        offers.append(_ROUNDS)
    if _uncalibrated(source, "hmmer3"):
        offers.append(Offer(notice=("stop", f"A HMMER3 profile {NO_STATISTICS}")))
    if rough := _uncalibrated(source, "hmmer2"):
        notice = ("caution", _rough_words(source, len(rough)))
        offers.append(Offer("Calibrate…", "search.calibrating.calibrate", notice=notice))
    return offers

"""Parts that all outputs share: provenance of a result, and values as text."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit

PARTIAL = "# partial: yes"
"""Last line of every table of a search that is not complete; complete ones with a footer end with `OK`."""

OK = "# [ok]"


RULE = "# - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -"
"""The line around the head of texts, as HMMER has it."""

HMMER_VERSION = "3.3.2 (Nov 2020), by clalign {}"
"""The version of programs that stand for HMMER's (`clalign shims`), which scripts look for."""

HMMER_PROGRAMS = {
    "hmmsearch": "search profile(s) against a sequence database",
    "hmmscan": "search sequence(s) against a profile database",
    "phmmer": "search a protein sequence against a protein database",
    "jackhmmer": "iteratively search a protein sequence against a protein database",
    "hmmbuild": "profile HMM construction from multiple sequence alignments",
    "hmmalign": "align sequences to a profile HMM",
    "hmmpress": "prepare an HMM database for faster hmmscan searches",
}
"""HMMER's programs, and what each does."""


def hmmer_lines(name: str, version: str) -> list[str]:
    """Return the lines by which a program of HMMER names itself, given the version of clalign that stands for it."""
    return [f"# {name} :: {HMMER_PROGRAMS[name]}", f"# HMMER {HMMER_VERSION.format(version)}; http://hmmer.org/"]


def stands_for_hmmer(command: str) -> bool:
    """Return whether a command line calls a program of HMMER by its name (`clalign shims`)."""
    return not command.startswith("clalign ")


class Provenance(Struct, frozen=True):
    """The provenance of a result, for the headers and footers of files.

    Attributes
    ----------
    version : str
        Version of clalign.
    query, target : str
        The files of profiles and of sequences.
    command : str
        The command line that repeats the search.
    device : str
        Name of the device.
    seconds : float
        When the search began (since 1970).
    partial : bool
        Whether the search is not complete.
    part : str
        Words for the part of the sequences that is searched; empty for all of them.
    program : str
        The command, such as ``hmmsearch``.
    is_scan : bool
        Whether the hits of a sequence are profiles.
    checksums : tuple of (str, str)
        SHA-256 and name of each input whose checksum is known.
    chosen : str
        Words for the hits that are written; empty for all of them.
    overlaps : str
        Words for the rule by which overlapping domains are left out; empty if all domains are written.
    """

    version: str
    query: str
    target: str
    command: str
    device: str
    seconds: float
    partial: bool = False
    program: str = "hmmsearch"
    is_scan: bool = False
    part: str = ""
    checksums: tuple[tuple[str, str], ...] = ()
    chosen: str = ""
    overlaps: str = ""

    @property
    def date(self) -> str:
        """The date in the C locale's form, as in ``Fri Nov 20 10:35:26 2026``."""
        return time.asctime(time.localtime(self.seconds))

    @property
    def stands_for_hmmer(self) -> bool:
        """Whether the search was called by the name of a program of HMMER (`clalign shims`)."""
        return stands_for_hmmer(self.command)

    @property
    def program_name(self) -> str:
        """What the program calls itself."""
        return self.program if self.stands_for_hmmer else f"clalign {self.program}"

    @property
    def version_words(self) -> str:
        """The version of the program, which is HMMER's where it is called so."""
        return HMMER_VERSION.format(self.version) if self.stands_for_hmmer else self.version

    def program_lines(self) -> list[str]:
        """Return the lines that begin a text in the layout of HMMER: the program, what it does, and its version."""
        if self.stands_for_hmmer:
            return hmmer_lines(self.program, self.version)
        does = HMMER_PROGRAMS[self.program]
        return [f"# clalign {self.program} :: {does}", f"# clalign {self.version}; in the layout of HMMER 3.3.2"]

    @property
    def sides(self) -> tuple[str, str]:
        """The files of queries and targets in HMMER's sense: in a scan sequences are the queries."""
        return (self.target, self.query) if self.is_scan else (self.query, self.target)

    def checksum_lines(self, label: str) -> Iterator[str]:
        """Yield a line for each input: a label, then checksum and name as ``sha256sum`` prints and checks them."""
        for checksum, name in self.checksums:
            yield f"{label}{checksum}  {name}"

    def comments(self) -> list[str]:
        """Return the comments of files that have no last line for a search that is not complete.

        Programs that stand for HMMER's write as it does, unless the search is not complete.
        """
        return [*([] if self.stands_for_hmmer else self.lines()), *(["partial: yes"] if self.partial else [])]

    def facts(self) -> dict[str, object]:
        """Return all values by name, for a file of their own."""
        query, target = self.sides
        return {
            "program": f"clalign {self.program}", "version": self.version, "command": self.command, "query": query,
            "target": target, "device": self.device,
            "date": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self.seconds)), "partial": self.partial,
            "part": self.part, "chosen": self.chosen, "overlaps": self.overlaps,
            "inputs": [{"sha256": checksum, "name": name} for checksum, name in self.checksums],
        }  # fmt: skip

    def lines(self) -> list[str]:
        """Return the comments of a file."""
        query, target = self.sides
        return [
            f"made by: clalign {self.version}", f"command: {self.command}", f"query: {query}",
            f"target: {target}", f"device: {self.device}", f"date: {self.date}",
            *([f"chosen: {self.chosen}"] if self.chosen else []), *self.checksum_lines("sha256: "),
        ]  # fmt: skip


def swapped(card: Card, hit: Hit) -> tuple[Card, Hit]:
    """Return the sequence as a card and the profile as a hit, as tables of a scan show them."""
    facts = {"name": hit.name, "accession": hit.accession, "description": hit.description, "length": hit.length}
    sequence = {**card, **facts}
    profile = replace(
        hit, name=card["name"], accession=card["accession"], description=card["description"], length=card["length"]
    )
    return sequence, profile


def digits(value: float | None) -> str:
    """Return a number with six significant digits, or nothing for None."""
    return "" if value is None else f"{value:.6g}"


def plain(text: str) -> str:
    """Return text that does not break a table: white space becomes single blanks."""
    return " ".join(text.split())


def envelope_of(card: Card, domain: Domain) -> tuple[int, int] | None:
    """Return the envelope of a domain, or None where the engine has no such thing."""
    return None if card["origin"] == "hmmer2" else domain.envelope

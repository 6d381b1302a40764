"""What a spec is: what a user asked for, as plain data with the words of its flags and of its form entries."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import Any

REPORT = "Reporting"
INPUT = "Input"
"""Groups of options that several specs have."""


def option(default: Any, flag: str, label: str, text: str, group: str, **more: Any) -> Any:
    """Return a dataclass field with the words for its flag and its form entry.

    In `text`, ``{found}`` stands for what is found and counted.
    """
    return field(default=default, metadata={"flag": flag, "label": label, "help": text, "group": group, **more})


def flag_of(name: str, spec: type) -> str:
    """Return the command line flag of a field of a spec."""
    flags = {f.name: str(f.metadata.get("flag", f.name)) for f in dataclasses.fields(spec)}
    return flags[name]


def flag_words(spec: Any) -> list[str]:
    """Return the flags of the fields of a spec that differ from their defaults."""
    words = []
    for f in dataclasses.fields(spec):
        value = getattr(spec, f.name)
        if "flag" not in f.metadata or value == f.default:
            continue
        if f.name == "cutoff":
            words.append(f"--cut_{value}")
        elif value is True:
            words.append(f.metadata["flag"])
        else:
            words += [f.metadata["flag"], f"{value:g}" if isinstance(value, float) else str(value)]
    return words

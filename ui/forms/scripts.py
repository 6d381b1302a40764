"""A search as a command and as a Python program."""

from __future__ import annotations

import dataclasses
import shlex

from clalign.specs import SearchSpec, command_line


def as_command(spec: SearchSpec) -> str:
    """Return the shell command that runs a search."""
    return shlex.join(command_line(spec))


def as_python(spec: SearchSpec) -> str:
    """Return a Python program that runs a search and prints its hits."""
    options = [
        f"    {f.name}={getattr(spec, f.name)!r},"
        for f in dataclasses.fields(spec)
        if f.name not in ("profiles", "targets") and getattr(spec, f.name) != f.default
    ]
    return "\n".join(
        [
            "import clalign",
            "",
            "run = clalign.hmmsearch(",
            f"    {spec.profiles!r},",
            f"    {spec.targets!r},",
            '    run="search.clalign",',
            *options,
            ")",
            "for hit in run.hits():",
            "    print(hit.name, hit.score, hit.evalue, hit.n_domains)",
            "",
        ]
    )

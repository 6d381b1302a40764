"""A search as a command and as a Python program."""

from __future__ import annotations

import dataclasses

from clalign.errors import typed
from clalign.values.specs import Spec


def as_command(spec: Spec) -> str:
    """Return the shell command that runs a search."""
    return typed(spec.command_line())


def as_python(spec: Spec) -> str:
    """Return a Python program that runs a search and prints its hits."""
    options = [
        f"    {f.name}={getattr(spec, f.name)!r},"
        for f in dataclasses.fields(spec)
        if ("flag" in f.metadata or f.name == "device") and getattr(spec, f.name) != spec.usual(f.name, f.default)
    ]
    given = [*(f"    {path!r}," for path in spec.paths), '    run="search.clalign",', *options]
    shown = "print(hit.query, hit.name, hit.score, hit.evalue)"
    if spec.command == "jackhmmer":
        head, loop = (
            f"with clalign.{spec.command}(",
            [") as rounds:", "    for one in rounds:", "        for hit in one:"],
        )
        return "\n".join(["import clalign", "", head, *given, *loop, f"            {shown}", ""])
    loop = [")", "for hit in run.hits():", f"    {shown}"]
    return "\n".join(["import clalign", "", f"run = clalign.{spec.command}(", *given, *loop, ""])

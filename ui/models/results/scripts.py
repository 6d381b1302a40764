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
    in_rounds = spec.command == "jackhmmer"
    begin = f"with clalign.{spec.command}(" if in_rounds else f"run = clalign.{spec.command}("
    loop = [") as rounds:", "    for one in rounds:", "        for hit in one:"]
    loop = loop if in_rounds else [")", "for hit in run.hits():"]
    indent = "            " if in_rounds else "    "
    shown = f"{indent}print(hit.query, hit.name, hit.score, hit.evalue)"
    return "\n".join(["import clalign", "", begin, *given, *loop, shown, ""])

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
    arguments = [
        f"    {f.name}={getattr(spec, f.name)!r},"
        for f in dataclasses.fields(spec)
        if f.default is dataclasses.MISSING or getattr(spec, f.name) != f.default
    ]
    return "\n".join(
        [
            "from pathlib import Path",
            "",
            "from clalign.jobs import QuietContext",
            "from clalign.opencl.choice import pick_device",
            "from clalign.runs import create_run",
            "from clalign.search.profile_search import run_search",
            "from clalign.specs import SearchSpec",
            "",
            "spec = SearchSpec(",
            *arguments,
            ")",
            'with create_run(Path("search.clalign"), spec=spec.to_dict()) as run:',
            "    run_search(run, spec, pick_device, QuietContext())",
            "    for hit in run.hits():",
            "        print(hit.name, hit.score, hit.evalue, hit.n_domains)",
            "",
        ]
    )

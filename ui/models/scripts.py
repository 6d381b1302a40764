"""A search as a command and as a Python program."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.spec import SearchSpec

Spec = SearchSpec | PairwiseSpec

_PROFILE_PROGRAM = ("import clalign", "clalign.hmmsearch", "hit.name, hit.score, hit.evalue, hit.n_domains")
_PAIR_PROGRAM = (
    "from clalign.engines.pairwise.search import pairwise_search", "pairwise_search",
    "hit.name, hit.raw, hit.score, hit.evalue, hit.domains[0].cigar",
)  # fmt: skip


def spec_of(data: dict[str, Any]) -> Spec:
    """Return the spec that a run file describes."""
    return PairwiseSpec.from_dict(data) if data.get("direction") == "pairwise" else SearchSpec.from_dict(data)


def as_command(spec: Spec) -> str:
    """Return the shell command that runs a search."""
    return shlex.join(spec.command_line())


def as_python(spec: Spec) -> str:
    """Return a Python program that runs a search and prints its hits."""
    is_pairwise = isinstance(spec, PairwiseSpec)
    files = (spec.queries, spec.targets) if is_pairwise else (spec.profiles, spec.targets)
    given = ("queries", "profiles", "targets") + (("direction",) if is_pairwise else ())
    options = [
        f"    {f.name}={getattr(spec, f.name)!r},"
        for f in dataclasses.fields(spec)
        if f.name not in given and getattr(spec, f.name) != f.default
    ]
    imports, call, printed = _PAIR_PROGRAM if is_pairwise else _PROFILE_PROGRAM
    return "\n".join(
        [
            imports,
            "",
            f"run = {call}(",
            *(f"    {path!r}," for path in files),
            '    run="search.clalign",',
            *options,
            ")",
            "for hit in run.hits():",
            f"    print({printed})",
            "",
        ]
    )

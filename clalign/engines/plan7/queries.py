"""What is searched with: profiles of a file, or those that are made of its sequences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

import numpy as np

from clalign.building.profiles import Builder
from clalign.building.rows import code_table
from clalign.building.specs import BuildSpec
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.loading import load_database
from clalign.databases.profile_library import kept_models, load_library
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import InputError
from clalign.jobs import JobContext
from clalign.values.alphabets import AMINO
from clalign.values.devices import Device
from clalign.values.profiles import Hmm
from clalign.values.sequences import SequenceDatabase

OPTIONS = (
    "matrix", "popen", "pextend", "msv_length", "msv_n", "viterbi_length", "viterbi_n", "forward_length", "forward_n",
    "tail", "seed",
)  # fmt: skip
"""Options on which the profile of a sequence depends; they have the same names in both specs."""


def load_queries(
    spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext, keep: bool = True
) -> tuple[list[Hmm], str]:
    """Return the profiles of a search, and the SHA-256 of the file that they come from.

    Parameters
    ----------
    spec : SearchSpec
    pick_device : callable
        Returns the device for the user's words; it scores random sequences with profiles that are made.
    context : JobContext
    keep : bool
        Whether profiles are read from and written to the cache.

    Raises
    ------
    InputError
        If the file holds none.
    """
    if not spec.has_sequences:
        return load_library(spec.profiles, context.check, keep)
    queries, report = load_database(spec.profiles, alphabet="amino", sequence_format=spec.query_format, context=context)
    rows = np.argsort(queries.order)
    rows = rows[np.diff(queries.offsets)[rows] > 0]  # HMMER skips those without residues, too
    if not len(rows):
        hint = "Check whether this is the right file, and whether it is complete."
        raise InputError(spec.profiles, f"none of its records has residues ({len(queries):,}).", hint)
    options = {name: getattr(spec, name) for name in OPTIONS}
    digest = hashlib.sha256(f"{report.digest} {json.dumps(options, sort_keys=True)}".encode()).hexdigest()

    def made() -> Iterator[Hmm]:
        def make(session: Session) -> list[Hmm]:
            builder = Builder(BuildSpec(by_matrix=True, **options), AMINO, session, context.check)
            return [_profile(builder, queries, int(row)) for row in rows]

        with opening_of(lambda: pick_device(spec.device), context) as opening:
            yield from opening.work(make, context.check, context.warn)

    return kept_models(digest, made, keep and spec.seed != 0), report.digest


def _profile(builder: Builder, queries: SequenceDatabase, row: int) -> Hmm:
    text = np.frombuffer(queries[row].text.encode(), np.uint8)
    return builder.of_sequence(code_table(AMINO)[text], *queries.header(row))

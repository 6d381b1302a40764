"""What is searched with: profiles of a file, or those that are made of its sequences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.loading import load_database
from clalign.databases.profile_library import Take, kept_models, load_library
from clalign.databases.refused_letters import refused_record, refused_rows
from clalign.engines.plan7.spec import BUILD_OPTIONS, SearchSpec
from clalign.errors import InputError
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import AMINO
from clalign.values.devices import Device
from clalign.values.profiles import Hmm
from clalign.values.sequences import SequenceDatabase

if TYPE_CHECKING:  # a search with profiles builds none: its start does not wait for the builder
    from clalign.building.profiles import Builder


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
        If the file holds none, or a sequence with characters that HMMER3 refuses.
    """
    if not spec.has_sequences:
        return load_library(spec.profiles, context.check, keep)
    queries, report = load_database(spec.profiles, alphabet="amino", sequence_format=spec.query_format, context=context)
    if len(bad := refused_rows(queries, AMINO, report)):
        raise refused_record(spec.profiles, queries, bad, AMINO, report.format, "Leave such records out,")
    for text in report.oddities(without=("empty",)):
        context.warn(text)
    rows = np.argsort(queries.order)
    rows = rows[np.diff(queries.offsets)[rows] > 0]  # HMMER skips those without residues, too
    if not len(rows):
        hint = "Check whether this is the right file, and whether it is complete."
        raise InputError(spec.profiles, f"none of its records has residues ({len(queries):,}).", hint)
    options = {name: getattr(spec, name) for name in BUILD_OPTIONS}
    scores = matrix_digest(spec)
    digest = hashlib.sha256(f"{report.digest} {scores} {json.dumps(options, sort_keys=True)}".encode()).hexdigest()

    def make(take: Take) -> None:
        from clalign.building.profiles import Builder
        from clalign.building.specs import BuildSpec

        left, n_made = rows.tolist(), 0

        def make_them(session: Session) -> None:
            nonlocal n_made
            builder = Builder(BuildSpec(by_matrix=True, **options), AMINO, session, context.check)
            while left:
                context.check()
                context.progress("profiles", len(rows) - len(left), len(rows), "queries")
                hmm = _profile(builder, queries, left[0], context)
                del left[0]
                if hmm is not None:
                    take(hmm)
                    n_made += 1
            context.progress("profiles", len(rows), len(rows), "queries")

        with opening_of(lambda: pick_device(spec.device), context) as opening:
            opening.work(make_them, context.check, context.warn)
        if not n_made:
            raise InputError(spec.profiles, "no profile can be made of any of its sequences.", "Choose other queries.")

    return kept_models(digest, make, keep and spec.seed != 0), report.digest


def with_later_rounds(run: RunFile, spec: SearchSpec, first: list[Hmm], context: JobContext) -> list[Hmm]:
    """Return the profiles of a run by their numbers, given those that it began with."""
    if not spec.has_rounds:
        return first
    from clalign.engines.plan7.rounds import all_profiles

    return all_profiles(run, spec, first, context.check)


def matrix_digest(spec: SearchSpec) -> str | None:
    """Return the SHA-256 of the scores of the matrix of a search with sequences; None of one with profiles.

    Raises
    ------
    OptionError
        If there is no such matrix.
    """
    if not spec.has_sequences:
        return None
    from clalign.building.single import DEFAULT_MATRIX, scores_of

    scores = scores_of(spec.matrix or DEFAULT_MATRIX["amino"], AMINO)
    return hashlib.sha256(scores.astype("<i8").tobytes()).hexdigest()


def _profile(builder: Builder, queries: SequenceDatabase, row: int, context: JobContext) -> Hmm | None:
    """Return the profile of a query; None, with a warning, if no statistics fit its scores."""
    from clalign.building.profiles import NoProfile
    from clalign.building.rows import code_table

    text = np.frombuffer(queries[row].text.encode(), np.uint8)
    try:
        return builder.of_sequence(code_table(AMINO)[text], *queries.header(row))
    except NoProfile as error:
        context.warn(f"{queries.header(row)[0]}: {error.message} The query is left out.")
        return None

"""One run from those of all parts of a search: they are compared, brought together, and concluded as a whole one is."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clalign.common.amounts import rate_of_run
from clalign.databases.reports import InputReport
from clalign.engines.engine import engine_of, spec_of
from clalign.errors import DamagedRun, InputError, OptionError, OutputError, command_for
from clalign.execution.job import Task
from clalign.jobs import JobContext
from clalign.runs.facts import MergedPart
from clalign.runs.inputs import relocate
from clalign.runs.merging import add_results, cards_of
from clalign.runs.run_file import RunFile, create_run, open_run
from clalign.runs.side_files import remove_run
from clalign.values.devices import Device
from clalign.values.documents import JobResult
from clalign.values.shards import FLAG, Shard, ShardRows
from clalign.values.specs import Spec, flag_of

OWN_FACTS = ("spec", "state", "shard", "finished", "error", "device", "command", "created", "seen_digest", "engine")
"""Facts of a part that are not those of the whole."""

SHOWN = 5
"""Limit of the missing parts that a message names."""


class Part(Struct, frozen=True):
    """The run of a part, opened for reading."""

    run: RunFile
    spec: Spec
    rows: ShardRows

    @property
    def path(self) -> Path:
        """Path of its file."""
        return self.run.path

    @property
    def shard(self) -> Shard:
        """Which part it is."""
        return Shard(self.rows.number, self.rows.of)


class Merging(Struct, frozen=True):
    """How the end of a merged run is computed.

    Attributes
    ----------
    device : str
        What to run on.
    pick_device : callable
        Returns the device for the user's words.
    context : JobContext
    locate : sequence of str
        Where files lie that the parts were made with, if they were moved.
    """

    device: str
    pick_device: Callable[[str], Device]
    context: JobContext
    locate: Sequence[str] = ()


def merge_runs(paths: Sequence[Path], output: Path, how: Merging) -> JobResult:
    """Make one run file of those of all parts of a search: what a run of the whole would hold.

    What a search computes at its end, such as fitted statistics and the first hits of a query, is computed once more
    from what all parts have found, so that the inputs have to be at hand.

    Parameters
    ----------
    paths : sequence of Path
        The runs of all parts, each once, in any order.
    output : Path
    how : Merging

    Returns
    -------
    dict
        The summary of the run, with ``n_parts``.

    Raises
    ------
    InputError, OptionError
        If a part is missing, is there twice or is not complete, or if they are of different searches.
    OutputError
        If the file exists or cannot be made.
    """
    with contextlib.ExitStack() as stack:
        parts = [_opened(stack.enter_context(open_run(path))) for path in paths]
        parts = _complete(parts)
        for part in parts[1:]:
            _check_same(part, parts[0])
        merged = [_describe(part.run) for part in parts]
        with _made(parts, output, merged) as run:
            _fill(run, parts, how.context)
            stack.close()  # the runs may be on a share: nothing more is needed of them
            if how.locate:
                relocate(run, how.locate, how.context)
            return _concluded(run, merged, how)


def _opened(run: RunFile) -> Part:
    spec, rows = spec_of(run), run.facts.shard
    asked = spec.to_dict().get("shard")
    if asked is None:
        raise InputError(
            run.path, "this is the run of a search of all sequences, not of a part.", f"Give runs made with {FLAG}."
        )
    if run.state != "done" or rows is None:
        raise InputError(
            run.path, f"this run of {Shard.parse(asked).words} is not complete.",
            f"Finish it first: {command_for('resume', run.path)}",
        )  # fmt: skip
    return Part(run, spec, rows)


def _complete(parts: Sequence[Part]) -> list[Part]:
    """Return the parts in their order; refuse them if one is missing, or is there twice."""
    if not parts:
        raise OptionError("There are no runs to merge.", "Give the runs of all parts.")
    known: dict[Shard, Part] = {}
    for part in parts:
        if part.shard.of != parts[0].shard.of:
            raise InputError(
                part.path, f"this is {part.shard.words}, but {parts[0].path} is {parts[0].shard.words}.",
                "Merge parts of the same division.",
            )  # fmt: skip
        if part.shard in known:
            raise InputError(
                part.path, f"this is {part.shard.words}, and so is {known[part.shard].path}.", "Give each part once."
            )
        known[part.shard] = part
    of = parts[0].shard.of
    missing = [Shard(number, of) for number in range(1, of + 1) if Shard(number, of) not in known]
    if missing:
        shown = ", ".join(map(str, missing[:SHOWN])) + (
            f" and {len(missing) - SHOWN:,} others" * (len(missing) > SHOWN)
        )
        raise OptionError(
            f"Of the {of:,} parts of the search that {parts[0].path} is one of, {len(missing):,} "
            f"{'is' if len(missing) == 1 else 'are'} missing: {shown}.",
            f"Give their runs, too; search what nobody has searched with {FLAG} {missing[0]} and so on.",
        )
    return [known[shard] for shard in sorted(known)]


_SAME = (
    ("packing", "another version of clalign counted its sequences"),
    ("profiles_digest", "it was made with other profiles"),
    ("scoring", "it was made with another scoring"),
    ("strands", "it was made with other strands"),
    ("n_targets", "it counts other targets for E-values"),
)
"""Facts that all parts share, and what it means if they do not."""


def _check_same(part: Part, first: Part) -> None:
    """Refuse a part of another search than the first one."""
    run, other = part.run, first.run
    if engine_of(run).name != engine_of(other).name or part.spec.command != first.spec.command:
        raise _differs(part, first, f"it is a run of clalign {part.spec.command}, not of {first.spec.command}")
    versions = [one.facts.versions.get("clalign") for one in (run, other)]
    if versions[0] != versions[1]:
        raise _differs(part, first, f"it was made by clalign {versions[0]}, not {versions[1]}")
    for name, what in (("queries", "queries"), ("database", "sequences to search")):
        reports: list[InputReport | None] = [getattr(one.facts, name) for one in (run, other)]
        if len({report and report.digest for report in reports}) > 1:
            raise _differs(part, first, f"it was made with other {what}")
    for name, what in _SAME:
        if getattr(run.facts, name, None) != getattr(other.facts, name, None):
            raise _differs(part, first, what)
    _check_options(part, first)
    cards = zip(cards_of(run), cards_of(other), strict=False)
    if run.n_queries() != other.n_queries() or any(one != another for one, another in cards):
        raise _differs(part, first, "its queries, or their thresholds, are others")


def _check_options(part: Part, first: Part) -> None:
    files = {*part.spec.inputs, *part.spec.more_files, "device", "shard"}
    asked, other = part.spec.to_dict(), first.spec.to_dict()
    for field in dataclasses.fields(part.spec):
        if field.name not in files and asked[field.name] != other[field.name]:
            flag = flag_of(field.name, type(part.spec))
            both = f"{asked[field.name]} in it, and {other[field.name]} in the other one"
            raise _differs(part, first, f"{flag} is {both}")


def _differs(part: Part, first: Part, why: str) -> InputError:
    return InputError(
        part.path, f"this run and {first.path} are not of the same search: {why}.", "Merge parts of one search."
    )


def _describe(run: RunFile) -> MergedPart:
    """Return the facts that a merged run keeps of one of its parts."""
    facts = run.facts
    return {
        "path": str(run.path.absolute()),
        "device": facts.device.name if facts.device else "not known",
        "created": facts.created,
        "seconds": facts.finished["seconds"] if facts.finished else 0.0,
    }


def _made(parts: Sequence[Part], output: Path, merged: list[MergedPart]) -> RunFile:
    """Make the new run with what is known of all parts."""
    first, devices = parts[0], {part.spec.to_dict()["device"] for part in parts}
    known = {name: getattr(first.run.facts, name) for name in first.run.facts.__struct_fields__}
    facts = {name: value for name, value in known.items() if name not in OWN_FACTS and value is not None}
    device = devices.pop() if len(devices) == 1 else "auto"
    whole = dataclasses.replace(first.spec, **{"shard": None, "device": device})
    return create_run(
        output, engine=engine_of(first.run).name, spec=whole.to_dict(), state="stopped", merged=merged,
        created=min(one["created"] for one in merged), **facts,
    )  # fmt: skip


def _fill(run: RunFile, parts: Sequence[Part], context: JobContext) -> None:
    """Bring everything that the parts hold into the new run, which goes if that fails."""
    try:
        run.set_cards(cards_of(parts[0].run))
        for done, part in enumerate(parts):
            context.check()
            context.progress("merge", done, len(parts), "parts")
            _check_rows(part)
            add_results(run, part.run, context.check)
        for text in _messages(parts):
            run.add_message("warning", text)
        context.progress("merge", len(parts), len(parts), "parts")
    except BaseException:
        run.close()
        with contextlib.suppress(OutputError):
            remove_run(run.path)
        raise


def _check_rows(part: Part) -> None:
    """Refuse a run that has computed something else than it says."""
    rows = part.rows
    for number in range(part.run.n_queries()):
        found = part.run.finished(number)
        is_inside = all(rows.first <= first and last <= rows.last for first, last in found)
        if not is_inside or sum(last - first for first, last in found) != len(rows):
            raise DamagedRun(part.path, f"it lacks sequences of {part.shard.words}, or has others")


def _messages(parts: Sequence[Part]) -> list[str]:
    """Return the warnings that only some parts had; what all had is repeated at the end."""
    texts = [{text for _, kind, text in part.run.messages() if kind == "warning"} for part in parts]
    every = set.intersection(*texts)
    return sorted(set.union(*texts) - every)


def _concluded(run: RunFile, merged: list[MergedPart], how: Merging) -> JobResult:
    spec = spec_of(run)
    summary = engine_of(run).compute(Task(run, spec.on(how.device), how.pick_device, how.context))
    names = ", ".join(dict.fromkeys(one["device"] for one in merged))
    seconds = sum(one["seconds"] for one in merged) + summary["seconds"]
    rate = {"new_cells": summary["cells"], "gcups": rate_of_run(summary["cells"], seconds)}
    summary = {**summary, **rate, "device": names, "seconds": seconds, "n_parts": len(merged)}
    device = run.facts.device
    run.set_facts(spec=spec.to_dict(), finished=summary, device=device and dataclasses.replace(device, name=names))
    run.seal()
    return summary

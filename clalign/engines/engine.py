"""What an engine is, and the register of all of them.

An engine owns what differs between one kind of run and another. Everything else asks it, and never what kind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clalign.engines.parts import part_at
from clalign.errors import DeviceNotFound, OptionError, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from clalign.engines.export import Choice, Source
    from clalign.engines.exports import Export
    from clalign.execution.job import Task
    from clalign.jobs import JobContext
    from clalign.runs.declarations import Declaration
    from clalign.runs.run_file import RunFile
    from clalign.values.devices import Device
    from clalign.values.specs import Spec

BUILT_IN = {
    "plan7": "clalign.engines.plan7", "pairwise": "clalign.engines.pairwise", "msa": "clalign.engines.msa",
}  # fmt: skip
"""The packages of the engines that clalign comes with; each has its `Engine` as ``ENGINE``."""

ENTRY_POINTS = "clalign.engines"
"""Installed packages name their engines in this group of entry points."""

Picker = Callable[[str], "Device"]
"""Returns the device for the user's words."""

Summary = dict[str, Any]


class Engine(Struct, frozen=True, kw_only=True):
    """One way to search or to align, as data: words, and where its parts are, which are imported when they are needed.

    A place is ``module:name``. What each part takes and returns is said by the method that calls it.

    Attributes
    ----------
    name : str
        By which runs and the register know it.
    job : str
        What its job is called in events and by the worker.
    commands : mapping of str to str
        Its sub-commands, and what each does in a few words.
    at : mapping of str to str
        Where its parts are: ``spec`` (a `Spec`), ``commands`` (a `Command` by name), ``load`` (returns the `Work` of a
        task), ``source``, ``exports`` (each an `Export`, in the order of the window), ``verify``, ``explain``,
        ``explanation_lines``; perhaps ``methods`` (returns of a run what was done, for a report), ``runs`` (a
        `Declaration` of what its runs hold), ``tables`` (the columns of its tables, by the names that its exports give
        them), ``scores_of_all`` (returns of a run and the number of a query the `ScoresOfAll` of its targets),
        ``stages`` (likewise what passed its filters),
        ``remarks``, ``choices`` (what `explain` may begin
        with), ``explain_files`` where files can be explained without a run, ``self_test`` of a device, and
        ``change_choice``, ``add`` and ``realign`` where it changes finished alignments, and ``begin_again`` where runs
        go on from before their end with another gap factor.
    query, queries : str
        What a query is called, and several.
    score_of_option : str
        Whether ``-T`` means the ``score`` of a hit or the ``raw`` one.
    judges : bool
        Whether it calls hits significant.
    title : str
        What a run of some files is called, with ``{}`` in the place of their names.
    did : str
        What a finished run has done with its sequences.
    has_parts : bool
        Whether a run that is not complete has anything to write.
    finds_hits : bool
        Whether its runs have hits, which the pictures are of.
    computes_apart : bool
        Whether several cards compute in a process each, since the host has much to do for them. Nothing is left at
        the ends of its queries, and no unit takes long.
    """

    name: str
    job: str
    commands: Mapping[str, str]
    at: Mapping[str, str]
    query: str = "query"
    queries: str = "queries"
    score_of_option: str = "score"
    judges: bool = False
    title: str = "Search {}"
    did: str = "Searched"
    has_parts: bool = True
    finds_hits: bool = True
    computes_apart: bool = False

    def part(self, name: str) -> Any:
        """Return one of the parts of the engine.

        Raises
        ------
        OptionError
            If it has no such part.
        """
        if name not in self.at:
            known = {"verify": "verified", "explain": "explained", "begin_again": "annealed"}
            can = known.get(name, f"asked for {name}")
            raise OptionError(
                f"Runs of `clalign {next(iter(self.commands))}` cannot be {can}.", "Only those of some engines can."
            )
        return part_at(self.at[name])

    @property
    def spec(self) -> type[Spec]:
        """What is asked of it."""
        found: type[Spec] = self.part("spec")
        return found

    def asked(self, values: Mapping[str, Any]) -> Spec:
        """Return a new spec of these fields, the others at their defaults."""
        kind: Any = self.spec
        made: Spec = kind(**values)
        return made

    @property
    def exports(self) -> Sequence[Export]:
        """What its runs can be written as."""
        found: Sequence[Export] = self.part("exports")
        return found

    def compute(self, task: Task[Any]) -> Summary:
        """Compute what a run lacks; see `clalign.execution.job.compute_run`."""
        from clalign.execution.job import compute_run

        return compute_run(task, self.part("load"), self.computes_apart)

    def foresee(self, task: Task[Any]) -> Summary:
        """Check what a run checks, and tell what it will take; see `clalign.execution.dry_run.foresee_run`."""
        from clalign.execution.dry_run import foresee_run

        return foresee_run(task, self.part("load"))

    def source(self, run: RunFile, choice: Choice, context: JobContext) -> Source:
        """Return what the writers take."""
        found: Source = self.part("source")(run, choice, context)
        return found

    def verify(
        self, run: RunFile, hits: list[int] | None, sample: int | None, device: Device, context: JobContext
    ) -> Summary:
        """Compute results again on a device, normally the reference, and compare them.

        Parameters
        ----------
        run : RunFile
            Open for writing: the verdicts are kept in it.
        hits : list of int or None
            Ids of the hits; None for a sample of them and of what is no hit.
        sample : int or None
            How many of each; None for some, and fewer where they would take long.
        device : Device
        context : JobContext

        Returns
        -------
        dict
            ``checked`` (``hits`` and ``others``), ``differing``, ``details``, ``device`` and ``complete``.
        """
        found: Summary = self.part("verify")(run, hits, sample, device, context)
        return found

    def explain(self, run: RunFile, query: int, target: int | str, pick_device: Picker, context: JobContext) -> Summary:
        """Return how a target, a row or a name, fares with a query of a run, step by step."""
        found: Summary = self.part("explain")(run, query, target, pick_device, context)
        return found

    def choices(self, run: RunFile) -> list[tuple[str, str]]:
        """Return names and accessions of what `explain` may begin with: the queries, unless the engine has others."""
        if "choices" in self.at:
            found: list[tuple[str, str]] = self.part("choices")(run)
            return found
        return [(card["name"], card["accession"]) for card in run.cards()]

    def explanation_lines(self, value: dict[str, Any]) -> Iterable[str]:
        """Return what `explain` returned as lines of text."""
        found: Iterable[str] = self.part("explanation_lines")(value)
        return found

    def remarks(self, run: RunFile) -> str:
        """Return what is to be said of a finished run beside its tables; empty for nothing."""
        return str(self.part("remarks")(run)) if "remarks" in self.at else ""


@cache
def engine_named(name: str) -> Engine:
    """Return an engine by its name.

    Raises
    ------
    LookupError
        If there is none of this name, neither here nor in an installed package.
    """
    if name in BUILT_IN:
        engine: Engine = import_module(BUILT_IN[name]).ENGINE
        return engine
    for found in installed_engines():
        if found.name == name:
            return found
    raise LookupError(name)


@cache
def installed_engines() -> list[Engine]:
    """Return the engines of other packages."""
    from importlib.metadata import entry_points  # takes as long as all of a short help

    return [entry.load() for entry in entry_points(group=ENTRY_POINTS)]


def engines() -> Iterator[Engine]:
    """Yield all engines, those of clalign first: whoever finds what he wants among them need not look for others."""
    yield from map(engine_named, BUILT_IN)
    yield from installed_engines()


def engine_with(command: str) -> Engine | None:
    """Return the engine that has a sub-command."""
    return next((engine for engine in engines() if command in engine.commands), None)


def engine_for(job: str) -> Engine | None:
    """Return the engine whose job is called so."""
    return next((engine for engine in engines() if engine.job == job), None)


def declaration_of(name: str) -> Declaration:
    """Return what an engine declares of its runs.

    Raises
    ------
    LookupError
        If there is no such engine.
    """
    from clalign.runs.declarations import Declaration

    engine = engine_named(name)
    found: Declaration = engine.part("runs") if "runs" in engine.at else Declaration(engine=engine.name)
    return found


def engine_of(run: RunFile) -> Engine:
    """Return the engine that made a run.

    Raises
    ------
    OptionError
        If it is not installed.
    """
    name = run.facts.engine
    try:
        return engine_named(name)
    except LookupError:
        raise OptionError(
            f"{run.path} was made by the engine {name}, which is not installed.", "Install the package that has it."
        ) from None


def spec_of(run: RunFile) -> Spec:
    """Return what was asked of a run.

    Raises
    ------
    DamagedRun
        If the file does not say it, or says something else.
    """
    return run.spec(engine_of(run).spec)


def spec_to_continue(run: RunFile, device: str | None) -> Spec:
    """Return what was asked of a run, for the device that it goes on with.

    Parameters
    ----------
    run : RunFile
    device : str or None
        The user's words; None for the device of this machine that the run began on.

    Raises
    ------
    DeviceNotFound
        If the run has not ended, began on a cluster, and the user names no device.
    """
    from clalign.values.devices import cluster_of

    spec, cluster = spec_of(run), cluster_of((run.facts.spec or {}).get("device", ""))
    if not device and cluster is not None and run.state != "done":
        raise DeviceNotFound(
            f"{run.path} began on a cluster, {quoted(cluster[1])}. A run file does not choose a cluster to connect to.",
            "Give --cluster ADDRESS if you trust that cluster, or --device auto for this machine. In the window choose"
            " the cluster in the list of devices, or continue on another device.",
        )
    return spec.on(device)


def explain_in_run(path: Path, query: int, target: int | str, pick_device: Picker, context: JobContext) -> Summary:
    """Return how a target, a row or a name, fares with a query of a run; see `Engine.explain`."""
    from clalign.runs.run_file import open_run

    with open_run(path) as run:
        return engine_of(run).explain(run, query, target, pick_device, context)

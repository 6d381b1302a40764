"""What an engine is, and the register of all of them.

An engine owns what differs between one kind of run and another. Everything else asks it, and never what kind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from clalign.engines.lazy_imports import LazyImport
from clalign.errors import DeviceNotFound, OptionError, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import DataclassInstance

    from clalign.engines.columns import Column
    from clalign.engines.commands import Command
    from clalign.engines.export_source import Choice, EngineOfRun, ExportSource
    from clalign.engines.exports import Export
    from clalign.engines.rounds import Round
    from clalign.execution.job import Task, Work
    from clalign.jobs import JobContext
    from clalign.runs.run_file import RunFile
    from clalign.runs.tables import Declaration
    from clalign.values.devices import Device
    from clalign.values.documents import DeviceTest, Explanation, JobResult, StageCounts, Verification
    from clalign.values.scores_of_all import ScoresOfAll
    from clalign.values.specs import Spec


Part = TypeVar("Part")

BUILT_IN = {"plan7": "clalign.engines.plan7", "pairwise": "clalign.engines.pairwise", "msa": "clalign.engines.msa"}
"""The packages of the engines that clalign comes with; each has its `Engine` as ``ENGINE``."""

ENTRY_POINTS = "clalign.engines"
"""Installed packages name their engines in this group of entry points."""

Picker = Callable[[str], "Device"]
"""Returns the device for the user's words."""

Verify = Callable[["RunFile", "list[int] | None", "int | None", "Device", "JobContext"], "Verification"]
"""Computes results of a run again and compares them; see `Engine.verify`."""

Explain = Callable[["RunFile", int, "int | str", Picker, "JobContext"], "Explanation"]
"""Returns how a target fares with a query of a run; see `Engine.explain`."""

ChangeAlignment = Callable[[str, "str | range", str, str, "DataclassInstance", "Device", "JobContext"], "JobResult"]
"""Changes the alignment in a file by the sequences of another one, or in a block of columns.

Takes both, the new file, its format, how residues are aligned, a device, and who watches.
"""


class AlignmentChanges(Struct, frozen=True, kw_only=True):
    """How an engine changes finished alignments.

    Attributes
    ----------
    choice : LazyImport
        A dataclass: how residues are aligned. Its fields have flags, as those of a spec.
    kinds : mapping of str to LazyImport
        What it can do, by the names of the commands.
    """

    choice: LazyImport[type[DataclassInstance]]
    kinds: Mapping[str, LazyImport[ChangeAlignment]]


class EngineParts(Struct, frozen=True, kw_only=True):
    """The parts of an engine, each imported when it is needed; what it lacks is None.

    Attributes
    ----------
    spec : type of Spec
    commands : mapping of str to Command
        Its sub-commands by their names.
    load : callable
        Reads the input of a task, and returns its `Work`.
    source : callable
        Opens a run for the writers of exports.
    exports : sequence of Export
        In the order of the window.
    runs : Declaration
        Of what its runs hold beside what all do.
    tables : mapping of str to tuple of Column
        The columns of its tables, by the names that its exports give them.
    methods : callable
        Returns what was done for a run, for a report.
    remarks : callable
        Returns what is to be added to the tables of a finished run; empty for nothing.
    scores_of_all : callable
        Returns of a run and the number of a query the scores of all targets, and what chance would give.
    stages : callable
        Returns of a run and the number of a query how many targets passed each of its filters.
    verify, explain : callable
    explanation_lines : callable
        Returns what `explain` and `explain_files` return as lines of text.
    explain_files : callable
        Explains a target in files, without a run: takes a spec in place of it.
    choices : callable
        Returns names and accessions of what `explain` may begin with.
    self_test : callable
        Tests a device.
    begin_again : callable
        Writes a run that goes on from before the end of another one with another gap factor.
    changes : AlignmentChanges
        Not imported later: its own parts are.
    round : callable
        Returns a round of a run, given the number of its profile.
    one_more : callable
        Has a run go on with one more round, given names of targets to take into it and to drop.
    """

    spec: LazyImport[type[Spec]]
    commands: LazyImport[Mapping[str, Command]]
    load: LazyImport[Callable[[Task[Spec]], Work]]
    source: LazyImport[Callable[[EngineOfRun, RunFile, Choice, JobContext], ExportSource]]
    exports: LazyImport[Sequence[Export]]
    runs: LazyImport[Declaration] | None = None
    tables: LazyImport[Mapping[str, tuple[Column, ...]]] | None = None
    methods: LazyImport[Callable[[RunFile], str]] | None = None
    remarks: LazyImport[Callable[[RunFile], str]] | None = None
    scores_of_all: LazyImport[Callable[[RunFile, int], ScoresOfAll | None]] | None = None
    stages: LazyImport[Callable[[RunFile, int], list[StageCounts]]] | None = None
    verify: LazyImport[Verify] | None = None
    explain: LazyImport[Explain] | None = None
    explanation_lines: LazyImport[Callable[[Explanation], Iterable[str]]] | None = None
    explain_files: LazyImport[Callable[[Spec, int, int | str, Picker, JobContext], Explanation]] | None = None
    choices: LazyImport[Callable[[RunFile], list[tuple[str, str]]]] | None = None
    self_test: LazyImport[Callable[[Device, JobContext], DeviceTest]] | None = None
    begin_again: LazyImport[Callable[[Path, Path, float], None]] | None = None
    changes: AlignmentChanges | None = None
    round: LazyImport[Callable[[RunFile, int], Round]] | None = None
    one_more: LazyImport[Callable[[RunFile, Iterable[str], Iterable[str]], None]] | None = None


class Engine(Struct, frozen=True, kw_only=True):
    """One way to search or to align, as data: words, and its parts.

    Attributes
    ----------
    name : str
        By which runs and the register know it.
    job : str
        What its job is called in events and by the worker.
    commands : mapping of str to str
        Its sub-commands, and what each does in a few words.
    parts : EngineParts
    query, queries : str
        What a query is called, and several.
    score_of_option : str
        Whether ``-T`` means the ``score`` of a hit or the ``raw`` one.
    calls_significant : bool
        Whether it calls hits significant.
    title : str
        What a run of some files is called, with ``{}`` in the place of their names.
    past_verb : str
        What a finished run has done with its sequences: the verb of the last line.
    writes_partial_results : bool
        Whether a run that is not complete can be written, marked as partial.
    finds_hits : bool
        Whether its runs have hits, which the pictures are of.
    uses_device_processes : bool
        Whether several cards compute in a process each, since the host has much to do for them. Nothing is left at
        the ends of its queries, and no unit takes long.
    """

    name: str
    job: str
    commands: Mapping[str, str]
    parts: EngineParts
    query: str = "query"
    queries: str = "queries"
    score_of_option: str = "score"
    calls_significant: bool = False
    title: str = "Search {}"
    past_verb: str = "Searched"
    writes_partial_results: bool = True
    finds_hits: bool = True
    uses_device_processes: bool = False

    def _present(self, part: Part | None, done: str) -> Part:
        """Return a part that some engines lack.

        Raises
        ------
        OptionError
            If this engine lacks it: its runs cannot be `done`.
        """
        if part is None:
            raise OptionError(
                f"Runs of `clalign {next(iter(self.commands))}` cannot be {done}.", "Only those of some engines can."
            )
        return part

    @property
    def spec(self) -> type[Spec]:
        """The type of its specs."""
        return self.parts.spec.get()

    def command(self, name: str) -> Command:
        """Return one of its sub-commands."""
        return self.parts.commands.get()[name]

    def spec_of(self, values: Mapping[str, object]) -> Spec:
        """Return a new spec of these fields, the others at their defaults."""
        make: Callable[..., Spec] = self.spec
        return make(**values)

    @property
    def exports(self) -> Sequence[Export]:
        """What its runs can be written as."""
        return self.parts.exports.get()

    @property
    def tables(self) -> Mapping[str, tuple[Column, ...]]:
        """The columns of its tables, by the names that its exports give them."""
        return self._present(self.parts.tables, "written as tables").get()

    @property
    def changes(self) -> AlignmentChanges:
        """How it changes finished alignments."""
        return self._present(self.parts.changes, "changed")

    def compute(self, task: Task[Spec]) -> JobResult:
        """Compute what a run lacks; see `clalign.execution.job.compute_run`."""
        from clalign.execution.job import compute_run

        return compute_run(task, self.parts.load.get(), self.uses_device_processes)

    def dry_run(self, task: Task[Spec]) -> JobResult:
        """Check what a run checks, and estimate what it takes; see `clalign.execution.dry_run.dry_run`."""
        from clalign.execution.dry_run import dry_run

        return dry_run(task, self.parts.load.get())

    def source(self, run: RunFile, choice: Choice, context: JobContext) -> ExportSource:
        """Return the source that the writers of exports take."""
        return self.parts.source.get()(self, run, choice, context)

    def verify(
        self, run: RunFile, hits: list[int] | None, sample: int | None, device: Device, context: JobContext
    ) -> Verification:
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
        """
        return self._present(self.parts.verify, "verified").get()(run, hits, sample, device, context)

    def explain(
        self, run: RunFile, query: int, target: int | str, pick_device: Picker, context: JobContext
    ) -> Explanation:
        """Return how a target, a row or a name, fares with a query of a run, step by step."""
        return self._present(self.parts.explain, "explained").get()(run, query, target, pick_device, context)

    def explain_files(
        self, spec: Spec, query: int, target: int | str, pick_device: Picker, context: JobContext
    ) -> Explanation:
        """Return how a target fares with a query of the files of a spec, step by step."""
        explain = self._present(self.parts.explain_files, "explained from their files").get()
        return explain(spec, query, target, pick_device, context)

    def explanation_lines(self, value: Explanation) -> Iterable[str]:
        """Return the result of `explain` as lines of text."""
        return self._present(self.parts.explanation_lines, "explained").get()(value)

    def choices(self, run: RunFile) -> list[tuple[str, str]]:
        """Return names and accessions of what `explain` may begin with: the queries, unless the engine has others."""
        if self.parts.choices is not None:
            return self.parts.choices.get()(run)
        return [(card["name"], card["accession"]) for card in run.cards()]

    def self_test(self, device: Device, context: JobContext) -> DeviceTest:
        """Return whether a device computes what is known to be right."""
        return self._present(self.parts.self_test, "used for tests of devices").get()(device, context)

    def begin_again(self, run: Path, new: Path, gap_factor: float) -> None:
        """Write a new run that goes on from before the end of a finished one."""
        self._present(self.parts.begin_again, "annealed").get()(run, new, gap_factor)

    def round(self, run: RunFile, number: int) -> Round:
        """Return a round of a search, given the number of its profile."""
        return self._present(self.parts.round, "looked at by rounds").get()(run, number)

    def one_more(self, run: RunFile, taken: Iterable[str], dropped: Iterable[str]) -> None:
        """Have a finished search in rounds go on with one more, given names of targets to take into it and to drop."""
        self._present(self.parts.one_more, "continued by a round").get()(run, taken, dropped)

    def remarks(self, run: RunFile) -> str:
        """Return the remarks on the tables of a finished run; empty for none."""
        return "" if self.parts.remarks is None else self.parts.remarks.get()(run)


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


def engine_of_command(command: str) -> Engine:
    """Return the engine that has a sub-command.

    Raises
    ------
    LookupError
        If there is none.
    """
    found = engine_with(command)
    if found is None:
        raise LookupError(command)
    return found


def engine_for(job: str) -> Engine | None:
    """Return the engine whose job is called so."""
    return next((engine for engine in engines() if engine.job == job), None)


def engine_for_spec(spec: Spec) -> Engine:
    """Return the engine whose runs are asked for by such a spec."""
    return next(engine for engine in engines() if isinstance(spec, engine.spec))


def declaration_of(name: str) -> Declaration:
    """Return the declaration of an engine's runs.

    Raises
    ------
    LookupError
        If there is no such engine.
    """
    from clalign.runs.tables import Declaration

    engine = engine_named(name)
    return Declaration(engine=engine.name) if engine.parts.runs is None else engine.parts.runs.get()


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
    """Return the spec of a run.

    Raises
    ------
    DamagedRun
        If the file does not say it, or says something else.
    """
    return run.spec(engine_of(run).spec)


def spec_to_continue(run: RunFile, device: str | None) -> Spec:
    """Return the spec of a run, for the device that it goes on with.

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


def one_more_round(
    run: RunFile, taken: Iterable[str], dropped: Iterable[str], device: str | None, context: JobContext
) -> Spec:
    """Have a search in rounds go on with one more; return its spec then.

    A run that cannot go on stays as it is.

    Parameters
    ----------
    run : RunFile
        Open for writing.
    taken, dropped : iterable of str
        Names of targets whose hits in the last rounds make the next profile, or do not, whatever their E-values.
    device : str or None
        As of `spec_to_continue`.
    context : JobContext
        Receives the progress of computing checksums.

    Raises
    ------
    OptionError
        If it has no rounds, if all queries have converged, or if no last round has hits of such a target.
    InputError
        If an input is gone or was changed.
    """
    from clalign.runs.connection import owned
    from clalign.runs.inputs import check_inputs

    with owned(run.path):
        check_inputs(run, context)
        with run.transaction():
            engine_of(run).one_more(run, taken, dropped)
            return spec_to_continue(run, device)


def explain_in_run(path: Path, query: int, target: int | str, pick_device: Picker, context: JobContext) -> Explanation:
    """Return how a target, a row or a name, fares with a query of a run; see `Engine.explain`."""
    from clalign.runs.run_file import open_run

    with open_run(path) as run:
        return engine_of(run).explain(run, query, target, pick_device, context)

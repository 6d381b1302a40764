"""The library: searches and alignments on paths, open files and objects, in memory or with a run file that is kept.

Every function takes the options of its command by the names of the fields of its spec, as in
``hmmsearch("family.hmm", "proteins.fasta", evalue=1e-5)``.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.api_inputs import (
    Profiles,
    Sequences,
    Taken,
    device_words,
    inputs_named,
    known_options,
    paths_of,
    taken,
    typed,
)
from clalign.engines.engine import Engine, engine_of, engine_of_command, spec_of
from clalign.engines.export import export as export_run
from clalign.errors import InputError, OptionError
from clalign.execution.job import Task
from clalign.formats.scratch import Scratch
from clalign.formats.sources import PathLike, path_text
from clalign.jobs import JobContext, QuietContext
from clalign.runs.alignments import StoredRow
from clalign.runs.inputs import check_inputs
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile, create_run
from clalign.runs.run_file import open_run as open_file
from clalign.values.devices import Device
from clalign.values.documents import JobResult, SpecFields
from clalign.values.hit_tables import HitTable
from clalign.values.hits import Hit
from clalign.values.profiles import Hmm
from clalign.values.sequences import Sequence
from clalign.values.specs import Spec


class Query(Struct, frozen=True):
    """A query of a run: a profile, or a sequence.

    Attributes
    ----------
    number : int
        Its place in the input, from 0.
    name, accession, description : str
    length : int
        Nodes or residues.
    """

    number: int
    name: str
    accession: str
    description: str
    length: int


class UnknownQuery(OptionError, KeyError, IndexError):
    """A query that a run does not have, by its name or its number."""


class Results:
    """What a run has found; a context manager, and an iterable of its hits. Any thread may use it.

    Parameters
    ----------
    run : RunFile
    folder : Scratch, optional
        Holds what goes when it is closed.
    """

    def __init__(self, run: RunFile, folder: Scratch | None = None) -> None:
        self.run = run
        self._folder = folder

    def __repr__(self) -> str:
        return f"<Results of {self.command}: {len(self)} hits, {self.run.n_queries()} queries, {self.run.state}>"

    def __len__(self) -> int:
        return self.run.n_hits()

    def __iter__(self) -> Iterator[Hit]:
        return self.run.hits()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the run; what was not kept in a file of its own is gone then."""
        self.run.close()
        if self._folder is not None:
            self._folder.remove()

    @property
    def command(self) -> str:
        """The sub-command that does the same: ``hmmsearch``, ``hmmscan``, ``sw``."""
        return spec_of(self.run).command

    @property
    def summary(self) -> JobResult:
        """Times, cells, device and counts of the computation."""
        return dict(self.run.facts.finished or {})

    @property
    def warnings(self) -> list[str]:
        """What the user should know of the input and the device."""
        return [text for _, kind, text in self.run.messages() if kind == "warning"]

    @property
    def queries(self) -> list[Query]:
        """The profiles, or the sequences, that were searched with."""
        names = ("name", "accession", "description", "length")
        return [Query(i, *(card[name] for name in names)) for i, card in enumerate(self.run.cards())]

    def hits(self, query: int | str | None = None) -> Iterator[Hit]:
        """Yield the hits of a query, a number or a name, or of all, best first; each knows its query's name."""
        return self.run.hits(None if query is None else self._number(query))

    def table(self, query: int | str | None = None) -> HitTable:
        """Return the hits as columns of numpy arrays, in the same order."""
        return HitQueries(self.run.connection).table(None if query is None else self._number(query))

    def scores(self, query: int | str = 0) -> npt.NDArray[np.int32]:
        """Return the integer score of every target (int32[n_targets], by row of the database) with a query."""
        parts = [values for _, _, values in self.run.scores(self._number(query))]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def alignment(self) -> list[StoredRow]:
        """Return the rows of an alignment of many sequences; none if there is none."""
        found = self.run.alignments()
        return self.run.alignment_rows(found[0].id) if found else []

    def export(self, what: str, path: PathLike, **how: Any) -> int:
        """Write results to a file, and return how many records; see `clalign.engines.export.export`."""
        return export(self.run.path, what, path, **how)

    def picture(
        self, kind: str, path: PathLike, *, query: int | str | None = None, width: float = 180.0,
        taxonomy: PathLike = "", column: str = "",
    ) -> None:  # fmt: skip
        """Draw the hits; see `clalign.picture`."""
        from clalign.engines.pictures import PictureRequest
        from clalign.tools.painting import write_picture

        number = None if query is None else self._number(query)
        request = PictureRequest(kind, number, path_text(taxonomy, "taxonomy") if taxonomy else "", column)
        write_picture(self.run, request, path_text(path, "path"), typed(width, float, "width"))

    def save(self, path: PathLike) -> None:
        """Keep the run in a file, which `open_run`, the command line and the window open.

        Raises
        ------
        InputError
            If the file exists.
        """
        place = Path(path_text(path, "path"))
        if place.exists():
            raise InputError(place, "the file already exists.", "Choose another name.")
        self.run.copy_to(place)

    def _number(self, query: int | str) -> int:
        if isinstance(query, int | np.integer) and not isinstance(query, bool):
            if 0 <= query < self.run.n_queries():
                return int(query)
        elif isinstance(query, str):
            for known in self.queries:
                if query in (known.name, known.accession):
                    return known.number
        hint = f"Give a name, or a number from 0 to {self.run.n_queries() - 1:,}; see `queries`."
        raise UnknownQuery(f"There is no query {query!r} in this run.", hint)


def hmmsearch(
    profiles: Profiles, targets: Sequences, run: PathLike | None = None, *, context: JobContext | None = None,
    **options: object,
) -> Results:  # fmt: skip
    """Search profiles against sequences: with HMMER2 profiles as hmmsearch 2.3.2, with HMMER3 profiles as 3.3.2.

    Parameters
    ----------
    profiles : path, open file, Hmm or iterable of Hmm
    targets : path, open file, Sequence, SequenceDatabase or iterable of Sequence
    run : path, optional
        Where the run is kept. If it is there already, and of the same search, it is continued, or only opened.
    context : JobContext, optional
        Receives progress; stops the work.
    **options
        Fields of `SearchSpec`, such as ``evalue=1e-5``, ``device="gpu"``, ``cutoff="ga"``, ``without_filters=True``.

    Returns
    -------
    Results

    Raises
    ------
    ClalignError
        What the user can act on.

    Examples
    --------
    >>> import clalign
    >>> profiles, proteins = clalign.example("rrm_1.hmm"), clalign.example("swissprot_sample.fasta.gz")
    >>> with clalign.hmmsearch(profiles, proteins, evalue=1e-5) as found:
    ...     [hit.name for hit in found][:2]
    ['sp|Q5R9H4|A1CF_PONAB', 'sp|Q923K9|A1CF_RAT']
    """
    return _compute("hmmsearch", (profiles, targets), run, context, options)


def hmmscan(
    profiles: Profiles, targets: Sequences, run: PathLike | None = None, *, context: JobContext | None = None,
    **options: object,
) -> Results:  # fmt: skip
    """Find the profiles that match each sequence; as `hmmsearch`, but E-values count profiles."""
    return _compute("hmmscan", (profiles, targets), run, context, options)


def phmmer(
    queries: Sequences, targets: Sequences, run: PathLike | None = None, *, context: JobContext | None = None,
    **options: object,
) -> Results:  # fmt: skip
    """Search proteins against proteins, each by a profile that is made of it; as `hmmsearch` otherwise.

    Parameters
    ----------
    queries, targets : path, open file, Sequence, SequenceDatabase or iterable of Sequence
    run, context
        As of `hmmsearch`.
    **options
        Fields of `SearchSpec`, such as ``evalue=1e-5``, ``matrix="BLOSUM45"`` or ``popen=0.01``.
    """
    return _compute("phmmer", (queries, targets), run, context, options)


def sw(
    queries: Sequences, targets: Sequences, run: PathLike | None = None, *, context: JobContext | None = None,
    **options: object,
) -> Results:  # fmt: skip
    """Search sequences against sequences with Smith-Waterman.

    Parameters
    ----------
    queries, targets : path, open file, Sequence, SequenceDatabase or iterable of Sequence
    run, context
        As of `hmmsearch`.
    **options
        Fields of `PairwiseSpec`, such as ``matrix="BLOSUM45"``, ``mode="global"`` or ``top=10``.
    """
    return _compute("sw", (queries, targets), run, context, options)


def align(query: str | Sequence, target: str | Sequence, **options: Any) -> Hit:
    """Align two sequences, and return the target as a hit of the query, its alignment as ``domains[0]``.

    Parameters
    ----------
    query, target : str or Sequence
        Residues, or a sequence.
    **options
        Fields of `PairwiseSpec`, such as ``mode="global"`` or ``matrix="BLOSUM45"``.

    Examples
    --------
    >>> import clalign
    >>> hit = clalign.align("HEAGAWGHEE", "PAWHEAE", device="reference")
    >>> hit.raw, hit.domains[0].cigar
    (17, '3M')
    """
    both = [
        one if isinstance(one, Sequence) else Sequence.from_text(name, one)
        for name, one in (("query", query), ("target", target))
    ]
    with sw(both[0], both[1], in_step=True, **options) as found:
        return next(iter(found))


def align_many(
    sequences: Sequences | Iterable[PathLike], run: PathLike | None = None, *, context: JobContext | None = None,
    **options: object,
) -> Results:  # fmt: skip
    """Align many sequences with each other by the posterior probabilities of all pairs (FSA).

    Parameters
    ----------
    sequences : path, open file, SequenceDatabase, or iterable of Sequence or of paths, which are joined
    run, context
        As of `hmmsearch`.
    **options
        Fields of `AlignmentSpec`, such as ``is_fast=True``, ``gap_factor=2.0`` or ``refinement=0``.

    Returns
    -------
    Results
        The rows are in `Results.alignment`.

    Examples
    --------
    >>> import clalign
    >>> proteins = [clalign.Sequence.from_text(*one) for one in (("a", "MKVLATGH"), ("b", "MKVATGHKL"))]
    >>> with clalign.align_many(proteins, device="reference") as found:
    ...     [row.text for row in found.alignment()]
    ['MKVLATGH--', 'MKV-ATGHKL']
    """
    return _compute("align", (sequences,), run, context, options)


def hmmbuild(alignment: PathLike, output: PathLike | None = None, device: str = "auto", **options: object) -> list[Hmm]:
    """Build a HMMER3 profile from each alignment of a file, the one that hmmbuild 3.3.2 builds.

    Parameters
    ----------
    alignment : path
        Stockholm, Clustal, aligned FASTA, A3M, SELEX, PHYLIP, MSF, NEXUS or BAliBASE XML.
    output : path, optional
        Where the profiles are written.
    device : str
        Computes the scores of random sequences.
    **options
        Fields of `BuildSpec`, such as ``name="family"`` or ``symfrac=0.3``.
    """
    from clalign.building.specs import BuildSpec
    from clalign.compute.opencl.choice import pick_device
    from clalign.tools.hmm_building import build_profiles

    spec = BuildSpec(**known_options(options, BuildSpec, "hmmbuild"))
    path, words = path_text(alignment, "alignment"), device_words(device)
    return _written(output, lambda place: build_profiles(path, place, spec, pick_device(words), QuietContext()))


def calibrate(profiles: PathLike, output: PathLike | None = None, device: str = "auto", **options: object) -> list[Hmm]:
    """Fit the score statistics of HMMER2 profiles again.

    Parameters
    ----------
    profiles : path
    output : path, optional
        Where the calibrated profiles are written; it may be the same file.
    device : str
    **options
        Fields of `CalibrateSpec`, such as ``n=1000`` or ``seed=1``.
    """
    from clalign.compute.opencl.choice import pick_device
    from clalign.tools.calibrate import calibrate as calibrated
    from clalign.tools.specs import CalibrateSpec

    spec = CalibrateSpec(**known_options(options, CalibrateSpec, "calibrate"))
    path, words = path_text(profiles, "profiles"), device_words(device)
    return _written(output, lambda place: calibrated(path, place, spec, pick_device(words), QuietContext()))


def devices(refresh: bool = False) -> list[Device]:
    """Return every device, each with the verdict of its test; the last one is the reference."""
    from clalign.compute.opencl.choice import all_devices

    return all_devices(refresh)


def open_run(path: PathLike) -> Results:
    """Open the results in a run file.

    Raises
    ------
    InputError
        If it is none.
    """
    return Results(open_file(Path(path_text(path, "path")), is_shared=True))


def merge(
    runs: Iterable[PathLike], path: PathLike, *, device: str | Device = "auto", context: JobContext | None = None
) -> Results:
    """Make one run of those of all parts of a search, each made with ``shard="3/16"`` and the like.

    It holds what a search of all sequences would: the same hits with the same E-values, the same scores, statistics
    and best targets.

    Parameters
    ----------
    runs : iterable of path
        Of all parts, in any order.
    path : path
        Where the run is kept.
    device : str or Device
        What computes what is left for the end, such as alignments of hits by statistics that are fitted to all scores.
    context : JobContext, optional

    Raises
    ------
    ClalignError
        If a part is missing or there twice, or if they are of different searches.
    """
    from clalign.compute.opencl.choice import pick_device
    from clalign.engines.merging import Merging, merge_runs

    how = Merging(device_words(device), pick_device, context or QuietContext())
    if isinstance(runs, str | os.PathLike) or not isinstance(runs, Iterable):
        raise OptionError(f"runs cannot be {runs!r}.", "Give a list of paths.")
    merge_runs([Path(path_text(run, "a run")) for run in runs], Path(path_text(path, "path")), how)
    return open_run(path)


def export(run: PathLike, what: str, path: PathLike, *, context: JobContext | None = None, **how: object) -> int:
    """Write the results of a run to a file; see `clalign.engines.export.export`."""
    from clalign.engines.export_source import Choice

    shape = known_options(how, Choice, "export")
    hits = shape.pop("hits", None)
    return export_run(path_text(run, "run"), what, path_text(path, "path"), hits, context, **shape)


def picture(run: PathLike, kind: str, path: PathLike, **how: Any) -> None:
    """Draw the hits of a run as a picture, or write the numbers behind it as a table.

    Parameters
    ----------
    run : path
    kind : str
        As of ``clalign picture``: ``coverage``, ``score-coverage``, ``score-length``, ``identity``, ``qq``, ``scores``,
        ``filters`` or ``species``.
    path : path
        Its ending says what is written: ``.svg``, ``.pdf``, ``.png``, or ``.tsv`` for the numbers.
    **how
        ``query``, the number (from 0) or the name of a query, by default all; ``width`` in millimeters (180);
        ``taxonomy``, a table that species are looked up in, and ``column``, which of its columns.

    Raises
    ------
    ClalignError
        What the user can act on.
    """
    with open_run(run) as found:
        found.picture(kind, path, **how)


def example(name: str) -> str:
    """Return the path of a file of the bundled examples, such as ``rrm_1.hmm``."""
    from clalign.databases.examples import example_file

    path = example_file(path_text(name, "name"))
    if not os.path.isfile(path):
        known = sorted(os.listdir(os.path.dirname(path)))
        raise OptionError(f"There is no example {name!r}.", f"There are {', '.join(known)}.")
    return path


def _written(output: PathLike | None, write: Callable[[str], object]) -> list[Hmm]:
    from clalign.formats.profiles import load_profiles

    with contextlib.ExitStack() as stack:
        place = (
            path_text(output, "output") if output is not None else str(stack.enter_context(Scratch()) / "profiles.hmm")
        )
        write(place)
        return load_profiles(place)


class Begun(Struct, frozen=True):
    """A computation in a run, new or to be continued.

    Attributes
    ----------
    results : Results
        Open for writing.
    task : Task
    inputs : list of Taken
    """

    results: Results
    task: Task[Any]
    inputs: list[Taken]

    def compute(self) -> None:
        """Compute what the run lacks."""
        run = self.results.run
        with inputs_named(self.inputs):
            if run.state != "done":
                engine_of(run).compute(self.task)


def begin(
    name: str, inputs: tuple[object, ...], run: PathLike | None, context: JobContext | None, options: SpecFields
) -> Begun:
    """Return the job of a sub-command, in a run of its own or in one that is kept; nothing is computed yet."""
    from clalign.compute.opencl.choice import pick_device, pick_devices

    engine = engine_of_command(name)
    if "device" in options:
        options = {**options, "device": device_words(options["device"])}
    options = known_options(options, engine.spec, name, engine.command(name).preset)
    with contextlib.ExitStack() as undone:
        folder = Scratch()
        undone.callback(folder.remove)
        named = dict(zip(engine.spec.inputs, inputs, strict=True))
        files, given, read = dict[str, object](), dict[str, list[Hmm]](), list[Taken]()
        for field, value in named.items():
            several = engine.spec.takes_many(field)
            some = [taken(one, folder, field) for one in (paths_of(value) if several else [value])]
            files[field] = tuple(one.path for one in some) if several else some[0].path
            given.update({field: some[0].profiles} if some[0].profiles else {})
            read += some
        undone.enter_context(inputs_named(read))
        command = engine.command(name)
        spec = engine.spec_of({**command.usual, **command.preset, **options, **files})
        path = folder.path / "run.clalign" if run is None else Path(path_text(run, "run"))
        if path.exists():
            file = _continue(path, engine, spec)
            spec = spec_of(file).on(spec.to_dict()["device"])
        else:
            spec = spec.settled()
            file = create_run(path, engine=engine.name, is_shared=True, spec=spec.to_dict(), state="new")
        if run is None:
            file.make_temporary()
        undone.pop_all()
    weakref.finalize(file.connection, folder.remove)  # what is never closed: hits that are read still hold this
    task = Task(file, spec, pick_device, context or QuietContext(), given, pick_devices)
    return Begun(Results(file, folder), task, read)


def _compute(
    name: str, inputs: tuple[object, ...], run: PathLike | None, context: JobContext | None, options: SpecFields
) -> Results:
    """Do what a sub-command does; see `begin`."""
    begun = begin(name, inputs, run, context, options)
    with contextlib.ExitStack() as undone:
        undone.callback(begun.results.close)
        begun.compute()
        undone.pop_all()
    return begun.results


def _continue(path: Path, engine: Engine, spec: Spec) -> RunFile:
    """Open a run that is there, if it is one of the same search."""
    with contextlib.ExitStack() as undone:
        file = undone.enter_context(open_file(path, writable=True, is_shared=True))
        if engine_of(file).name != engine.name or not spec_of(file).continues(spec):
            raise OptionError(f"{path} is the run of another search.", "Choose another name, or remove it.")
        check_inputs(file, QuietContext())
        undone.pop_all()
    return file

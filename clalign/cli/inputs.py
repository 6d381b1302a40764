"""Input files of the commands: they exist, and a worker can read them more than once.

A worker is another process without the standard input and the descriptors of this one, which the shell's
``<(command)`` gives, and a pipe can be read only once. Such inputs are copied: beside the run, which needs them to
continue, or into a folder that is removed when the command ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clalign.cli.streams import show
from clalign.errors import ClalignError, InputError, NoSuchFile, OptionError, OutputError

if TYPE_CHECKING:
    from clalign.cli.run_places import RunPlace
    from clalign.jobs import JobContext
    from clalign.tools.guide_trees import GuideTree

PRESSED = ".h3m"
"""Ending that hmmpress adds to the name of a library for the file with its models."""


def input_path(path: str) -> str:
    """Return the path of an input, or that of the models of a pressed library if only they have this name.

    Raises
    ------
    InputError
        If there is no such file.
    """
    pressed = path + PRESSED
    try:
        if path == "-" or Path(path).exists():
            return path
        if Path(pressed).is_file():
            return pressed
    except OSError as error:  # a name that no file can have
        raise InputError(path, f"this is not a valid file name ({error.strerror}).", "Check the name.") from error
    raise NoSuchFile(path)


def in_file(path: str, place: RunPlace) -> str:
    """Return the absolute path of an input of a run, so that it can be continued from any folder.

    Standard input and pipes are copied beside the run.
    """
    from clalign.engines.run_sources import copy_beside
    from clalign.formats.sources import is_plain

    if is_plain(path):
        return str(Path(path).absolute())
    copy, pipe = copy_beside(place.path, path), os.path.realpath(path)
    if copy not in place.copies:  # a pipe may be named twice
        if copy.exists() or copy == place.path.absolute():
            raise OutputError(f"{copy}, where the input would be kept, already exists.", "Choose another name (--run).")
        place.copies[copy] = pipe
        _copy(path, copy)
    elif place.copies[copy] != pipe:
        raise OptionError(
            f"{place.copies[copy]} and {pipe} are two pipes with the same name, so they cannot both be kept.",
            "Rename one of them.",
        )
    return str(copy)


def name_as_given(error: BaseException, place: RunPlace) -> None:
    """Replace the copies of inputs beside a run in the words of an error by the names that the user gave."""
    from clalign.engines.run_sources import with_given_names

    if isinstance(error, ClalignError) and place.copies:
        error.message, error.hint = (with_given_names(place.path, text) for text in (error.message, error.hint))


def _copy(path: str, copy: Path) -> None:
    from clalign.formats.sources import copy_input

    try:
        with copy.open("xb") as stream:
            copy_input(path, stream)
    except OSError as error:
        raise OutputError(
            f"The input could not be kept in {copy} ({error.strerror}).", "Free space there, or set TMPDIR."
        ) from error


@contextlib.contextmanager
def in_files(*paths: str) -> Iterator[list[str]]:
    """Yield the absolute paths of inputs; those of copies for standard input and pipes, removed when the block ends.

    Errors of the block name the inputs as the user did.
    """
    from clalign.formats.scratch import Scratch
    from clalign.formats.sources import is_plain

    with contextlib.ExitStack() as stack:
        given: dict[str, str] = {}
        copies: dict[str, str] = {}
        for number, path in enumerate(dict.fromkeys(paths)):
            if is_plain(path):
                given[path] = str(Path(path).absolute())
                continue
            folder = stack.enter_context(Scratch())
            given[path] = str(folder / ("stdin" if path == "-" else Path(path).name or str(number)))
            copies[given[path]] = "standard input" if path == "-" else path
            _copy(path, Path(given[path]))
        with _given_names(copies):
            yield [given[path] for path in paths]


@contextlib.contextmanager
def _given_names(copies: dict[str, str]) -> Iterator[None]:
    """Replace the copies of inputs in the words of errors of the block by the names that the user gave."""
    try:
        yield
    except ClalignError as error:
        for copy, name in copies.items():
            error.message, error.hint = (text.replace(copy, name) for text in (error.message, error.hint))
        raise


@contextlib.contextmanager
def written_to(output: str) -> Iterator[Path]:
    """Yield the absolute path that a worker writes to; for ``-`` a temporary one, which is shown in the end."""
    from clalign.formats.scratch import Scratch

    if output != "-":
        yield Path(output).absolute()
        return
    with Scratch() as folder:
        yield folder / "written"
        show((folder / "written").read_text(encoding="utf-8", errors="surrogateescape"), end="")


@contextlib.contextmanager
def in_alignments(*paths: str) -> Iterator[list[str]]:
    """Yield the absolute paths of alignments, as `in_files` does; for a run, its alignment in a Stockholm file."""
    from clalign.engines.export import export_for_tool
    from clalign.formats.scratch import Scratch

    with contextlib.ExitStack() as stack:
        given = stack.enter_context(in_files(*paths))
        for place, (path, file) in enumerate(zip(paths, given, strict=True)):
            if is_run(file):
                given[place] = str(stack.enter_context(Scratch()) / f"{Path(path).stem}.sto")
                stack.enter_context(_given_names({given[place]: path}))
                export_for_tool(file, "alignment", given[place])
        yield given


def is_run(path: str) -> bool:
    """Return whether a file is a run."""
    from clalign.formats.recognize import identify
    from clalign.formats.sources import opened

    with opened(path) as source:
        return identify(source).kind == "run"


def guide_tree_of(
    given: str, alignment: str, kind: str, stack: contextlib.ExitStack, context: JobContext | None = None,
    probs: str | None = None,
) -> GuideTree:  # fmt: skip
    """Return the tree of an alignment; distances by posteriors use those of the run unless a file is given.

    Parameters
    ----------
    given : str
        Path of the file or the run that the user named.
    alignment : str
        Path of the alignment in it, as `in_alignments` yields it.
    kind : str
        Kind of the distances.
    stack : ExitStack
        Removes temporary files.
    context : JobContext, optional
    probs : str, optional
        Path of a file of posteriors.
    """
    from clalign.engines.export import export_for_tool
    from clalign.formats.scratch import Scratch
    from clalign.formats.sources import is_plain
    from clalign.tools.guide_trees import guide_tree

    if probs is None and kind == "posterior" and is_plain(given) and is_run(given):
        probs = str(stack.enter_context(Scratch()) / "posteriors.probs")
        export_for_tool(given, "posteriors", probs)
    return guide_tree(alignment, kind, probs, context)

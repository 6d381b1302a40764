"""The library: what can be done with an alignment once there is one, in a file or in a run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from clalign.api import Results
from clalign.api_inputs import Sequences, device_words, inputs_named, known_options, taken
from clalign.engines.engine import engine_of_command
from clalign.formats.scratch import Scratch
from clalign.formats.sources import PathLike, path_text
from clalign.jobs import JobContext, QuietContext
from clalign.values.documents import SpecFields
from clalign.values.profiles import Hmm
from clalign.values.row_alignments import RowAlignment

if TYPE_CHECKING:
    from clalign.tools.alignment_accuracy import AlignmentAccuracy
    from clalign.tools.guide_trees import GuideTree

Alignment: TypeAlias = PathLike | Results
"""A file of any format, a run file, or what `align_many` returned."""


def tree(alignment: Alignment, distance: str = "kimura", posteriors: PathLike | None = None) -> GuideTree:
    """Return the distances of the sequences of an alignment, and the tree that neighbor joining makes of them.

    Parameters
    ----------
    alignment : path or Results
    distance : str
        ``kimura``, ``p``, or ``posterior``, which takes the posteriors of a run.
    posteriors : path, optional
        Others, as fsa writes them (``.probs``).

    Returns
    -------
    GuideTree
        ``names``, ``distances`` (float64[N, N]) and ``tree``.

    Examples
    --------
    >>> import clalign
    >>> texts = {"a": "MKVLATGH", "b": "MKVATGHKL", "c": "MKVITGHKL"}
    >>> proteins = [clalign.Sequence.from_text(*one) for one in texts.items()]
    >>> with clalign.align_many(proteins, device="reference") as found:
    ...     clalign.tree(found, "p").distances.round(2).tolist()[1]
    [0.0, 0.0, 0.11]
    """
    from clalign.tools.guide_trees import guide_tree

    with contextlib.ExitStack() as stack:
        file = stack.enter_context(_as_file(alignment))
        probs = path_text(posteriors, "posteriors") if posteriors is not None else None
        if probs is None and distance == "posterior" and _run_of(alignment):
            probs = stack.enter_context(_taken(alignment, "posteriors"))
        return guide_tree(file, distance, probs)


def accuracy(alignment: Alignment, reference: Alignment, core: bool = False) -> AlignmentAccuracy:
    """Return the measures of an alignment against a reference: ``ama``, ``sensitivity``, ``ppv``, ``total_column``.

    Parameters
    ----------
    alignment, reference : path or Results
        Sequences are found by their names; the alignment may have more of them.
    core : bool
        Count core blocks alone.
    """
    from clalign.tools.alignment_accuracy import compare_files

    with _as_file(alignment) as one, _as_file(reference) as other:
        return compare_files(one, other, core)


def add(
    alignment: Alignment, sequences: Sequences, output: PathLike | None = None, *, device: str = "auto",
    context: JobContext | None = None, **options: object,
) -> RowAlignment:  # fmt: skip
    """Add sequences to an alignment, whose columns stay as they are, and return both together.

    Parameters
    ----------
    alignment : path or Results
    sequences : path, open file, Sequence, SequenceDatabase or iterable of Sequence
    output : path, optional
        Where the alignment is written: the ending says as what, else aligned FASTA.
    device : str
    context : JobContext, optional
    **options
        Fields of `ChangeChoice`, such as ``gap_factor=0.5`` or ``is_fast=True``.

    Examples
    --------
    >>> import clalign
    >>> texts = {"a": "MKVLATGH", "b": "MKVATGHKL", "c": "MKVTGHKL"}
    >>> one, two, new = (clalign.Sequence.from_text(*one) for one in texts.items())
    >>> with clalign.align_many([one, two], device="reference") as found:
    ...     [row.tobytes().decode() for row in clalign.add(found, new, device="reference").cells]
    ['MKVLATGH--', 'MKV-ATGHKL', 'MKV--TGHKL']
    """
    with contextlib.ExitStack() as stack:
        folder = Scratch()
        stack.callback(folder.remove)
        new = taken(sequences, folder, "sequences")
        stack.enter_context(inputs_named([new]))
        return _changed("add", alignment, new.path, output, device, context, options)


def hmmalign(
    profile: PathLike | Hmm, sequences: Sequences, output: PathLike | None = None, *, device: str = "auto",
    context: JobContext | None = None, **options: object,
) -> RowAlignment:  # fmt: skip
    """Align sequences to a HMMER3 profile, as hmmalign 3.3.2 does, and return the alignment.

    Residues at nodes are upper case, their posterior probabilities are in ``notes.residues["PP"]``.

    Parameters
    ----------
    profile : path or Hmm
        A file with one profile, or a profile.
    sequences : path, open file, Sequence, SequenceDatabase or iterable of Sequence
    output : path, optional
        Where the alignment is written, in the format ``out_form``.
    device : str
    context : JobContext, optional
    **options
        Fields of `AlignSpec`, such as ``trims=True``, ``map_alignment="seed.sto"`` or ``out_form="a2m"``.
    """
    from clalign.compute.opencl.choice import pick_device
    from clalign.tools.hmm_aligning import aligned_to_profile, only_profile, write_aligned
    from clalign.tools.specs import AlignSpec

    spec, context = AlignSpec(**known_options(options, AlignSpec, "hmmalign")), context or QuietContext()
    hmm = profile if isinstance(profile, Hmm) else only_profile(path_text(profile, "profile"), spec, context)
    with contextlib.ExitStack() as stack:
        folder = Scratch()
        stack.callback(folder.remove)
        given = taken(sequences, folder, "sequences")
        stack.enter_context(inputs_named([given]))
        found, _ = aligned_to_profile(hmm, given.path, spec, pick_device(device_words(device)), context)
    if output is not None:
        write_aligned(found, path_text(output, "output"), spec, context)
    return found


def realign(
    alignment: Alignment, columns: range, output: PathLike | None = None, *, device: str = "auto",
    context: JobContext | None = None, **options: object,
) -> RowAlignment:  # fmt: skip
    """Align a block of columns (counted from 0) again, and return the whole alignment; the rest as of `add`."""
    return _changed("realign", alignment, columns, output, device, context, options)


def _changed(
    name: Literal["add", "realign"], alignment: Alignment, what: str | range, output: PathLike | None, device: str,
    context: JobContext | None, options: SpecFields,
) -> RowAlignment:  # fmt: skip
    from clalign.compute.opencl.choice import pick_device
    from clalign.formats.row_alignments import read_rows
    from clalign.formats.row_forms import form_of

    changes = engine_of_command("align").changes
    kind, change = changes.choice.get(), changes.kinds[name].get()
    choice = kind(**known_options(options, kind, name))
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(_as_file(alignment))
        place = os.path.abspath(path_text(output, "output")) if output is not None else ""
        written = place or str(stack.enter_context(Scratch()) / "alignment.sto")
        form = form_of(written) or "fasta"
        change(file, what, written, form, choice, pick_device(device_words(device)), context or QuietContext())
        return read_rows(written)


def _run_of(alignment: Alignment) -> str:
    """Return the path of the run that an alignment is in; empty if it is in none."""
    from clalign.formats.recognize import identify
    from clalign.formats.sources import opened

    if isinstance(alignment, Results):
        return str(alignment.run.path)
    path = path_text(alignment, "alignment")
    with opened(path) as source:
        return path if identify(source).kind == "run" else ""


@contextlib.contextmanager
def _taken(alignment: Alignment, what: Literal["alignment", "posteriors"]) -> Iterator[str]:
    from clalign.engines.export import export_for_tool

    with Scratch() as folder:
        path = str(folder / what)
        export_for_tool(_run_of(alignment), what, path)
        yield path


@contextlib.contextmanager
def _as_file(alignment: Alignment) -> Iterator[str]:
    """Give the path of an alignment; of a run one that goes when the block ends."""
    if not isinstance(alignment, Results) and not _run_of(alignment):
        yield os.path.abspath(path_text(alignment, "alignment"))
        return
    with _taken(alignment, "alignment") as path:
        yield path

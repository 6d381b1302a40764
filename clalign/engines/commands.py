"""The sub-commands of engines, as data; the flags of a command are those of the fields of its spec."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from clalign.engines.exports import Export
from clalign.values.documents import SpecFields
from clalign.values.specs import Spec

Files = tuple[tuple[Export, str], ...]
"""Exports, and the files that they are written to; ``-`` is standard output."""


class Input(Struct, frozen=True):
    """A file, or several, that a command reads: the field of the spec that names it, and the words of the help."""

    field: str
    metavar: str
    help: str


class Command(Struct, frozen=True, kw_only=True):
    """A sub-command of an engine.

    Attributes
    ----------
    description : str
    examples : tuple of str
        Command lines, each perhaps with a comment after ``#``.
    inputs : tuple of Input
    outputs : tuple of Export
        Those that it has flags for.
    preset : mapping
        Fields of the spec that the command sets.
    usual : mapping
        Fields that are not at the defaults of the spec where they are not given.
    later : tuple of Export
        What `clalign export` writes by these flags, and the command in ways of its own.
    found : str
        What is found and counted, in the words of the help.
    aliases : mapping of str to str
        Further flags of fields.
    min_width : int
        The least that ``--textw`` takes, as HMMER does; 0 where a line may have any width.
    keeps_words : bool
        Whether outputs quote the command as it was typed; else as `Spec.command_line` has it.
    add_options : callable
        Adds flags that are no fields to the groups, which are known by their titles.
    written : callable
        Returns exports and paths of all that is written, from those that flags of outputs name, what was given and the
        inputs.
    values : callable
        Returns the fields of the spec, from the fields so far and from what was given.
    files : callable
        Returns what besides the inputs is read, by field, from what was given.
    conflict : callable
        Returns in words which options that were given exclude each other, None for none; from what was given and spec.
    check : callable
        Raises what is wrong with a spec before a worker starts.
    has_several : callable
        Returns of a spec whether there are several queries.
    """

    description: str
    examples: tuple[str, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[Export, ...]
    preset: Mapping[str, object] = field(default_factory=dict)
    usual: Mapping[str, object] = field(default_factory=dict)
    later: tuple[Export, ...] = ()
    found: str = "targets"
    aliases: Mapping[str, str] = field(default_factory=dict)
    min_width: int = 0
    keeps_words: bool = False
    add_options: Callable[[Mapping[str, _ArgumentGroup]], None] = lambda groups: None
    written: Callable[[Files, Namespace, tuple[str, ...]], Files] = lambda files, given, inputs: files
    values: Callable[[SpecFields, Namespace], SpecFields] = lambda values, given: values
    files: Callable[[SpecFields], dict[str, str]] = lambda given: {}
    conflict: Callable[[SpecFields, Spec], str | None] = lambda given, spec: None
    check: Callable[[Spec], None] = lambda spec: None
    has_several: Callable[[Spec], bool] = lambda spec: False

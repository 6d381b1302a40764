"""The sub-commands of engines, as data; the flags of a command are those of the fields of its spec."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from clalign.values.specs import Spec

Files = tuple[tuple[str, str], ...]
"""Names of exports, and the files that they are written to."""


class Input(Struct, frozen=True):
    """A file, or several, that a command reads: the field of the spec that names it, and the words of the help."""

    field: str
    metavar: str
    help: str


class Output(Struct, frozen=True):
    """A file that a command writes.

    Attributes
    ----------
    export : str
        Its name.
    flag, help : str
        The flag, and the words of its help.
    is_of_one : bool
        Whether it holds what one query has found, and there is none of several.
    """

    export: str
    flag: str
    help: str
    is_of_one: bool = False


class NamedColumns(Struct, frozen=True):
    """The columns that an export asks for by their names.

    Attributes
    ----------
    title, tip : str
        What it makes, and how columns are named.
    known : mapping of str to str
        What each column holds.
    check : callable
        Raises `OptionError` if names of columns make no sense.
    usual : str
    before : str
        What is put before the names.
    """

    title: str
    tip: str
    known: Mapping[str, str]
    check: Callable[[str], object]
    usual: str
    before: str = ""


class Export(Struct, frozen=True):
    """A way to export hits, as people are offered it.

    Attributes
    ----------
    name : str
        Of its writer.
    words, ending : str
        What it is, and how names of its files end.
    addition : str
        What such names have before the ending, where another export has the same.
    columns : NamedColumns or None
    """

    name: str
    words: str
    ending: str
    addition: str = ""
    columns: NamedColumns | None = None


class Command(Struct, frozen=True, kw_only=True):
    """A sub-command of an engine.

    Attributes
    ----------
    description : str
    examples : tuple of str
        Command lines, each perhaps with a comment after ``#``.
    inputs : tuple of Input
    outputs : tuple of Output
        What ``--run`` and `clalign export` can write later need not be among them.
    preset : mapping
        Fields of the spec that the command sets.
    later : tuple of Output
        What `clalign export` writes by these flags, and the command in ways of its own.
    has_hits : bool
        Whether its outputs are of hits: then it has flags that shape texts and tables.
    found : str
        What is found and counted, in the words of the help.
    aliases : mapping of str to str
        Further flags of fields.
    shapes : tuple of str
        Flags that shape its text: ``--acc``, ``--notextw`` or ``--outfmt``.
    least_width : int
        The least that ``--textw`` takes.
    keeps_words : bool
        Whether outputs quote the command as it was typed; else as `Spec.command_line` has it.
    add_options : callable
        Adds flags that are no fields to the groups, which are known by their titles.
    written : callable
        Returns names of exports and paths of all that is written, from those that flags of outputs name, what was given
        and the inputs.
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
    outputs: tuple[Output, ...]
    preset: Mapping[str, Any] = field(default_factory=dict)
    later: tuple[Output, ...] = ()
    has_hits: bool = True
    found: str = "targets"
    aliases: Mapping[str, str] = field(default_factory=dict)
    shapes: tuple[str, ...] = ()
    least_width: int = 0
    keeps_words: bool = False
    add_options: Callable[[Mapping[str, _ArgumentGroup]], None] = lambda groups: None
    written: Callable[[Files, Namespace, tuple[str, ...]], Files] = lambda files, given, inputs: files
    values: Callable[[dict[str, Any], Namespace], dict[str, Any]] = lambda values, given: values
    files: Callable[[Mapping[str, Any]], dict[str, str]] = lambda given: {}
    conflict: Callable[[Mapping[str, Any], Spec], str | None] = lambda given, spec: None
    check: Callable[[Spec], None] = lambda spec: None
    has_several: Callable[[Spec], bool] = lambda spec: False

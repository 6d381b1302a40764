"""Several models in one launch: a kernel gets the places of the tables of each.

Tables are made for all models of a shelf at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import Geometry, in_groups_of_models, one_a_core
from clalign.compute.sessions import AllTables, Argument, Buffer, KernelSession, Tables
from clalign.values.devices import Device
from clalign.values.local_profiles import LocalProfile, ProfileShelf

Table = npt.NDArray[Any]

MODEL = np.dtype([("number", "<u4"), ("parts", "<i4"), ("offset", "<u4"), ("tables", "<u4", 3), ("numbers", "<u4", 5)])
"""``model_t`` of ``common/models.h``."""


def node_tables(
    session: KernelSession, name: str, profile: LocalProfile, make: Callable[[ProfileShelf], tuple[Table, ...]]
) -> tuple[Table, ...]:
    """Return the part of nodes 1 to M (last axis) of tables that `make` makes once of all nodes of a shelf."""
    shelf, nodes = profile.shelved.shelf, profile.shelved.nodes
    inner = slice(nodes.start + 1, nodes.stop)
    return tuple(table[..., inner] for table in session.cached(name, shelf, lambda: make(shelf)))


class Form(Struct, frozen=True):
    """The form in which a kernel takes a model.

    Attributes
    ----------
    defines : mapping
        The program's compile-time choices; models with equal ones share a launch.
    name : str
        Name of the tables and their layout.
    make : callable
        Makes the tables of a model; the layout depends on nothing but the model.
    parts : int
        Vectors in a row, or strips, if the kernel needs their number.
    numbers : tuple
        Other arguments of the kernel: numpy scalars of 32 bits.
    room : int
        Places that it needs in a buffer that all models share.
    """

    defines: Mapping[str, int]
    name: str
    make: Callable[[LocalProfile], Tables]
    parts: int = 0
    numbers: tuple[np.generic, ...] = ()
    room: int = 0


FormOf = Callable[[LocalProfile], Form]


class Together(Struct, frozen=True):
    """Models that share a launch.

    Attributes
    ----------
    defines : mapping
        The program's compile-time choices.
    profiles : tuple of LocalProfile
    models : buffer of `MODEL`[n]
    tables : buffer
        Tables of all models.
    room : int
        Places that they need in that buffer.
    """

    defines: Mapping[str, int]
    profiles: tuple[LocalProfile, ...]
    models: Buffer
    tables: Buffer
    room: int

    def __len__(self) -> int:
        return len(self.profiles)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Models, their number and their tables, as kernels take them."""
        return self.models, np.uint32(len(self)), self.tables


def together(
    session: KernelSession,
    profiles: Sequence[LocalProfile],
    form_of: FormOf,
    chosen: Sequence[int] | None = None,
    is_passing: bool = False,
) -> Iterator[Together]:
    """Yield the models that share program and tables, those with most parts (vectors or strips) first.

    Parameters
    ----------
    session : KernelSession
    profiles : sequence of LocalProfile
        The models; their places are their numbers in the group.
    form_of : callable
    chosen : sequence of int, optional
        Numbers of the models with work to do; by default all.
    is_passing : bool
        Whether the tables are needed once, or are laid out for just these models.
    """
    found: dict[tuple[object, ...], list[tuple[int, LocalProfile, Form]]] = {}
    for number in range(len(profiles)) if chosen is None else chosen:
        profile, form = profiles[number], form_of(profiles[number])
        key = (*form.defines.items(), form.name, id(profile.shelved.shelf))
        found.setdefault(key, []).append((number, profile, form))
    for group in found.values():
        numbers, those, forms = zip(*sorted(group, key=lambda one: -one[2].parts), strict=True)
        tables, places = _tables(session, those, forms[0], is_passing)
        models = np.zeros(len(group), MODEL)
        models["number"], models["parts"] = numbers, [form.parts for form in forms]
        rooms = [form.room for form in forms]
        models["offset"] = np.cumsum(rooms) - rooms
        models["tables"][:, : tables.starts.shape[1]] = tables.starts[places]
        for k in range(len(forms[0].numbers)):
            models["numbers"][:, k] = np.array([form.numbers[k] for form in forms]).view(np.uint32)
        yield Together(forms[0].defines, those, _sent(session, models, those, is_passing), tables.whole, sum(rooms))


def geometry_on(device: Device, shape: str, n: int) -> Callable[[Together], Geometry]:
    """Return a function that returns the geometry for up to n problems of each model of a group."""
    if shape == "vector":
        return lambda _: one_a_core(device)
    return lambda group: in_groups_of_models(device, group.defines, n, len(group))


def launch(
    session: KernelSession,
    kernel: tuple[str, str],
    geometry: Callable[[Together], Geometry],
    groups: Iterator[Together],
    before: tuple[Argument, ...],
    after: tuple[Argument, ...],
) -> None:
    """Enqueue a kernel (its file and its name) on some models, with a counter for each.

    `before` and `after` are the arguments before and after models, their number, tables and counters.
    """
    for group in groups:
        session.launch(
            *kernel, group.defines, *geometry(group), *before, *group.arguments, session.zeros(4 * len(group)), *after
        )


def _sent(
    session: KernelSession, models: npt.NDArray[np.void], profiles: Sequence[LocalProfile], is_passing: bool
) -> Buffer:
    """Return models on a device; a single one is kept, since it recurs with every batch of a large database."""
    if is_passing or len(models) > 1:
        return session.upload(models)
    return session.cached(f"model {models.tobytes().hex()}", profiles[0], lambda: session.upload(models))


class _Passing:
    """A key of tables that are needed once, which are dropped with it."""


def _tables(
    session: KernelSession, profiles: Sequence[LocalProfile], form: Form, is_passing: bool
) -> tuple[AllTables, list[int]]:
    """Return the tables of models of one shelf, and the places of these models in them.

    Those of all models on the shelf are made together, once; `is_passing` ones are made of just these models.
    """
    shelf, places = profiles[0].shelved.shelf, [profile.shelved.place for profile in profiles]
    made, key = (places, _Passing()) if is_passing else ([*range(len(shelf))], shelf)
    tables = session.tables(form.name, key, lambda: [form.make(shelf.profile(place)) for place in made])
    return tables, [*range(len(places))] if is_passing else places

"""Several models in one launch: a kernel that goes through models is told where the tables of each begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from clalign.compute.geometry import Geometry
from clalign.compute.sessions import AllTables, Argument, KernelSession
from clalign.stages.hmmer3.shelf_tables import MakeEach
from clalign.values.local_profiles import LocalProfile

MODEL = np.dtype([("number", "<u4"), ("vectors", "<i4"), ("tables", "<u4", 3), ("numbers", "<u4", 3)])
"""``model_t`` of ``common/models.h``."""


class Form(Struct, frozen=True):
    """How a kernel takes a model.

    Attributes
    ----------
    defines : mapping
        The program's compile-time choices; models with equal ones share a launch.
    name : str
        Of the tables and their layout.
    make : callable
        Makes the tables of a model; the layout depends on nothing but the model.
    vectors : int
        In a row.
    numbers : tuple
        What else the kernel wants to know: numpy scalars of 32 bits.
    """

    defines: Mapping[str, object]
    name: str
    make: MakeEach
    vectors: int = 0
    numbers: tuple[np.generic, ...] = ()


def launch(
    session: KernelSession,
    kernel: tuple[str, str],
    geometry: Geometry,
    profiles: Sequence[LocalProfile],
    form_of: Callable[[LocalProfile], Form],
    before: tuple[Argument, ...],
    after: tuple[Argument, ...],
) -> None:
    """Enqueue a kernel on some models, one launch for all that share program and tables.

    Parameters
    ----------
    session : KernelSession
    kernel : (str, str)
        Its file and its name.
    geometry : Geometry
    profiles : sequence of LocalProfile
        The models; their places are their numbers in the group.
    form_of : callable
    before, after : tuple
        Arguments before and after models, their number, tables and counters.
    """
    together: dict[tuple[object, ...], tuple[AllTables, list[tuple[int, int, Form]]]] = {}
    for number, profile in enumerate(profiles):
        form = form_of(profile)
        tables, place = _tables(session, profile, form)
        key = (*form.defines.items(), id(tables))
        together.setdefault(key, (tables, []))[1].append((number, place, form))
    for tables, chosen in together.values():
        numbers, places, forms = zip(*chosen, strict=True)
        models = np.zeros(len(chosen), MODEL)
        models["number"], models["vectors"] = numbers, [form.vectors for form in forms]
        models["tables"][:, : tables.starts.shape[1]] = tables.starts[list(places)]
        for k in range(len(forms[0].numbers)):
            models["numbers"][:, k] = np.array([form.numbers[k] for form in forms]).view(np.uint32)
        session.launch(
            *kernel, forms[0].defines, *geometry, *before, session.upload(models), np.uint32(len(models)),
            tables.whole, session.zeros(4 * len(models)), *after,
        )  # fmt: skip


def _tables(session: KernelSession, profile: LocalProfile, form: Form) -> tuple[AllTables, int]:
    """Return the tables of a model with those of all others on its shelf, made once, and its place among them."""
    if profile.shelved is None:
        return session.all_tables(form.name, profile, lambda: [form.make(profile)]), 0
    shelf, place = profile.shelved.shelf, profile.shelved.place
    return session.all_tables(form.name, shelf, lambda: [form.make(shelf.profile(k)) for k in range(len(shelf))]), place

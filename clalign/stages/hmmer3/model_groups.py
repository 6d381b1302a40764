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
    chosen: Sequence[int] | None = None,
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
    chosen : sequence of int, optional
        Numbers of the models for which there is something to do; by default all.
    """
    together: dict[tuple[object, ...], list[tuple[int, LocalProfile, Form]]] = {}
    for number in range(len(profiles)) if chosen is None else chosen:
        profile, form = profiles[number], form_of(profiles[number])
        shelf = profile if profile.shelved is None else profile.shelved.shelf
        together.setdefault((*form.defines.items(), form.name, id(shelf)), []).append((number, profile, form))
    for found in together.values():
        numbers, those, forms = zip(*found, strict=True)
        tables, places = _tables(session, those, forms[0], is_passing=chosen is not None)
        models = np.zeros(len(found), MODEL)
        models["number"], models["vectors"] = numbers, [form.vectors for form in forms]
        models["tables"][:, : tables.starts.shape[1]] = tables.starts[places]
        for k in range(len(forms[0].numbers)):
            models["numbers"][:, k] = np.array([form.numbers[k] for form in forms]).view(np.uint32)
        session.launch(
            *kernel, forms[0].defines, *geometry, *before, session.upload(models), np.uint32(len(models)),
            tables.whole, session.zeros(4 * len(models)), *after,
        )  # fmt: skip


class _Passing:
    """Stands for tables that are needed once; they go with it."""


def _tables(
    session: KernelSession, profiles: Sequence[LocalProfile], form: Form, is_passing: bool
) -> tuple[AllTables, list[int]]:
    """Return the tables of models of one shelf, or of one that stands alone, and the places of these models in them.

    Those of all models on the shelf are made together, once; `is_passing` ones are made of just these models.
    """
    if is_passing:
        tables = session.all_tables(form.name, _Passing(), lambda: [form.make(one) for one in profiles])
        return tables, [*range(len(profiles))]
    shelved = [profile.shelved for profile in profiles if profile.shelved is not None]
    if not shelved:  # the same one, maybe several times
        return session.all_tables(form.name, profiles[0], lambda: [form.make(profiles[0])]), [0] * len(profiles)
    shelf = shelved[0].shelf
    tables = session.all_tables(form.name, shelf, lambda: [form.make(shelf.profile(k)) for k in range(len(shelf))])
    return tables, [one.place for one in shelved]

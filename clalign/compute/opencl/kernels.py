"""The loader of kernels: reads a source, pastes its headers, builds it with macros.

Includes are pasted here instead of by the driver, because no spelling of an include path with a
space in it works with every driver; ``#line`` keeps the compiler's messages right.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import cast

import pyopencl as cl

from clalign import tracing
from clalign.compute.opencl import binaries
from clalign.errors import KernelBuildError

log = logging.getLogger(__name__)

# pyopencl puts its own folder on the include path of every build. Nothing is included from there, and a
# folder with a space in its name makes the build fail on some drivers.
getattr(cl, "_DEFAULT_INCLUDE_OPTIONS", []).clear()

FLUSH = "-cl-denorms-are-zero"
"""Option by which subnormal numbers are 0, as in HMMER: scores depend on it where one domain outweighs others."""

KEEPS_SUBNORMAL = "SUBNORMAL"
"""Macro of programs that are built without it, for what HMMER computes with such numbers (hmmalign)."""

_UNFLUSHED, _FLUSHED = b"mul.rn.f32", b"mul.rn.ftz.f32"

_INCLUDE = re.compile(r'^#include "(common/[a-z0-9_]+\.h)"[ \t]*$', re.MULTILINE)
_IF, _ENDIF = re.compile(r"^#if", re.MULTILINE), re.compile(r"^#endif", re.MULTILINE)


@cache
def assemble(name: str) -> str:
    """Return the text of a kernel file with its headers: ``name``, or ``package:name`` elsewhere."""
    package, _, file = name.rpartition(":")
    text = files(package or "clalign.kernels_cl").joinpath(f"{file}.cl").read_text("utf-8")
    return with_headers(text, f"{file}.cl")


@cache
def _header(name: str) -> str:
    return files("clalign.kernels_cl").joinpath(name).read_text("utf-8")


def with_headers(text: str, source: str) -> str:
    """Return a text with each header that it includes pasted in once."""
    pasted: set[str] = set()

    def paste(text: str, source: str, is_certain: bool) -> str:
        parts, position = [f'#line 1 "{source}"\n'], 0
        for found in _INCLUDE.finditer(text):
            header, before = found[1], text[: found.start()]
            parts.append(text[position : found.start()])
            position = found.end()
            if header in pasted:
                continue
            # A header under a condition may be left out, so it is pasted again where it is included next.
            is_sure = is_certain and len(_IF.findall(before)) == len(_ENDIF.findall(before))
            if is_sure:
                pasted.add(header)
            parts.append(paste(_header(header), header, is_sure))
            parts.append(f'\n#line {before.count(chr(10)) + 2} "{source}"')
        return "".join([*parts, text[position:]])

    return paste(text, source, is_certain=True)


def options(defines: Mapping[str, object]) -> list[str]:
    """Return the compiler options for macros, in a fixed order; a name with a dash is an option itself."""
    macros = [name if name[0] == "-" else f"-D{name}={value}" for name, value in sorted(defines.items())]
    return macros if defines.get(KEEPS_SUBNORMAL) else [*macros, FLUSH]


def sources_digest() -> str:
    """Return a checksum of all kernel sources, which results of self-tests depend on."""
    digest = hashlib.sha256()
    root = files("clalign.kernels_cl")
    for folder in (root, root.joinpath("common")):
        for entry in sorted(folder.iterdir(), key=lambda e: e.name):
            if entry.name.endswith((".cl", ".h")):
                digest.update(entry.read_bytes())
    return digest.hexdigest()[:16]


def build(
    context: cl.Context, device_name: str, name: str, defines: Mapping[str, object], more: Sequence[str] = ()
) -> cl.Program:
    """Compile a kernel file for the device of a context, or take it from the cache.

    `more` are further options.

    Raises
    ------
    KernelBuildError
        With the compiler's log.
    """
    with tracing.span(f"build {name}", "building", **defines):
        return _built(context, device_name, name, defines, more)


def is_kept(context: cl.Context, name: str, defines: Mapping[str, object]) -> bool:
    """Return whether a program for the device of a context is in the cache, or is never stored there."""
    if defines.get("LANE_BACKEND") == 0:
        return True
    return binaries.place_of(context.devices[0], assemble(name), options(defines)).exists()


def _built(
    context: cl.Context, device_name: str, name: str, defines: Mapping[str, object], more: Sequence[str]
) -> cl.Program:
    source, words = assemble(name), [*options(defines), *more]
    place = binaries.place_of(context.devices[0], source, words)
    with tracing.span("look among kept programs", "building"):
        kept = None if more else binaries.find(context, place, words)  # a cached program has no log
    if kept is not None:
        return kept
    program = cl.Program(context, source)
    binaries.ignore_remarks()
    try:
        with tracing.span("compile", "building"):
            program.build(options=words)
        if not more and FLUSH in words:
            program = _with_flushed_products(context, program, words)
    except cl.RuntimeError as error:
        raise KernelBuildError(device_name, f"{name}.cl", dict(defines), str(error)) from error
    if not more and defines.get("LANE_BACKEND") != 0:
        # PoCL takes many seconds to make a binary of a kernel with barriers, and has a cache of its own.
        binaries.keep(program, place)
    return program


def _with_flushed_products(context: cl.Context, program: cl.Program, words: list[str]) -> cl.Program:
    """Return a program whose products flush subnormal numbers, too.

    NVIDIA's compiler obeys `FLUSH` in all instructions except for products that it must not contract.
    Its binaries are text, in which these can be replaced.
    """
    if "nvidia" not in context.devices[0].platform.name.lower():
        return program
    assembly = bytes(cast("list[bytes]", program.get_info(cl.program_info.BINARIES))[0])
    if _UNFLUSHED not in assembly:
        return program
    flushed = assembly.replace(_UNFLUSHED, _FLUSHED)
    program = cl.Program(context, context.devices, [flushed])
    program.build(options=words)
    return program

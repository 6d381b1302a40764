"""Reports of compilers on kernels: registers, spills, memory."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import pyopencl as cl

from clalign.compute.opencl.kernels import build
from clalign.values.devices import Device

_FUNCTION = r"(?:Function properties for|Compiling entry function) '?{entry}\b"


def build_report(
    context: cl.Context, device: Device, source: str, entry: str, defines: Mapping[str, object]
) -> dict[str, int | None]:
    """Compile a kernel and return the facts of the result; None where the driver does not report them.

    Returns
    -------
    dict
        ``registers`` and ``spill_bytes`` of a work-item, ``private_bytes`` of a work-item,
        ``local_bytes`` of a work-group, ``max_group`` (the largest work-group) and ``multiple`` (preferred
        divisor of the sizes of work-groups).
    """
    has_log = "cl_nv_compiler_options" in device.extensions
    # A program from the driver's cache has no log, so this one must be new.
    more = ("-cl-nv-verbose", f"-DREPORT_OF={time.time_ns()}") if has_log else ()
    program: Any = build(context, device.name, source, defines, more)
    handle = context.devices[0]
    kernel = cl.Kernel(program, entry)
    info = cl.kernel_work_group_info
    log = program.get_build_info(handle, cl.program_build_info.LOG) if has_log else ""
    return {
        **parse_log(log, entry),
        "private_bytes": int(kernel.get_work_group_info(info.PRIVATE_MEM_SIZE, handle)),
        "local_bytes": int(kernel.get_work_group_info(info.LOCAL_MEM_SIZE, handle)),
        "max_group": int(kernel.get_work_group_info(info.WORK_GROUP_SIZE, handle)),
        "multiple": int(kernel.get_work_group_info(info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, handle)),
    }


def parse_log(log: str, entry: str) -> dict[str, int | None]:
    """Return registers and spilled bytes of a kernel from the log that NVIDIA's compiler writes."""
    begins = [found.start() for found in re.finditer(_FUNCTION.format(entry=re.escape(entry)), log)]
    part = log[begins[0] :] if begins else ""
    others = re.search(r"Compiling entry function '(?!" + re.escape(entry) + r"')", part)
    part = part[: others.start()] if others else part
    registers = re.search(r"Used (\d+) registers", part)
    spills = re.search(r"(\d+) bytes spill stores", part)
    return {"registers": int(registers[1]) if registers else None, "spill_bytes": int(spills[1]) if spills else None}

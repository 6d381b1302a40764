"""What a driver reports of a device beyond what every user needs."""

from __future__ import annotations

from clalign.compute.opencl.discover import driver_device
from clalign.values.devices import Device


def device_facts(device: Device) -> dict[str, int]:
    """Return the bytes of the ``cache`` of global memory, and on NVIDIA's cards the ``registers`` of a work-group.

    Raises
    ------
    DeviceError
        If the device is gone, or its driver does not report it.
    """
    handle = driver_device(device)
    facts = {"cache": int(handle.global_mem_cache_size)}
    if "cl_nv_device_attribute_query" in device.extensions:
        facts["registers"] = int(handle.registers_per_block_nv)
    return facts
